"""What a run is asked to do: the body of `POST /api/v1/runs` and the options of `trimtab tune`.

`check` turns it into a `Plan`, against the presets, the target's space and the workloads there are.  Whatever
does not make sense is a SpecError that names the field, the value and what was expected.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from trimtab_trials.configuration import Configuration
from trimtab_tuner.certainty.blocks import FEWEST_BLOCKS
from trimtab_tuner.judging.score import Objective, parse_objective
from trimtab_tuner.judging.second_objective import check_pair, needs_limit
from trimtab_tuner.presets import PRESETS, Estimate, RunSettings, SettingsError, estimate, override
from trimtab_tuner.protocols import DEFAULT_WORKLOADS
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Space, SpaceError
from trimtab_tuner.strategies import STRATEGIES
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.access_logs import with_logs
from trimtab_tuner.targets.base import RenderContext, RenderError, Target, space_of
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.targets.kernel import NAMES, with_kernel, with_siblings, worth_freeing
from trimtab_tuner.targets.tls import KEY
from trimtab_tuner.telling.two_files import space_of_two
from trimtab_tuner.workloads import Workload
from trimtab_tuner.workloads.conditions import Conditions, Memory, Start, memory_limit_bytes
from trimtab_tuner.workloads.definition import Definition
from trimtab_tuner.workloads.learnt import LearntWorkload
from trimtab_tuner.workloads.links import Link
from trimtab_tuner.workloads.parameters import WorkloadParameters, parameters
from trimtab_tuner.workloads.upstream import Name

from trimtab_agent.base_file import BaseFile, located, one_for_each_cpu, read_base
from trimtab_agent.errors import SpecError
from trimtab_agent.kernel.reading import Kernel
from trimtab_agent.station.requirements import (
    for_workload,
    refuse_conditions,
    refuse_replicas,
    refuse_unanswerable,
)
from trimtab_agent.study import own_upstream
from trimtab_agent.study.own_file_report import (
    Kind,
    OwnFileReport,
    asked_behind,
    nothing_handed_on,
    refuse_told,
    report,
)
from trimtab_agent.workloads.choice import find_definition, make_workload, with_conditions
from trimtab_agent.workloads.own_site import OwnSite, own_site

# Stands for the private instance when only the question is whether there can be one.
NOWHERE = RenderContext(root="/", listen=("127.0.0.1:1",), server_cpus=(0,), prefix="/")

StationName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
Tag = Annotated[str, Field(min_length=1, max_length=40)]


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


@dataclass(frozen=True)
class Plan:
    """A run that makes sense: everything there is to know before it starts."""

    spec: RunSpec
    target: Target
    parameters: WorkloadParameters
    workload: Workload
    space: Space
    settings: RunSettings
    base: BaseFile | None = None
    new_base: BaseFile | None = None
    site: OwnSite | None = None

    def files(self) -> dict[str, Any]:
        """The user's own files as they are recorded with the run."""
        file = {} if self.base is None else self.base.as_json()
        return file if self.new_base is None else {**file, "new": self.new_base.as_json()}

    def own_files(self) -> Iterator[tuple[BaseFile, Configuration]]:
        """The user's own files, each with the values that it sets."""
        values = self.space.default()
        for base in (self.base, self.new_base):
            if base is not None:
                yield base, {**values, **own_values(self.target, base.expanded, 1)}

    def told(
        self,
        missing: Mapping[str, str] = MappingProxyType({}),
        corrected: Sequence[str] = (),
        logs: Sequence[str] = (),
        descriptors: int | None = None,
        made_keys: Sequence[str] = (),
    ) -> OwnFileReport:
        """What happens to the user's own file, which there is; raises SpecError.

        `missing` has the addresses of upstreams where nobody answers, each with why, `corrected` what the
        server says of numbers in whose place it takes others, `logs` what is otherwise with a trial's logs,
        `descriptors` how many files a process may open here, `made_keys` in place of which keys made ones are
        measured.
        """
        assert self.base is not None  # noqa: S101 - who asks has looked
        upstream = self.parameters.definition.upstream
        asks_files_alone = self.parameters.definition.behind is None
        stand_ins = () if upstream is None else [each.name for each in upstream.replaced]
        further: dict[Kind, Sequence[str]] = {
            "changed": made_keys,
            "corrected": [f"{self.target.program} says: {each}" for each in corrected],
            "site": (
                *(() if self.site is None else self.site.told),
                *(nothing_handed_on(self.target, self.base) if asks_files_alone else ()),
                *asked_behind(self.parameters.definition),
            ),
            "log": logs,
        }
        return report(self.target, self.base, self.space, missing, further, stand_ins, descriptors)

    def estimate(self) -> Estimate:
        """How many trials the run should take, and how long."""
        return estimate(
            self.settings,
            self.space,
            self.workload.total_bytes(),
            connections=self.parameters.definition.clients.connections,
            two_objectives=self.spec.second_objective is not None,
        )


