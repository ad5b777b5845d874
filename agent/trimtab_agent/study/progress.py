"""How far a run has come, and when it will end: what the progress bars of terminal and browser show.

The remaining time starts from the tuner's estimate, which is an upper bound, and goes by what the run's
trials have really taken as soon as there are any: the search by the mean of its trials, of which many are
stopped up the ladder, the elimination by that of its short ones, confirmation and export by the mean of
theirs, which climb all of the ladder and beyond. While other programs disturb trials, those that are left
are expected to be measured again as often as the latest were, which both the remaining time and the number of
trials expected say. The fraction never runs backwards, even when a strategy finds that it needs more trials
than it thought.
"""

import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, Literal

from trimtab_db.records import RunPhase, RunState
from trimtab_trials.configuration import Configuration
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.presets import Estimate

from trimtab_agent.broadcast import Broadcaster

TIMED_PHASES = ("preparing", "calibrating", "searching", "eliminating", "confirming", "exporting")
COUNTED_PHASES = ("searching", "eliminating", "confirming", "exporting")

LATEST = 10  # trials, by which it is judged how often one is disturbed: programs come and go
MOST_TIMES = 2.0
"""So often a trial that is left is expected to be measured at most: then it is given up, or another block is
measured in its place.
"""

PURPOSES = {
    RunPhase.SEARCHING.value: TrialPurpose.SEARCH,
    RunPhase.ELIMINATING.value: TrialPurpose.ELIMINATION,
}


class Mean:
    """The mean of what has been added; None of nothing."""

    def __init__(self) -> None:
        self._count = 0
        self.value: float | None = None

    def add(self, number: float) -> None:
        """Takes in one more."""
        self._count += 1
        before = self.value or 0.0
        self.value = before + (number - before) / self._count


