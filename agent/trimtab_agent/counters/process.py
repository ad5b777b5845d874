"""/proc/PID/stat, status and io of the server's processes: CPU, memory, faults, context switches, what they
write to disks.

Kernel: filesystems/proc.rst §1.1, tables 1-2 and 1-4, and §3.3.

The memory of a server is its proportional set size: a page that n processes share counts 1/n in each, and so
once in their sum. In resident memory it would count n times, which makes servers of many processes look
larger than they are. The kernel walks all pages of a process to tell it (/proc/PID/smaps_rollup), so it is
read when it is asked for and not once a second.

The ticks of /proc/PID/stat are 10 ms long and rounded down. Of a pool of some hundred processes each uses
less than that in a second: ticks tell of none of it, and the work of the pool seems that of others. So the
clock counts that each process has of its CPU time, in nanoseconds; ticks tell what of it was in which mode.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from trimtab_agent.counters.source import Values

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
NS_PER_S = 1_000_000_000
SCHEDULED = 2  # the kernel's CPUCLOCK_SCHED (include/linux/posix-timers.h)
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
BUSY_PERCENT = 1.0  # a master that only watches its workers uses less
WRITTEN = re.compile(r"^write_bytes: (\d+)$", re.MULTILINE)
PROPORTIONAL_KIB = re.compile(r"^Pss:\s*(\d+) kB$", re.MULTILINE)


@dataclass(frozen=True)
class ProcessReading:
    """Ticks in user and kernel mode, page faults so far, resident bytes, and what the scheduler did.

    The ticks of children are those of all that have ended and that the process has waited for. `last_cpu` is
    where it ran last; `waited` and `preempted` are voluntary and involuntary context switches.
    `written_bytes` are those of pages of files on disks that it has made dirty; `cpu_ns` is the time on a
    CPU, more exactly than in ticks. None where that is not told.
    """

    user_ticks: int
    system_ticks: int
    children_user_ticks: int
    children_system_ticks: int
    minor_faults: int
    major_faults: int
    resident_bytes: int
    last_cpu: int | None
    waited: int | None
    preempted: int | None
    written_bytes: int | None = None
    cpu_ns: int | None = None

    @property
    def ticks(self) -> int:
        """Ticks on a CPU, in either mode."""
        return self.user_ticks + self.system_ticks

    @property
    def used_s(self) -> float:
        """Seconds on a CPU, as exactly as they are told."""
        return self.ticks / TICKS_PER_S if self.cpu_ns is None else self.cpu_ns / NS_PER_S

    @property
    def children_s(self) -> float:
        """Seconds on a CPU of the children that have ended."""
        return (self.children_user_ticks + self.children_system_ticks) / TICKS_PER_S


def told_cpu_ns(pid: int) -> int | None:
    """The CPU time of a process; None where it is gone, or the kernel has no such clock."""
    try:
        return cpu_time_ns(pid)
    except OSError:
        return None


def cpu_time_ns(pid: int) -> int:
    """The CPU time of a process in nanoseconds, of all its threads, those included that have ended.

    Anybody may read it (clock_getcpuclockid(3); Python only names the clocks of threads). Raises OSError when
    the process is gone.
    """
    return time.clock_gettime_ns(~pid << 3 | SCHEDULED)


def parse(stat: str, status: str = "", io: str = "", cpu_ns: int | None = None) -> ProcessReading:
    """The contents of /proc/PID/stat, status and io; the name may itself hold spaces and parentheses."""
    written = WRITTEN.search(io)
    columns = stat.rpartition(")")[2].split()  # from column 3, the state, on
    switches = dict(re.findall(r"^((?:non)?voluntary)_ctxt_switches:\s*(\d+)$", status, re.MULTILINE))
    return ProcessReading(
        user_ticks=int(columns[11]),
        system_ticks=int(columns[12]),
        children_user_ticks=int(columns[13]),
        children_system_ticks=int(columns[14]),
        minor_faults=int(columns[7]),
        major_faults=int(columns[9]),
        resident_bytes=int(columns[21]) * PAGE_BYTES,
        last_cpu=int(columns[36]) if len(columns) > 36 else None,
        waited=int(switches["voluntary"]) if "voluntary" in switches else None,
        preempted=int(switches["nonvoluntary"]) if "nonvoluntary" in switches else None,
        written_bytes=None if written is None else int(written[1]),
        cpu_ns=cpu_ns,
    )


def proportional_bytes(pid: int, proc: Path = Path("/proc")) -> int | None:
    """The proportional set size of a process; 0 for one that ends, None where it cannot be read."""
    try:
        rollup = (proc / str(pid) / "smaps_rollup").read_text()
    except ProcessLookupError:
        return 0
    except OSError:
        return None
    found = PROPORTIONAL_KIB.search(rollup)
    return int(found[1]) * 1024 if found is not None else 0


def _io_of(directory: Path) -> str:
    """What only the process's user and root may read, where the kernel counts it; else empty."""
    try:
        return (directory / "io").read_text()
    except (PermissionError, FileNotFoundError):
        return ""