def check(
    spec: RunSpec,
    own_workloads: Path | None = None,
    *,
    cpus: int = 1,
    kernel: Callable[[], Kernel] = lambda: Kernel(here=(), lacking=()),
) -> Plan:
    """The plan for a specification; `own_workloads` is the folder of the user's, `cpus` how many CPUs the
    server is to have, `kernel` reads the kernel of its machine. Raises SpecError.
    """
    preset = PRESETS[_known("preset", spec.preset, PRESETS)]
    target = TARGETS[_known("target", spec.target, TARGETS)]
    if spec.upstreams:
        own_upstream.require_replaceable(spec.upstreams, target, spec.base)
    usual = DEFAULT_WORKLOADS[target.protocol] if not spec.upstreams else own_upstream.WORKLOAD
    name = usual if spec.workload is None else spec.workload
    definition = spec.definition or find_definition(name, own_workloads)
    refuse_unanswerable(target, definition)
    _check_objectives(spec, definition)
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
    _check_ladder(spec, settings, definition)
    if spec.defaults and spec.base is not None:
        raise SpecError(
            "defaults", "defaults: the configuration file sets them already; expected either file or defaults"
        )
    base = None if spec.base is None else read_base(target, Path(spec.base), with_commands=True)
    own: Configuration = {}
    if base is not None:
        refuse_told(target, base)
        own = _measurable(target, base, cpus)
    space = _with_defaults(_of_architecture(spec, target, own, cpus), spec, cpus).with_defaults(own)
    if base is not None:
        space = space.with_each_cpu(one_for_each_cpu(target, base.expanded))
    if spec.upstreams and base is not None:
        definition = own_upstream.with_own_upstreams(definition, spec.upstreams, target, base)
    space = for_workload(space, target, definition)
    if base is not None:
        space = _begun_with(space, target, base)
        if definition.tls is not None or definition.http2 is not None:
            space = _begun_with_tls(space, spec, target, base)
    space = _with_tls_by_kernel(space, spec, kernel)
    new_base = None
    if settings.two_files:
        space, new_base = _of_two_files(spec, settings, space, target, cpus)
        if spec.upstreams:
            own_upstream.require_there(spec.upstreams, target, new_base)
    elif spec.new_base is not None:
        raise SpecError("new_base", "new_base: expected the preset 'compare' with it")
    if spec.kernel or not NAMES.isdisjoint(spec.knobs):
        if spec.hosts:
            raise SpecError(
                "hosts",
                "hosts: the kernel is tuned on this machine alone, as each has its own values; expected no "
                "hosts, or no knob of the kernel",
            )
        conditions = with_conditions(definition, memory=spec.memory, start=spec.start).conditions
        space = _with_kernel(space, spec, settings, conditions, kernel())
    _refuse_unknown_knobs(space, spec)
    settings = _without_ranges_of(settings, space, spec)
    space = settings.apply_ranges(_narrowed(_with_kept(space, spec), spec))
    if base is not None and new_base is None:
        _refuse_unchangeable(space, target, base)
    if base is None:  # what the user's own server runs with is taken as it is
        try:
            space.check(space.default())
        except SpaceError as error:
            raise SpecError(f"knobs.{error.knob}", str(error)) from error
        space = space.without_idle_constraints()
    if settings.searches and (why := space.nothing_to_try()):
        raise SpecError("knobs", why)
    definition = with_conditions(
        definition.sized(settings.directories), memory=spec.memory, start=spec.start, link=spec.link
    )
    refuse_conditions(definition)
    refuse_replicas(space, definition.conditions.link, own_file=base is not None, part="knobs")
    _check_generators(spec, settings, definition)
    site = None if spec.site is None else _site(spec, definition, own_workloads)
    if site is None:
        workload_parameters = parameters(definition, settings.time_scale)
        workload = make_workload(workload_parameters, own_workloads)
    else:
        workload_parameters = parameters(site.definition, settings.time_scale, str(site.root))
        workload = LearntWorkload(definition.name, site.model, settings.time_scale)
    try:
        memory_limit_bytes(definition.conditions.memory, workload.total_bytes())
    except ValueError as error:
        raise SpecError("memory", str(error)) from error
    return Plan(
        spec=spec,
        target=target,
        parameters=workload_parameters,
        workload=workload,
        space=space,
        settings=settings,
        base=base,
        new_base=new_base,
        site=site,
    )


