"""How long what is left of the thesis' comparison takes, corrected by how long its steps took so far."""

from collections.abc import Iterable

from trimtab_tuner.presets import Estimate

from trimtab_agent.study.runs import RunService
from trimtab_agent.study.thesis_steps import Step


class StudyClock:
    """Estimates steps; `took` tells it how long one has really taken."""

    def __init__(self, service: RunService) -> None:
        self._service = service
        self._known: dict[tuple[str, ...], Estimate] = {}
        self._estimated_s = self._measured_s = 0.0

    def left_s(self, steps: Iterable[Step]) -> float:
        """Seconds that the steps should take; raises SpecError for a step that cannot be taken."""
        scale = self._measured_s / self._estimated_s if self._estimated_s else 1.0
        return scale * sum(map(self._estimate_s, steps))

    def took(self, step: Step, duration_s: float) -> None:
        """Learns from a step that has been taken."""
        self._estimated_s += self._estimate_s(step)
        self._measured_s += duration_s

    def _estimate_s(self, step: Step) -> float:
        # What a step takes does not depend on how high the rates of its ladder are, only on their number.
        key = (step.memory, step.server)
        if key not in self._known:
            self._known[key] = self._service.estimate(step.spec)
        estimate = self._known[key]
        if step.kind != "repeat":
            return estimate.duration_s
        searching = next(phase for phase in estimate.breakdown if phase.phase == "searching")
        return searching.duration_s / max(searching.trials, 1)
