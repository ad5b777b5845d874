"""/proc/PID/stat and status of the server's processes: CPU, memory, faults, context switches.

Kernel: filesystems/proc.rst §1.1, tables 1-2 and 1-4.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from trimtab_agent.counters.source import Values

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
BUSY_PERCENT = 1.0  # a master that only watches its workers uses less


@dataclass(frozen=True)
class ProcessReading:
    """Ticks in user and kernel mode, page faults so far, resident bytes, and what the scheduler did.

    `last_cpu` is where it ran last; `waited` and `preempted` are voluntary and involuntary context switches.
    None where the text does not say.
    """

    user_ticks: int
    system_ticks: int
    minor_faults: int
    major_faults: int
    resident_bytes: int
    last_cpu: int | None
    waited: int | None
    preempted: int | None

    @property
    def ticks(self) -> int:
        """Ticks on a CPU, in either mode."""
        return self.user_ticks + self.system_ticks


def parse(stat: str, status: str = "") -> ProcessReading:
    """The contents of /proc/PID/stat and status; the name may itself hold spaces and parentheses."""
    columns = stat.rpartition(")")[2].split()  # from column 3, the state, on
    switches = dict(re.findall(r"^((?:non)?voluntary)_ctxt_switches:\s*(\d+)$", status, re.MULTILINE))
    return ProcessReading(
        user_ticks=int(columns[11]),
        system_ticks=int(columns[12]),
        minor_faults=int(columns[7]),
        major_faults=int(columns[9]),
        resident_bytes=int(columns[21]) * PAGE_BYTES,
        last_cpu=int(columns[36]) if len(columns) > 36 else None,
        waited=int(switches["voluntary"]) if "voluntary" in switches else None,
        preempted=int(switches["nonvoluntary"]) if "nonvoluntary" in switches else None,
    )


class ProcessSource:
    """The processes last given to `watch`; those that have ended since drop out."""

    name = "server_processes"

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._pids: tuple[int, ...] = ()

    def watch(self, pids: tuple[int, ...]) -> None:
        """From now on reads these processes; none of them when empty."""
        self._pids = pids

    def read(self) -> dict[int, ProcessReading] | None:
        """One reading per process that still lives; None when there is none."""
        readings: dict[int, ProcessReading] = {}
        for pid in self._pids:
            try:
                directory = self._proc / str(pid)
                readings[pid] = parse((directory / "stat").read_text(), (directory / "status").read_text())
            except (FileNotFoundError, ProcessLookupError):
                continue
        return readings or None

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

        user = sum(b.user_ticks - a.user_ticks for a, b in pairs)
        system = sum(b.system_ticks - a.system_ticks for a, b in pairs)
        values: Values = {
            "processes": len(later),
            "user": round(100 * user / TICKS_PER_S / interval_s, 2),
            "system": round(100 * system / TICKS_PER_S / interval_s, 2),
            "resident_bytes": sum(reading.resident_bytes for reading in later.values()),
            "minor_faults_per_s": rate("minor_faults"),
            "major_faults_per_s": rate("major_faults"),
        }
        values |= {f"{name}_per_s": rate(name) for name in ("waited", "preempted") if told(name)}
        if told("last_cpu"):
            least = BUSY_PERCENT / 100 * TICKS_PER_S * interval_s
            busy = [(a, b) for a, b in pairs if b.ticks - a.ticks >= least]
            values["busy"] = len(busy)
            values["moved"] = sum(a.last_cpu != b.last_cpu for a, b in busy)
        return values
