"""Events of the live stream that are nothing else: what has just happened, in a line."""

from trimtab_db.records import RunPhase, RunState
from trimtab_trials.configuration import Configuration
from trimtab_trials.trial import TrialPurpose

from trimtab_agent.api.counter_schemas import CounterValues
from trimtab_agent.api.schemas import Progress, Reply
from trimtab_agent.api.trial_schemas import TrialLine


class RunChange(Reply):
    """A run has moved to another state or phase."""

    run_id: int
    state: RunState
    phase: RunPhase


class MeasurementLine(Reply):
    """One rate has just been measured; `number` counts those of the trial, from 1."""

    run_id: int
    trial: int
    number: int
    purpose: TrialPurpose
    configuration: Configuration
    rate_rps: float
    goodput_mbps: float
    reply_rate_rps: float
    timed_out: int
    generator_limited: bool


class LadderChange(Reply):
    """The ladder of a run has grown: the verdicts and scores of its trials are others now."""

    run_id: int
    ladder: tuple[float, ...]


class LogLine(Reply):
    """Something worth telling; `run_id` is None when it concerns no run."""

    run_id: int | None
    level: str
    message: str


class Lost(Reply):
    """This listener was too slow: so many events have been dropped; what matters can be read again by GET."""

    events: int


LivePayload = (
    CounterValues | Progress | TrialLine | MeasurementLine | RunChange | LadderChange | LogLine | Lost
)
"""What the live stream carries after `data:`; `follow_live` names the event of each."""
