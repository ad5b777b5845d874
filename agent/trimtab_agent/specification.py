"""What a run is asked to do: the body of `POST /api/v1/runs` and the options of `trimtab tune`.

`check` turns it into a `Plan`, against the presets, the target's space and the workloads there are.  Whatever
does not make sense is a SpecError that names the field, the value and what was expected.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from trimtab_tuner.presets import PRESETS, Estimate, Settings, SettingsError, estimate, override
from trimtab_tuner.score import Objective
from trimtab_tuner.space import Space, SpaceError
from trimtab_tuner.strategies import STRATEGIES
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import Target
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.specweb99 import DEFAULT_SEED, DEFAULT_SESSIONS, Specweb99

from trimtab_agent.errors import SpecError


class KnobSpec(BaseModel):
    """How a run narrows one knob: to one value, to a range, or to a choice of values."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fixed: int | str | None = None
    low: int | None = None
    high: int | None = None
    choices: tuple[int | str, ...] | None = None


class RunSpec(BaseModel):
    """A run as the user asks for it; what is left out comes from the preset.

    `settings` overrides single fields of the preset's settings, by name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    preset: str = "quick"
    target: str = "core"
    workload: str = "specweb99"
    objective: str = Objective.CONDENSED_AREA.value
    strategy: str | None = None
    seed: int = Field(default=1, ge=0, lt=2**31)
    budget_trials: int | None = None
    knobs: dict[str, KnobSpec] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """A run that makes sense: everything there is to know before it starts."""

    spec: RunSpec
    target: Target
    workload: Specweb99
    space: Space
    settings: Settings

    def estimate(self) -> Estimate:
        """How many trials the run should take, and how long."""
        return estimate(self.settings, self.space)


def check(spec: RunSpec) -> Plan:
    """The plan for a specification; raises SpecError."""
    preset = PRESETS[_known("preset", spec.preset, PRESETS)]
    target = TARGETS[_known("target", spec.target, TARGETS)]
    _known("workload", spec.workload, WORKLOADS)
    _known("objective", spec.objective, [objective.value for objective in Objective])
    changes = dict(spec.settings)
    if spec.strategy is not None:
        changes["strategy"] = spec.strategy
    if spec.budget_trials is not None:
        if spec.budget_trials < 1:
            raise SpecError(
                "budget_trials",
                f"budget_trials = {spec.budget_trials}: too small for one trial; expected at least 1",
            )
        changes["budget_trials"] = spec.budget_trials
    try:
        settings = override(preset.settings, changes)
    except SettingsError as error:
        raise SpecError(f"settings.{error.setting}", str(error)) from error
    _known("strategy", settings.strategy, STRATEGIES)
    # The preset's ranges are for those who have no opinion of their own.
    ranges = {name: bounds for name, bounds in settings.ranges.items() if name not in spec.knobs}
    settings = settings.model_copy(update={"ranges": ranges})
    space = settings.apply_ranges(_narrowed(target.space(_architecture(spec)), spec))
    if not space.free:
        raise SpecError("knobs", "every knob is fixed: expected at least one knob that is free to tune")
    return Plan(
        spec=spec,
        target=target,
        workload=make_workload(spec.workload, workload_parameters(settings)),
        space=space,
        settings=settings,
    )


def workload_parameters(settings: Settings) -> dict[str, Any]:
    """What tells one workload of a name from another.

    The seed is the workload's own and not the run's, so that runs with different seeds face the same
    requests and can be compared.
    """
    return {
        "directories": settings.directories,
        "seed": DEFAULT_SEED,
        "time_scale": settings.time_scale,
        "sessions": DEFAULT_SESSIONS,
    }


def make_workload(name: str, parameters: dict[str, Any]) -> Specweb99:
    """The workload with recorded parameters."""
    return WORKLOADS[name].factory(
        parameters["directories"], seed=parameters["seed"], time_scale=parameters["time_scale"]
    )


def _architecture(spec: RunSpec) -> str:
    """The architecture decides which knobs are free, so it is looked at before the others."""
    asked = spec.knobs.get("architecture", KnobSpec()).fixed
    return asked if isinstance(asked, str) else "symped"


def _narrowed(space: Space, spec: RunSpec) -> Space:
    for name, knob in spec.knobs.items():
        try:
            if knob.fixed is not None:
                space = space.fix(name, knob.fixed)
            else:
                space = space.restrict(name, low=knob.low, high=knob.high, choices=knob.choices)
        except SpaceError as error:
            raise SpecError(f"knobs.{error.knob}", str(error)) from error
    return space


def _known(field: str, name: str, names: Iterable[str]) -> str:
    if name not in names:
        raise SpecError(field, f"{field} = {name!r}: expected one of {', '.join(names)}")
    return name
