"""The records that go into the database and come out of it: plain, frozen, usable in any thread.

Trials and their measurements are those of `trimtab_trials`; here is what surrounds them. A record that is
identified by what its creator knows already is the same class on the way in and on the way out. Only a run
needs two: `NewRun`, and `Run` with the id and the state the database adds.

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
    ELIMINATING = "eliminating"
    CONFIRMING = "confirming"
    EXPORTING = "exporting"
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class NewRun:
    """What is known of a run when it starts. The ids come from `register_host` and its like.

    `base` is the user's own configuration file that the run begins with (`path`, `text`, and `expanded` with
    its includes filled in); empty when it begins with the server's defaults. `fleet` says which stations
    take part; None when it is the host's own affair.
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
    fleet: JsonObject | None = None
    notes: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run as recorded. `outcome` is None until the run has one; `ladder` is empty until calibrated.

    Its user may have given it a `name`; one that is `archived` is left out of lists unless asked for. It was
    begun at `created_at`; `started_at` is later by as long as it stood still between its stretches.
    """

    id: int
    host_id: int
    host: str
    machine_id: str
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
    fleet: JsonObject | None
    ladder: tuple[float, ...]
    state: RunState
    phase: RunPhase
    error: str
    name: str
    archived: bool
    notes: str
    tags: tuple[str, ...]
    created_at: datetime
    started_at: datetime
    finished_at: datetime | None
    outcome: JsonObject | None

    @property
    def over_hosts(self) -> bool:
        """Whether stations of the fleet carry its trials out."""
        return bool(self.fleet and self.fleet["hosts"])


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """A line of the list of runs: the run, how many trials are recorded, of all purposes and verdicts, and
    the highest mean score that a configuration has in its search.
    """

    run: Run
    trials: int
    best_score: float | None


@dataclass(frozen=True, kw_only=True)
class RecordedProposal:
    """A configuration the strategy asked for, written down before it is tried.

    `trial_number` is that of the trial which answers it; None as long as there is none.
    """

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
class OsChange:
    """A write-ahead entry: a setting of a host, its value before, and how far the change has come.

    Whoever changed it `by_hand` puts it back when the time has come; otherwise a trial did, and what it has
    left behind is put back at the next start. `boot_id` tells in which boot of the machine it was touched; ""
    where that is not known.
    """

    id: int
    run_id: int | None
    by_hand: bool
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


class BookingState(StrEnum):
    """How far a repetition of a trial has come among the stations."""

    FREE = "free"
    BOOKED = "booked"
    COMMITTED = "committed"


@dataclass(frozen=True, kw_only=True)
class Booking:
    """A repetition of a trial that stations may carry out: `job` says what is to be done.

    `token` is that of the latest lease, 0 before the first. While one holds it, `host_id` says whose it is,
    and `lease_until` how long; afterwards `host_id` says whose `result` this is.
    """

    id: int
    run_id: int
    trial_number: int
    repetition: int
    job: JsonObject
    state: BookingState
    token: int
    host_id: int | None
    lease_until: datetime | None
    result: JsonObject | None
    committed_at: datetime | None


class StationRole(StrEnum):
    """What a station of the fleet does: run servers under load, or generate it."""

    SERVER = "server"
    GENERATOR = "generator"


class StationState(StrEnum):
    """Whether a station may be booked: it is `ready`, or finishes what it does, or has left."""

    READY = "ready"
    DRAINING = "draining"
    LEFT = "left"


@dataclass(frozen=True, kw_only=True)
class Station:
    """A station of the fleet, by the `name` that it joined under.

    `address` is where the engine reaches it, `facts` what it says of its machine. It is `settled` when its
    journal says that every setting of the machine is as it was. `booking_id` and `booked_until` say what it
    was booked for last, and until when; None when that has ended.
    """

    name: str
    role: StationRole
    state: StationState
    host_id: int
    address: str
    facts: JsonObject
    settled: bool
    booking_id: int | None
    booked_until: datetime | None
    joined_at: datetime


class LiveMode(StrEnum):
    """What a live session may do: say what it would try, try it and ask a person, or promote by itself."""

    ADVISE = "advise"
    CANARY = "canary"
    AUTO = "auto"


class LiveState(StrEnum):
    """What a live session is doing."""

    OBSERVING = "observing"
    EPISODE = "episode"
    WAITING = "waiting-for-a-person"
    PROMOTING = "promoting"
    WATCHING = "watching"
    ENDED = "ended"


class LiveRequest(StrEnum):
    """What a person asks of a live session."""

    PROMOTE = "promote"
    REJECT = "reject"
    DETACH = "detach"


class LiveDecisionKind(StrEnum):
    """What a line of a live session's history is about."""

    ATTACHED = "attached"
    OBSERVED = "observed"
    PROPOSAL = "proposal"
    BEGAN = "began"
    NEXT_STEP = "next-step"
    ROLL_BACK = "roll-back"
    GIVE_UP = "give-up"
    PROMOTE = "promote"
    PROMOTED = "promoted"
    KEPT = "kept"
    UNDONE = "undone"
    REJECTED = "rejected"
    CONTEXT = "context"
    PAUSED = "paused"
    DETACHED = "detached"
    TROUBLE = "trouble"


@dataclass(frozen=True, kw_only=True)
class NewLiveSession:
    """What is known when live tuning attaches to a server: its main process `pid`, where it listens
    (`127.0.0.1:80`), its systemd `unit` ("" without one), its configuration `file`.

    `settings` are the guards and rules of the session; `process` is the pid of the Trimtab that runs it.
    """

    host_id: int
    target: str
    pid: int
    addresses: tuple[str, ...]
    unit: str
    file: str
    mode: LiveMode
    settings: JsonObject
    process: int
    process_started: int


@dataclass(frozen=True, kw_only=True)
class LiveSession:
    """A live session as recorded.

    `sentence` tells people what it does now, `share` is the canary's share of the connections, `context` what
    the traffic is like (None until known), `asked` what a person wants and the session has not taken yet.
    One that has not `ended_at` and whose `process` is gone, is dead. `process_started`, in ticks since the
    boot (proc_pid_stat(5)), tells the process from a later one of the same number.
    """

    id: int
    host_id: int
    target: str
    pid: int
    addresses: tuple[str, ...]
    unit: str
    file: str
    mode: LiveMode
    settings: JsonObject
    process: int
    process_started: int
    state: LiveState
    sentence: str
    share: float
    context: JsonObject | None
    asked: LiveRequest | None
    started_at: datetime
    seen_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class NewLiveDecision:
    """What a live session has decided, or met with, and why.

    `share` is the canary's from now on. `configuration` has the knobs that change, with the values before and
    after (`{"workers": [1, 2]}`); None where the decision is about none. `evidence` is what it rests on.
    """

    session_id: int
    kind: LiveDecisionKind
    sentence: str
    share: float = 0.0
    configuration: JsonObject | None = None
    evidence: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LiveDecision:
    """A decision as recorded."""

    id: int
    session_id: int
    at: datetime
    kind: LiveDecisionKind
    sentence: str
    share: float
    configuration: JsonObject | None
    evidence: JsonObject


@dataclass(frozen=True, kw_only=True)
class LiveSample:
    """What the arms of a live session did up to one moment."""

    at: datetime
    data: JsonObject
