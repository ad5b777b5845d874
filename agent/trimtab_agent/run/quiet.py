"""Waits until the CPUs have nothing to do, so that one trial's aftermath is not part of the next one."""

import time

from trimtab_agent.children import StopSignal
from trimtab_agent.counters.cpu import CpuReading, CpuSource
from trimtab_agent.load_generator import Stopped

WINDOW_S = 0.05  # five ticks: the shortest stretch in which /proc/stat says anything
QUIET_PERCENT = 30.0
LIMIT_S = 1.0


def wait_for_quiet(cpus: tuple[int, ...], stop: StopSignal) -> float:
    """Watches the CPUs until less than QUIET_PERCENT of their time is used, at most LIMIT_S.

    Returns the percentage of the last window; raises Stopped if a stop is requested meanwhile.
    """
    source = CpuSource()
    deadline = time.monotonic() + LIMIT_S
    before = source.read()
    while True:
        if stop.wait(WINDOW_S):
            raise Stopped
        after = source.read()
        busy = busy_percent(before, after, cpus)
        if busy < QUIET_PERCENT or time.monotonic() > deadline:
            return busy
        before = after


def busy_percent(before: CpuReading, after: CpuReading, cpus: tuple[int, ...]) -> float:
    """The share of the time between two readings in which these CPUs did anything."""
    idle = total = 0
    for cpu in cpus:
        passed = [b - a for a, b in zip(before.ticks[cpu], after.ticks[cpu], strict=True)]
        idle += passed[3] + passed[4]  # idle and iowait
        total += sum(passed)
    return 100.0 * (total - idle) / total if total > 0 else 0.0
