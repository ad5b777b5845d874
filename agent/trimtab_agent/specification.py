"""What a run is asked to do: the body of `POST /api/v1/runs` and the options of `trimtab tune`."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class KnobSpec(BaseModel):
    """How a run narrows one knob: to one value, to a range, or to a choice of values."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fixed: int | str | None = None
    low: int | None = None
    high: int | None = None
    choices: tuple[int | str, ...] | None = None


class RunSpec(BaseModel):
    """A run as the user asks for it; what is left out comes from the preset."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    preset: str = "quick"
    target: str = "core"
    workload: str = "specweb99"
    objective: str = "condensed-area"
    strategy: str | None = None
    seed: int = Field(default=1, ge=0, lt=2**32)
    budget_trials: int | None = Field(default=None, ge=0)
    knobs: dict[str, KnobSpec] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
