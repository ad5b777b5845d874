"""Requests and replies of the API, for the OpenAPI document and so for the generated web client.

What is the same elsewhere is not repeated here: events go out as the records they are (`trimtab_db.records`),
presets, spaces and estimates as the tuner's models. Trials are in `trial_schemas.py`, samples of the counters
in `counter_schemas.py`. A body of `POST /runs` is a `RunSpec`. Units are in the names.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from trimtab_db.records import RunPhase, RunState
from trimtab_trials.configuration import Configuration
from trimtab_tuner.certainty.statistics import Gain
from trimtab_tuner.clients import Loop
from trimtab_tuner.protocols import ProtocolName
from trimtab_tuner.space import Space
from trimtab_tuner.workloads.definition import Definition

from trimtab_agent.results.naming import RunName
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.study.run_spec import Tag


class Reply(BaseModel):
    """Base of the replies: made from records by attribute; every field is always there."""

    model_config = ConfigDict(from_attributes=True, json_schema_serialization_defaults_required=True)


class Error(Reply):
    """What went wrong: `code` for programs, `message` for people, `field` names the offending input, if
    any."""

    code: str
    message: str
    field: str | None = None


class ErrorBody(Reply):
    """The body of every reply that is not a success."""

    error: Error


class Health(Reply):
    """Whether the daemon can do its work. `token_required`: requests must show a token.

    `documentation`: it has been built, and the daemon serves it at `/docs`. `demo`: all measurements are
    simulated.
    """

    status: Literal["ok"]
    version: str
    token_required: bool
    documentation: bool
    demo: bool


class SessionRequest(BaseModel):
    """The token, to be exchanged for a cookie."""

    model_config = ConfigDict(extra="forbid")

    token: str


class FleetOfRun(Reply):
    """The stations of a run: `hosts` carry its trials out, `generators` load their servers, so many each."""

    hosts: dict[str, Any]
    generators: tuple[str, ...]
    generators_each: int = 0
    held_back: tuple[str, ...] = ()


class CpuLayout(Reply):
    """CPUs by number: who runs where. `reason` says why; empty in runs that were recorded without it."""

    server: tuple[int, ...]
    generator: tuple[int, ...]
    reason: str = ""


class HostReply(Reply):
    """The machine the daemon runs on."""

    name: str
    kernel: str
    cpu_model: str
    cpus: int
    memory_bytes: int
    topology: dict[str, Any]
    layout: CpuLayout
    layout_sentence: str


class Named(Reply):
    """Something to choose by name, with one sentence on it."""

    name: str
    help: str


class UsualFile(Reply):
    """The file that a server is usually run with on this machine, and the values of knobs that it sets.

    `each_cpu` has the word in the file of those that are one for each CPU (nginx's `auto`). `trouble` says
    why its values are not known; empty where they are.
    """

    path: str
    values: Configuration
    each_cpu: dict[str, str]
    trouble: str


class TargetReply(Named):
    """A kind of server that can be tuned. `missing` says what to do before it can be; empty where it is here.

    It takes the workloads of its `protocol`, and `workload` where none is asked for. `file` is what it is
    usually run with here; null where there is no such file. `base_files` are the files of the host that a run
    started in the browser may begin with (`TRIMTAB_BASE_FILES`); `uploads` is the folder of those that were
    sent through it, null where none are taken (`TRIMTAB_UPLOADS`).
    """

    missing: str
    protocol: ProtocolName
    workload: str
    file: UsualFile | None
    base_files: tuple[str, ...]
    uploads: str | None


class SentFile(Reply):
    """Where a configuration file lies that was sent: what a run that begins with it names as its `base`."""

    path: str


class ConfigurationText(BaseModel):
    """The text of a configuration file."""

    model_config = ConfigDict(extra="forbid")

    text: str


class ConfigurationValues(Reply):
    """The knobs that a configuration file sets; those it leaves to the server are left out.

    `each_cpu` has the word in the file of those that are one for each CPU (nginx's `auto`). `told` are lines
    on what a run with the file itself (`trimtab tune --base`) would change of it, leave or refuse.
    """

    values: Configuration
    each_cpu: dict[str, str]
    told: tuple[str, ...]


class Condition(Named):
    """A condition of a run; `refusal` says why this machine cannot make it, None when it can."""

    refusal: str | None


class ConditionsReply(Reply):
    """The conditions that can be chosen, by field of a run's specification."""

    memory: list[Condition]
    start: list[Condition]
    link: list[Condition]


class WorkloadReply(Named):
    """A workload: where its numbers come from, the size of its file set, its whole definition.

    `own` says that it is one of the user's; it is for targets of its `protocol`. A file set made of
    directories is as large as the run's setting `directories` makes it; the figures here are those of the
    definition. Data in a database are no files.
    """

    source: str
    own: bool
    protocol: ProtocolName
    files: int
    file_set_bytes: int
    definition: Definition


class RunSummary(Reply):
    """A line of the list of runs. `best_score` is that of its best (`results.outcome.best_score`), `trials`
    counts all that are recorded, `gain` is that of the confirmation in score.

    A run that `keeps_default` has found nothing better, and so has no gain. `capacity_rps` is the load that
    the configuration to use follows and `capacity_gain` its gain over the default, None where they are not
    known; with `capacity_at_least` they may be more.

    It was begun at `created_at`. `started_at` is later by as long as it stood still: from there to
    `finished_at` is how long it took.
    """

    id: int
    host: str
    target: str
    target_version: str
    workload: str
    preset: str
    strategy: str
    objective: str
    second_objective: str | None
    seed: int
    budget_trials: int
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
    trials: int
    best_score: float | None
    gain: Gain | None
    capacity_rps: float | None
    capacity_gain: Gain | None
    capacity_at_least: bool
    keeps_default: bool


class RunList(Reply):
    """A page of runs, newest first, and how many there are in all."""

    runs: tuple[RunSummary, ...]
    total: int


class BestSoFar(Reply):
    """The best configuration a running search has found."""

    configuration: Configuration
    score: float


class LoadProgress(Reply):
    """trimtab-load's last progress line; rates are over the last second.

    Counts need not be whole: in a stored sample of several seconds they are means.
    """

    model_config = ConfigDict(extra="ignore")

    elapsed_s: float
    sessions_open: float
    requests_replied: float
    requests_timed_out: float
    reply_rate_rps: float
    goodput_mbps: float
    reply_p50_us: float | None
    reply_p90_us: float | None = None
    reply_p99_us: float | None
    reply_p999_us: float | None = None


Pause = Literal["no", "requested", "yes"]
"""`requested`: the run pauses when the trial under way has finished."""


class Progress(Reply):
    """How far a run that is going on has come. `fraction` is from 0 to 1; `rate_index` counts from 0.

    `so_far` says in words what the change that was tried first brings, empty where there is none.
    """

    run_id: int
    state: RunState
    phase: RunPhase
    trial: int | None
    trials_expected: int
    configuration: Configuration | None
    rate_rps: float | None
    rate_index: int | None
    rates: int
    best: BestSoFar | None
    so_far: str
    elapsed_s: float
    eta_s: float | None
    fraction: float
    pause: Pause
    load: LoadProgress | None


class RunNotes(BaseModel):
    """What a user says of a run; a field that is left out stays as it is.

    A run that is `archived` is left out of the list of runs unless it is asked for.
    """

    model_config = ConfigDict(extra="forbid")

    name: RunName | None = None
    archived: bool | None = None
    # PostgreSQL keeps no text with a zero byte in it.
    notes: Annotated[str, Field(max_length=10_000, pattern=r"^[^\x00]*$")] | None = None
    tags: Annotated[list[Tag], Field(max_length=20)] | None = None


class RunDetail(RunSummary):
    """A run with everything but its trials. `ladder` is empty until the calibration has fixed it.

    Where `loop` is `closed`, numbers of connections take the place of rates in it and in all measurements.
    `base` is where the user's own configuration file lies that the run began with, if it did with one.
    `notes_version` is another one whenever its name, notes or tags are; for `If-Match` of their next change.
    """

    notes_version: str
    base: str | None
    workload_parameters: dict[str, Any]
    loop: Loop
    space: Space
    settings: dict[str, Any]
    fleet: FleetOfRun | None
    layout: CpuLayout
    ladder: tuple[float, ...]
    outcome: Outcome | None
    progress: Progress | None


class Export(Reply):
    """An exported file. `help` says what it is for, `verdict` what became of its check, in words.

    `check_command` is empty where no program checks such a file. `diff_default` and `diff_base` are unified
    diffs against the server's default and against the user's own file, empty where there is none to compare
    with. `replaced` says what else differed from the user's file in the one that was measured; null for a
    file that is not made of the user's. `steps` says how the measured server's file is brought to a server in
    production, a sentence each; none for the other files.
    """

    run_id: int
    format: str
    file_name: str
    text: str
    check_command: str
    check_ok: bool
    check_output: str
    created_at: datetime
    help: str
    verdict: str
    diff_default: str
    diff_base: str
    replaced: tuple[str, ...] | None
    steps: tuple[str, ...]
