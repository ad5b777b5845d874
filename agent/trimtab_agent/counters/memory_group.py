"""The server's memory control group, while it has one: what it holds, and what is read back too soon."""

from trimtab_agent.counters.source import Values
from trimtab_agent.memory_group import GroupReading, MemoryGroup


class MemoryGroupSource:
    """The group last given to `watch`."""

    name = "memory_group"

    def __init__(self) -> None:
        self._group: MemoryGroup | None = None

    def watch(self, group: MemoryGroup | None) -> None:
        """From now on reads this group; none when None."""
        self._group = group

    def read(self) -> GroupReading | None:
        """Its counters; None without a group."""
        group = self._group
        return None if group is None else group.read()

    def values(self, earlier: GroupReading, later: GroupReading, interval_s: float) -> Values:
        """What it holds, and refaults and major faults per second."""
        return {
            "usage_bytes": later.usage_bytes,
            "limit_bytes": later.limit_bytes,
            "file_bytes": later.file_bytes,
            "file_refaults_per_s": round((later.file_refaults - earlier.file_refaults) / interval_s, 2),
            "major_faults_per_s": round((later.major_faults - earlier.major_faults) / interval_s, 2),
            "out_of_memory_kills": later.out_of_memory_kills - earlier.out_of_memory_kills,
        }
