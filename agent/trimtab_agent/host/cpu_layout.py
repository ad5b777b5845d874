"""Which CPUs serve and which generate load, so that the two never take each other's time.

With two CPUs or more, the server gets the first half of the CPUs this process may use, the load generator and
the agent itself get the rest.  What the process may use is what sched_getaffinity(2) says (cpusets of a
container are already in it), cut down to the CPU quota of its cgroup: pinning to more CPUs than the quota
pays for would only lead to throttling.  The layout is recorded with the run, because results compare only
within one layout.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from trimtab_agent.host.priority import realtime_allowed


@dataclass(frozen=True)
class CpuLayout:
    """CPU numbers of the server and of the generator; the same ones where there is only a single CPU."""

    server: tuple[int, ...]
    generator: tuple[int, ...]

    @property
    def shared(self) -> bool:
        """Whether server and generator compete for a CPU."""
        return bool(set(self.server) & set(self.generator))

    @property
    def realtime_generator(self) -> bool:
        """Whether the generator gets real-time priority: never on a CPU that the server needs."""
        return not self.shared and realtime_allowed()

    def sentence(self) -> str:
        """The layout in words."""
        if self.shared:
            return f"server and generator share CPU {format_cpus(self.server)}"
        server, generator = format_cpus(self.server), format_cpus(self.generator)
        priority = " (real-time priority)" if self.realtime_generator else ""
        return f"server on CPU {server}, generator{priority} and agent on CPU {generator}"


def format_cpus(cpus: tuple[int, ...]) -> str:
    """CPU numbers as the kernel writes lists of them: `0-3,8`."""
    spans: list[list[int]] = []
    for cpu in sorted(cpus):
        if spans and cpu == spans[-1][1] + 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)


def divide_cpus(usable: tuple[int, ...]) -> CpuLayout:
    """The layout for these CPUs (at least one): first half to the server, rest to the generator."""
    cpus = tuple(sorted(usable))
    if len(cpus) == 1:
        return CpuLayout(server=cpus, generator=cpus)
    half = len(cpus) // 2
    return CpuLayout(server=cpus[:half], generator=cpus[half:])


def usable_cpus(process_mask: set[int], quota_cpus: float | None) -> tuple[int, ...]:
    """The allowed CPUs, cut down to as many as the quota keeps busy (at least one)."""
    cpus = tuple(sorted(process_mask))
    if quota_cpus is None:
        return cpus
    return cpus[: max(1, int(quota_cpus))]


def cgroup_quota_cpus(proc: Path = Path("/proc"), cgroup_root: Path = Path("/sys/fs/cgroup")) -> float | None:
    """The CPU quota of this process's cgroup in CPUs, the tightest one up the tree; None where there is none.

    Reads `cpu.max` of cgroup v2 and `cpu.cfs_quota_us` of v1 (kernel: admin-guide/cgroup-v2.rst,
    scheduler/sched-bwc.rst).  Inside a container the path in /proc/self/cgroup may lie outside of what is
    mounted; then the mount's own root is the process's cgroup.
    """
    quotas: list[float] = []
    for line in (proc / "self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            roots = [cgroup_root, cgroup_root / "unified"]
        elif "cpu" in controllers.split(","):
            roots = [cgroup_root / "cpu", cgroup_root / controllers]
        else:
            continue
        for root in roots:
            directory = root / path.lstrip("/")
            for level in (directory, *directory.parents):
                if level.is_relative_to(root):
                    quotas += _quota_of(level)
    return min(quotas, default=None)


def _quota_of(directory: Path) -> list[float]:
    """The quota set on one cgroup directory, in CPUs; empty where there is none."""
    try:
        quota, period = (directory / "cpu.max").read_text().split()
        return [] if quota == "max" else [int(quota) / int(period)]
    except OSError:
        pass
    try:
        quota_us = int((directory / "cpu.cfs_quota_us").read_text())
        period_us = int((directory / "cpu.cfs_period_us").read_text())
    except OSError:
        return []
    return [] if quota_us < 0 else [quota_us / period_us]


def process_layout() -> CpuLayout:
    """The layout for the CPUs that this process may use."""
    return divide_cpus(usable_cpus(os.sched_getaffinity(0), cgroup_quota_cpus()))


def pin_this_process(cpus: tuple[int, ...]) -> None:
    """Moves every thread of this process to `cpus`; threads and children made later inherit it."""
    for task in Path("/proc/self/task").iterdir():
        try:
            os.sched_setaffinity(int(task.name), cpus)
        except ProcessLookupError:
            continue  # the thread has ended meanwhile
