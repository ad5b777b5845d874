"""Named bundles of settings, and what a run with them will take.

`RunSettings` is everything about a run that is not the target, the workload or the space. A `Preset` names
one set of them; `Preset.settings` can be overridden field by field with `override`.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from trimtab_tuner.frozen import Frozen
from trimtab_tuner.judging.climbing import whole
from trimtab_tuner.judging.ladder import REFINEMENTS
from trimtab_tuner.judging.limits import parse_limit
from trimtab_tuner.judging.verification import Thresholds
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Space, SpaceError
from trimtab_tuner.strategies import DEFAULT_STRATEGY
from trimtab_tuner.targets.kernel import tunes_kernel
from trimtab_tuner.workloads.file_sets import FILE_SIZES

PROCESS_START_S = 0.5  # render, check, start and stop a server: measured well under this on two cores
WARM_BYTES_PER_S = 400e6  # reading the file set once through the server
WRITE_BYTES_PER_S = 150e6  # writing it, on a slow disk
USUAL_GROWTH = 4  # rungs by which a ladder grows: the best often follows twice what the default does
OVERLOADED = 1  # rungs of a trial at which clients give up, so that they drain for their whole timeout
ELIMINATION_RATES = 3  # of a trial of the elimination: what its best follows, the next, and one between
USUAL_PROOF = 4  # trials of an elimination beside one for each knob
SESSION_S = 5.0  # how long the sessions that have begun go on after a rate, with unscaled pauses
DIRECTORY_BYTES = sum(FILE_SIZES)


class SettingsError(ValueError):
    """A setting with a bad value; `setting` names it."""

    def __init__(self, setting: str, message: str) -> None:
        super().__init__(message)
        self.setting = setting


class Range(Frozen):
    """Bounds that a preset puts on an integer knob, to spend its few trials where they matter."""

    low: int
    high: int


class RunSettings(Frozen):
    """How a run is carried out. Times in seconds, as the field names say.

    A search of `budget_trials` trials is followed by an elimination of at most `elimination_trials`, which
    shows which settings of its best are worth something (`certainty/elimination.py`).

    Think times of the workload are multiplied by `time_scale`; `timeout_s` should shrink with it, as the
    seeds' 10 s belong to unscaled think times. `coarse_grid` is the number of grid values per knob in the
    wide search, `ranges` bounds on integer knobs; both name knobs or roles, which hold on every server.
    `constraints` are limits that must hold at every rate (`limits.py`), `expert_baseline` adds the target's
    documented advice to the finalists, `learn` lets the search learn from earlier runs of the target. `gap_s`
    is the pause after each rate, in which TIME_WAIT sockets drain. With `early_stopping` a trial of the
    search is stopped at the rate after which its outcome can no longer matter (`early_stop.py`).

    With a `ladder` of its own (rates in requests per second) a run neither makes one nor lets it grow: runs
    of different days compare on it. `capacity_halvings` is how often the confirmation halves what lies
    between the highest rate that is followed and the next (`climbing.py`), `calibration_halvings` how often
    the calibration does. `capacity_only` leaves the search away: one climb of the default is all. `two_files`
    measures two files of a server in place of a search; the new one may lose the share `most_loss` of the
    old one's capacity. The preset alone decides on both, so that its name tells whether a run searches.
    """

    directories: Annotated[int, Field(ge=1, le=10_000)]
    time_scale: Annotated[float, Field(gt=0, le=10)]
    timeout_s: Annotated[float, Field(gt=0, le=600)]
    calibration_start_rps: Annotated[float, Field(ge=1, le=1e7)] = 2000.0
    calibration_step_s: Annotated[float, Field(gt=0, le=600)]
    rate_duration_s: Annotated[float, Field(gt=0, le=3600)]
    warmup_s: Annotated[float, Field(ge=0, le=3600)]
    gap_s: Annotated[float, Field(ge=0, le=3600)]
    ladder_points: Annotated[int, Field(ge=2, le=64)]
    ladder: tuple[Annotated[float, Field(gt=0, le=1e7)], ...] = ()
    calibration_halvings: Annotated[int, Field(ge=1, le=16)] = REFINEMENTS
    capacity_halvings: Annotated[int, Field(ge=0, le=16)] = 2
    capacity_only: bool = False
    two_files: bool = False
    most_loss: Annotated[float, Field(ge=0, lt=1)] = 0.02
    restart_between_rates: bool = False
    early_stopping: bool = True
    strategy: str = DEFAULT_STRATEGY
    budget_trials: Annotated[int, Field(ge=1, le=100_000)]
    elimination_trials: Annotated[int, Field(ge=0, le=1000)] = 0
    coarse_grid: dict[str, Annotated[int, Field(ge=1, le=64)]]
    levels: Annotated[int, Field(ge=1, le=6)]
    tie_tolerance: Annotated[float, Field(ge=0, lt=1)] = 0.01
    ranges: dict[str, Range] = Field(default_factory=dict)
    confirmation_repeats: Annotated[int, Field(ge=0, le=100)]
    runners_up: Annotated[int, Field(ge=0, le=20)] = 0
    expert_baseline: bool = False
    learn: bool = False
    constraints: tuple[str, ...] = ()
    thresholds: Thresholds = Field(default_factory=Thresholds)
    profile: bool = False
    sampling_interval_s: Annotated[float, Field(ge=0.1, le=1)] = 1.0

    @field_validator("constraints", mode="before")
    @classmethod
    def _listed(cls, constraints: object) -> object:
        return (constraints,) if isinstance(constraints, str) else constraints

    @field_validator("constraints")
    @classmethod
    def _parsed(cls, constraints: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(parse_limit(text).text for text in constraints)

    @field_validator("ladder")
    @classmethod
    def _ascending(cls, ladder: tuple[float, ...]) -> tuple[float, ...]:
        rates = tuple(map(whole, ladder))
        if len(rates) == 1 or list(rates) != sorted(set(rates)):
            given = ", ".join(f"{rate:g}" for rate in ladder)
            raise ValueError(f"{given}: expected two or more ascending rates, each once")
        return rates

    @property
    def searches(self) -> bool:
        """Whether configurations are looked for."""
        return not (self.capacity_only or self.two_files)

    @model_validator(mode="after")
    def _consistent(self) -> "RunSettings":
        if self.warmup_s >= self.rate_duration_s:
            raise ValueError(
                f"warmup_s = {self.warmup_s}: expected less than rate_duration_s = {self.rate_duration_s}"
            )
        return self

    def apply_ranges(self, space: Space) -> Space:
        """The space with the preset's ranges on those free knobs that the user has not already narrowed."""
        for knob in space.free:
            bounds = knob.of(self.ranges)
            if bounds is None or knob.low is None or knob.high is None:
                continue
            low, high = max(knob.low, bounds.low), min(knob.high, bounds.high)
            if low <= high:
                space = space.restrict(knob.name, low=low, high=high)
        return space


