"""A run that makes sense: `check` turns what a run is asked to do into a `Plan`.

It looks at the presets, the target's space and the workloads there are.  Whatever does not make sense is a
SpecError that names the field, the value and what was expected.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from trimtab_trials.configuration import Configuration
from trimtab_tuner.judging.score import parse_objective
from trimtab_tuner.judging.second_objective import check_pair, needs_limit
from trimtab_tuner.presets import PRESETS, Estimate, RunSettings, SettingsError, estimate, override
from trimtab_tuner.protocols import DEFAULT_WORKLOADS
from trimtab_tuner.space import Space, SpaceError
from trimtab_tuner.strategies import STRATEGIES
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import Target
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.targets.kernel import NAMES
from trimtab_tuner.workloads import Workload, shop
from trimtab_tuner.workloads.conditions import memory_limit_bytes
from trimtab_tuner.workloads.definition import Definition
from trimtab_tuner.workloads.learnt import LearntWorkload
from trimtab_tuner.workloads.parameters import WorkloadParameters, parameters

from trimtab_agent.base_file import BaseFile, one_for_each_cpu, read_base
from trimtab_agent.errors import SpecError
from trimtab_agent.kernel.reading import Kernel
from trimtab_agent.station.requirements import (
    for_workload,
    refuse_conditions,
    refuse_replicas,
    refuse_unanswerable,
)
from trimtab_agent.study import asked_space, own_upstream
from trimtab_agent.study.own_file_report import (
    Kind,
    OwnFileReport,
    asked_behind,
    nothing_handed_on,
    refuse_told,
    report,
)
from trimtab_agent.study.run_spec import RunSpec
from trimtab_agent.workloads.choice import find_definition, make_workload, with_conditions
from trimtab_agent.workloads.own_site import OwnSite, own_site


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
    settings = _settings(spec)
    target = TARGETS[_known("target", spec.target, TARGETS)]
    if spec.upstreams:
        own_upstream.require_replaceable(spec.upstreams, target, spec.base)
    usual = DEFAULT_WORKLOADS[target.protocol] if not spec.upstreams else own_upstream.WORKLOAD
    name = usual if spec.workload is None else spec.workload
    definition = spec.definition or find_definition(name, own_workloads)
    refuse_unanswerable(target, definition)
    settings = _with_time_for_customers(settings, definition, spec)
    _check_objectives(spec, definition)
    _check_ladder(spec, settings, definition)
    if spec.defaults and spec.base is not None:
        raise SpecError(
            "defaults", "defaults: the configuration file sets them already; expected either file or defaults"
        )
    base = None if spec.base is None else read_base(target, Path(spec.base), with_commands=True)
    own: Configuration = {}
    if base is not None:
        refuse_told(target, base)
        own = asked_space.measurable_values(target, base, cpus)
    space = asked_space.of_architecture(spec, target, own, cpus)
    space = asked_space.with_defaults(space, spec, cpus).with_defaults(own)
    if base is not None:
        space = space.with_each_cpu(one_for_each_cpu(target, base.expanded))
    if spec.upstreams and base is not None:
        definition = own_upstream.with_own_upstreams(definition, spec.upstreams, target, base)
    space = for_workload(space, target, definition)
    if base is not None:
        space = asked_space.with_own_file(space, target, base)
        if definition.tls is not None or definition.http2 is not None:
            space = asked_space.with_own_tls(space, spec, target, base)
    space = asked_space.with_tls_by_kernel(space, spec, kernel)
    new_base = None
    if settings.two_files:
        space, new_base = asked_space.of_two_files(spec, settings, space, target, cpus)
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
        space = asked_space.with_asked_kernel(space, spec, settings, conditions, kernel())
    asked_space.refuse_unknown_knobs(space, spec)
    settings = _without_ranges_of(settings, space, spec)
    space = settings.apply_ranges(asked_space.narrowed(asked_space.with_kept(space, spec), spec))
    if base is not None and new_base is None:
        asked_space.refuse_unchangeable(space, target, base)
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


def _settings(spec: RunSpec) -> RunSettings:
    """The preset's settings, with those that are given beside it."""
    preset = PRESETS[_known("preset", spec.preset, PRESETS)]
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
    return settings


def _with_time_for_customers(settings: RunSettings, definition: Definition, spec: RunSpec) -> RunSettings:
    """Of a shop a preset that shortens pauses shortens neither time limits nor measurements as far: what a
    query takes stays. What is set beside the preset stays too.
    """
    if definition.shop is None:
        return settings
    least = {name: value for name, value in shop.LEAST_TIMES.items() if name not in spec.settings}
    return settings.model_copy(
        update={name: max(getattr(settings, name), value) for name, value in least.items()}
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
    if spec.generators_each > 1 and not (spec.hosts and spec.generators):
        raise SpecError(
            "generators_each",
            f"generators_each = {spec.generators_each}: expected hosts and generators with it; without hosts "
            "all generators load this machine",
        )
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


def _without_ranges_of(settings: RunSettings, space: Space, spec: RunSpec) -> RunSettings:
    """The settings without ranges on the knobs that the user narrows: a preset's are for those who do not."""
    narrowed = [knob for knob in space.knobs if knob.name in spec.knobs]
    taken = {knob.name for knob in narrowed} | {knob.role for knob in narrowed}
    ranges = {name: bounds for name, bounds in settings.ranges.items() if name not in taken}
    return settings.model_copy(update={"ranges": ranges})


def _known(field: str, name: str, names: Iterable[str]) -> str:
    if name not in names:
        raise SpecError(field, f"{field} = {name!r}: expected one of {', '.join(names)}")
    return name
