"""Under which conditions a workload meets the server: memory for the file set, warm or cold caches, the link.

MEMORY. The seeds' thesis ran one file set of 2.1 GB on a machine booted with 4, 1.4 and 0.75 GB of memory.
Here the server runs in a memory control group whose limit is the same multiple of the file set's size, so
that the same share of it fits into the page cache, whatever its size, without rebooting anything.

    unlimited     no limit
    in-memory     4 / 2.1 of the file set: everything fits, nothing is read from disk
    moderate-io   1.4 / 2.1: about two thirds fit
    heavy-io      0.75 / 2.1: about one third fits

START. `warm`: every file has been read once, by the server's own group, before the first rate, as after hours
of service. `cold`: no file is in the page cache, as after booting.

LINK. `loopback`, or a profile of links.py.
"""

from typing import Literal

from trimtab_tuner.frozen import Frozen
from trimtab_tuner.workloads.links import Link

Memory = Literal["unlimited", "in-memory", "moderate-io", "heavy-io"]
Start = Literal["warm", "cold"]

MEMORY_HELP: dict[Memory, str] = {
    "unlimited": "All the machine has.",
    "in-memory": "1.90 times the file set: everything fits, nothing is read from disk.",
    "moderate-io": "0.67 times the file set: about two thirds of it fit.",
    "heavy-io": "0.36 times the file set: about one third of it fits.",
}
START_HELP: dict[Start, str] = {
    "warm": "Every file has been read once before the first rate, as after hours of service.",
    "cold": "No file is in memory before the first rate, as after booting.",
}

THESIS_FILE_SET_GB = 2.1
THESIS_MEMORY_GB = {"in-memory": 4.0, "moderate-io": 1.4, "heavy-io": 0.75}

# What a server needs for itself, with a few dozen processes; below it, the kernel kills what it should
# measure.
LEAST_LIMIT_BYTES = 16 << 20


class Conditions(Frozen):
    """The `[conditions]` table of a definition."""

    memory: Memory = "unlimited"
    start: Start = "warm"
    link: Link = "loopback"


def memory_limit_bytes(memory: Memory, file_set_bytes: int) -> int | None:
    """The limit on the server's group for a file set of that size; None without a limit.

    Raises ValueError when the file set is too small for a limit that a server can live with.
    """
    if memory == "unlimited":
        return None
    ratio = THESIS_MEMORY_GB[memory] / THESIS_FILE_SET_GB
    limit = int(ratio * file_set_bytes)
    if limit < LEAST_LIMIT_BYTES:
        raise ValueError(
            f"memory = {memory!r}: {limit / 1e6:.1f} MB for a file set of {file_set_bytes / 1e6:.1f} MB "
            "is less than a server itself needs; expected a file set of at least "
            f"{LEAST_LIMIT_BYTES / ratio / 1e6:.0f} MB"
        )
    return limit
