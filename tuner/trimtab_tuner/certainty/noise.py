"""How much trials differ although nothing has changed, and whether the machine drifts.

Both are told by the *reference*: the default configuration, measured again and again through a run's search.

It is measured as second trial, and then at every `EVERY`-th: positions 2, 12, 22
… of the search, which are part of its budget. Where it fails verification it has no scores; its goodput then
stands in their place, up to the first rung that it did not follow: what it does there does not depend on the
rule that it breaks.

*Noise* is the relative standard deviation of the reference's scores round their mean, or round their trend
where there is one. Two or three values say little about a spread, so what is usual on a quiet machine
(`USUAL_NOISE`) counts as `USUAL_TRIALS` more; whoever is told the noise is told that too (`Noise.basis`).

*Drift* is taken out of the trials' scores only when the reference shows it: from `FEWEST_FOR_DRIFT` values
on, if the slope of their logarithms over the position differs from 0 with 99 % confidence (t test of the
slope). To divide every trial by its neighbouring reference instead would add the reference's noise to all of
them.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np
from trimtab_trials.configuration import Configuration
from trimtab_trials.trial import Trial, Verdict

from trimtab_tuner.certainty.student_t import t_quantile
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.wording import in_percent

JUDGED_BY_RULES = (Verdict.VERIFIED, Verdict.FAILED_VERIFICATION)
EVERY = 10
FIRST = 2
FEWEST_BUDGET = 8
USUAL_NOISE = 0.03
USUAL_TRIALS = 2
FEWEST_FOR_DRIFT = 5
DRIFT_P = 0.01
MOST_REPEATS = 64
POWER = 0.9
MOST_TIMES = 3  # at 3 % noise enough for the 5 repeats of a quick run to tell 4 %


class Noise(Frozen):
    """What the reference says: how much one trial is taken to differ from the next (`share`, a relative
    standard deviation), how many scores have a part in that beside what is assumed, and the drift per trial
    (0 if none shows). `spread` is what those scores alone differ by, None where that is not known.
    """

    share: float
    measured: int
    drift_per_trial: float = 0.0
    spread: float | None = None

    @property
    def basis(self) -> str:
        """Where the share is from, in words: what was assumed, and what was measured."""
        if self.measured < 2:
            return "assumed: there are fewer than 2 measurements of the default"
        told = f"from an assumed {in_percent(USUAL_NOISE)} and {self.measured} measurements of the default"
        return told if self.spread is None else f"{told} that differ by {in_percent(self.spread, 1)}"


def reference_due(position: int, budget_trials: int) -> bool:
    """Whether the trial at this position of the search (from 1) is to be the reference."""
    return budget_trials >= FEWEST_BUDGET and position <= budget_trials and position % EVERY == FIRST


def planned_references(budget_trials: int) -> int:
    """How many of the search's trials will be the reference, the default's first trial not counted."""
    return sum(reference_due(position, budget_trials) for position in range(1, budget_trials + 1))


def judge_noise(scores: Sequence[tuple[int, float]]) -> Noise:
    """Noise and drift by the reference's verified scores, each with its position in the search."""
    usable = [(position, math.log(score)) for position, score in scores if score > 0]
    positions = np.array([position for position, _ in usable], dtype=float)
    logs = np.array([value for _, value in usable])
    drift, freedom, squares = 0.0, len(logs) - 1, 0.0
    if len(logs) >= 2:
        squares = float(((logs - logs.mean()) ** 2).sum())
    if len(logs) >= FEWEST_FOR_DRIFT and np.ptp(logs) > 0:
        from scipy import stats  # takes a second to load, which most commands need not pay

        trend = stats.linregress(positions, logs)
        if trend.pvalue < DRIFT_P:
            drift, freedom = float(trend.slope), len(logs) - 2
            squares = float(((logs - trend.intercept - drift * positions) ** 2).sum())
    weight = USUAL_TRIALS + max(freedom, 0)
    share = math.sqrt((USUAL_TRIALS * USUAL_NOISE**2 + squares) / weight)
    spread = math.sqrt(squares / freedom) if freedom > 0 else None
    return Noise(share=share, measured=len(logs), drift_per_trial=drift, spread=spread)


