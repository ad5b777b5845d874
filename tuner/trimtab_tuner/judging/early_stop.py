"""Stopping up the ladder: when a trial of the search can no longer matter, the rates left are not driven.

What a trial has to reach is the *leader*: the configuration with the highest score so far (the mean of its
trials, so that one lucky trial does not set the bar, and drift taken out). After each rate the trial is
granted the most that the rest of the ladder could still bring, at rungs that are not driven too:

- at each rate left, the highest goodput that any verified trial has shown there (the leader's or a better),
  or its own at its last rate if that is higher still;
- once it has *given way* (its replies did not follow the rate), no more than its best goodput so far: it has
  no more to give;
- once its own tail has *collapsed* (goodput `COLLAPSE` below its own peak at two rates in a row), no more
  than it had at the better of the two: an overloaded server does not recover under more load;
- for `mat`, once its latency limit is broken, nothing: later rates do not count;
- and `MARGIN` standard deviations of a trial's noise on all of it, for bad luck so far and good luck to come.

If the score of that is still below the leader's, the trial is stopped. What it would have scored is then
estimated as if it kept at the rates left the goodput that it had at its last (`score.on_ladder`), and told to
strategies as an estimate.
"""

import math
from collections.abc import Mapping, Sequence

from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial

from trimtab_tuner.certainty.noise import Noise, without_drift
from trimtab_tuner.certainty.standing import standings
from trimtab_tuner.clients import Loop, follows
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.judging.limits import Limit
from trimtab_tuner.judging.score import Objective, achievable, parse_objective, score
from trimtab_tuner.wording import in_mbps

COLLAPSE = 0.2
MARGIN = 2.0


class Leader(Frozen):
    """What a trial has to reach: the best score so far in Mbps.

    `highest_mbps` is the best of any verified trial at each rate, `noise` the relative standard deviation of
    one trial.
    """

    score_mbps: float
    highest_mbps: dict[float, float]
    noise: float


class EarlyStop(Frozen):
    """A trial that cannot reach the leader: it has at most `bound_mbps`."""

    bound_mbps: float
    leader_mbps: float
    collapsed: bool

    def sentence(self, at: str) -> str:
        """Why the trial was stopped after the rate `at`, which is in words."""
        tail = ", as its goodput has collapsed" if self.collapsed else ""
        return (
            f"Stopped at {at}: it could have reached at most {in_mbps(self.bound_mbps)}{tail}; "
            f"the leader has {in_mbps(self.leader_mbps)}."
        )


def find_leader(
    trials: Sequence[Trial],
    curves: Mapping[int, Mapping[float, float]],
    noise: Noise,
    in_flight: int = 0,
) -> Leader | None:
    """The leader among the trials of a search, in their order; None as long as none was verified.

    `curves` has the goodput in Mbps at each rung of the ladder of each trial, by the trial's number. A leader
    is chosen by scores from which drift has been taken out, as strategies choose, and told on the scale of
    the trial that comes after these and those `in_flight`: what that one measures has drifted so far. What
    others have shown to be possible is not made less by drift, so that the bound stays one.
    """
    now = len(trials) + in_flight + 1
    drifted = {
        trial.number: math.exp(noise.drift_per_trial * (now - place)) for place, trial in enumerate(trials, 1)
    }
    verified = [t for t in without_drift(list(enumerate(trials, 1)), noise) if t.score is not None]
    if not verified:
        return None
    highest: dict[float, float] = {}
    for trial in verified:
        for rate_rps, goodput_mbps in curves.get(trial.number, {}).items():
            shown = goodput_mbps * max(1.0, drifted[trial.number])
            highest[rate_rps] = max(shown, highest.get(rate_rps, 0.0))
    best = max(standing.search_score or 0.0 for standing in standings(verified).values())
    return Leader(
        score_mbps=best * math.exp(noise.drift_per_trial * (now - 1)),
        highest_mbps=highest,
        noise=noise.share,
    )


def stop_early(
    objective: str,
    driven: Sequence[Measurement],
    rates_left: Sequence[float],
    leader: Leader | None,
    limit: Limit | None = None,
    ladder: Sequence[float] = (),
    *,
    loop: Loop = "open",
) -> EarlyStop | None:
    """Whether a trial need not be driven at `rates_left`; None if it may still reach the leader.

    `driven` are its measurements so far, all of which are verified; `limit` is that of `mat` where the text
    of the objective has none. The leader's score is that on `ladder`, which may have rungs between the rates
    that are left; without one, on the rates driven and left.
    """
    if leader is None or not driven or not rates_left:
        return None
    last = driven[-1]
    open_rungs = sorted({*rates_left, *(rung for rung in ladder if rung > last.rate_rps)})
    if any(rate not in leader.highest_mbps for rate in (*open_rungs, last.rate_rps)):
        return None
    cap = _cap(driven, loop)
    shown = [max(leader.highest_mbps[rate], last.goodput_mbps) for rate in open_rungs]
    most = shown if cap is None else [min(goodput, cap) for goodput in shown]
    bound = (1 + MARGIN * leader.noise) * _reached(objective, driven, open_rungs, most, limit, ladder)
    if bound >= leader.score_mbps:
        return None
    return EarlyStop(
        bound_mbps=bound, leader_mbps=leader.score_mbps, collapsed=_collapsed_to(driven) is not None
    )


def _cap(driven: Sequence[Measurement], loop: Loop) -> float | None:
    """The most goodput that the trial can still have at any rate; None while nothing says so."""
    collapsed = _collapsed_to(driven)
    if collapsed is None and not follows(driven[-1], loop):
        return max(measurement.goodput_mbps for measurement in driven)
    return collapsed


def _collapsed_to(driven: Sequence[Measurement]) -> float | None:
    """The better goodput of the last two rates if both lie far below the trial's own peak, else None."""
    goodputs = [measurement.goodput_mbps for measurement in driven]
    last = max(goodputs[-2:])
    return last if len(goodputs) > 2 and last < (1 - COLLAPSE) * max(goodputs) else None


def _reached(
    objective: str,
    driven: Sequence[Measurement],
    rates: Sequence[float],
    goodputs: Sequence[float],
    limit: Limit | None,
    ladder: Sequence[float],
) -> float:
    """The score of what was driven with those goodputs at the rates above."""
    kind, own_limit = parse_objective(objective)
    granted = [
        Measurement(rate_rps=rate, goodput_mbps=goodput, reply_rate_rps=rate)
        for rate, goodput in zip(rates, goodputs, strict=True)
    ]
    if kind is not Objective.MAT:
        return score(objective, [*driven, *granted], ladder=ladder)
    limit = own_limit or limit
    if limit is None:
        raise ValueError("mat needs a limit to be bounded by")
    # Whether a latency that was not measured is within the limit is granted too.
    later = goodputs if all(limit.holds(measurement) for measurement in driven) else ()
    return max(achievable(driven, limit), *later, 0.0)
