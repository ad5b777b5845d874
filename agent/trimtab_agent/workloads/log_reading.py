"""Reads access logs for learning: several files, gzip too, line by line, whatever is in them."""

import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from trimtab_tuner.workloads.access_log import LONGEST_LINE_BYTES, LineParser
from trimtab_tuner.workloads.learning import Learner

from trimtab_agent.errors import SpecError
from trimtab_agent.stopping import Stopped, StopSignal

GZIP_MAGIC = b"\x1f\x8b"
LOOK_AHEAD_LINES = 1000
PROGRESS_LINES = 10_000

# Called with the bytes read of all files (as they are on disk), and how many there are.
OnProgress = Callable[[int, int], None]


def read_logs(
    paths: Sequence[Path], learner: Learner, on_progress: OnProgress, stop: StopSignal
) -> list[str]:
    """Feeds all lines of the logs to the learner, the log that begins earliest first.

    Returns sentences about logs that end before their time (a compressed log that is cut off): what could be
    read of them counts. Raises SpecError for a file that cannot be read at all, Stopped.
    """
    ordered = sorted(paths, key=_first_time_s)
    total = sum(path.stat().st_size for path in ordered)
    done = 0
    complaints = []
    for path in ordered:
        with ExitStack() as files:
            raw, log = _open(path, files)
            try:
                for line in _lines(log):
                    learner.line(line)
                    if learner.lines % PROGRESS_LINES == 0:
                        on_progress(done + raw.tell(), total)
                        if stop.requested:
                            raise Stopped
            except (EOFError, OSError, zlib.error) as error:
                complaints.append(f"{path} ends early: {error}")
        done += path.stat().st_size
        on_progress(done, total)
    return complaints


def _first_time_s(path: Path) -> float:
    """When the log begins, by its first line that has a time."""
    parser = LineParser()
    with ExitStack() as files:
        _, log = _open(path, files)
        try:
            for _, line in zip(range(LOOK_AHEAD_LINES), _lines(log), strict=False):
                entry = parser.parse(line)
                if entry is not None:
                    return entry.time_s
        except (EOFError, OSError, zlib.error):
            pass
    return float("inf")


def _open(path: Path, files: ExitStack) -> tuple[IO[bytes], IO[bytes] | gzip.GzipFile]:
    """The file as it is on disk, and its uncompressed contents."""
    if path.is_fifo():
        raise SpecError("log", f"the log {path} is a pipe, which can be read only once; expected a file")
    try:
        raw = files.enter_context(path.open("rb"))
        compressed = raw.read(2) == GZIP_MAGIC
        raw.seek(0)
    except OSError as error:
        raise SpecError("log", f"the log {path} cannot be read: {error.strerror}") from error
    if compressed:
        return raw, files.enter_context(gzip.open(raw))
    return raw, raw


def _lines(log: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    """The lines; one that is longer than any log line counts once, and is skipped to its end."""
    while line := log.readline(LONGEST_LINE_BYTES):
        yield line
        while len(line) == LONGEST_LINE_BYTES and not line.endswith(b"\n"):
            line = log.readline(LONGEST_LINE_BYTES)
