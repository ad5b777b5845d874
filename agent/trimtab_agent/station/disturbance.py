"""What else the host is busy with: what has spoilt a rate, and the aftermath of the rate before it.

A rate is spoilt by the hypervisor, or by foreign processes on the server's CPUs.

A disturbance counts only where it could have changed what is judged: when the server did not follow the rate,
or its CPUs had next to no time left. (Idle time alone proves nothing: a server at its limit of connections
leaves CPUs idle and still answers fewer when others take their turns on them.) And it is judged by what is
usual: a virtual machine from which some time is always stolen would otherwise never finish a trial, although
all its trials suffer alike; the diagnosis tells of that. So a rate is disturbed if more was taken than in the
quieter rates at this station so far (the lower quartile), by `MARGIN_PERCENT` of the server's time. Another
program may run through half of a search and is still told from what is usual. The first rates have only
themselves to be compared with, and count as undisturbed.

Before a trial `wait_for_quiet` lets the CPUs come to rest, so that one trial's aftermath is not part of the
next; after a disturbance it waits for longer, as programs run on for some time.
"""

import time
from statistics import quantiles

from trimtab_trials.measurement import Measurement

from trimtab_agent.counters.cpu import CpuReading, CpuSource
from trimtab_agent.stopping import Stopped, StopSignal

FEWEST = 4
MARGIN_PERCENT = 10.0
SPARE_IDLE_PERCENT = 10.0
WINDOW_S = 0.05  # five ticks: the shortest stretch in which /proc/stat says anything
QUIET_PERCENT = 30.0
LIMIT_S = 1.0
DISTURBED_WINDOW_S = 0.5
DISTURBED_LIMIT_S = 30.0


class DisturbanceWatch:
    """The time taken from the server in the rates so far."""

    def __init__(self, server_cpus: tuple[int, ...]) -> None:
        self._server_cpus = server_cpus
        self._taken: list[float] = []

    def judge(self, rate: Measurement) -> str:
        """Takes in a rate; a sentence if it was disturbed, else an empty one."""
        each = rate.cpus(self._server_cpus)
        foreign = rate.percent_taken_by_others(self._server_cpus)
        if foreign is None:
            return ""
        stolen, idle = (sum(c.get(state, 0.0) for c in each) / len(each) for state in ("steal", "idle"))
        taken = stolen + foreign
        usual = quantiles(self._taken, n=4)[0] if len(self._taken) >= FEWEST else taken
        self._taken.append(taken)
        did_not_matter = rate.followed and rate.held and idle >= SPARE_IDLE_PERCENT
        if did_not_matter or taken < usual + MARGIN_PERCENT:
            return ""
        return (
            f"other processes took {foreign:.0f} % and the hypervisor {stolen:.0f} % of the server's CPUs, "
            f"usually {usual:.0f} %"
        )


def wait_for_quiet(
    cpus: tuple[int, ...], stop: StopSignal, *, window_s: float = WINDOW_S, limit_s: float = LIMIT_S
) -> float:
    """Watches the CPUs until less than QUIET_PERCENT of their time is used in `window_s`, at most `limit_s`.

    Returns the percentage of the last window; raises Stopped if a stop is requested meanwhile.
    """
    source = CpuSource()
    deadline = time.monotonic() + limit_s
    before = source.read()
    while True:
        if stop.wait(window_s):
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
