"""What is to be exported, and what an exported file is."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from trimtab_trials.configuration import Configuration

from trimtab_tuner.exports.lifting import Lifted, lift
from trimtab_tuner.exports.lowering import Lowered, lower
from trimtab_tuner.exports.scaling import Scaled, scale
from trimtab_tuner.space import Space
from trimtab_tuner.targets.base import ExportEvidence, RenderContext, Target, space_of
from trimtab_tuner.targets.placement import replicas_of
from trimtab_tuner.targets.sources import Sources


@dataclass(frozen=True, kw_only=True)
class ExportOrder:
    """A configuration of a target, with what was measured for it.

    `base` is the user's own file with those that it includes, `expanded` the whole as it can stand anywhere,
    where the run began with one. With `as_measured` no limit is lifted for real pauses, and there are as many
    workers as the CPUs had that served: so the file is driven once more.
    """

    target: Target
    space: Space
    configuration: Configuration
    context: RenderContext
    evidence: ExportEvidence
    base: Sources | None = None
    expanded: str = ""
    as_measured: bool = False

    @property
    def base_name(self) -> str:
        """The name of the user's own file; "" without one."""
        return "" if self.base is None else self.base.files[0][0].rpartition("/")[2]

    @property
    def changed(self) -> tuple[str, ...]:
        """The knobs in which the configuration differs from the run's default."""
        return self._differing(self.configuration)

    @cached_property
    def lowered(self) -> Lowered | None:
        """The limit on connections where less than was measured is enough; what its user has set stays."""
        evidence = self.evidence
        if evidence.most_open is None:
            return None
        lowered = lower(
            self.target,
            self.configuration,
            evidence.default,
            evidence.most_open,
            evidence.server_cpus,
            evidence.cpus,
            self._workers,
        )
        return None if lowered is None or lowered.knob in self.space.fixed else lowered

    @cached_property
    def lifted(self) -> Lifted | None:
        """The limit on connections where one for unscaled pauses is wanted beside the measured one.

        What its user has set stays: a limit that the run was told, or that an own file has and keeps.
        """
        pauses, room = self.evidence.pauses, self.evidence.room
        if pauses is None or room is None:
            return None
        lifted = lift(self.target, self._with_enough, self.cpus, pauses, room, self._workers)
        return None if lifted is None or self._is_the_users(lifted) else lifted

    @cached_property
    def scaled(self) -> Scaled | None:
        """The number of workers for all CPUs of the machine, where the server had not all of them.

        What its user has set stays.
        """
        evidence = self.evidence
        if replicas_of(self.configuration) > 1:
            return None
        base = None if self.base is None else self.base.whole
        each_cpu = {knob.name for knob in self.space.knobs if knob.each_cpu}
        scaled = scale(
            self.target,
            self.configuration,
            evidence.default,
            base,
            evidence.server_cpus,
            evidence.cpus,
            evidence.effects,
            each_cpu,
        )
        if scaled is None or scaled.knob not in self.space.fixed:
            return scaled
        return scaled if scaled.stays and scaled.knob in each_cpu else None

    @property
    def _workers(self) -> Configuration | None:
        return None if self.scaled is None else {self.scaled.knob: self.scaled.value}

    @property
    def _with_enough(self) -> Configuration:
        """The configuration that was measured, with no higher a limit on connections than is enough."""
        if self.lowered is None:
            return self.configuration
        return {**self.configuration, self.lowered.knob: self.lowered.value}

    def _is_the_users(self, lifted: Lifted) -> bool:
        if self.base is not None:
            return lifted.knob not in self.changed
        default = space_of(self.target, self.configuration, self.cpus).default()[lifted.knob]
        return self.space.fixed.get(lifted.knob, default) != default

    def limit_sentences(self, knob: str) -> tuple[str, ...]:
        """How the exported limit on connections follows from the measured one; none if it is another `knob`,
        or the two are one.
        """
        lowered, lifted = self.lowered, self.lifted
        said = () if lowered is None or lowered.knob != knob else (lowered.sentence(),)
        return said if lifted is None or lifted.knob != knob else said + lifted.sentences()

    @property
    def written(self) -> Configuration:
        """What the files say: the configuration that was measured, with a limit on connections that is enough
        for unscaled pauses, and the workers for all CPUs.
        """
        if self.as_measured:
            return self._with_enough
        written = dict(self._with_enough)
        if self.lifted is not None:
            written[self.lifted.knob] = self.lifted.value
        return written | (self._workers or {})

    @property
    def to_write(self) -> tuple[str, ...]:
        """The knobs in which that differs from the run's default, but for one that follows the CPUs."""
        stays = {self.scaled.knob} if self.scaled is not None and self.scaled.stays else set()
        return tuple(name for name in self._differing(self.written) if name not in stays)

    def _differing(self, configuration: Configuration) -> tuple[str, ...]:
        default = self.evidence.default
        return tuple(name for name, value in configuration.items() if default.get(name) != value)

    @property
    def place(self) -> RenderContext:
        """Where a file is to serve: on CPUs that are known to whoever takes it, not those of the measurement.

        Only replicas have CPUs of their own, which is what they are.
        """
        if replicas_of(self.configuration) > 1:
            return self.context
        return replace(self.context, server_cpus=())

    @property
    def cpus(self) -> int:
        """How many CPUs the server had."""
        return max(1, len(self.context.server_cpus))


@dataclass(frozen=True)
class Check:
    """How a file is checked: by `program`, with the command made from a file and the program's path.

    `text` is what is checked in place of the file itself, when that names places of a production instance.
    """

    program: str
    command: Callable[[str, str | None], tuple[str, ...]]
    text: str | None = None


@dataclass(frozen=True)
class ExportFile:
    """One file. `format` names it in the API and on the command line; without `check` no program reads it."""

    format: str
    file_name: str
    text: str
    check: Check | None = None
