"""The changes that a run tries first, and what is told of each as soon as it has been measured.

They follow from the recorded calibration alone, so whoever asks later gets the same: the search, which begins
with them, and what takes the search's winner apart afterwards, to which they are the parts that have evidence
behind them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from trimtab_db import records
from trimtab_trials.trial import Trial, TrialPurpose
from trimtab_tuner.certainty.confirmation import describe
from trimtab_tuner.diagnosis.first_changes import FirstChange, first_changes
from trimtab_tuner.space import Space
from trimtab_tuner.telling.capacity import capacity_of
from trimtab_tuner.wording import in_change, in_unit

from trimtab_agent.results.analysis import ascending, evidence_of
from trimtab_agent.study.history import History


def first_changes_of(run: records.Run, space: Space, history: History) -> tuple[FirstChange, ...]:
    """The changes that the run's last calibration points to; none of a run without one."""
    calibrations = history.calibrations()
    if not calibrations:
        return ()
    climb = ascending(calibrations[-1])
    return first_changes(evidence_of(run, space, climb, (climb,)).of_climb())


@dataclass(frozen=True)
class SoFar:
    """What one trial of a change says: the gain in capacity, 0 where none can be told, and in words."""

    gain: float
    sentence: str


def so_far(change: FirstChange, trial: Trial, history: History) -> SoFar | None:
    """What one trial of a change says beside the default's calibration; None where it says nothing.

    `trial` has its measurements. The two climbs are unlike in fineness: a gain is only told where what the
    one followed lies above what the other did not.
    """
    calibrations = history.calibrations()
    before = capacity_of(calibrations[-1].measurements) if calibrations else None
    after = capacity_of(trial.measurements)
    if before is None or after is None:
        return None
    alone = f"with {describe(change.changed, {})} alone"
    one = "one trial, not confirmed"
    if before.lost_rps is None or after.rate_rps < before.lost_rps:
        return SoFar(0.0, f"So far: no gain {alone} ({one}).")
    gain = after.rate_rps / before.rate_rps - 1
    told = f"{'at least ' * (after.lost_rps is None)}{in_change(gain)}"
    rates = f"{after.rate_rps:,.0f} in place of {in_unit(before.rate_rps, 'requests/s')}"
    return SoFar(gain, f"So far: {told} {alone}, {rates} ({one}).")


def best_so_far(changes: Sequence[FirstChange], history: History) -> SoFar | None:
    """What the best of the changes brings that have been measured; None before the first has been."""
    told = []
    for change in changes:
        numbers = [t.number for t in history.finished(TrialPurpose.SEARCH) if _is_of(t, change)]
        told += [one for trial in history.whole(numbers[:1]) if (one := so_far(change, trial, history))]
    return max(told, key=lambda one: one.gain, default=None)


def _is_of(trial: Trial, change: FirstChange) -> bool:
    return trial.configuration == change.configuration
