"""/proc/vmstat: blocks in and out, swapping, faults that had to read a disk, pages read back too soon.

pgpgin and pgpgout count KiB, the other counters pages (mm/vmstat.c names them). Before Linux 5.9 refaults of
files were `workingset_refault`: there were no others.
"""

from pathlib import Path

from trimtab_agent.counters.source import Values, per_second

COUNTERS = {
    "pgpgin": "read_kib_per_s",
    "pgpgout": "written_kib_per_s",
    "pswpin": "swapped_in_pages_per_s",
    "pswpout": "swapped_out_pages_per_s",
    "pgmajfault": "major_faults_per_s",
    "workingset_refault_file": "file_refaults_per_s",
}
RENAMED = {"workingset_refault": "workingset_refault_file"}


def parse(text: str) -> dict[str, float]:
    """The counters of COUNTERS in the content of /proc/vmstat."""
    pairs = (line.split(" ") for line in text.splitlines())
    named = ((RENAMED.get(name, name), value) for name, value in pairs)
    return {name: float(value) for name, value in named if name in COUNTERS}


class PagingSource:
    """Rates per second."""

    name = "paging"

    def __init__(self, path: Path = Path("/proc/vmstat")) -> None:
        self._path = path

    def read(self) -> dict[str, float]:
        """Reads /proc/vmstat."""
        return parse(self._path.read_text())

    def values(self, earlier: dict[str, float], later: dict[str, float], interval_s: float) -> Values:
        """What passed, per second."""
        return per_second(earlier, later, interval_s, COUNTERS)
