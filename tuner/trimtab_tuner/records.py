"""What passes between the tuner and whoever runs experiments for it.

All models are frozen pydantic models, so they can be stored and sent as JSON as they are. The tuner never
measures anything itself: it is handed `Measurement`s and `TrialResult`s and answers with `Proposal`s.
"""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

Value = int | str
Configuration = dict[str, Value]
"""One value for each active knob, by knob name."""


class Frozen(BaseModel):
    """Base of the tuner's models: immutable, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Verdict(StrEnum):
    """What became of a trial."""

    VERIFIED = "verified"
    FAILED_VERIFICATION = "failed-verification"
    REJECTED = "rejected"
    CRASHED = "crashed"
    GENERATOR_LIMITED = "generator-limited"
    DISTURBED = "disturbed"
    STOPPED_EARLY = "stopped-early"
    ABORTED = "aborted"


class SizeClassCounts(Frozen):
    """What became of the requests for files of one size during one measurement.

    `asked` is the sum of the other five counts. `timed_out_before_read` are requests that the server shows no
    sign of having accepted or read; `abandoned` are those never sent because their session had ended.
    """

    size_bytes: int = Field(ge=0)
    asked: int = Field(ge=0)
    replied: int = Field(ge=0)
    timed_out_before_read: int = Field(ge=0)
    timed_out_after_read: int = Field(ge=0)
    failed: int = Field(ge=0)
    abandoned: int = Field(ge=0)


class Measurement(Frozen):
    """One rate driven for one configuration, as far as scoring and verification need it.

    Goodput is in Mbps (10^6 bit/s) of requests completed in time. `reply_latency_us` has those of `mean`,
    `p50`, `p90`, `p99`, `p999` that were observed; `resident_bytes` is the memory of all server processes.
    """

    rate_rps: float = Field(gt=0)
    goodput_mbps: float = Field(ge=0)
    reply_rate_rps: float = Field(ge=0)
    size_classes: tuple[SizeClassCounts, ...] = ()
    generator_limited: bool = False
    reply_latency_us: dict[str, float] = Field(default_factory=dict)
    resident_bytes: float | None = None


class TrialResult(Frozen):
    """A finished trial: `score` is None unless the verdict is `verified`; `reason` a sentence or empty.

    `second_score` is the figure of the run's second objective, if it has one. `estimated_score` is what a
    trial that was stopped early would have scored, as far as that can be said (`early_stop.py`).
    """

    configuration: Configuration
    verdict: Verdict
    score: float | None = Field(default=None, allow_inf_nan=False)
    second_score: float | None = Field(default=None, allow_inf_nan=False)
    estimated_score: float | None = Field(default=None, allow_inf_nan=False)
    reason: str = ""

    @property
    def known_score(self) -> float | None:
        """The score, else the estimate of a trial that was stopped early."""
        return self.estimated_score if self.score is None else self.score


class Proposal(Frozen):
    """A configuration that a strategy wants measured, and why.

    `level` is 0 for the default configuration, 1 for the coarse search and rises as the search gets finer.
    `repeat` says that the strategy knows it has proposed this configuration before.
    """

    configuration: Configuration
    level: int = Field(ge=0)
    reason: str
    repeat: bool = False


class ConfirmedScore(Frozen):
    """The score of one finalist in one block of the confirmation; None if that trial was not verified."""

    configuration: Configuration
    block: int = Field(ge=0)
    score: float | None = Field(default=None, allow_inf_nan=False)
