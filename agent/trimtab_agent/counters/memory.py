"""/proc/meminfo: how much memory there is, and how much of it caches files."""

from pathlib import Path

from trimtab_agent.counters.source import Values

GAUGES = {
    "MemTotal": "total_bytes",
    "MemAvailable": "available_bytes",
    "Cached": "page_cache_bytes",
    "Dirty": "dirty_bytes",
    "SwapFree": "swap_free_bytes",
    "SwapTotal": "swap_total_bytes",
}


def parse(text: str) -> dict[str, int]:
    """The content of /proc/meminfo in bytes (the kernel's "kB" are KiB, filesystems/proc.rst §1.2)."""
    sizes: dict[str, int] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if len(words) == 2 and words[1] == "kB":
            sizes[name] = int(words[0]) * 1024
    return sizes


class MemorySource:
    """Gauges only: the later reading is the value."""

    name = "memory"

    def __init__(self, path: Path = Path("/proc/meminfo")) -> None:
        self._path = path

    def read(self) -> dict[str, int]:
        """Reads /proc/meminfo."""
        return parse(self._path.read_text())

    def values(self, earlier: dict[str, int], later: dict[str, int], interval_s: float) -> Values:
        """Bytes, as of the later reading."""
        del earlier, interval_s
        return {ours: later[kernel] for kernel, ours in GAUGES.items() if kernel in later}
