"""/proc/PID/stat of the server's processes: CPU, memory, faults.

Kernel: filesystems/proc.rst §1.1, table 1-4.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from trimtab_agent.counters.source import Values

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class ProcessReading:
    """Ticks in user and kernel mode, page faults so far, resident bytes."""

    user_ticks: int
    system_ticks: int
    minor_faults: int
    major_faults: int
    resident_bytes: int


def parse(text: str) -> ProcessReading:
    """The content of /proc/PID/stat; the name in parentheses may itself hold spaces and parentheses."""
    columns = text.rpartition(")")[2].split()  # from column 3, the state, on
    return ProcessReading(
        user_ticks=int(columns[11]),
        system_ticks=int(columns[12]),
        minor_faults=int(columns[7]),
        major_faults=int(columns[9]),
        resident_bytes=int(columns[21]) * PAGE_BYTES,
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
                readings[pid] = parse((self._proc / str(pid) / "stat").read_text())
            except (FileNotFoundError, ProcessLookupError):
                continue
        return readings or None

    def values(
        self,
        earlier: dict[int, ProcessReading],
        later: dict[int, ProcessReading],
        interval_s: float,
    ) -> Values:
        """Sums over the processes: CPU in percent of one CPU, resident bytes, faults per second."""
        pairs = [(earlier[pid], reading) for pid, reading in later.items() if pid in earlier]
        user = sum(b.user_ticks - a.user_ticks for a, b in pairs)
        system = sum(b.system_ticks - a.system_ticks for a, b in pairs)
        return {
            "processes": len(later),
            "user": round(100 * user / TICKS_PER_S / interval_s, 2),
            "system": round(100 * system / TICKS_PER_S / interval_s, 2),
            "resident_bytes": sum(reading.resident_bytes for reading in later.values()),
            "minor_faults_per_s": round(
                sum(b.minor_faults - a.minor_faults for a, b in pairs) / interval_s, 2
            ),
            "major_faults_per_s": round(
                sum(b.major_faults - a.major_faults for a, b in pairs) / interval_s, 2
            ),
        }
