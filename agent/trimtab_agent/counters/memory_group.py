"""The server's memory control group, while it has one: what it holds, and what is read back too soon."""

from collections.abc import Callable
from dataclasses import dataclass

from trimtab_agent.counters.source import Values


@dataclass(frozen=True)
class GroupReading:
    """Counters of a group; None where the kernel does not count it.

    Refaults are file pages that were read back after they had been taken away.
    """

    usage_bytes: int
    limit_bytes: int
    file_bytes: int | None
    file_refaults: int | None
    major_faults: int | None
    out_of_memory_kills: int | None


# Reads the counters of a group that is there; raises OSError.
ReadGroup = Callable[[], GroupReading]


class MemoryGroupSource:
    """The group last given to `watch`."""

    name = "memory_group"

    def __init__(self) -> None:
        self._read_group: ReadGroup | None = None

    def watch(self, read_group: ReadGroup | None) -> None:
        """From now on reads this group; none when None."""
        self._read_group = read_group

    def read(self) -> GroupReading | None:
        """Its counters; None without a group."""
        read_group = self._read_group
        return None if read_group is None else read_group()

    def values(self, earlier: GroupReading, later: GroupReading, interval_s: float) -> Values:
        """What it holds, and refaults and major faults per second; without what the kernel does not count."""
        counted: dict[str, float | None] = {
            "usage_bytes": later.usage_bytes,
            "limit_bytes": later.limit_bytes,
            "file_bytes": later.file_bytes,
            "file_refaults_per_s": _rate(earlier.file_refaults, later.file_refaults, interval_s),
            "major_faults_per_s": _rate(earlier.major_faults, later.major_faults, interval_s),
            "out_of_memory_kills": _rate(earlier.out_of_memory_kills, later.out_of_memory_kills, 1),
        }
        return {name: value for name, value in counted.items() if value is not None}


def _rate(earlier: int | None, later: int | None, interval_s: float) -> float | None:
    return None if earlier is None or later is None else round((later - earlier) / interval_s, 2)
