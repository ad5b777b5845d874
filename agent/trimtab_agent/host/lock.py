"""Only one run at a time on a host: an flock(2) on `var/run.lock`, shared by daemon and command line.

The kernel drops the lock when its holder dies, however it dies, so there is nothing to clean up.  The file
holds the number of the run and the process id of the holder, for the sentence the second one gets.
"""

import fcntl
import json
import os
from pathlib import Path

from trimtab_agent.errors import HostError, RunConflict


class RunLock:
    """The host's run lock; raises RunConflict if somebody else holds it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise HostError(f"cannot open the run lock {path}: {error.strerror}") from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = self._read()
            os.close(self._descriptor)
            raise RunConflict(holder.get("run_id"), holder.get("pid")) from error
        self._write({"pid": os.getpid()})

    def name_run(self, run_id: int) -> None:
        """Writes the number of the run that holds the lock."""
        self._write({"pid": os.getpid(), "run_id": run_id})

    def release(self) -> None:
        """Lets the next run start."""
        self._write({})
        os.close(self._descriptor)

    def _read(self) -> dict[str, int]:
        text = os.pread(self._descriptor, 4096, 0)
        try:
            holder: dict[str, int] = json.loads(text)
        except ValueError:
            return {}  # the holder is writing it at this moment
        return holder

    def _write(self, holder: dict[str, int]) -> None:
        text = json.dumps(holder).encode()
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text, 0)
