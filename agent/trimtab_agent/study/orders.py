"""What is measured next: each trial of a run as a job for a station, with what the trial is in the run."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypedDict

from trimtab_db import records
from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.trial import TrialPurpose
from trimtab_tuner.certainty.blocks import seed_of_block
from trimtab_tuner.judging.job import EarlyEnd, Placement, TrialJob
from trimtab_tuner.judging.ladder import RUNG_RISE
from trimtab_tuner.presets import RunSettings
from trimtab_tuner.telling.two_files import without_file
from trimtab_tuner.workloads.parameters import WorkloadParameters

from trimtab_agent.base_file import text_of
from trimtab_agent.study.history import History

KEPT = ("number", "purpose", "configuration", "level", "block", "proposal_number")


class Beyond(TypedDict):
    """How far a trial is driven beyond its ladder and between its rungs (`TrialJob`)."""

    rise: float | None
    refinements: int


@dataclass(frozen=True, kw_only=True)
class Order:
    """One trial of the run to carry out: its job, and what it is in the run.

    Of two files `configuration` says which, and the job has the text. `station` names the one that is to
    carry it out; any, if it is None.
    """

    number: int
    purpose: TrialPurpose
    configuration: Configuration
    job: TrialJob
    level: int = 0
    block: int = 0
    proposal_number: int | None = None
    station: str | None = None

    @cached_property
    def configuration_hash(self) -> str:
        """What tells its configuration from others; worked out when it is first asked for."""
        return configuration_hash(self.configuration)

    def kept(self) -> dict[str, Any]:
        """What must be known, beside its report, to record it; plain values."""
        return {name: getattr(self, name) for name in KEPT}


def scored_on(purpose: TrialPurpose, job: TrialJob, ladder: Sequence[float]) -> Sequence[float]:
    """The ladder that a trial's score is on: none of one that only looks for a capacity."""
    climbs_only = purpose is TrialPurpose.ELIMINATION and job.rise is not None
    return () if job.calibrates or climbs_only else ladder


class Orders:
    """The orders of one run; `placement` are the CPUs that every job is told, None where the stations divide
    their own.
    """

    def __init__(
        self,
        run: records.Run,
        workload: WorkloadParameters,
        settings: RunSettings,
        history: History,
        placement: Placement | None,
    ) -> None:
        self._run = run
        self._workload = workload
        self._settings = settings
        self._history = history
        self.placement = placement

    def trial(
        self,
        purpose: TrialPurpose,
        configuration: Configuration,
        ladder: Sequence[float],
        *,
        level: int = 0,
        block: int = 0,
        proposal_number: int | None = None,
        station: str | None = None,
        end_early: EarlyEnd | None = None,
        rise: float | None = None,
        refinements: int = 0,
        base: str | None = None,
    ) -> Order:
        """The run's next trial, up the ladder; with the text `base` in place of the user's own file."""
        settings = self._settings
        job = self._job(
            configuration,
            ladder=tuple(ladder),
            rise=rise,
            refinements=refinements,
            rate_duration_s=settings.rate_duration_s,
            warmup_s=settings.warmup_s,
            seed=seed_of_block(self._run.seed, block),
            end_early=end_early,
            **({} if base is None else {"base": base}),
        )
        return Order(
            number=self._history.new_number(),
            purpose=purpose,
            configuration=configuration,
            job=job,
            level=level,
            block=block,
            proposal_number=proposal_number,
            station=station,
        )

    def to_capacity(self) -> Beyond:
        """How a trial of the confirmation is driven on to its capacity.

        Not in a closed loop, which has no rates, nor beside a ladder that was asked for.
        """
        if self._settings.ladder or self._workload.definition.clients.loop == "closed":
            return Beyond(rise=None, refinements=0)
        return Beyond(rise=RUNG_RISE, refinements=self._settings.capacity_halvings)

    def calibration(self, configuration: Configuration, start_rps: float) -> Order:
        """The run's next trial, as a calibration that begins with that rate."""
        settings, step_s = self._settings, self._settings.calibration_step_s
        job = self._job(
            configuration,
            calibrate_from_rps=start_rps,
            refinements=settings.calibration_halvings,
            capacity=settings.capacity_only,
            rate_duration_s=step_s,
            warmup_s=step_s * settings.warmup_s / settings.rate_duration_s,
        )
        return Order(
            number=self._history.new_number(),
            purpose=TrialPurpose.CALIBRATION,
            configuration=configuration,
            job=job,
        )

    def _job(self, configuration: Configuration, **kind: Any) -> TrialJob:  # noqa: ANN401 - checked by the model
        """What all jobs of the run share, and what makes the kind of this one."""
        run, settings = self._run, self._settings
        shared = {
            "target": run.target,
            "configuration": without_file(configuration),
            "base": text_of(run.base, configuration),
            "workload": self._workload,
            "gap_s": settings.gap_s,
            "timeout_s": settings.timeout_s,
            "restart_between_rates": settings.restart_between_rates,
            "seed": run.seed,
            "placement": self.placement,
            "thresholds": settings.thresholds,
            "constraints": settings.constraints,
            "profile": settings.profile,
        }
        return TrialJob(**{**shared, **kind})