def _site(spec: RunSpec, definition: Definition, own_workloads: Path | None) -> OwnSite:
    """The user's own files, for the server that has them."""
    assert spec.site is not None  # noqa: S101 - who asks has looked
    if spec.base is None:
        raise SpecError("site", "site: expected together with your own configuration file (--base)")
    if spec.hosts:
        raise SpecError("site", "site: its files are those of this machine; expected no hosts")
    return own_site(Path(spec.site), definition, own_workloads)


def _check_objectives(spec: RunSpec, definition: Definition) -> None:
    try:
        parse_objective(spec.objective)
    except ValueError as error:
        raise SpecError("objective", f"objective = {error}") from error
    asked = {"objective": spec.objective}
    if spec.second_objective is not None:
        try:
            check_pair(spec.objective, spec.second_objective)
        except ValueError as error:
            raise SpecError("second_objective", f"second_objective = {error}") from error
        asked["second_objective"] = spec.second_objective
    for field, text in asked.items():
        if needs_limit(text) and definition.clients.loop == "closed":
            raise SpecError(
                field,
                f"{field} = {text!r}: the latency limit is missing, and a closed loop has no calibration to "
                "find one; expected for instance 'mat: p999 <= 4ms'",
            )


def _check_generators(spec: RunSpec, settings: RunSettings, definition: Definition) -> None:
    """Generators of other machines come over the network that there is; hosts search under one objective."""
    if len(set(spec.hosts)) < len(spec.hosts):
        raise SpecError("hosts", f"hosts = {', '.join(spec.hosts)}: expected each once")
    if spec.hosts and (spec.second_objective is not None or settings.two_files or not settings.searches):
        raise SpecError(
            "hosts",
            "hosts: expected a search with one objective; what has two, compares two files or only climbs "
            "runs on one machine",
        )
    if len(set(spec.generators)) < len(spec.generators):
        raise SpecError("generators", f"generators = {', '.join(spec.generators)}: expected each once")
    if spec.generators and definition.shop is not None:
        raise SpecError(
            "generators",
            f"generators: the customers of {definition.name} come from the machine of the database; "
            "expected no generators, or a workload over HTTP",
        )
    if spec.generators and definition.conditions.link != "loopback":
        raise SpecError(
            "link",
            f"link = {definition.conditions.link!r}: a link is made on one machine, and here the load comes "
            "over the network from others; expected link = loopback, or no generators",
        )


def _check_ladder(spec: RunSpec, settings: RunSettings, definition: Definition) -> None:
    """A ladder that was asked for is one of rates, and leaves nothing to derive a latency limit from."""
    if not settings.searches and definition.clients.loop == "closed":
        raise SpecError("preset", f"preset = {spec.preset!r}: a closed loop has no rates to climb")
    if not settings.ladder:
        return
    if definition.clients.loop == "closed":
        raise SpecError(
            "settings.ladder",
            "ladder: a workload with a closed loop has no rates; change its numbers of connections instead",
        )
    if any(needs_limit(text) for text in (spec.objective, spec.second_objective) if text is not None):
        raise SpecError(
            "objective",
            "objective = 'mat': the latency limit is missing, and a run with your own ladder has no "
            "calibration to find one; expected for instance 'mat: p999 <= 4ms'",
        )


def _of_architecture(spec: RunSpec, target: Target, own: Configuration, cpus: int) -> Space:
    """The space of the architecture that is asked for, else of that of the user's `own` file.

    It decides which knobs there are, and which are free. Refuses one that the file cannot have.
    """
    fixed = {name: knob.fixed for name, knob in spec.knobs.items() if knob.fixed is not None}
    knob = target.space(cpus=cpus).of_role(Role.ARCHITECTURE)
    if knob is None:
        return target.space(cpus=cpus)
    try:
        space = space_of(target, {**spec.defaults, **own, **fixed}, cpus)
    except RenderError as error:
        raise SpecError(f"knobs.{knob.name}", str(error)) from error
    knob = space.knob(knob.name)
    if own and not knob.contains(own[knob.name]):
        raise SpecError(
            f"knobs.{knob.name}",
            f"{knob.name} = {fixed[knob.name]!r}: your file is for {own[knob.name]}, and stays so; expected "
            "that, or another file",
        )
    return space


