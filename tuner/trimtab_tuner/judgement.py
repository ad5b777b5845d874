"""From what a trial has measured to what has become of it: its verdict as soon as that is settled, its
scores.

The station decides the verdict, by the job alone. Scores are a matter of the run: the same report scores
differently under another objective.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Verdict

from trimtab_tuner.early_stop import stop_early
from trimtab_tuner.job import TrialJob, TrialReport
from trimtab_tuner.limits import Limit, broken_limit, parse_limit
from trimtab_tuner.score import score
from trimtab_tuner.second_objective import second_score
from trimtab_tuner.verification import verify


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reason."""

    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class Scores:
    """What a trial scored under both objectives, or what one that was stopped early would have scored."""

    score: float | None = None
    second_score: float | None = None
    estimated_score: float | None = None


def judge(job: TrialJob, measurements: Sequence[Measurement]) -> Judgement:
    """The judgement of a trial that has been measured at all these rates.

    Constraints say nothing about a calibration: its rates are not those of the ladder.
    """
    for measurement in measurements:
        if measurement.generator_limited:
            at = job.clients.level(measurement.rate_rps)
            return Judgement(
                Verdict.GENERATOR_LIMITED, f"At {at}: {'; '.join(measurement.health['reasons'])}"
            )
    verification = verify(measurements, job.thresholds)
    if not verification.verified:
        return Judgement(Verdict.FAILED_VERIFICATION, verification.sentence(job.clients))
    limits = () if job.calibrates else job.constraints
    broken = broken_limit([parse_limit(text) for text in limits], measurements)
    if broken is not None:
        limit, measurement = broken
        at = job.clients.level(measurement.rate_rps)
        return Judgement(Verdict.FAILED_VERIFICATION, limit.broken_sentence(measurement, at))
    return Judgement(Verdict.VERIFIED, verification.sentence(job.clients))


def judge_early(job: TrialJob, measurements: Sequence[Measurement]) -> Judgement | None:
    """The judgement of a trial that need not be driven at the rates left; None if its outcome is open.

    Every rule and every constraint must hold at every rate, so that one broken now stays broken.
    """
    rates_left = job.ladder[len(measurements) :]
    if job.end_early is None or not rates_left:
        return None
    at = job.clients.level(measurements[-1].rate_rps)
    so_far = judge(job, measurements)
    if so_far.verdict is not Verdict.VERIFIED:
        return replace(
            so_far, reason=f"{so_far.reason} Stopped at {at}: nothing measured later could mend that."
        )
    end = job.end_early
    stop = stop_early(end.objective, measurements, rates_left, end.leader, end.limit)
    return None if stop is None else Judgement(Verdict.STOPPED_EARLY, stop.sentence(at))


def scores(
    job: TrialJob, report: TrialReport, objective: str, second: str | None, limit: Limit | None
) -> Scores:
    """What a report is worth under a run's objectives; `limit` is that of `mat` where a text has none.

    A calibration has no score, nor has what was not verified.
    """
    if report.verdict is Verdict.STOPPED_EARLY and job.end_early is not None:
        end, driven = job.end_early, report.measurements
        stop = stop_early(end.objective, driven, job.ladder[len(driven) :], end.leader, end.limit)
        return Scores(estimated_score=None if stop is None else stop.estimate_mbps)
    if report.verdict is not Verdict.VERIFIED or job.calibrates:
        return Scores()
    return Scores(
        score=score(objective, report.measurements, limit),
        second_score=None if second is None else second_score(second, report.measurements, limit),
    )
