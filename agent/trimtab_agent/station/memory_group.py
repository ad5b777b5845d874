"""A memory control group for the server, so that a file set exceeds its page cache without rebooting.

The kernel charges a page of a file to the group of the process that first reads it, and takes pages away from
the group that is over its limit (admin-guide/cgroup-v1/memory.rst; admin-guide/cgroup-v2.rst, "Memory").  So
the file set is put out of the page cache first, and then read by the server, or by a reader in its group.

Version 1 and version 2 differ in the names of their files, and in where a group may be made: in version 2
only beneath a group that hands the memory controller down and holds no processes itself, so that ours is made
beneath the nearest such ancestor of our own.
"""

import errno
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from trimtab_agent.counters.memory_group import GroupReading
from trimtab_agent.errors import HostError
from trimtab_agent.station.leftovers import Leftovers

KIND = "memory group"
CGROUP_ROOT = Path("/sys/fs/cgroup")
REMOVE_TRIES = 100
REMOVE_PAUSE_S = 0.02  # what a killed process takes to leave its group

# How a command gets into a group before it runs: `0` is the writer itself.
JOIN = ("sh", "-c", 'echo 0 > "$0" && exec "$@"')


@dataclass(frozen=True)
class Controller:
    """Where groups can be made, and what the files are called there."""

    parent: Path
    version: int

    @property
    def limit_file(self) -> str:
        """The hard limit on everything that is charged."""
        return "memory.limit_in_bytes" if self.version == 1 else "memory.max"

    @property
    def usage_file(self) -> str:
        """What is charged now, page cache included."""
        return "memory.usage_in_bytes" if self.version == 1 else "memory.current"


class MemoryGroup:
    """A group that is there; `limit_bytes` is what it may hold."""

    def __init__(self, directory: Path, controller: Controller, limit_bytes: int) -> None:
        self.directory = directory
        self.limit_bytes = limit_bytes
        self._controller = controller

    @property
    def join_command(self) -> tuple[str, ...]:
        """What goes before a command that shall run in the group from its first instruction."""
        return (*JOIN, str(self.directory / "cgroup.procs"))

    def read(self) -> GroupReading:
        """The counters now; raises OSError."""
        stat = _numbers((self.directory / "memory.stat").read_text())
        first = self._controller.version == 1
        kills = _numbers((self.directory / ("memory.oom_control" if first else "memory.events")).read_text())
        prefix = "total_" if first else ""
        # Before Linux 5.9 refaults had one counter: there were none but those of files.
        refaults = stat.get(f"{prefix}workingset_refault_file", stat.get(f"{prefix}workingset_refault"))
        return GroupReading(
            usage_bytes=int((self.directory / self._controller.usage_file).read_text()),
            limit_bytes=self.limit_bytes,
            file_bytes=stat.get("total_cache" if first else "file"),
            file_refaults=refaults,
            major_faults=stat.get(f"{prefix}pgmajfault"),
            out_of_memory_kills=kills.get("oom_kill"),
        )

    def out_of_memory_kills(self) -> int:
        """How many processes the kernel has killed here for want of memory; 0 if that cannot be read."""
        try:
            return self.read().out_of_memory_kills or 0
        except OSError:
            return 0


@contextmanager
def memory_group(name: str, limit_bytes: int, journal: Leftovers) -> Iterator[MemoryGroup]:
    """A group of that name with that limit, taken away at the end with all its processes.

    Raises HostError when groups cannot be made here.
    """
    controller = find_controller()
    directory = controller.parent / f"trimtab-{name}"
    try:
        remove(str(directory))
        journal.remember(KIND, str(directory))
        directory.mkdir()
        (directory / controller.limit_file).write_text(str(limit_bytes))
        _keep_from_swapping(directory, controller.version, limit_bytes)
    except OSError as error:
        with suppress(OSError):
            remove(str(directory))
            journal.forget(KIND, str(directory))
        raise HostError(_refusal(directory, error)) from error
    try:
        yield MemoryGroup(directory, controller, limit_bytes)
    finally:
        with suppress(OSError):  # it stays in the journal; the next start tries again
            remove(str(directory))
            journal.forget(KIND, str(directory))


def require_memory_groups(probe_name: str) -> None:
    """Raises HostError, with the reason, when no group can be made here."""
    directory = find_controller().parent / f"trimtab-probe-{probe_name}"
    try:
        directory.mkdir(exist_ok=True)
        directory.rmdir()
    except OSError as error:
        raise HostError(_refusal(directory, error)) from error


def remove(directory_name: str) -> None:
    """Takes a group away, killing what is in it; does nothing if it is gone. Raises OSError."""
    directory = Path(directory_name)
    for _ in range(REMOVE_TRIES):
        try:
            directory.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            _kill_members(directory)
            time.sleep(REMOVE_PAUSE_S)
        else:
            return
    raise OSError(errno.EBUSY, "processes in it cannot be killed", directory_name)


def find_controller(proc: Path = Path("/proc"), root: Path = CGROUP_ROOT) -> Controller:
    """Where memory groups can be made; raises HostError where there is no memory controller.

    Inside a container the path in /proc/self/cgroup may lie outside of what is mounted; then the mount's own
    root is the process's group.
    """
    unified: str | None = None
    for line in (proc / "self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            mount = next((m for m in (root / "memory", root / controllers) if m.is_dir()), None)
            if mount is not None:
                own = mount / path.lstrip("/")
                return Controller(own if own.is_dir() else mount, version=1)
        elif controllers == "":
            unified = path
    if unified is not None:
        own = root / unified.lstrip("/")
        for directory in (own, *own.parents) if own.is_dir() else (root,):
            if directory != root and root not in directory.parents:
                break
            with suppress(OSError):
                if "memory" in (directory / "cgroup.subtree_control").read_text().split():
                    return Controller(directory, version=2)
    raise HostError(
        "a memory limit needs the kernel's memory control groups, and none can be made here: "
        f"expected the memory controller under {root}"
    )


def _keep_from_swapping(directory: Path, version: int, limit_bytes: int) -> None:
    """A server that swaps would measure the swap; kernels without swap accounting have no such file."""
    with suppress(OSError):
        if version == 1:
            (directory / "memory.swappiness").write_text("0")
            (directory / "memory.memsw.limit_in_bytes").write_text(str(limit_bytes))
        else:
            (directory / "memory.swap.max").write_text("0")


def _kill_members(directory: Path) -> None:
    with suppress(OSError):
        for pid in (directory / "cgroup.procs").read_text().split():
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


def _refusal(directory: Path, error: OSError) -> str:
    return (
        f"a memory limit needs a control group, and {directory} cannot be made: {error.strerror}; "
        "run as root, or without a limit (memory = unlimited)"
    )


def _numbers(text: str) -> dict[str, int]:
    """Lines of a name and a number."""
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