def _with_defaults(space: Space, spec: RunSpec, cpus: int) -> Space:
    """The space with the defaults that the specification gives, where the server has so many CPUs; refuses
    values that the knobs cannot have.
    """
    for name in spec.each_cpu:
        if name not in spec.defaults:
            raise SpecError("each_cpu", f"each_cpu = {name!r}: expected knobs that `defaults` has a value of")
    values = {**spec.defaults, **dict.fromkeys(spec.each_cpu, cpus)}
    for name, value in values.items():
        try:
            space.knob(name).check(value)
        except SpaceError as error:
            raise SpecError(f"defaults.{name}", f"defaults: {error}") from error
    return space.with_defaults(values).with_each_cpu(spec.each_cpu)


def _measurable(target: Target, base: BaseFile, cpus: int) -> Configuration:
    """The values of the user's file; refuses one that cannot be measured."""
    try:
        own = own_values(target, base.expanded, cpus)
        target.private(base.expanded, own, own, NOWHERE)
    except RenderError as error:
        raise located(base, error) from error
    return own


def _begun_with(space: Space, target: Target, base: BaseFile) -> Space:
    """The space with what the user's file says of proxying, with the knobs of its access logs, and without
    the values that it rules out.
    """
    knobs = {knob.name for knob in space.knobs}
    try:
        space = space.with_defaults(target.parse_proxy(base.expanded))
        space = with_logs(space, target.log_knobs, target.parse_log(base.expanded))
        for name, values in target.refused(base.expanded).items():
            if name in knobs:
                space = space.without(name, values)
    except RenderError as error:
        raise located(base, error) from error
    except SpaceError as error:
        raise SpecError("base", f"{base.path}: {error}, with what the file says beside it") from error
    return space


def _begun_with_tls(space: Space, spec: RunSpec, target: Target, base: BaseFile) -> Space:
    """The space with what the user's file says of TLS and HTTP/2. The kind of key is not tuned: the file that
    is handed back names the user's own certificates.
    """
    try:
        space = space.with_defaults(target.parse_tls(base.expanded))
    except RenderError as error:
        raise located(base, error) from error
    if all(knob.name != KEY.name for knob in space.knobs):
        return space  # HTTP/2 without TLS
    asked = spec.knobs.get(KEY.name)
    if asked is None:
        return space.fix(KEY.name, KEY.default)
    if asked.fixed is None:
        raise SpecError(
            f"knobs.{KEY.name}",
            f"{KEY.name}: your file keeps its own certificates; expected the one kind that they are of",
        )
    return space


def _of_two_files(
    spec: RunSpec, settings: RunSettings, space: Space, target: Target, cpus: int
) -> tuple[Space, BaseFile]:
    """The space of an old and a new file, and the new one; refuses what cannot be compared."""
    if spec.base is None or spec.new_base is None:
        raise SpecError("base", "base: expected two files to compare, the old one and the new one")
    if spec.knobs:
        raise SpecError("knobs", "knobs: two files are compared as they are; expected no knobs")
    if settings.confirmation_repeats < FEWEST_BLOCKS:
        raise SpecError(
            "settings.confirmation_repeats",
            f"confirmation_repeats = {settings.confirmation_repeats}: expected at least {FEWEST_BLOCKS} "
            "blocks, as fewer have no interval",
        )
    new = read_base(target, Path(spec.new_base), with_commands=True)
    refuse_told(target, new)
    own, of_architecture = _measurable(target, new, cpus), space.of_role(Role.ARCHITECTURE)
    if of_architecture is not None and not of_architecture.contains(own[of_architecture.name]):
        name = of_architecture.name
        raise SpecError(
            "new_base",
            f"{new.path} is for {name} = {own[name]}, and the old one for {name} = "
            f"{of_architecture.default}: they have other knobs; expected two files for the same",
        )
    _begun_with(space, target, new)  # for what they refuse
    return space_of_two(space), new


