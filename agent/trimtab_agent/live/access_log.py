"""The access log of a server of ours, read as it grows.

It is a file in memory (tmpfs), not a pipe: a pipe whose reader is slow stops the server. Whoever observes
reads what has been appended, and gives the memory of what has been read back, by a hole in the file: so it
stays small, and no line is lost. Its length goes on growing, and means nothing.

The lines are those of trimtab_tuner.live.reply_lines.
"""

import ctypes
import os
from pathlib import Path

from trimtab_tuner.live.observed import Replies
from trimtab_tuner.live.reply_lines import replies_of
from trimtab_tuner.targets.log_formats import LineFormat

from trimtab_agent.live.observation import ObservationLost

# fallocate(2): the blocks go, the length stays.
KEEP_SIZE, PUNCH_HOLE = 0x01, 0x02
BLOCK_BYTES = 4096
READ_BYTES = 1 << 22
_libc = ctypes.CDLL(None, use_errno=True)


class AccessLog:
    """The log at `path`, which is there already, in the format in which the server writes it; from now on.

    Raises ObservationLost where it cannot be opened.
    """

    tells_requests = True
    paths = ()

    def __init__(self, path: Path, form: LineFormat) -> None:
        self._path, self._form = path, form
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise ObservationLost(f"the access log {path} cannot be read: {error.strerror}") from error
        self._opened = os.fstat(self._file)
        # The beginning of the first line that was not complete.
        self._read_to = self._last_line_at(self._opened.st_size)
        self._given_back_to = self._read_to // BLOCK_BYTES * BLOCK_BYTES

    def read(self) -> Replies:
        """What has been appended since the last reading; a last line that is not complete waits.

        Raises ObservationLost for a log that has gone or was cut off, and for lines that are not ours.
        """
        try:
            lines = self._appended()
            self._give_back()
        except OSError as error:
            raise ObservationLost(f"the access log {self._path}: {error.strerror}") from error
        try:
            return replies_of(lines, self._form)
        except ValueError as error:
            raise ObservationLost(f"the access log {self._path}: {error}") from error

    def close(self) -> None:
        """Closes the file; the server writes on."""
        os.close(self._file)

    def _last_line_at(self, end: int) -> int:
        """Where the line begins that is being written at that end of the file."""
        begin = max(0, end - BLOCK_BYTES)
        return begin + os.pread(self._file, end - begin, begin).rfind(b"\n") + 1

    def _appended(self) -> bytes:
        """The complete lines that were appended; raises OSError."""
        there = self._path.lstat()
        if not os.path.samestat(there, self._opened):
            raise ObservationLost(f"the access log {self._path} is another file than before")
        if there.st_size < self._read_to:
            raise ObservationLost(f"the access log {self._path} has become shorter")
        parts = []
        at = self._read_to
        while part := os.pread(self._file, READ_BYTES, at):
            parts.append(part)
            at += len(part)
        appended = b"".join(parts)
        lines = appended[: appended.rfind(b"\n") + 1]
        self._read_to += len(lines)
        return lines

    def _give_back(self) -> None:
        """Makes a hole of the blocks that have been read; raises OSError."""
        end = self._read_to // BLOCK_BYTES * BLOCK_BYTES
        length = end - self._given_back_to
        if not length:
            return
        begin = ctypes.c_int64(self._given_back_to)
        if _libc.fallocate64(self._file, KEEP_SIZE | PUNCH_HOLE, begin, ctypes.c_int64(length)):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        self._given_back_to = end
