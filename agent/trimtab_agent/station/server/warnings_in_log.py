"""What a server's own log warns of that explains failures: limits that it has met, backends that are gone."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

# As nginx, Apache, lighttpd, h2o and MariaDB word it.
_WARNS = re.compile(
    r"worker_connections are not enough|too many open files|accept\(\d?\) failed.*|"
    r"could not allocate new (session|node)[^,]*|limiting (requests|connections)[^,]*|"
    r"upstream timed out[^,]*|no live upstreams[^,]*|connect\(\) (to \S+ )?failed[^,]*|"
    r"server reached MaxRequestWorkers[^,]*|scoreboard is full[^,]*|server is within MinSpareThreads[^,]*|"
    r"AH\d+: (changing|WARNING:).*|connection limit reached|server overloaded|out of fds|"
    r"\[warn\].*reduc\w+.*|too many connections|cannot allocate memory|no space left on device",
    re.IGNORECASE,
)
MOST_BYTES = 1 << 20


def warning_in(log: Path) -> str:
    """A sentence with the most frequent of such warnings in a log; empty where there is none."""
    counts = Counter(_warnings(log))
    if not counts:
        return ""
    (words, count), *_ = counts.most_common(1)
    times = f" ({count:,} times)" if count > 1 else ""
    return f"The server's log says: {words}{times}."


def _warnings(log: Path) -> Iterator[str]:
    try:
        with log.open("rb") as lines:
            text = lines.read(MOST_BYTES).decode(errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        if found := _WARNS.search(line):
            yield " ".join(found[0].split())
