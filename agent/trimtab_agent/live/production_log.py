"""The access logs that a server writes already, in the Common or the Combined format, read as they grow.

They are the files that the server, or a program that it writes to (rotatelogs), has open for appending. So
no configuration has to be understood, and a log is found again after it was rotated: whoever opens a new file
for its lines has that one open. Which of the files are access logs, their lines say.

They are opened for reading only, by the server's own descriptor: whatever has become of the name, it is that
file.
"""

import os
import re
import stat
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path

import psutil
from trimtab_tuner.live.observed import Replies
from trimtab_tuner.live.reply_lines import replies_of_entries
from trimtab_tuner.workloads.access_log import Entry, LineParser

from trimtab_agent.live.observation import ObservationLost

PROC = Path("/proc")
# So much at the end of a file says whether it is an access log.
LOOK_BACK_BYTES = 1 << 16
# How often it is looked for files that were opened since: a rotation is not urgent, the old file stays open.
LOOK_AGAIN_S = 5.0
# Of so many lines in one reading all are parsed, of more an even sample: that is what it may cost.
SAMPLED_LINES = 2000
# So much is read at a time. Nobody may have read for half a minute, while servers beside production ended.
READ_BYTES = 1 << 23
# So many pages are named, and so many are counted at most.
PATHS, KEPT_PATHS = 100, 4000
PLAIN_PATH = re.compile(rb"/[!->@-~]*")  # printable, without a query


class ProductionLog:
    """The access logs that a server has open, read from now on.

    Raises ObservationLost for a process that is gone or may not be looked into.
    """

    def __init__(self, pid: int, without: Collection[str] = ()) -> None:
        """`without`: pages that only Trimtab and its like ask for, as that of the status."""
        self._pid = pid
        self._without = frozenset(path.encode() for path in without)
        self._parser = LineParser()
        self._asked: Counter[str] = Counter()
        self._files: dict[tuple[int, int], _Tail] = {}  # by device and inode
        self._looked_at_s = time.monotonic()
        self._find(from_end=True)
        self._understood = any(self._parsed(tail.look_back()) for tail in self._files.values())

    @property
    def tells_requests(self) -> bool:
        """Whether a line has been seen that can be understood."""
        return self._understood

    @property
    def paths(self) -> Sequence[str]:
        """Pages that may be asked for again (GET, no query, answered 200), the most usual first."""
        return [path for path, _ in self._asked.most_common(PATHS)]

    def read(self) -> Replies:
        """What was appended since the last reading; raises ObservationLost when the server has gone."""
        every = max((-(-tail.waiting_bytes // READ_BYTES) for tail in self._files.values()), default=0) or 1
        lines = [line for tail in self._files.values() for line in tail.appended(every)]
        now_s = time.monotonic()
        if now_s - self._looked_at_s >= LOOK_AGAIN_S:
            self._looked_at_s = now_s
            self._find(from_end=False)
        each = -(-len(lines) // SAMPLED_LINES) or 1
        entries = self._parsed(lines[::each])
        self._understood = self._understood or bool(entries)
        self._asked.update(filter(None, map(_page_of, entries)))
        if len(self._asked) > KEPT_PATHS:
            self._asked = Counter(dict(self._asked.most_common(KEPT_PATHS // 2)))
        return replies_of_entries(entries, each * every)

    def close(self) -> None:
        """Closes the files; the server writes on."""
        for tail in self._files.values():
            tail.close()
        self._files = {}

    def _parsed(self, lines: list[bytes]) -> list[Entry]:
        entries = filter(None, map(self._parser.parse, lines))
        return [entry for entry in entries if entry.target not in self._without]

    def _find(self, *, from_end: bool) -> None:
        """Takes in the files that are open now; one that no longer is has been read to its end before."""
        try:
            there = dict(_appended_to(self._pid))
        except (OSError, psutil.Error) as error:
            raise ObservationLost(f"process {self._pid} cannot be observed: {error}") from error
        for identity, path in there.items():
            if identity not in self._files:
                try:
                    self._files[identity] = _Tail(path, from_end=from_end)
                except OSError:
                    continue  # closed meanwhile
        for identity in self._files.keys() - there.keys():
            self._files.pop(identity).close()


def _appended_to(pid: int) -> Iterator[tuple[tuple[int, int], Path]]:
    """The files that a process or a child of it has open for appending: which it is, and where to open it.

    Raises OSError and psutil.Error when the process is gone or may not be looked into. A child may end
    meanwhile, as a worker does at a reload, or be another user's, whom root may not look at in a container:
    what such a worker writes to, the process that has started it has open as well.
    """
    yield from _appended_to_by(pid)
    for child in psutil.Process(pid).children():
        with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            yield from _appended_to_by(child.pid)


def _appended_to_by(pid: int) -> Iterator[tuple[tuple[int, int], Path]]:
    """The same of one process; raises OSError."""
    for link in (PROC / str(pid) / "fd").iterdir():
        try:
            found = link.stat()
            if stat.S_ISREG(found.st_mode) and _appends(pid, link.name):
                yield (found.st_dev, found.st_ino), link
        except FileNotFoundError:
            continue  # closed meanwhile


def _appends(pid: int, descriptor: str) -> bool:
    """Whether a descriptor of a process was opened with O_APPEND."""
    text = (PROC / str(pid) / "fdinfo" / descriptor).read_text()
    return bool(int(text.partition("flags:")[2].split()[0], 8) & os.O_APPEND)


def _page_of(entry: Entry) -> str | None:
    """The path that a request asked for if it may be asked for again; None otherwise."""
    wanted = (entry.method, entry.status) == (b"GET", HTTPStatus.OK) and PLAIN_PATH.fullmatch(entry.target)
    return entry.target.decode() if wanted else None


class _Tail:
    """A file that grows, read from its end or from its beginning; raises OSError."""

    def __init__(self, path: Path, *, from_end: bool) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._read_to = os.fstat(self._file).st_size if from_end else 0

    def look_back(self) -> list[bytes]:
        """The last lines of what was there already."""
        begin = max(0, self._read_to - LOOK_BACK_BYTES)
        return os.pread(self._file, self._read_to - begin, begin).splitlines()

    @property
    def waiting_bytes(self) -> int:
        """How much there is that has not been read; a file that has become shorter begins anew."""
        size = os.fstat(self._file).st_size
        if size < self._read_to:  # logrotate with `copytruncate`
            self._read_to = 0
        return size - self._read_to

    def appended(self, every: int) -> list[bytes]:
        """Of the complete lines since the last time each `every`-th."""
        found: list[bytes] = []
        left, passed = self.waiting_bytes, 0
        while part := os.pread(self._file, min(left, READ_BYTES), self._read_to):
            lines = part[: part.rfind(b"\n") + 1]
            if not lines and len(part) < READ_BYTES:
                break  # one that is not complete
            self._read_to += len(lines or part)
            left -= len(lines or part)
            each = lines.splitlines()
            found += each[-passed % every :: every]
            passed += len(each)
        return found

    def close(self) -> None:
        """Closes it."""
        os.close(self._file)
