"""From what a trial has measured to what has become of it: its verdict as soon as that is settled, its
scores.

The station decides the verdict, by the job alone. Scores are a matter of the run: the same report scores
differently under another objective.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Verdict

from trimtab_tuner.clients import Loop, follows
from trimtab_tuner.judging.early_stop import stop_early
from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.judging.limits import Limit, broken_limit, parse_limit
from trimtab_tuner.judging.score import score
from trimtab_tuner.judging.second_objective import second_score
from trimtab_tuner.judging.verification import verify
from trimtab_tuner.targets.backends.memory import memory_of_children

SCORED = (Verdict.VERIFIED, Verdict.STOPPED_EARLY, Verdict.GENERATOR_LIMITED)


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

    Constraints say nothing about a calibration that does not look for a capacity: its rates are not those of
    the ladder. What was driven beyond the ladder or between its rungs says nothing against a configuration;
    nor does a generator that gave out where the server had already been seen not to follow. First comes what
    speaks against a configuration at any rate: processes behind the server that the memory has no room for,
    though a trial need not have started them all.
    """
    pool = memory_of_children(job.configuration, measurements)
    if pool is not None and pool.outgrown:
        return Judgement(Verdict.FAILED_VERIFICATION, f"{pool.why_outgrown} {pool.sentence}")
    rungs = [m for m in measurements if job.calibrates or m.rate_rps in job.ladder]
    given_way = min((m.rate_rps for m in rungs if gave_way(m, job.clients.loop)), default=math.inf)
    limited = [m for m in rungs if m.generator_limited]
    for measurement in limited:
        if measurement.rate_rps < given_way:
            at = job.clients.level(measurement.rate_rps)
            return Judgement(
                Verdict.GENERATOR_LIMITED, f"At {at}: {'; '.join(measurement.health['reasons'])}"
            )
    rungs = [m for m in rungs if not m.generator_limited]
    verification = verify(rungs, job.thresholds)
    if not verification.verified:
        return Judgement(Verdict.FAILED_VERIFICATION, verification.sentence(job.clients, rungs))
    broken = broken_limit(_limits(job), rungs)
    if broken is not None:
        limit, measurement = broken
        at = job.clients.level(measurement.rate_rps)
        return Judgement(Verdict.FAILED_VERIFICATION, limit.broken_sentence(measurement, at))
    return Judgement(Verdict.VERIFIED, verification.sentence(job.clients))


def gave_way(measurement: Measurement, loop: Loop) -> bool:
    """Whether the server was asked for more than it can do: the replies did not follow, or a rule broke."""
    return not measurement.generator_limited and not (follows(measurement, loop) and measurement.held)


def holds(job: TrialJob, measurement: Measurement) -> bool:
    """Whether the rules of verification and the job's constraints hold at one rate.

    A rate at which the generator gave out says nothing of the server, not even against it.
    """
    if measurement.generator_limited:
        return True
    return (
        verify([measurement], job.thresholds).verified and broken_limit(_limits(job), [measurement]) is None
    )


def _limits(job: TrialJob) -> list[Limit]:
    return [parse_limit(text) for text in job.constraints] if job.capacity or not job.calibrates else []


def judge_early(job: TrialJob, measurements: Sequence[Measurement]) -> Judgement | None:
    """The judgement of a trial that need not be driven at the rates left; None if its outcome is open.

    Every rule and every constraint must hold at every rate, so that one broken now stays broken.
    """
    driven = {measurement.rate_rps for measurement in measurements}
    rates_left = [rate for rate in job.ladder if rate not in driven]
    if job.end_early is None or not rates_left:
        return None
    at = job.clients.level(measurements[-1].rate_rps)
    so_far = judge(job, measurements)
    if so_far.verdict is not Verdict.VERIFIED:
        return replace(
            so_far, reason=f"{so_far.reason} Stopped at {at}: nothing measured later could mend that."
        )
    end = job.end_early
    stop = stop_early(
        end.objective,
        measurements,
        rates_left,
        end.leader,
        end.limit,
        end.ladder or job.ladder,
        loop=job.clients.loop,
    )
    return None if stop is None else Judgement(Verdict.STOPPED_EARLY, stop.sentence(at))


def scores(
    verdict: Verdict,
    measurements: Sequence[Measurement],
    ladder: Sequence[float],
    objective: str,
    second: str | None,
    limit: Limit | None,
) -> Scores:
    """What a trial is worth under a run's objectives on its ladder, as that is now.

    `limit` is that of `mat` where a text has none. What was not verified has no score. One that was stopped
    early has an estimate, which is the most that it could have reached; one at which the generator gave out
    has one that is the least.
    """
    told = [m for m in measurements if not m.generator_limited]
    if verdict not in SCORED or not any(m.rate_rps in ladder for m in told):
        return Scores()
    own = score(objective, told, limit, ladder)
    if verdict is not Verdict.VERIFIED:
        return Scores(estimated_score=own)
    return Scores(
        score=own, second_score=None if second is None else second_score(second, told, limit, ladder)
    )
