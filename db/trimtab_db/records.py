"""The records that go into the database and come out of it: plain, frozen, usable in any thread.

A record that is identified by what its creator knows already (a trial by run and number, a measurement by its
place in the trial) is the same class on the way in and on the way out. Only a run needs two: `NewRun`, and
`Run` with the id and the state the database adds.

Rates are requests per second (`_rps`), goodput is 10^6 bit/s (`_mbps`), durations are seconds (`_s`),
latencies microseconds (`_us`), points in time are aware `datetime`s in UTC (`_at`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

JsonObject = dict[str, Any]


class RunState(StrEnum):
    """Where a run stands. `interrupted`: its agent died; it can be resumed."""

    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class RunPhase(StrEnum):
    """What a run is doing, in the order of doing it."""

    PREPARING = "preparing"
    CALIBRATING = "calibrating"
    SEARCHING = "searching"
    CONFIRMING = "confirming"
    EXPORTING = "exporting"
    DONE = "done"


class TrialPurpose(StrEnum):
    """Why a configuration was measured."""

    CALIBRATION = "calibration"
    SEARCH = "search"
    CONFIRMATION = "confirmation"


@dataclass(frozen=True, kw_only=True)
class Host:
    """A machine as it was when it was seen: another kernel or more memory makes another host record."""

    name: str
    kernel: str
    cpu_model: str
    cpus: int
    memory_bytes: int
    topology: JsonObject


@dataclass(frozen=True, kw_only=True)
class NewRun:
    """What is known of a run when it starts. The ids come from `register_host` and its like.

    `base` is the user's own configuration file that the run begins with (`path`, `text`, and `expanded` with
    its includes filled in); empty when it begins with the server's defaults.
    """

    host_id: int
    target_id: int
    workload_id: int
    preset: str
    strategy: str
    objective: str
    space: JsonObject
    settings: JsonObject
    seed: int
    budget_trials: int
    layout: JsonObject
    second_objective: str | None = None
    base: JsonObject = field(default_factory=dict)
    notes: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run as recorded. `outcome` is None until the run has one; `ladder` is empty until calibrated."""

    id: int
    host_id: int
    host: str
    target: str
    target_version: str
    workload: str
    workload_parameters: JsonObject
    preset: str
    strategy: str
    objective: str
    second_objective: str | None
    space: JsonObject
    settings: JsonObject
    seed: int
    budget_trials: int
    layout: JsonObject
    base: JsonObject
    ladder: tuple[float, ...]
    state: RunState
    phase: RunPhase
    error: str
    notes: str
    tags: tuple[str, ...]
    created_at: datetime
    started_at: datetime
    finished_at: datetime | None
    outcome: JsonObject | None


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """A line of the list of runs: the run, how many trials are recorded, the best score of its search."""

    run: Run
    trials: int
    best_score: float | None


@dataclass(frozen=True, kw_only=True)
class SizeClassResult:
    """What became of the requests for files of one size; `asked` is the sum of the others."""

    size_bytes: int
    asked: int
    replied: int
    timed_out_before_read: int
    timed_out_after_read: int
    failed: int
    abandoned: int


@dataclass(frozen=True)
class SessionCounts:
    """What became of the sessions a load generator was to offer."""

    offered: int
    started: int
    completed: int
    timed_out_connect: int
    timed_out: int
    failed: int
    dropped: int


@dataclass(frozen=True)
class RequestCounts:
    """What became of the requests in those sessions; `offered` is the sum of the others."""

    offered: int
    replied: int
    timed_out_before_read: int
    timed_out_after_read: int
    failed: int
    abandoned: int
    dropped: int


@dataclass(frozen=True)
class Latency:
    """A distribution of times in microseconds from the intended start; None where nothing was observed."""

    p50_us: float | None
    p90_us: float | None
    p99_us: float | None
    p999_us: float | None
    max_us: float | None
    mean_us: float | None


@dataclass(frozen=True, kw_only=True)
class MeasurementSummary:
    """One rate driven for one configuration, as far as curves and tables show it.

    `number` counts from 1 in the order of driving.
    """

    number: int
    rate_rps: float
    goodput_mbps: float
    reply_rate_rps: float
    requests: RequestCounts
    reply_latency: Latency
    generator_limited: bool


