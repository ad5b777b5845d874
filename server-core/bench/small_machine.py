"""The smaller machine on which the server of the behaviours runs: part of a CPU, and where memory is scarce a
disk of the thesis' time.

A generator on one CPU cannot offer a fast server on another much more than it serves: it does two fifths of
the server's work itself (docs/internals/load-generator.md). So the server gets CPU_SHARE of its CPU, in
slices that are short beside every time limit. The disk of a virtual machine is its host's memory, mostly. So
reads are held to what the thesis' disk gave (28,000 to 30,000 blocks of 1 KB a second, section 5.2).

Both are limits of control groups, version 1: there a process may be in one group for CPU, in another for
memory, in a third for the disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trimtab_agent.station.memory_group import CGROUP_ROOT, JOIN, remove

CPU_SHARE = 0.5
PERIOD_US = 4000
DISK_BYTES_PER_S = 30_000_000

Joining = tuple[str, ...]
"""What goes before a command that shall run within the limits."""


@contextmanager
def part_of_a_cpu() -> Iterator[Joining]:
    """Limits whoever joins to CPU_SHARE of a CPU; raises OSError where that cannot be done."""
    limits = {"cpu.cfs_period_us": f"{PERIOD_US}", "cpu.cfs_quota_us": f"{PERIOD_US * CPU_SHARE:.0f}"}
    with _group("cpu", limits) as joining:
        yield joining


@contextmanager
def slow_disk(file: Path) -> Iterator[Joining]:
    """Limits whoever joins to DISK_BYTES_PER_S read from the disk on which `file` is; raises OSError."""
    device = file.stat().st_dev
    limit = f"{os.major(device)}:{os.minor(device)} {DISK_BYTES_PER_S}"
    with _group("blkio", {"blkio.throttle.read_bps_device": limit}) as joining:
        yield joining


@contextmanager
def _group(controller: str, limits: dict[str, str]) -> Iterator[Joining]:
    """A group of this process under the controller, with these files written, taken away at the end."""
    directory = CGROUP_ROOT / controller / f"trimtab-behaviours-{os.getpid()}"
    directory.mkdir()
    try:
        for name, value in limits.items():
            (directory / name).write_text(value)
        yield (*JOIN, str(directory / "cgroup.procs"))
    finally:
        remove(str(directory))