class ProcessSource:
    """The processes last given to `watch`, and all that they have started since; the ended ones drop out."""

    name = "server_processes"

    def __init__(self, proc: Path = Path("/proc"), cpu_ns: Callable[[int], int | None] = told_cpu_ns) -> None:
        self._proc = proc
        self._cpu_ns = cpu_ns
        self._pids: tuple[int, ...] = ()

    def watch(self, pids: tuple[int, ...]) -> None:
        """From now on reads these processes; none of them when empty."""
        self._pids = pids

    def read(self) -> dict[int, ProcessReading] | None:
        """One reading per process that still lives; None when there is none."""
        readings: dict[int, ProcessReading] = {}
        for pid in self._living():
            try:
                directory = self._proc / str(pid)
                stat, status = (directory / "stat").read_text(), (directory / "status").read_text()
                readings[pid] = parse(stat, status, _io_of(directory), self._cpu_ns(pid))
            except (FileNotFoundError, ProcessLookupError):
                continue
        return readings or None

    def memory_bytes(self) -> int | None:
        """The proportional set size of all processes together; None where it cannot be read of each.

        It may take milliseconds for each process, the more the larger it is.
        """
        sizes_bytes: list[int] = []
        for pid in self._living():
            size_bytes = proportional_bytes(pid, self._proc)
            if size_bytes is not None:
                sizes_bytes.append(size_bytes)
            elif (self._proc / str(pid)).exists():
                return None
        return sum(sizes_bytes) or None

    def _living(self) -> Iterator[int]:
        """The watched processes and all below them, each once; some may have ended already."""
        pending = list(reversed(self._pids))
        seen: set[int] = set()
        while pending:
            pid = pending.pop()
            if pid not in seen:
                seen.add(pid)
                yield pid
                pending += self._children_of(pid)

    def _children_of(self, pid: int) -> list[int]:
        """What its main thread has started; nothing where the kernel was built without telling it."""
        try:
            return [int(child) for child in (self._proc / f"{pid}/task/{pid}/children").read_text().split()]
        except OSError:
            return []

    def values(
        self,
        earlier: dict[int, ProcessReading],
        later: dict[int, ProcessReading],
        interval_s: float,
    ) -> Values:
        """Sums over the processes: CPU in percent of one CPU, resident bytes, faults and switches per second.

        `busy` is how many of them worked, and `moved` how many of those last ran on another CPU than before.
        What the kernel does not tell is left out.
        """
        pairs = [(earlier[pid], reading) for pid, reading in later.items() if pid in earlier]

        def told(name: str) -> bool:
            return all(getattr(each, name) is not None for pair in pairs for each in pair)

        def rate(name: str) -> float:
            passed = sum(int(getattr(b, name)) - int(getattr(a, name)) for a, b in pairs)
            return round(passed / interval_s, 2)

        user, system = _cpu_percent(pairs, earlier, later, interval_s)
        values: Values = {
            "processes": len(later),
            "user": user,
            "system": system,
            "resident_bytes": sum(reading.resident_bytes for reading in later.values()),
            "minor_faults_per_s": rate("minor_faults"),
            "major_faults_per_s": rate("major_faults"),
        }
        optional = ("waited", "preempted", "written_bytes")
        values |= {f"{name}_per_s": rate(name) for name in optional if told(name)}
        if told("last_cpu"):
            busy = [(a, b) for a, b in pairs if b.used_s - a.used_s >= BUSY_PERCENT / 100 * interval_s]
            values["busy"] = len(busy)
            values["moved"] = sum(a.last_cpu != b.last_cpu for a, b in busy)
        return values


def _cpu_percent(
    pairs: list[tuple[ProcessReading, ProcessReading]],
    earlier: dict[int, ProcessReading],
    later: dict[int, ProcessReading],
    interval_s: float,
) -> tuple[float, float]:
    """The time on a CPU in user and in kernel mode, in percent of one CPU, of all processes together."""

    def passed(own: Callable[[ProcessReading], float], children: Callable[[ProcessReading], float]) -> float:
        """Of those there are, and of those that ended meanwhile: what a process has used goes to its parent
        when that waits for it, so nothing is lost between two sums over all.
        """

        def used(reading: ProcessReading) -> float:
            return own(reading) + children(reading)

        lived = sum(own(b) - own(a) for a, b in pairs)
        if not pairs:
            return lived
        return max(lived, sum(map(used, later.values())) - sum(map(used, earlier.values())))

    user = passed(lambda each: each.user_ticks, lambda each: each.children_user_ticks)
    system = passed(lambda each: each.system_ticks, lambda each: each.children_system_ticks)
    if not user + system:  # less than a tick each: as it has been in their lives so far
        user = sum(each.user_ticks for each in later.values())
        system = sum(each.system_ticks for each in later.values())
    share = user / (user + system) if user + system else 0.0
    percent = 100 * passed(lambda each: each.used_s, lambda each: each.children_s) / interval_s
    return round(share * percent, 2), round((1 - share) * percent, 2)
