"""How often the CPU quota of this process's control group was used up, and for how long tasks then waited.

From `cpu.stat` of the group that has the quota: `nr_periods` in which something wanted to run, `nr_throttled`
of them in which the time was used up before the end, and the time that its CPUs then stood still, in
microseconds in cgroup v2 (`throttled_usec`) and nanoseconds in v1 (`throttled_time`). Without a quota there
is nothing to read. A throttled group looks like a slow machine: neither idle time nor `steal` shows it.
"""

from dataclasses import dataclass
from pathlib import Path

from trimtab_agent.counters.source import Values
from trimtab_agent.host.cpu_quota import CGROUP_ROOT, PROC, tightest_quota


@dataclass(frozen=True)
class QuotaReading:
    """The quota of the group at `directory` in CPUs, and its counters so far."""

    directory: Path
    cpus: float
    periods: int
    throttled: int
    throttled_us: float


class CpuQuotaSource:
    """The tightest quota of this process's groups."""

    name = "cpu_quota"

    def __init__(self, proc: Path = PROC, cgroup_root: Path = CGROUP_ROOT) -> None:
        self._proc = proc
        self._cgroup_root = cgroup_root

    def read(self) -> QuotaReading | None:
        """Its counters; None without a quota."""
        quota = tightest_quota(self._proc, self._cgroup_root)
        if quota is None:
            return None
        stat = dict(line.split(" ", 1) for line in (quota.directory / "cpu.stat").read_text().splitlines())
        second = stat.get("throttled_usec")
        return QuotaReading(
            directory=quota.directory,
            cpus=quota.cpus,
            periods=int(stat["nr_periods"]),
            throttled=int(stat["nr_throttled"]),
            throttled_us=float(second) if second is not None else int(stat["throttled_time"]) / 1e3,
        )

    def values(self, earlier: QuotaReading, later: QuotaReading, interval_s: float) -> Values:
        """The quota; of the periods in which something ran, the percentage in which it was used up; and for
        how long CPUs stood still then, in percent of one CPU. Another group's counters are not compared.
        """
        values: Values = {"cpus": round(later.cpus, 3)}
        if later.directory != earlier.directory:
            return values
        periods = later.periods - earlier.periods
        throttled = later.throttled - earlier.throttled
        waited_us = later.throttled_us - earlier.throttled_us
        return values | {
            "throttled_percent": round(100 * throttled / periods, 2) if periods > 0 else 0.0,
            "throttled_cpu": round(waited_us / (interval_s * 10_000), 2),
        }
