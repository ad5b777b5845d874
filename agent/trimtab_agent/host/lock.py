"""Files that only one process holds at a time: an flock(2), and in the file who holds it.

Only one at a time measures on a machine, and the lock for that (`MachineLock`) is the machine's, wherever its
holder keeps its files: two checkouts on one machine would spoil each other's measurements as surely as two
runs of one. The others are a folder's: one daemon, one sampler (`paths.py`). The kernel drops a lock when its
holder dies, however it dies, so there is nothing to clean up.

Everybody may take the machine's (mode 0666), so that users share a machine. In a directory that everybody may
write to, the kernel refuses to open somebody else's file with O_CREAT (admin-guide/sysctl/fs.rst,
protected_regular): so it is made once, and only opened afterwards; and never through a link that somebody has
put there.
"""

import fcntl
import json
import os
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from trimtab_agent.errors import HostError, RunConflict

MOST_BYTES = 4096
_KINDS = {"database": str, "pid": int, "run_id": int, "url": str, "var": str}


class LockTaken(Exception):
    """Somebody else holds the lock; `holder` is what they say of themselves, as far as it makes sense."""

    def __init__(self, holder: dict[str, Any]) -> None:
        super().__init__("the lock is taken")
        self.holder = holder

    @property
    def pid(self) -> int | str:
        """Their process."""
        pid: int | str = self.holder.get("pid", "unknown")
        return pid


class FileLock:
    """The lock at `path`, held from now on, with this process and `told` in it for whoever comes second.

    Raises LockTaken, HostError.
    """

    MODE = 0o644

    def __init__(self, path: Path, **told: int | str) -> None:
        self._told = {"pid": os.getpid(), **told}
        try:
            self._descriptor = _opened(path, self.MODE)
        except OSError as error:
            raise HostError(f"cannot open the lock {path}: {error.strerror}") from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = _holder(os.pread(self._descriptor, MOST_BYTES, 0))
            os.close(self._descriptor)
            raise LockTaken(holder) from error
        self._write(self._told)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    def tell(self, **more: int | str) -> None:
        """Tells more of the holder."""
        self._told |= more
        self._write(self._told)

    def release(self) -> None:
        """Lets the next one in."""
        self._write({})
        os.close(self._descriptor)

    def _write(self, holder: dict[str, int | str]) -> None:
        # Only told to people: a full disk must not keep anybody from holding the lock, or from giving it
        # back.
        with suppress(OSError):
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, json.dumps(holder).encode(), 0)


class MachineLock(FileLock):
    """The machine's lock at `path`; raises RunConflict if somebody else holds it.

    `var` is the directory of the holder.
    """

    MODE = 0o666

    def __init__(self, path: Path, var: Path) -> None:
        try:
            super().__init__(path, var=str(var))
        except LockTaken as taken:
            holder = taken.holder
            raise RunConflict(holder.get("run_id"), holder.get("pid"), holder.get("var")) from taken


def holder_of(path: Path) -> dict[str, Any]:
    """What stands in the file of a lock; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            return _holder(file.read(MOST_BYTES))
    except OSError:
        return {}


def _holder(text: bytes) -> dict[str, Any]:
    """Who holds it; nothing if that is being written at this moment, or somebody has written nonsense.

    Everybody may write to the machine's lock, and what stands there is printed in terminals.
    """
    try:
        holder = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return {
        name: value
        for name, value in (holder.items() if isinstance(holder, dict) else ())
        if type(value) is _KINDS.get(name) and str(value).isprintable()
    }


def _opened(path: Path, mode: int) -> int:
    """A descriptor of the lock file, which is made with that mode if it is not there. Raises OSError."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, mode)
        os.fchmod(descriptor, mode)  # whatever the mask of the process takes away
    except FileExistsError:
        descriptor = os.open(path, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "expected a file of its own")
    return descriptor
