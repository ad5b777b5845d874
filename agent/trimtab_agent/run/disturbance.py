"""Whether something else on the host has spoilt a rate: the hypervisor, or foreign processes on the server's
CPUs.

A disturbance counts only where it could have changed what is judged: when the server's CPUs had next to no
time left. And it is judged by what is usual: a virtual machine from which some time is always stolen would
otherwise never finish a trial, although all its trials suffer alike. So a rate is disturbed if more was taken
than in the median rate of the run so far, by `MARGIN_PERCENT` of the server's CPU time; the first rates of a
run have only themselves to be compared with, and count as undisturbed.
"""

from collections.abc import Mapping
from statistics import median
from typing import Any

FEWEST = 4
MARGIN_PERCENT = 10.0
SPARE_IDLE_PERCENT = 10.0


class DisturbanceWatch:
    """The time taken from the server in the rates of a run."""

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