class Preset(Frozen):
    """A named set of settings with one sentence on when to use it."""

    name: Literal["quick", "standard", "thorough", "thesis", "capacity", "compare"]
    help: str
    settings: RunSettings


class PhaseEstimate(Frozen):
    """How long one phase of a run should take."""

    phase: Literal["preparing", "calibrating", "searching", "eliminating", "confirming", "exporting"]
    trials: int
    duration_s: float


class Estimate(Frozen):
    """How many trials a run should take and how long, in all and by phase."""

    trials: int
    duration_s: float
    breakdown: tuple[PhaseEstimate, ...]


_OF_PRESETS = (
    ("capacity_only", "capacity", "measure without a search"),
    ("two_files", "compare", "measure two files"),
)


def override(settings: RunSettings, changes: Mapping[str, object]) -> RunSettings:
    """The settings with some fields replaced; SettingsError names the first bad field, its value and why.

    Whether there is a search stays as it is.
    """
    try:
        changed = RunSettings.model_validate({**settings.model_dump(), **changes})
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        if not field:
            raise SettingsError("warmup_s", first["msg"].removeprefix("Value error, ")) from error
        if first["type"] == "extra_forbidden":
            model = Thresholds if field.startswith("thresholds.") else RunSettings
            known = ", ".join(model.model_fields)
            raise SettingsError(field, f"{field}: no such setting; expected one of {known}") from error
        if first["type"] == "value_error":
            raise SettingsError(field, f"{field}: {first['ctx']['error']}") from error
        reason = first["msg"].removeprefix("Input ").replace("should be", "expected to be")
        raise SettingsError(field, f"{field} = {first['input']!r}: {reason}") from error
    for field, preset, what in _OF_PRESETS:
        if getattr(changed, field) != getattr(settings, field):
            raise SettingsError(
                field,
                f"{field}: only a preset can set it; expected the preset '{preset}' to {what}, or "
                "another one to search",
            )
    return changed


