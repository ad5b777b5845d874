"""One configuration measured up the ladder: why it was, and what became of it."""

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property

from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.measurement import Measurement

UNRECORDED = datetime.fromtimestamp(0, UTC)
"""The time of a trial that was never carried out on a machine, such as one of a recorded table."""


class Verdict(StrEnum):
    """What became of a trial."""

    VERIFIED = "verified"
    FAILED_VERIFICATION = "failed-verification"
    REJECTED = "rejected"
    CRASHED = "crashed"
    UNRESPONSIVE = "unresponsive"
    GENERATOR_LIMITED = "generator-limited"
    DISTURBED = "disturbed"
    STOPPED_EARLY = "stopped-early"
    ABORTED = "aborted"

    @property
    def failed(self) -> bool:
        """Whether the configuration is to blame."""
        return self in (Verdict.FAILED_VERIFICATION, Verdict.REJECTED) or self.without_server

    @property
    def without_server(self) -> bool:
        """Whether it ended because there was no server any more, or one that answers nobody."""
        return self in (Verdict.CRASHED, Verdict.UNRESPONSIVE)

    @property
    def spoilt(self) -> bool:
        """Whether something else is, so that it says nothing about the configuration.

        A generator that gave out says something: what the server followed until then it can do at least.
        """
        return self is Verdict.DISTURBED


class TrialPurpose(StrEnum):
    """Why a configuration was measured."""

    CALIBRATION = "calibration"
    SEARCH = "search"
    ELIMINATION = "elimination"
    CONFIRMATION = "confirmation"


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What became of one configuration measured up the ladder.

    `score` is None unless the verdict is `verified`, and so is `second_score`, of the run's second objective.
    Two kinds of trials have an `estimated_score`: one that was stopped early, of which it is the most that it
    could have had, and one at which the load generator gave out, of which it is the least. A score is that on
    the ladder of the run as it is; it changes when that grows. `reason` is a sentence, or empty.

    In its run a trial has a `number`, from 1 over all purposes, the `level` of the search that asked for it,
    its `block` of the elimination or the confirmation (0 elsewhere, and for a repeat that somebody asked
    for), and the number of the proposal that it answers. `run_id` and `host_id` (where it was measured) are
    the database's. A trial that was never recorded has none of these.

    `measurements` and `server_config`, the file the server ran with, are there as far as they were read from
    the database.
    """

    configuration: Configuration
    verdict: Verdict
    score: float | None = None
    second_score: float | None = None
    estimated_score: float | None = None
    reason: str = ""
    run_id: int = 0
    host_id: int = 0
    number: int = 0
    purpose: TrialPurpose = TrialPurpose.SEARCH
    level: int = 0
    block: int = 0
    proposal_number: int | None = None
    started_at: datetime = UNRECORDED
    finished_at: datetime = UNRECORDED
    server_config: str = ""
    measurements: tuple[Measurement, ...] = ()

    def __post_init__(self) -> None:
        """Raises ValueError for a score that is no number: it could not be compared with any other."""
        for score in (self.score, self.second_score, self.estimated_score):
            if score is not None and not math.isfinite(score):
                raise ValueError(f"score = {score}: expected a finite number")

    @cached_property
    def configuration_hash(self) -> str:
        """What tells its configuration from others; worked out when it is first asked for."""
        return configuration_hash(self.configuration)

    @property
    def known_score(self) -> float | None:
        """The score, else the estimate of a trial that was stopped early; None of one at which the load
        generator gave out, of which only a lower bound is known (`least_score`).
        """
        return self.estimated_score if self.verdict is Verdict.STOPPED_EARLY else self.score

    @property
    def least_score(self) -> float | None:
        """The score, else the lower bound of one at which the load generator gave out."""
        return self.estimated_score if self.verdict is Verdict.GENERATOR_LIMITED else self.score

    @property
    def duration_s(self) -> float:
        """How long it took."""
        return (self.finished_at - self.started_at).total_seconds()

    def without_measurements(self) -> "Trial":
        """What became of it, without what it measured: for those who keep thousands."""
        return replace(self, measurements=(), server_config="")

    @property
    def in_block(self) -> bool:
        """Whether it counts in the confirmation; in block 0 are repeats that stand outside of it."""
        return self.purpose is TrialPurpose.CONFIRMATION and self.block > 0
