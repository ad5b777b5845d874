"""Trials and measurements as the API replies with them: views on `trimtab_trials`, field by field.

A list of thousands of trials is written straight from what the database gives: to check what has just been
read there, and to copy it into the views, would take a third of the time of the whole reply.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from fastapi import Response
from pydantic import TypeAdapter
from trimtab_trials.configuration import Configuration
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.judging.verification import Thresholds, Violation

from trimtab_agent.api.schemas import Reply


class RequestCounts(Reply):
    """What became of the requests of a measurement; `offered` is the sum of the others.

    `timed_out_before_read` are requests that the server shows no sign of having accepted or read; `abandoned`
    are those never sent because their session had ended.
    """

    offered: int
    replied: int
    timed_out_before_read: int
    timed_out_after_read: int
    failed: int
    abandoned: int
    dropped: int


class SessionCounts(Reply):
    """What became of the sessions that a load generator was to offer."""

    offered: int
    started: int
    completed: int
    timed_out_connect: int
    timed_out: int
    failed: int
    dropped: int


class SizeClassCounts(Reply):
    """What became of the requests for files of one size; `asked` is the sum of the other five."""

    size_bytes: int
    asked: int
    replied: int
    timed_out_before_read: int
    timed_out_after_read: int
    failed: int
    abandoned: int


class Latency(Reply):
    """A distribution of times in microseconds from the intended start; None where nothing was observed."""

    p50_us: float | None
    p90_us: float | None
    p99_us: float | None
    p999_us: float | None
    max_us: float | None
    mean_us: float | None


class MeasurementSummary(Reply):
    """One rate driven for one configuration, as far as curves and tables show it.

    `number` counts from 1 in the order of driving. `due_rate_rps` is what the sessions ask for in the window
    if nothing keeps them waiting; null in a closed loop and in old measurements. `held` says whether the
    rules of verification and the run's constraints held at it.
    """

    number: int
    rate_rps: float
    goodput_mbps: float
    reply_rate_rps: float
    due_rate_rps: float | None
    requests: RequestCounts
    reply_latency: Latency
    generator_limited: bool
    held: bool


class Measurement(MeasurementSummary):
    """One rate driven for one configuration, with all that was observed."""

    duration_s: float
    warmup_s: float
    elapsed_s: float
    bytes_received: int
    sessions: SessionCounts
    connect_latency: Latency
    first_byte_latency: Latency
    failures: dict[str, Any]
    health: dict[str, Any]
    server_stats: dict[str, Any]
    counters: dict[str, Any]
    size_classes: tuple[SizeClassCounts, ...]


class TrialLine(Reply):
    """A trial without its measurements: what the live stream tells when one has been recorded.

    `second_score` is under the run's second objective, None where there is none. `estimated_score` is only of
    a trial that was stopped early, the most it could have had, or that the generator limited, the least.
    """

    run_id: int
    number: int
    purpose: TrialPurpose
    level: int
    block: int
    configuration: Configuration
    configuration_hash: str
    verdict: Verdict
    reason: str
    score: float | None
    second_score: float | None
    estimated_score: float | None
    started_at: datetime
    finished_at: datetime
    proposal_number: int | None


class TrialSummary(TrialLine):
    """A trial in the list of a run's trials."""

    measurements: tuple[MeasurementSummary, ...]


class TrialDetail(TrialLine):
    """A trial with all it measured and the configuration file the server ran with.

    `thresholds` are the verification's, `violations` where the trial exceeded them.
    """

    server_config: str
    measurements: tuple[Measurement, ...]
    thresholds: Thresholds
    violations: tuple[Violation, ...]


class RepeatReply(Reply):
    """The trial `repeats` is being measured again; the new trial is announced when it is recorded."""

    run_id: int
    repeats: int


_TRIAL = TypeAdapter(Trial)
_SUMMARY: Any = {
    **{name: True for name in TrialLine.model_fields if name != "configuration_hash"},
    "measurements": {"__all__": set(MeasurementSummary.model_fields)},
}


def as_summaries(trials: Iterable[Trial]) -> Response:
    """The trials as a list of `TrialSummary`."""
    return Response(b"[%s]" % b",".join(map(_summary, trials)), media_type="application/json")


def _summary(trial: Trial) -> bytes:
    document = _TRIAL.dump_json(trial, include=_SUMMARY)
    return b'%s,"configuration_hash":"%s"}' % (document[:-1], trial.configuration_hash.encode())
