"""Stopping up the ladder: when a trial of the search can no longer matter, the rates left are not driven.

What a trial has to reach is the *leader*: the configuration with the highest score so far (the mean of its
trials, so that one lucky trial does not set the bar). After each rate the trial is granted the most that the
rest of the ladder could still bring:

- at each rate left, the highest goodput that any verified trial has shown there (the leader's or a better);
- once its own tail has *collapsed* (goodput `COLLAPSE` below its own peak at two rates in a row), no more
  than it had at the better of the two: an overloaded server does not recover under more load;
- for `mat`, once its latency limit is broken, nothing: later rates do not count;
- and `MARGIN` standard deviations of a trial's noise on all of it, for bad luck so far and good luck to come.

If the score of that is still below the leader's, the trial is stopped. What it would have scored is then
estimated: at the rates left it keeps the share of the leader's goodput that it had at its last rate. The
estimate is never above the bound, and so always below the leader; it is told to strategies as an estimate.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean

from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial, TrialPurpose

from trimtab_tuner.frozen import Frozen
from trimtab_tuner.limits import Limit
from trimtab_tuner.score import Objective, achievable, parse_objective, score
from trimtab_tuner.standing import standings

COLLAPSE = 0.2
MARGIN = 2.0


class Leader(Frozen):
    """What a trial has to reach: the best score so far in Mbps and its goodput by rate.

    `highest_mbps` is the best of any verified trial at each rate, `noise` the relative standard deviation of
    one trial.
    """

    score_mbps: float
    goodput_mbps: dict[float, float]
    highest_mbps: dict[float, float]
    noise: float


class EarlyStop(Frozen):
    """A trial that cannot reach the leader: at most `bound_mbps`, probably `estimate_mbps`."""

    bound_mbps: float
    leader_mbps: float
    estimate_mbps: float
    collapsed: bool

    def sentence(self, at: str) -> str:
        """Why the trial was stopped after the rate `at`, which is in words."""
        tail = ", as its goodput has collapsed" if self.collapsed else ""
        return (
            f"Stopped at {at}: it could have reached at most {self.bound_mbps:.1f} Mbps{tail}; "
            f"the leader has {self.leader_mbps:.1f} Mbps."
        )


def find_leader(
    trials: Iterable[Trial], curves: Mapping[int, Mapping[float, float]], noise: float
) -> Leader | None:
    """The leader among a run's trials of the search; None as long as none was verified.

    `curves` has the goodput in Mbps by rate of each trial, by the trial's number.
    """
    verified = [t for t in trials if t.purpose is TrialPurpose.SEARCH and t.score is not None]
    if not verified:
        return None
    each = standings(verified)
    lead, score_mbps = max(
        ((digest, one.search_score or 0.0) for digest, one in each.items()), key=lambda pair: pair[1]
    )
    of_lead = [curves.get(trial.number, {}) for trial in each[lead].search]
    return Leader(
        score_mbps=score_mbps,
        goodput_mbps=_by_rate(of_lead, fmean),
        highest_mbps=_by_rate([curves.get(trial.number, {}) for trial in verified], max),
        noise=noise,
    )


def stop_early(
    objective: str,
    driven: Sequence[Measurement],
    rates_left: Sequence[float],
    leader: Leader | None,
    limit: Limit | None = None,
) -> EarlyStop | None:
    """Whether a trial need not be driven at `rates_left`; None if it may still reach the leader.

    `driven` are its measurements so far, all of which are verified; `limit` is that of `mat` where the text
    of the objective has none.
    """
    if leader is None or not driven or not rates_left:
        return None
    last = driven[-1]
    if any(rate not in leader.highest_mbps for rate in (*rates_left, last.rate_rps)):
        return None
    cap = _collapsed_to(driven)
    share = min(1.0, last.goodput_mbps / max(leader.goodput_mbps.get(last.rate_rps, 0.0), 1e-9))
    most = _capped(leader.highest_mbps, rates_left, cap)
    likely = [share * goodput for goodput in _capped(leader.goodput_mbps, rates_left, cap)]
    bound = (1 + MARGIN * leader.noise) * _reached(objective, driven, rates_left, most, limit)
    if bound >= leader.score_mbps:
        return None
    return EarlyStop(
        bound_mbps=bound,
        leader_mbps=leader.score_mbps,
        estimate_mbps=min(bound, _reached(objective, driven, rates_left, likely, limit)),
        collapsed=cap is not None,
    )


def _by_rate(
    curves: Sequence[Mapping[float, float]], combine: Callable[[Iterable[float]], float]
) -> dict[float, float]:
    rates = {rate for curve in curves for rate in curve}
    return {rate: combine([curve[rate] for curve in curves if rate in curve]) for rate in rates}


def _capped(goodput_mbps: Mapping[float, float], rates: Sequence[float], cap: float | None) -> list[float]:
    each = [goodput_mbps.get(rate, 0.0) for rate in rates]
    return each if cap is None else [min(goodput, cap) for goodput in each]


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
) -> float:
    """The score of what was driven with those goodputs at the rates left."""
    kind, own_limit = parse_objective(objective)
    granted = [
        Measurement(rate_rps=rate, goodput_mbps=goodput, reply_rate_rps=rate)
        for rate, goodput in zip(rates, goodputs, strict=True)
    ]
    if kind is not Objective.MAT:
        return score(objective, [*driven, *granted])
    limit = own_limit or limit
    if limit is None:
        raise ValueError("mat needs a limit to be bounded by")
    # Whether a latency that was not measured is within the limit is granted too.
    later = goodputs if all(limit.holds(measurement) for measurement in driven) else ()
    return max(achievable(driven, limit), *later, 0.0)