def noise_of(searched: Sequence[Trial], default: Configuration) -> Noise:
    """Noise and drift by those trials of a search, in their order, that are the default's.

    These have their measurements; without them one that failed verification says nothing.
    """
    own = [(place, trial) for place, trial in enumerate(searched, start=1) if trial.configuration == default]
    if not any(trial.verdict is Verdict.FAILED_VERIFICATION for _, trial in own):
        return judge_noise([(place, trial.score) for place, trial in own if trial.score is not None])
    judged = [
        (place, trial) for place, trial in own if trial.measurements and trial.verdict in JUDGED_BY_RULES
    ]
    rungs = _followed_by_all([trial for _, trial in judged])
    return judge_noise([(place, _goodput(trial, rungs)) for place, trial in judged])


def _followed_by_all(trials: Sequence[Trial]) -> set[float]:
    """The rungs that all of these were driven at and followed, and the first that one of them did not."""
    if not trials:
        return set()
    shared = set.intersection(*({m.rate_rps for m in trial.measurements} for trial in trials))
    lost = [m.rate_rps for trial in trials for m in trial.measurements if not m.followed]
    return {rate_rps for rate_rps in shared if rate_rps <= min(lost, default=math.inf)}


def _goodput(trial: Trial, rungs: set[float]) -> float:
    """The mean over some rungs; 0, which says nothing, over none."""
    own = [m.goodput_mbps for m in trial.measurements if m.rate_rps in rungs]
    return fmean(own) if own else 0.0


def without_drift(trials: Sequence[tuple[int, Trial]], noise: Noise) -> list[Trial]:
    """The trials, each with its position, as they would have scored at the beginning of the search."""
    if noise.drift_per_trial == 0.0:
        return [trial for _, trial in trials]
    return [
        replace(
            trial,
            **{
                name: score * math.exp(-noise.drift_per_trial * (position - 1))
                for name in ("score", "estimated_score")
                if (score := getattr(trial, name)) is not None
            },
        )
        for position, trial in trials
    ]


def smallest_gain(noise: float, repeats: int, *, challengers: int = 1, power: float = POWER) -> float:
    """The smallest gain (a share) that so many interleaved repeats tell from 0 with the probability `power`.

    The gain's interval is that of the confirmation: 95 %, with Bonferroni's correction for `challengers`. The
    probability is that of the noncentral t distribution, for both the default and the other are noisy.
    """
    if repeats < 2:
        return math.inf
    from scipy.special import nctdtrinc  # see student_t.py

    critical = t_quantile(repeats - 1, 1 - 0.025 / max(challengers, 1))
    return math.expm1(float(nctdtrinc(repeats - 1, 1 - power, critical)) * noise * math.sqrt(2 / repeats))


def repeats_needed(noise: float, gain: float, *, challengers: int = 1) -> int:
    """How many interleaved repeats tell that gain (a share) from 0 with the probability `POWER`.

    At most `MOST_REPEATS`.
    """
    enough = (n for n in range(2, MOST_REPEATS) if smallest_gain(noise, n, challengers=challengers) <= gain)
    return next(enough, MOST_REPEATS)


def planned_repeats(noise: float, gain: float, *, challengers: int, usual: int) -> int:
    """How many repeats a confirmation gets in which that gain is expected: at least `usual`.

    At most `MOST_TIMES` that; and no more than usual where even so many would rather miss than tell it.
    """
    needed = repeats_needed(noise, gain, challengers=challengers)
    most = MOST_TIMES * usual
    hopeless = smallest_gain(noise, most, challengers=challengers, power=0.5) > gain
    return usual if hopeless else max(usual, min(needed, most))
