"""What is to be exported, and what an exported file is."""

from collections.abc import Callable
from dataclasses import dataclass

from trimtab_trials.configuration import Configuration

from trimtab_tuner.space import Space
from trimtab_tuner.targets.base import ExportEvidence, RenderContext, Target


@dataclass(frozen=True, kw_only=True)
class ExportOrder:
    """A configuration of a target, with what was measured for it.

    `base` is the user's own file, `expanded` the same with its includes filled in, and `base_name` its name,
    where the run began with one.
    """

    target: Target
    space: Space
    configuration: Configuration
    context: RenderContext
    evidence: ExportEvidence
    base: str | None = None
    expanded: str = ""
    base_name: str = ""

    @property
    def changed(self) -> tuple[str, ...]:
        """The knobs in which the configuration differs from the run's default."""
        default = self.evidence.default
        return tuple(name for name, value in self.configuration.items() if default.get(name) != value)

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
