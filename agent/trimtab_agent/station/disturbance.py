"""What else the host is busy with: what has spoilt a rate, and the aftermath of the rate before it.

A rate is spoilt by the hypervisor, or by foreign processes on the server's CPUs.

A disturbance counts only where it could have changed what is judged: when the server's CPUs had next to no
time left. And it is judged by what is usual: a virtual machine from which some time is always stolen would
otherwise never finish a trial, although all its trials suffer alike. So a rate is disturbed if more was taken
than in the median rate at this station so far, by `MARGIN_PERCENT` of the server's CPU time; the first rates
have only themselves to be compared with, and count as undisturbed.

Before a trial `wait_for_quiet` lets the CPUs come to rest, so that one trial's aftermath is not part of the
next.
"""

import time
from collections.abc import Mapping
from statistics import median
from typing import Any

from trimtab_agent.counters.cpu import CpuReading, CpuSource
from trimtab_agent.stopping import Stopped, StopSignal

FEWEST = 4
MARGIN_PERCENT = 10.0
SPARE_IDLE_PERCENT = 10.0
WINDOW_S = 0.05  # five ticks: the shortest stretch in which /proc/stat says anything
QUIET_PERCENT = 30.0
LIMIT_S = 1.0


class DisturbanceWatch:
    """The time taken from the server in the rates so far."""

    def __init__(self, server_cpus: tuple[int, ...]) -> None:
        self._server_cpus = server_cpus
        self._taken: list[float] = []

    def judge(self, counters: Mapping[str, Any]) -> str:
        """Takes in the counters of a rate; a sentence if it was disturbed, else an empty one."""
        taken, idle, sentence = self._taken_from(counters)
        if taken is None:
            return ""
        usual = median(self._taken) if len(self._taken) >= FEWEST else taken
        self._taken.append(taken)
        if idle >= SPARE_IDLE_PERCENT or taken < usual + MARGIN_PERCENT:
            return ""
        return f"{sentence}, usually {usual:.0f} %"

    def _taken_from(self, counters: Mapping[str, Any]) -> tuple[float | None, float, str]:
        """Percent of the server's CPUs that others had, percent idle, and that in words."""
        each = [c for c in counters.get("cpu", {}).get("cpus", ()) if c["cpu"] in self._server_cpus]
        own = counters.get("server_processes")
        if not each or not own:
            return None, 0.0, ""

        def mean(*states: str) -> float:
            return sum(float(c.get(state, 0.0)) for c in each for state in states) / len(each)

        stolen = mean("steal")
        foreign = max(0.0, mean("user", "nice", "system") - (own["user"] + own["system"]) / len(each))
        sentence = (
            f"other processes took {foreign:.0f} % and the hypervisor {stolen:.0f} % of the server's CPUs"
        )
        return stolen + foreign, mean("idle"), sentence


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