def _with_kernel(
    space: Space, spec: RunSpec, settings: RunSettings, conditions: Conditions, kernel: Kernel
) -> Space:
    """The space with the knobs of the kernel that are asked for, by all of them or by their names."""
    if settings.two_files:
        raise SpecError(
            "kernel", "kernel: two files are compared on the kernel as it is; expected none of its knobs"
        )
    named = NAMES.intersection(spec.knobs)
    for name in sorted(named):
        if why := kernel.reason(name):
            raise SpecError(f"knobs.{name}", f"{name} cannot be set on this machine: {why}")
    knobs = kernel.knobs(None if spec.kernel else with_siblings(named))
    if not knobs:
        why = kernel.lacking[0].reason if kernel.lacking else "none is there"
        raise SpecError("kernel", f"kernel: none of its knobs can be set on this machine: {why}")
    free = worth_freeing(space, knobs, conditions) if spec.kernel and settings.searches else frozenset()
    return with_kernel(space, knobs, free)


def _with_tls_by_kernel(space: Space, spec: RunSpec, kernel: Callable[[], Kernel]) -> Space:
    """The space without a choice whether the kernel encrypts, where it cannot; refuses to be asked for it."""
    knob = space.of_role(Role.TLS_BY_KERNEL)
    if knob is None:
        return space
    if spec.hosts:
        why = ": that is known of this machine alone; expected no hosts"
    else:
        why = f" on this machine: {no_tls}" if (no_tls := kernel().no_tls) else ""
    asked = spec.knobs.get(knob.name)
    if not why or (asked is not None and asked.fixed == "off"):
        return space
    if asked is not None:
        raise SpecError(f"knobs.{knob.name}", f"{knob.name} cannot be set{why}")
    return space.kept(knob.name)


def _refuse_unchangeable(space: Space, target: Target, base: BaseFile) -> None:
    """What is tuned must be settable where it stands, in the file or in one that it includes."""
    free = [knob for knob in space.free if knob.name not in NAMES]
    own = space.default()
    # Only what has changed shows where it stands.
    other = {**own, **{k.name: next((v for v in k.grid(3) if v != own[k.name]), own[k.name]) for k in free}}

    def trouble(*names: str) -> str:
        try:
            base.sources.apart(target.changed(base.sources.marked, other, names, NOWHERE))
        except RenderError as error:
            return str(error)
        return ""

    if why := trouble(*(knob.name for knob in free)):
        named = [knob.name for knob in free if trouble(knob.name)]
        keep = f", or left as it is ({' '.join(f'--keep {name}' for name in named)})" if named else ""
        raise SpecError("base", f"{base.path}: {why}{keep}")


def _without_ranges_of(settings: RunSettings, space: Space, spec: RunSpec) -> RunSettings:
    """The settings without ranges on the knobs that the user narrows: a preset's are for those who do not."""
    narrowed = [knob for knob in space.knobs if knob.name in spec.knobs]
    taken = {knob.name for knob in narrowed} | {knob.role for knob in narrowed}
    ranges = {name: bounds for name, bounds in settings.ranges.items() if name not in taken}
    return settings.model_copy(update={"ranges": ranges})


def _refuse_unknown_knobs(space: Space, spec: RunSpec) -> None:
    """Of what is asked for; a preset's settings are for all targets, and may name what this one lacks."""
    roles = {knob.role for knob in space.knobs}
    for setting in ("coarse_grid", "ranges"):
        for name in spec.settings.get(setting, {}):
            try:
                if name not in roles:
                    space.knob(name)
            except SpaceError as error:
                raise SpecError(f"settings.{setting}", f"{setting}: {error}") from error


def _with_kept(space: Space, spec: RunSpec) -> Space:
    """The space with the knobs that stay as they are, which need not be values that a search would try."""
    for name in spec.keep:
        if name in spec.knobs:
            raise SpecError("keep", f"keep = {name}: it is narrowed too; expected one of both")
        try:
            space = space.kept(name)
        except SpaceError as error:
            raise SpecError("keep", f"keep: {error}") from error
    return space


def _narrowed(space: Space, spec: RunSpec) -> Space:
    for name, knob in spec.knobs.items():
        given = knob.model_dump(exclude_none=True)
        if knob.fixed is not None and len(given) > 1:
            raise SpecError(
                f"knobs.{name}",
                f"{name}: {', '.join(given)} given together; expected either fixed, or what it may vary in",
            )
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