def estimate(
    settings: RunSettings,
    space: Space,
    file_set_bytes: float | None = None,
    *,
    connections: Sequence[int] = (),
    two_objectives: bool = False,
) -> Estimate:
    """What a run takes: an upper estimate in which no rate is saved by stopping early.

    Every trial drains for the whole timeout at `OVERLOADED` rungs, and the ladder grows by `USUAL_GROWTH`
    unless it is one of the user's own or that of a closed loop, beyond which nothing is driven either.

    `file_set_bytes` is the size of the workload's file set; that of `directories` if not given.
    `connections` are the numbers of a closed loop, which are its ladder. With
    `two_objectives` two more finalists are confirmed: the other end of the front, and its knee.

    Raises SpaceError if the space has no free knob for a search.
    """
    if not space.free and settings.searches:
        raise SpaceError(space.knobs[0].name, "every knob is fixed: expected at least one free knob to tune")
    drain_s = SESSION_S * settings.time_scale
    rate_s = settings.rate_duration_s + drain_s + settings.gap_s
    fixed = len(settings.ladder) or len(connections)
    points = fixed or settings.ladder_points
    growth = 0 if fixed else USUAL_GROWTH
    starts = points if settings.restart_between_rates else 1
    if file_set_bytes is None:
        file_set_bytes = settings.directories * DIRECTORY_BYTES
    warm_s = file_set_bytes / WARM_BYTES_PER_S
    trial_s = points * rate_s + OVERLOADED * settings.timeout_s + starts * PROCESS_START_S + warm_s
    rung_s = rate_s + (starts > 1) * PROCESS_START_S
    exported_s = trial_s + growth * rung_s
    between_s = 0.0 if fixed else settings.capacity_halvings * rung_s
    climb_s = exported_s + between_s + (0.0 if fixed else settings.timeout_s)
    finalists = 2 + settings.runners_up + settings.expert_baseline + 2 * two_objectives
    finalists += 2 * tunes_kernel(space)  # the halves of the factorial (factorial.py)
    # The default of a search is not driven at the rungs that the ladder has grown by, nor beyond them.
    block_s = (trial_s + between_s if settings.searches else climb_s) + (finalists - 1) * climb_s
    eliminated_s = trial_s
    if not fixed:
        eliminated_s += (ELIMINATION_RATES - points) * rung_s
    eliminations = min(settings.elimination_trials, len(space.free) + USUAL_PROOF)
    calibration_steps = 0 if fixed else 7 + settings.calibration_halvings
    step_s = settings.calibration_step_s + drain_s
    driven_again = int(settings.searches)  # the exported file
    confirmations = finalists * settings.confirmation_repeats
    searches = min(settings.budget_trials, _size(space)) if settings.searches else 0
    if settings.capacity_only:
        confirmations = 0
    if not settings.searches or len(space.free) < 2:
        eliminations = 0
    breakdown = (
        PhaseEstimate(
            phase="preparing",
            trials=0,
            duration_s=file_set_bytes / WRITE_BYTES_PER_S + 1,
        ),
        PhaseEstimate(
            phase="calibrating", trials=0, duration_s=calibration_steps * step_s + PROCESS_START_S + warm_s
        ),
        PhaseEstimate(phase="searching", trials=searches, duration_s=searches * trial_s),
        PhaseEstimate(phase="eliminating", trials=eliminations, duration_s=eliminations * eliminated_s),
        PhaseEstimate(
            phase="confirming",
            trials=confirmations,
            duration_s=confirmations / finalists * block_s,
        ),
        PhaseEstimate(
            phase="exporting",
            trials=driven_again,
            duration_s=driven_again * (exported_s + 1),
        ),
    )
    return Estimate(
        trials=sum(phase.trials for phase in breakdown),
        duration_s=sum(phase.duration_s for phase in breakdown),
        breakdown=breakdown,
    )


def _size(space: Space) -> int:
    """Number of configurations of the free knobs, constraints left aside."""
    size = 1
    for knob in space.free:
        size *= len(knob.choices) or (knob.high or 0) - (knob.low or 0) + 1
    return size


def _grid(*, workers: int, connections: int) -> dict[str, int]:
    return {Role.WORKERS: workers, Role.CONNECTIONS: connections, Role.CONNECTIONS_PER_WORKER: connections}


