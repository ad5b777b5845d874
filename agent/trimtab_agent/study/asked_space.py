"""The space of a run: which knobs there are, from which values they begin, and what the search may try.

It begins as the target's, for the architecture that is asked for. The user's own file gives the values that
it sets, of proxying and TLS too; the kernel adds its knobs; what is kept or narrowed comes last.
`specification.check` takes these steps in their order. Each refuses what does not make sense with a
SpecError.
"""

from collections.abc import Callable
from pathlib import Path

from trimtab_trials.configuration import Configuration
from trimtab_tuner.certainty.blocks import FEWEST_BLOCKS
from trimtab_tuner.presets import RunSettings
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Space, SpaceError
from trimtab_tuner.targets.access_logs import with_logs
from trimtab_tuner.targets.base import RenderContext, RenderError, Target, space_of
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.targets.kernel import NAMES, with_kernel, with_siblings, worth_freeing
from trimtab_tuner.targets.tls import KEY
from trimtab_tuner.telling.two_files import space_of_two
from trimtab_tuner.workloads.conditions import Conditions

from trimtab_agent.base_file import BaseFile, located, read_base
from trimtab_agent.errors import SpecError
from trimtab_agent.kernel.reading import Kernel
from trimtab_agent.study.own_file_report import (
    refuse_told,
)
from trimtab_agent.study.run_spec import RunSpec

# Stands for the private instance when only the question is whether there can be one.
NOWHERE = RenderContext(root="/", listen=("127.0.0.1:1",), server_cpus=(0,), prefix="/")


def of_architecture(spec: RunSpec, target: Target, own: Configuration, cpus: int) -> Space:
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


def with_defaults(space: Space, spec: RunSpec, cpus: int) -> Space:
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


def measurable_values(target: Target, base: BaseFile, cpus: int) -> Configuration:
    """The values of the user's file; refuses one that cannot be measured."""
    try:
        own = own_values(target, base.expanded, cpus)
        target.private(base.expanded, own, own, NOWHERE)
    except RenderError as error:
        raise located(base, error) from error
    return own


def with_own_file(space: Space, target: Target, base: BaseFile) -> Space:
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


def with_own_tls(space: Space, spec: RunSpec, target: Target, base: BaseFile) -> Space:
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


def of_two_files(
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
    own, of_architecture = measurable_values(target, new, cpus), space.of_role(Role.ARCHITECTURE)
    if of_architecture is not None and not of_architecture.contains(own[of_architecture.name]):
        name = of_architecture.name
        raise SpecError(
            "new_base",
            f"{new.path} is for {name} = {own[name]}, and the old one for {name} = "
            f"{of_architecture.default}: they have other knobs; expected two files for the same",
        )
    with_own_file(space, target, new)  # for what they refuse
    return space_of_two(space), new


def with_asked_kernel(
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


def with_tls_by_kernel(space: Space, spec: RunSpec, kernel: Callable[[], Kernel]) -> Space:
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


def refuse_unchangeable(space: Space, target: Target, base: BaseFile) -> None:
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


def refuse_unknown_knobs(space: Space, spec: RunSpec) -> None:
    """Of what is asked for; a preset's settings are for all targets, and may name what this one lacks."""
    roles = {knob.role for knob in space.knobs}
    for setting in ("coarse_grid", "ranges"):
        for name in spec.settings.get(setting, {}):
            try:
                if name not in roles:
                    space.knob(name)
            except SpaceError as error:
                raise SpecError(f"settings.{setting}", f"{setting}: {error}") from error


def with_kept(space: Space, spec: RunSpec) -> Space:
    """The space with the knobs that stay as they are, which need not be values that a search would try."""
    for name in spec.keep:
        if name in spec.knobs:
            raise SpecError("keep", f"keep = {name}: it is narrowed too; expected one of both")
        try:
            space = space.kept(name)
        except SpaceError as error:
            raise SpecError("keep", f"keep: {error}") from error
    return space


def narrowed(space: Space, spec: RunSpec) -> Space:
    """The space with each knob that is asked for at one value, in a range or in a choice."""
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
