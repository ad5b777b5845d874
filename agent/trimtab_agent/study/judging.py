"""What has become of a trial: verdict and scores, at the end of the ladder or as soon as they are settled."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trimtab_db import records
from trimtab_tuner.early_stop import stop_early
from trimtab_tuner.limits import broken_limit, parse_limit
from trimtab_tuner.records import Verdict
from trimtab_tuner.score import score
from trimtab_tuner.second_objective import second_score
from trimtab_tuner.verification import verify

from trimtab_agent.station.measuring import for_tuner
from trimtab_agent.study.bench import Bench, TrialOrder


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reason; the scores of what was verified, the estimate of what was stopped early."""

    verdict: Verdict
    reason: str
    score: float | None = None
    second_score: float | None = None
    estimated_score: float | None = None


def judge(bench: Bench, order: TrialOrder, measurements: Sequence[records.Measurement]) -> Judgement:
    """The judgement of a trial that has been measured at every rate.

    A calibration has no score: its rates are not those of the ladder.
    """
    for record in measurements:
        if record.generator_limited:
            reasons = "; ".join(record.health["reasons"])
            at = bench.clients.level(record.rate_rps)
            return Judgement(Verdict.GENERATOR_LIMITED, f"At {at}: {reasons}")
    in_tuner = [for_tuner(record) for record in measurements]
    verification = verify(in_tuner, bench.settings.thresholds)
    if not verification.verified:
        return Judgement(Verdict.FAILED_VERIFICATION, verification.sentence(bench.clients))
    if order.purpose is records.TrialPurpose.CALIBRATION:
        return Judgement(Verdict.VERIFIED, verification.sentence(bench.clients))
    broken = broken_limit([parse_limit(text) for text in bench.settings.constraints], in_tuner)
    if broken is not None:
        limit, measurement = broken
        level = bench.clients.level(measurement.rate_rps)
        return Judgement(Verdict.FAILED_VERIFICATION, limit.broken_sentence(measurement, level))
    latency, second = bench.latency_limit, bench.second_objective
    return Judgement(
        Verdict.VERIFIED,
        verification.sentence(bench.clients),
        score=score(bench.objective, in_tuner, latency),
        second_score=None if second is None else second_score(second, in_tuner, latency),
    )


def judge_early(
    bench: Bench,
    order: TrialOrder,
    measurements: Sequence[records.Measurement],
    rates_left: Sequence[float],
) -> Judgement | None:
    """The judgement of a trial that need not be driven at the rates left; None if its outcome is open.

    Every rule and every constraint must hold at every rate, so that one broken now stays broken.
    """
    if not order.may_stop_early or not rates_left:
        return None
    at = bench.clients.level(measurements[-1].rate_rps)
    so_far = judge(bench, order, measurements)
    if so_far.verdict is not Verdict.VERIFIED:
        return replace(
            so_far, reason=f"{so_far.reason} Stopped at {at}: nothing measured later could mend that."
        )
    in_tuner = [for_tuner(record) for record in measurements]
    stop = stop_early(bench.objective, in_tuner, rates_left, order.leader, bench.latency_limit)
    if stop is None:
        return None
    return Judgement(Verdict.STOPPED_EARLY, stop.sentence(at), estimated_score=stop.estimate_mbps)