@dataclass(frozen=True, kw_only=True)
class Measurement(MeasurementSummary):
    """One rate driven for one configuration, with all that was observed."""

    duration_s: float
    warmup_s: float
    elapsed_s: float
    bytes_received: int
    sessions: SessionCounts
    connect_latency: Latency
    first_byte_latency: Latency
    failures: JsonObject
    health: JsonObject
    server_stats: JsonObject
    counters: JsonObject
    size_classes: tuple[SizeClassResult, ...]


@dataclass(frozen=True, kw_only=True)
class TrialLine:
    """What became of one configuration measured up the ladder.

    `number` counts from 1 in the run, over all purposes. `verdict` is one of the tuner's words; `score` is
    None unless the verdict is `verified`, and so is `second_score`, of the run's second objective; only a
    trial stopped early has an `estimated_score`. `block` is the block of the confirmation (0 elsewhere, and
    for a repeat that somebody asked for); `proposal_number` names the proposal that asked for the trial.
    """

    run_id: int
    number: int
    purpose: TrialPurpose
    level: int = 0
    block: int = 0
    configuration: JsonObject
    configuration_hash: str
    verdict: str
    reason: str
    score: float | None
    second_score: float | None = None
    estimated_score: float | None = None
    started_at: datetime
    finished_at: datetime
    proposal_number: int | None = None


@dataclass(frozen=True, kw_only=True)
class TrialSummary(TrialLine):
    """A trial as far as curves and tables show it."""

    measurements: tuple[MeasurementSummary, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Trial(TrialSummary):
    """A trial with everything in it; `server_config` is the file the server ran with."""

    server_config: str
    measurements: tuple[Measurement, ...] = ()


@dataclass(frozen=True, kw_only=True)
class VerifiedScore:
    """A verified search trial in one line; `peak_mbps` is its highest goodput at any rate."""

    number: int
    configuration: JsonObject
    score: float
    peak_mbps: float


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A configuration the strategy asked for, written down before it is tried."""

    run_id: int
    number: int
    configuration: JsonObject
    configuration_hash: str
    level: int
    reason: str
    asked_at: datetime
    trial_number: int | None = None


@dataclass(frozen=True, kw_only=True)
class CounterSample:
    """The host's counters at one moment; `trial_number` is the trial being measured then, if any.

    `step_s` is 1 for a sample of one second, more for the mean of so many, 0 for less than one.
    """

    host_id: int
    taken_at: datetime
    values: JsonObject
    run_id: int | None = None
    trial_number: int | None = None
    step_s: int = 1


@dataclass(frozen=True, kw_only=True)
class StoredSample:
    """A counter sample as it comes out of the database: its values are still JSON text.

    Most samples are only handed on as JSON, and decoding them would be most of the work of that.
    """

    host_id: int
    taken_at: datetime
    values_json: bytes
    run_id: int | None
    trial_number: int | None
    step_s: int


@dataclass(frozen=True, kw_only=True)
class NewOsChange:
    """An operating-system setting that is about to change."""

    path: str
    value_before: str
    value_after: str


@dataclass(frozen=True, kw_only=True)
class OsChange:
    """A write-ahead entry: an operating-system setting, its value before, and how far the change has come.

    `boot_id` tells in which boot of the machine it was touched; "" where that is not known.
    """

    id: int
    run_id: int | None
    boot_id: str
    path: str
    value_before: str
    value_after: str
    recorded_at: datetime
    applied_at: datetime | None
    restored_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something worth telling about a run; `level` is `debug`, `info`, `warning` or `error`."""

    run_id: int
    at: datetime
    level: str
    message: str
    data: JsonObject


@dataclass(frozen=True, kw_only=True)
class Export:
    """A configuration file of a run in one format, and what the server's own check said of it."""

    run_id: int
    format: str
    file_name: str
    text: str
    check_command: str
    check_ok: bool
    check_output: str
    created_at: datetime
