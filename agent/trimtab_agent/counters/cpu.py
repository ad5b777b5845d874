"""/proc/stat: where each CPU's time goes (as mpstat shows it), interrupts, switches, the run queue.

Kernel: filesystems/proc.rst §1.7.  The columns are in ticks; guest time is contained in user time already.
"""

from dataclasses import dataclass
from pathlib import Path

from trimtab_agent.counters.source import Values, per_second

# In the order of the columns.
STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
COUNTERS = {"ctxt": "context_switches_per_s", "intr": "interrupts_per_s", "processes": "forks_per_s"}


@dataclass(frozen=True)
class CpuReading:
    """Ticks per state, of all CPUs together under -1 and of each CPU by number; and the single counters."""

    ticks: dict[int, tuple[int, ...]]
    counters: dict[str, float]


def parse(text: str) -> CpuReading:
    """The content of /proc/stat as numbers."""
    ticks: dict[int, tuple[int, ...]] = {}
    counters: dict[str, float] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name.startswith("cpu"):
            number = int(name[3:]) if len(name) > 3 else -1
            ticks[number] = tuple(int(column) for column in rest.split()[: len(STATES)])
        else:
            counters[name] = float(rest.split(" ", 1)[0])
    return CpuReading(ticks, counters)


class CpuSource:
    """Percentages per CPU and in total, counters of /proc/stat per second, and the run queue."""

    name = "cpu"

    def __init__(self, path: Path = Path("/proc/stat")) -> None:
        self._path = path

    def read(self) -> CpuReading:
        """Reads /proc/stat."""
        return parse(self._path.read_text())

    def values(self, earlier: CpuReading, later: CpuReading, interval_s: float) -> Values:
        """`total` and `cpus` in percent; `run_queue` and `blocked` as of the later reading."""
        return {
            "total": percentages(earlier.ticks[-1], later.ticks[-1]),
            "cpus": [
                {"cpu": number, **percentages(earlier.ticks[number], ticks)}
                for number, ticks in later.ticks.items()
                if number >= 0 and number in earlier.ticks
            ],
            "run_queue": int(later.counters["procs_running"]),
            "blocked": int(later.counters["procs_blocked"]),
            **per_second(earlier.counters, later.counters, interval_s, COUNTERS),
        }


def percentages(earlier: tuple[int, ...], later: tuple[int, ...]) -> Values:
    """The share of each state in the ticks that passed; empty if none did.

    Idle and iowait may run backwards by a tick (proc.rst says so of iowait), which counts as nothing.
    """
    passed = [max(0, after - before) for before, after in zip(earlier, later, strict=True)]
    total = sum(passed)
    if total == 0:
        return {}
    return {state: round(100 * ticks / total, 2) for state, ticks in zip(STATES, passed, strict=True)}