class RunProgress:
    """Progress of one run; every change is published as an event `progress`.

    Changed by the run's thread, by those of its stations, and by whoever asks for a pause; `data` may be read
    from any. Of several trials in flight it shows the one that began last.
    """

    def __init__(
        self,
        broadcaster: Broadcaster,
        run_id: int,
        estimate: Estimate,
        trials: Sequence[Trial],
    ) -> None:
        """`trials` are those that the run has recorded so far."""
        self._broadcaster = broadcaster
        self._lock = threading.RLock()  # over all that is kept here
        self._started = time.monotonic() - sum(trial.duration_s for trial in trials)
        self._phase_s: dict[str, float] = {phase.phase: phase.duration_s for phase in estimate.breakdown}
        expected: dict[str, int] = {phase.phase: phase.trials for phase in estimate.breakdown}
        self._left = {phase: expected[phase] for phase in COUNTED_PHASES}
        self._estimated_s = {phase: self._phase_s[phase] / max(1, expected[phase]) for phase in self._left}
        self._took = {purpose: Mean() for purpose in TrialPurpose}
        self._disturbed: deque[bool] = deque(maxlen=LATEST)
        for trial in trials:
            self._take_in(trial)
        self._trial_started: float | None = None
        self._paused_at: float | None = None
        self._phase_done = 0.0
        self._recorded = len(trials)
        self._fraction = 0.0
        self.data: dict[str, Any] = {
            "run_id": run_id,
            "state": RunState.RUNNING.value,
            "phase": RunPhase.PREPARING.value,
            "trial": None,
            "configuration": None,
            "rate_rps": None,
            "rate_index": None,
            "rates": 0,
            "best": None,
            "so_far": "",
            "load": None,
            "pause": "no",
        }
        self._publish()

    def enter_phase(self, phase: RunPhase) -> None:
        """The run goes on to its next phase."""
        self._phase_done = 0.0
        if phase is RunPhase.DONE:
            self._fraction = 1.0
        self._publish(phase=phase.value)

    def phase_done(self, share: float) -> None:
        """A phase without trials is done to this share of 1."""
        self._phase_done = share
        self._publish()

    def expect(self, phase: RunPhase, trials_left: int) -> None:
        """So many trials of that phase (one of `COUNTED_PHASES`) are still to be carried out."""
        self._left[phase.value] = trials_left
        self._publish()

    def trial_started(self, number: int, configuration: Configuration, rates: int) -> None:
        """A trial begins; `rates` is how many it will drive at least."""
        self._trial_started = time.monotonic()
        self._publish(
            trial=number, configuration=configuration, rates=rates, rate_index=None, rate_rps=None, load=None
        )

    def rate_started(self, number: int, rate_rps: float) -> None:
        """The next rate of the trial begins."""
        with self._lock:
            if number != self.data["trial"]:
                return
            index = 0 if self.data["rate_index"] is None else self.data["rate_index"] + 1
            # One that looks for a capacity finds out as it goes how many rates it needs.
            rates = max(self.data["rates"], index + 1)
            self._publish(rate_rps=rate_rps, rate_index=index, rates=rates, load=None)

    def load_progressed(self, number: int, line: dict[str, Any]) -> None:
        """The trial's load generator has reported."""
        if number == self.data["trial"]:
            self._publish(load={name: value for name, value in line.items() if name != "type"})

    def trial_finished(self, trial: Trial) -> None:
        """The trial is recorded."""
        phase = self.data["phase"]
        if phase in self._left:
            self._left[phase] = max(0, self._left[phase] - 1)
        self._take_in(trial)
        self._trial_started = None
        self._recorded += 1
        self._publish()

    def best_changed(self, configuration: Configuration, score: float) -> None:
        """The best so far is this one."""
        self._publish(best={"configuration": configuration, "score": score})

    def told_so_far(self, sentence: str) -> None:
        """What is known before the search has found anything, in words."""
        self._publish(so_far=sentence)

    def pause_changed(self, pause: Literal["no", "requested", "yes"]) -> None:
        """A pause was asked for, has begun, or is over; its time does not count as elapsed."""
        with self._lock:
            if pause == "yes":
                self._paused_at = time.monotonic()
            elif self._paused_at is not None:
                self._started += time.monotonic() - self._paused_at
                self._paused_at = None
        self._publish(pause=pause)

    def end(self, state: RunState) -> None:
        """The run has ended; one that was stopped before its end still lacks the trials that were left."""
        if state is RunState.FINISHED:
            self._left = dict.fromkeys(self._left, 0)
        self._publish(state=state.value)

    def _take_in(self, trial: Trial) -> None:
        """Learns from a recorded trial how long such trials take."""
        if trial.purpose is TrialPurpose.CALIBRATION or trial.verdict is Verdict.ABORTED:
            return
        self._took[trial.purpose].add(trial.duration_s)
        self._disturbed.append(trial.verdict.spoilt)

    def _times(self) -> float:
        """How often each of the trials left is expected to be measured, as others disturb some."""
        kept_share = 1 - sum(self._disturbed) / max(1, len(self._disturbed))
        return 1 / max(kept_share, 1 / MOST_TIMES)

    def _trial_s(self, phase: str) -> float:
        """How long a trial of the phase takes, as far as is known."""
        known = self._took[PURPOSES.get(phase, TrialPurpose.CONFIRMATION)]
        return self._estimated_s[phase] if known.value is None else known.value

    def _remaining_s(self) -> float:
        """Time left: the rest of this phase and all the later ones."""
        if self.data["state"] != RunState.RUNNING.value or self.data["phase"] not in TIMED_PHASES:
            return 0.0
        phase = self.data["phase"]
        left_s = 0.0
        for later in TIMED_PHASES[TIMED_PHASES.index(phase) :]:
            if later in self._left:
                whole = self._left[later] * self._times() * self._trial_s(later)
            else:
                whole = self._phase_s[later] * (1 - self._phase_done if later == phase else 1.0)
            if later == phase and later in self._left and self._trial_started is not None:
                whole -= min(time.monotonic() - self._trial_started, self._trial_s(later))
            left_s += max(0.0, whole)
        return left_s

    def _publish(self, **changes: object) -> None:
        with self._lock:
            elapsed_s = (self._paused_at or time.monotonic()) - self._started
            self.data = {**self.data, **changes}
            eta_s = self._remaining_s()
            if eta_s > 0:
                self._fraction = max(self._fraction, elapsed_s / (elapsed_s + eta_s))
            running = 1 if self._trial_started is not None and self.data["phase"] == "calibrating" else 0
            self.data = {
                **self.data,
                "trials_expected": self._recorded + running + round(sum(self._left.values()) * self._times()),
                "elapsed_s": round(elapsed_s, 1),
                "eta_s": round(eta_s, 1),
                "fraction": round(self._fraction, 4),
            }
            self._broadcaster.publish("progress", self.data)
