"""What a run is asked to do: the body of `POST /api/v1/runs` and the options of `trimtab tune`."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from trimtab_trials.configuration import Configuration
from trimtab_tuner.judging.score import Objective
from trimtab_tuner.workloads.conditions import Memory, Start
from trimtab_tuner.workloads.definition import Definition
from trimtab_tuner.workloads.links import Link
from trimtab_tuner.workloads.upstream import Name

from trimtab_agent.results.naming import ONE_LINE

StationName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
Tag = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=40, pattern=ONE_LINE)]


class KnobSpec(BaseModel):
    """How a run narrows one knob: to one value, to a range, or to a choice of values."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fixed: int | str | None = None
    low: int | None = None
    high: int | None = None
    choices: tuple[int | str, ...] | None = None


class RunSpec(BaseModel):
    """A run as the user asks for it; what is left out comes from the preset.

    `objective` is what is searched for; `second_objective` is another one, or the cost `rss` or `p999`, and
    makes the run look for the configurations that no other beats in both. `settings` overrides single fields
    of the preset's settings, by name. `base` is the path of the user's own configuration file of the server,
    whose values are the run's defaults; the preset `compare` measures another one, `new_base`, against it.
    `site` is the path of the directory whose files a learnt workload asks for, in place of made ones.
    `definition` is a workload that has no name here; it goes before `workload`. With `kernel` the knobs of
    the kernel are tuned beside the server's; one that `knobs` names is also without. `defaults` are the
    values that knobs have now, where they are not the target's own: the run measures its gain over them.
    Those of them that are one for each CPU, as nginx's `auto`, are named in `each_cpu`.
    `keep` are knobs that stay at those values, as in the file of the user's.
    `upstreams` are upstreams of that file, by name, in whose places Trimtab's answer: `measured` as fast as
    its log tells, or in a time on average (`20ms`).
    `memory`, `start` and `link` go before the definition's own conditions. `generators` are stations of the
    fleet that load the server, in place of this machine's own generator. `hosts` are those that carry the
    trials out (`all` for every one); then so many of the generators load each of them (`generators_each`).
    `tags` are short words by which the run is found again.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    preset: str = "quick"
    target: str = "core"
    base: str | None = None
    new_base: str | None = None
    site: str | None = None
    defaults: Configuration = Field(default_factory=dict)
    each_cpu: Annotated[tuple[str, ...], Field(max_length=100)] = ()
    workload: str | None = None
    definition: Definition | None = None
    upstreams: Annotated[dict[Name, str], Field(max_length=32)] = Field(default_factory=dict)
    kernel: bool = False
    memory: Memory | None = None
    start: Start | None = None
    link: Link | None = None
    objective: str = Objective.CONDENSED_AREA.value
    second_objective: str | None = None
    strategy: str | None = None
    seed: int = Field(default=1, ge=0, lt=2**31)
    budget_trials: int | None = None
    knobs: dict[str, KnobSpec] = Field(default_factory=dict)
    keep: Annotated[tuple[str, ...], Field(max_length=100)] = ()
    settings: dict[str, Any] = Field(default_factory=dict)
    hosts: Annotated[tuple[StationName, ...], Field(max_length=1000)] = ()
    generators: Annotated[tuple[StationName, ...], Field(max_length=256)] = ()
    generators_each: Annotated[int, Field(ge=1, le=256)] = 1
    tags: Annotated[tuple[Tag, ...], Field(max_length=20)] = ()
