"""/proc/pressure: the share of time in which tasks waited for CPU, disk or memory (accounting/psi.rst).

Taken from the running totals (microseconds), so that it is exact for the interval between two readings.
"""

from pathlib import Path

from trimtab_agent.counters.source import Values

RESOURCES = ("cpu", "io", "memory")


def parse(text: str) -> dict[str, int]:
    """`some … total=N` and `full … total=N` as {"some": N, "full": N}, in microseconds."""
    totals: dict[str, int] = {}
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        totals[kind] = int(rest.rpartition("total=")[2])
    return totals


class PressureSource:
    """Percent of the time in which some, or all, tasks that had work were waiting."""

    name = "pressure"

    def __init__(self, directory: Path = Path("/proc/pressure")) -> None:
        self._directory = directory

    def read(self) -> dict[str, int]:
        """Reads the three files; keys such as `io_some`."""
        totals: dict[str, int] = {}
        for resource in RESOURCES:
            for kind, total_us in parse((self._directory / resource).read_text()).items():
                totals[f"{resource}_{kind}"] = total_us
        return totals

    def values(self, earlier: dict[str, int], later: dict[str, int], interval_s: float) -> Values:
        """Percent per resource and kind, such as `io_some`."""
        return {
            name: round((total_us - earlier[name]) / (interval_s * 10_000), 2)
            for name, total_us in later.items()
            if name in earlier
        }