def _ranges(*, workers: tuple[int, int], connections: tuple[int, int]) -> dict[str, Range]:
    of_connections = Range(low=connections[0], high=connections[1])
    return {
        Role.WORKERS: Range(low=workers[0], high=workers[1]),
        Role.CONNECTIONS: of_connections,
        Role.CONNECTIONS_PER_WORKER: of_connections,
    }


_QUICK = RunSettings(
    directories=10,
    time_scale=0.1,
    timeout_s=1.0,
    calibration_step_s=1.5,
    rate_duration_s=1.3,
    warmup_s=0.35,
    gap_s=0.0,
    ladder_points=4,
    budget_trials=12,
    elimination_trials=10,
    coarse_grid=_grid(workers=6, connections=7),
    levels=3,
    ranges=_ranges(workers=(1, 32), connections=(64, 16_384)),
    confirmation_repeats=5,
)

PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            name="quick",
            help="A first answer in six minutes: short measurements, few files, a tenth of the think times.",
            settings=_QUICK,
        ),
        Preset(
            name="standard",
            help="About an hour: longer measurements, a runner-up in the confirmation, smaller gains shown.",
            settings=_QUICK.model_copy(
                update={
                    "directories": 50,
                    "time_scale": 0.2,
                    "timeout_s": 2.0,
                    "calibration_step_s": 4.0,
                    "rate_duration_s": 8.0,
                    "warmup_s": 2.0,
                    "gap_s": 0.5,
                    "ladder_points": 5,
                    "budget_trials": 30,
                    "elimination_trials": 16,
                    "coarse_grid": _grid(workers=8, connections=8),
                    "ranges": _ranges(workers=(1, 128), connections=(64, 65_536)),
                    "confirmation_repeats": 6,
                    "runners_up": 1,
                    "expert_baseline": True,
                }
            ),
        ),
        Preset(
            name="thorough",
            help="Several hours: unscaled think times and the 10 s timeout of the seeds, a wide grid.",
            settings=_QUICK.model_copy(
                update={
                    "directories": 200,
                    "time_scale": 1.0,
                    "timeout_s": 10.0,
                    "calibration_step_s": 15.0,
                    "rate_duration_s": 40.0,
                    "warmup_s": 10.0,
                    "gap_s": 2.0,
                    "ladder_points": 6,
                    "budget_trials": 54,
                    "elimination_trials": 20,
                    "coarse_grid": _grid(workers=9, connections=9),
                    "ranges": _ranges(workers=(1, 256), connections=(64, 131_072)),
                    "confirmation_repeats": 6,
                    "runners_up": 2,
                    "expert_baseline": True,
                }
            ),
        ),
        Preset(
            name="thesis",
            help="The protocol of the thesis: 650 directories, 5 minutes a rate, 2 minutes between; days.",
            settings=_QUICK.model_copy(
                update={
                    "directories": 650,
                    "time_scale": 1.0,
                    "timeout_s": 10.0,
                    "calibration_step_s": 60.0,
                    "rate_duration_s": 300.0,
                    "warmup_s": 15.0,
                    "gap_s": 120.0,
                    "ladder_points": 8,
                    "restart_between_rates": True,
                    "early_stopping": False,
                    "budget_trials": 84,
                    "elimination_trials": 12,
                    "coarse_grid": _grid(workers=6, connections=6),
                    "ranges": _ranges(workers=(1, 200), connections=(7_000, 40_000)),
                    "confirmation_repeats": 3,
                    "runners_up": 1,
                    "expert_baseline": True,
                    "thresholds": Thresholds(confidence=None),
                }
            ),
        ),
        Preset(
            name="capacity",
            help="No search: one climb with the configuration there is, to what it follows; two minutes.",
            settings=_QUICK.model_copy(
                update={
                    "calibration_step_s": 7.0,
                    "calibration_halvings": 4,
                    "capacity_only": True,
                    "elimination_trials": 0,
                }
            ),
        ),
        Preset(
            name="compare",
            help="No search: an old file of a server against a new one, in interleaved blocks; five minutes.",
            settings=_QUICK.model_copy(
                update={
                    "two_files": True,
                    "confirmation_repeats": 6,
                    "capacity_halvings": 4,
                    "elimination_trials": 0,
                }
            ),
        ),
    )
}
