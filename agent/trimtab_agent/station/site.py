"""What the jobs of one workload find at a station: its files, the server's memory group, the clients' link.

All of it is made when the first job of a workload comes, and taken away when one with another workload does,
or when the station closes. After a kill -9 the journal of leftovers.py tells the next start what to take
away.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from trimtab_tuner.workloads.conditions import Conditions, memory_limit_bytes
from trimtab_tuner.workloads.links import LINKS

from trimtab_agent.errors import SpecError
from trimtab_agent.station import link, memory_group
from trimtab_agent.station.data_directory import DataDirectory
from trimtab_agent.station.file_set import FileSet
from trimtab_agent.station.leftovers import Leftovers
from trimtab_agent.station.link import MadeLink
from trimtab_agent.station.memory_group import MemoryGroup


@dataclass(frozen=True, kw_only=True)
class Site:
    """The files and what was made for the conditions.

    `data` is the data directory of a database, None for a workload of files. `memory` is None where the
    server may use all there is, `link` where the clients come over the loopback.
    """

    files: FileSet
    conditions: Conditions
    data: DataDirectory | None = None
    memory: MemoryGroup | None = None
    link: MadeLink | None = None

    @property
    def root(self) -> Path:
        """What the server serves: the document root, or the data that it gets a copy of."""
        return self.files.root if self.data is None else self.data.path

    def require(self) -> None:
        """Raises FileSetError if something of it is missing: then no configuration is to blame."""
        self.files.require()
        if self.data is not None:
            self.data.require()

    @property
    def reads_anew(self) -> bool:
        """Whether each start of the server finds the file set on disk only.

        With a memory limit its pages must be charged to the server's group, and so be read by it.
        """
        return self.conditions.start == "cold" or self.memory is not None

    @property
    def receiving_devices(self) -> tuple[str, ...]:
        """The network devices on which requests arrive."""
        return ("lo",) if self.link is None else self.link.receiving_devices

    def out_of_memory_kills(self) -> int:
        """How many processes the kernel has killed for want of memory so far: in the memory group, or on the
        whole machine where there is none.
        """
        return machine_kills() if self.memory is None else self.memory.out_of_memory_kills()

    def out_of_memory_remark(self, kills_before: int) -> str:
        """What to add to the reason of a crash when the kernel has killed since; empty if it has not."""
        kills = self.out_of_memory_kills() - kills_before
        if kills <= 0:
            return ""
        processes = "a process" if kills == 1 else f"{kills} processes"
        if self.memory is None:
            return f" (the kernel killed {processes} for want of memory meanwhile)"
        return (
            f" (the kernel killed {processes} at the memory limit of {self.memory.limit_bytes / 1e6:.0f} MB)"
        )


def machine_kills(vmstat: Path = Path("/proc/vmstat")) -> int:
    """How many processes the kernel of this machine has killed for want of memory since it was booted, those
    of every control group included; 0 where it does not count them (before Linux 4.13).
    """
    try:
        lines = vmstat.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


@contextmanager
def made_site(
    files: FileSet, data: DataDirectory | None, conditions: Conditions, leftovers: Path
) -> Iterator[Site]:
    """Makes what the conditions ask for; raises SpecError for a file set that is too small for the memory,
    HostError where the machine refuses.
    """
    try:
        limit_bytes = memory_limit_bytes(conditions.memory, files.total_bytes)
    except ValueError as error:
        raise SpecError("memory", str(error)) from error
    journal = Leftovers(leftovers)
    with ExitStack() as made:
        memory = client_link = None
        if limit_bytes is not None:
            memory = made.enter_context(memory_group.memory_group(str(os.getpid()), limit_bytes, journal))
        if conditions.link != "loopback":
            client_link = made.enter_context(link.made_link(LINKS[conditions.link], journal))
        yield Site(files=files, data=data, conditions=conditions, memory=memory, link=client_link)


def require_conditions(conditions: Conditions) -> None:
    """Raises HostError, with the reason, when this machine cannot make what the conditions ask for."""
    if conditions.memory != "unlimited":
        memory_group.require_memory_groups(str(os.getpid()))
    if conditions.link != "loopback":
        link.require_links()
