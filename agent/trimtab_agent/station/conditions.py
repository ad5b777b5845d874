"""What a run makes in the operating system before its trials: the server's memory group, the clients' link.

Both are made when the run begins and taken away when the run ends, however it ends; after a kill -9 the
journal of leftovers.py tells the next start what to take away.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from trimtab_tuner.workloads.conditions import Conditions, memory_limit_bytes
from trimtab_tuner.workloads.links import LINKS

from trimtab_agent.errors import RunConflict
from trimtab_agent.host.lock import RunLock
from trimtab_agent.paths import VarPaths
from trimtab_agent.station import link, memory_group, short_directory
from trimtab_agent.station.leftovers import Leftovers
from trimtab_agent.station.link import MadeLink
from trimtab_agent.station.memory_group import MemoryGroup

log = logging.getLogger(__name__)

REMOVERS = {
    memory_group.KIND: memory_group.remove,
    link.KIND: link.remove,
    short_directory.KIND: short_directory.remove,
}


@dataclass(frozen=True)
class Surroundings:
    """What the trials of a run find.

    `memory` is None where the server may use all there is, `link` where the clients come over the loopback.
    """

    memory: MemoryGroup | None = None
    link: MadeLink | None = None

    def out_of_memory_kills(self) -> int:
        """How many processes the kernel has killed in the memory group so far."""
        return 0 if self.memory is None else self.memory.out_of_memory_kills()

    def out_of_memory_remark(self, kills_before: int) -> str:
        """What to add to the reason of a crash when the kernel has killed since; empty if it has not."""
        kills = self.out_of_memory_kills() - kills_before
        if self.memory is None or kills <= 0:
            return ""
        processes = "a process" if kills == 1 else f"{kills} processes"
        return (
            f" (the kernel killed {processes} at the memory limit of {self.memory.limit_bytes / 1e6:.0f} MB)"
        )


@contextmanager
def surroundings(conditions: Conditions, file_set_bytes: int, paths: VarPaths) -> Iterator[Surroundings]:
    """Makes what the conditions ask for; raises HostError where the machine refuses."""
    limit_bytes = memory_limit_bytes(conditions.memory, file_set_bytes)
    journal = Leftovers(paths.leftovers)
    with ExitStack() as made:
        memory = client_link = None
        if limit_bytes is not None:
            memory = made.enter_context(memory_group.memory_group(str(os.getpid()), limit_bytes, journal))
        if conditions.link != "loopback":
            client_link = made.enter_context(link.made_link(LINKS[conditions.link], journal))
        yield Surroundings(memory=memory, link=client_link)


def require_surroundings(conditions: Conditions) -> None:
    """Raises HostError, with the reason, when this machine cannot make what the conditions ask for."""
    if conditions.memory != "unlimited":
        memory_group.require_memory_groups(str(os.getpid()))
    if conditions.link != "loopback":
        link.require_links()


def clear_leftovers(paths: VarPaths) -> None:
    """Takes away what killed runs have left; to be called by whoever holds the run lock."""
    for complaint in Leftovers(paths.leftovers).clear(REMOVERS):
        log.warning("%s", complaint)


def clear_leftovers_of_dead_runs(paths: VarPaths) -> None:
    """The same, for a start that begins no run; does nothing while a run goes on."""
    if not paths.leftovers.exists():
        return
    try:
        lock = RunLock(paths.lock)
    except RunConflict:
        return
    try:
        clear_leftovers(paths)
    finally:
        lock.release()
