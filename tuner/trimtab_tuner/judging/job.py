"""A trial as a job for a station, and the station's report: plain, frozen, versioned, JSON both ways.

A job says everything that is needed to carry a trial out, wherever that is: what server with which
configuration, what clients ask for and under which conditions, which rates to drive and for how long, on
which CPUs, what counts as fair, and when the rest of the ladder need not be driven. A report says everything
that was measured, the generator's and the host's health included. Neither names a run, a row of a database,
or a file of a host (a learnt workload names its model by the model's own digest).

    job = TrialJob(...)            text = job.model_dump_json()            read_job(text) == job

A job either climbs a ladder (`ladder`), if wanted beyond its end (`rise`) and between its rungs
(`refinements`, `climbing.Climbing`), or calibrates (`calibrate_from_rps`): then all its rates are found as it
goes, by `ladder.Calibration`.
"""

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator
from trimtab_trials.configuration import Configuration
from trimtab_trials.host import Host
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Verdict

from trimtab_tuner.clients import Clients
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.judging.early_stop import Leader
from trimtab_tuner.judging.limits import Limit
from trimtab_tuner.judging.verification import Thresholds
from trimtab_tuner.workloads.parameters import WorkloadParameters

Seconds = Annotated[float, Field(ge=0, le=3600)]
Cpus = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)]


class JobError(ValueError):
    """A text that is no job, or one that this version cannot carry out; the message says why."""


class Placement(Frozen):
    """The CPUs of the server and of the load generator, by number."""

    server: Cpus
    generator: Cpus


class EarlyEnd(Frozen):
    """When a trial's outcome is settled before the end of its ladder.

    Always when it can no longer be verified. With a `leader` also when it can no longer reach it under the
    `objective`; `limit` is that of `mat` where the objective's text has none. The leader's score is that on
    `ladder`, which may have more rungs than the job drives.
    """

    objective: str
    ladder: tuple[float, ...] = ()
    limit: Limit | None = None
    leader: Leader | None = None


class TrialJob(Frozen):
    """One configuration to be measured.

    `base` is a user's own configuration file with its includes, if the server is to run with that. The
    conditions are the workload's. In a closed loop numbers of connections take the place of the rates. A
    server that follows the last rate of the `ladder` is driven on upwards by the factor `rise`, if that is
    given; what lies between the highest rate it follows and the next is halved `refinements` times. Neither
    changes the verdict, which is of the ladder. `capacity` has a calibration count as followed only what
    breaks no rule. `seed` is that of the arrivals. Without a `placement` the station divides its CPUs itself.
    With `profile` the server is sampled.
    """

    version: Literal[1] = 1
    target: str
    configuration: Configuration = Field(default_factory=dict)
    base: str | None = None
    workload: WorkloadParameters
    ladder: Annotated[tuple[Annotated[float, Field(gt=0)], ...], Field(max_length=64)] = ()
    rise: Annotated[float, Field(gt=1, le=4)] | None = None
    refinements: Annotated[int, Field(ge=0, le=16)] = 0
    calibrate_from_rps: Annotated[float, Field(gt=0)] | None = None
    capacity: bool = False
    rate_duration_s: Annotated[float, Field(gt=0, le=3600)]
    warmup_s: Seconds = 0.0
    gap_s: Seconds = 0.0
    timeout_s: Annotated[float, Field(gt=0, le=600)]
    restart_between_rates: bool = False
    seed: Annotated[int, Field(ge=0)] = 1
    placement: Placement | None = None
    thresholds: Thresholds = Field(default_factory=Thresholds)
    constraints: tuple[str, ...] = ()
    end_early: EarlyEnd | None = None
    profile: bool = False

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if bool(self.ladder) == (self.calibrate_from_rps is not None):
            raise ValueError("expected either a ladder, or the rate to calibrate from")
        if list(self.ladder) != sorted(set(self.ladder)):
            raise ValueError(f"ladder = {list(self.ladder)}: expected ascending rates, each once")
        if self.calibrates and self.clients.loop == "closed":
            raise ValueError(
                "calibrate_from_rps: a closed loop has no rates; expected a ladder of connections"
            )
        if self.clients.loop == "closed" and (self.rise is not None or self.refinements):
            raise ValueError("rise, refinements: a closed loop has no rates to climb")
        if self.warmup_s >= self.rate_duration_s:
            raise ValueError(f"warmup_s = {self.warmup_s}: expected less than {self.rate_duration_s}")
        return self

    @property
    def calibrates(self) -> bool:
        """Whether its rates are found as it goes."""
        return self.calibrate_from_rps is not None

    @property
    def clients(self) -> Clients:
        """How clients behave."""
        return self.workload.definition.clients


class TrialReport(Frozen):
    """What became of a job, whatever that was; `reason` is a sentence.

    `server_config` is the text of the file that the server ran with, with the places it had there.
    `disturbances` are sentences on rates that were driven a second time because the host or the generator had
    spoilt the first.
    """

    version: Literal[1] = 1
    verdict: Verdict
    reason: str
    measurements: tuple[Measurement, ...]
    host: Host
    target_version: str
    server_config: str
    disturbances: tuple[str, ...]
    started_at: datetime
    finished_at: datetime


def read_job(text: str | bytes) -> TrialJob:
    """The job that a JSON text holds; raises JobError with the field and what was expected."""
    try:
        return TrialJob.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the job"
        reason = first["msg"].removeprefix("Value error, ").replace("Input should be", "expected")
        raise JobError(f"{field}: {reason}") from error
