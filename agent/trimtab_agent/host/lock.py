"""Only one at a time measures on a machine: an flock(2) on one file, shared by all Trimtabs that run there.

The lock is the machine's, wherever its holder keeps its files: two checkouts on one machine would spoil each
other's measurements as surely as two runs of one. The kernel drops it when its holder dies, however it dies,
so there is nothing to clean up. The file holds who has the lock, for the sentence the second one gets.

Everybody may lock it (mode 0666), so that users share a machine. In a directory that everybody may write to,
the kernel refuses to open somebody else's file with O_CREAT (admin-guide/sysctl/fs.rst, protected_regular):
so it is made once, and only opened afterwards; and never through a link that somebody has put there.
"""

import fcntl
import json
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from trimtab_agent.errors import HostError, RunConflict

MOST_BYTES = 4096


class MachineLock:
    """The lock at `path`, held from now on; raises RunConflict if somebody else holds it.

    `var` is the directory of the holder, for whoever comes second.
    """

    def __init__(self, path: Path, var: Path) -> None:
        self._var = var
        try:
            self._descriptor = _opened(path)
        except OSError as error:
            raise HostError(f"cannot open the machine's lock {path}: {error.strerror}") from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = self._read()
            os.close(self._descriptor)
            raise RunConflict(holder.get("run_id"), holder.get("pid"), holder.get("var")) from error
        self._write(pid=os.getpid(), var=str(self._var))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    def name_run(self, run_id: int) -> None:
        """Writes the number of the run that the lock is held for."""
        self._write(pid=os.getpid(), var=str(self._var), run_id=run_id)

    def release(self) -> None:
        """Lets the next one in."""
        self._write()
        os.close(self._descriptor)

    def _read(self) -> dict[str, Any]:
        """Who holds it; nothing if that is being written at this moment, or somebody has written nonsense."""
        try:
            holder = json.loads(os.pread(self._descriptor, MOST_BYTES, 0))
        except ValueError:
            return {}
        kinds = {"pid": int, "run_id": int, "var": str}
        return {
            name: value
            for name, value in (holder.items() if isinstance(holder, dict) else ())
            if name in kinds and isinstance(value, kinds[name])
        }

    def _write(self, **holder: int | str) -> None:
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, json.dumps(holder).encode(), 0)


def _opened(path: Path) -> int:
    """A descriptor of the lock file, which is made if it is not there. Raises OSError."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
        os.fchmod(descriptor, 0o666)  # whatever the mask of the process takes away
    except FileExistsError:
        descriptor = os.open(path, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "expected a file of its own")
    return descriptor
