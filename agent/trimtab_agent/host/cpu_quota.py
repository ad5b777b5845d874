"""How much CPU time this process may use: what is online, its cpuset, the quota of its control group.

The three are told apart, because each is lifted elsewhere. A cpuset (or taskset) takes whole CPUs away, and
sched_getaffinity(2) says which are left; those to which Trimtab keeps itself are no limit (own_cpus.py). A
quota leaves all of them and stops every process of the group once their time in a period (most often 100 ms)
is used up: a CPU that is not there looks otherwise.

    cpu.max                                of cgroup v2: `50000 100000`, or `max 100000`
    cpu.cfs_quota_us, cpu.cfs_period_us    of cgroup v1: -1 is none
    cpu.stat                               of either: periods, and in how many the quota was used up

(kernel: admin-guide/cgroup-v2.rst, scheduler/sched-bwc.rst). A group's quota holds for all below it. Inside a
container the path in /proc/self/cgroup may lie outside of what is mounted; then the mount's own root is the
process's group.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trimtab_agent.host.own_cpus import given_cpus
from trimtab_agent.host.topology import read_cpus

PROC = Path("/proc")
CGROUP_ROOT = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Quota:
    """The quota of the group at `directory`, in CPUs."""

    cpus: float
    directory: Path

    @property
    def file(self) -> Path:
        """Where it is set."""
        second = self.directory / "cpu.max"
        return second if second.exists() else self.directory / "cpu.cfs_quota_us"


@dataclass(frozen=True)
class CpuAllowance:
    """The CPUs that are online, those of them that this process may run on, and its quota, None without."""

    online: tuple[int, ...]
    allowed: tuple[int, ...]
    quota: Quota | None

    @property
    def limit(self) -> str:
        """What takes CPUs away, in words; empty where nothing does."""
        said = []
        if len(self.allowed) < len(self.online):
            said.append(
                f"this process may run on {len(self.allowed)} of {len(self.online)} CPUs (cpuset, taskset)"
            )
        if self.quota is not None and self.quota.cpus < len(self.allowed):
            pays = f"the quota of its control group pays for {in_cpus(self.quota.cpus)}"
            of = "" if said else f" of {len(self.online)}"
            said.append(f"{pays}{of} ({self.quota.file})")
        return ", and ".join(said)


def in_cpus(quota: float) -> str:
    """`1 CPU`, `0.5 CPUs`."""
    return f"{quota:.3g} CPU{'s' * (quota != 1)}"


def cpu_allowance(proc: Path = PROC, cgroup_root: Path = CGROUP_ROOT) -> CpuAllowance:
    """What this process may use now."""
    allowed = given_cpus()
    online = tuple(sorted({cpu.cpu for cpu in read_cpus()} | {*allowed}))
    return CpuAllowance(online, allowed, tightest_quota(proc, cgroup_root))


def tightest_quota(proc: Path = PROC, cgroup_root: Path = CGROUP_ROOT) -> Quota | None:
    """The quota that this process meets first, of its own control group or of one above; None without any."""
    found = [
        Quota(cpus, directory)
        for directory in _groups(proc, cgroup_root)
        if (cpus := _quota_of(directory)) is not None
    ]
    return min(found, key=lambda quota: quota.cpus, default=None)


def _groups(proc: Path, cgroup_root: Path) -> Iterator[Path]:
    """The groups of this process that may have a quota, each with those above it."""
    try:
        lines = (proc / "self/cgroup").read_text().splitlines()
    except OSError:  # a kernel without control groups
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            roots = [cgroup_root, cgroup_root / "unified"]
        elif "cpu" in controllers.split(","):
            roots = [cgroup_root / "cpu", cgroup_root / controllers]
        else:
            continue
        for root in roots:
            directory = root / path.lstrip("/")
            yield from (each for each in (directory, *directory.parents) if each.is_relative_to(root))


def _quota_of(directory: Path) -> float | None:
    """The quota set on one group, in CPUs; None where there is none, or a file that says something else."""
    try:
        quota, period = (directory / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            quota = (directory / "cpu.cfs_quota_us").read_text().strip()
            period = (directory / "cpu.cfs_period_us").read_text().strip()
        except OSError:
            return None
    try:
        quota_us, period_us = int(quota), int(period)
    except ValueError:  # max
        return None
    return quota_us / period_us if quota_us > 0 and period_us > 0 else None
