"""What a target (a kind of server that can be tuned) offers, and what goes into a file exported for it.

Rendering is text only: writing files, running the server's own check and starting it are the caller's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from trimtab_tuner.records import Configuration
from trimtab_tuner.space import Space
from trimtab_tuner.statistics import Gain


class RenderError(ValueError):
    """A configuration or a path that cannot be written in the server's language; the message names it."""


@dataclass(frozen=True, kw_only=True)
class RenderContext:
    """What a configuration file needs besides the knobs.

    `listen` are `address:port` strings; `server_cpus` the CPUs set aside for the server, used when the
    configuration pins its workers; `prefix` is a directory of the server's own for run-time files (pid,
    temporary files) of targets that need one.
    """

    root: str
    listen: tuple[str, ...]
    stats_socket: str | None = None
    server_cpus: tuple[int, ...] = ()
    prefix: str = "."


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What was measured for an exported configuration; every number comes from the run.

    `gain` compares it with the default configuration by the interleaved confirmation (None if there was no
    confirmation, or the default itself is exported). `knob_gains` holds gains measured for single knobs, by
    name, where the run compared configurations that differ in that knob alone.
    """

    run: str
    date: str
    host: str
    workload: str
    objective: str
    trials: int
    default: Configuration
    score_mbps: float | None = None
    default_score_mbps: float | None = None
    gain: Gain | None = None
    knob_gains: Mapping[str, Gain] = field(default_factory=dict)


class Target(Protocol):
    """A kind of server."""

    name: str
    help: str

    def space(self, architecture: str = "symped") -> Space:
        """The knobs that a run tunes by default, the others fixed at their defaults."""
        ...

    def render(self, configuration: Configuration, context: RenderContext) -> str:
        """The configuration file, in the server's own language."""
        ...

    def check_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """The command by which the server checks that file; `binary` replaces the name found by PATH."""
        ...


class Exporter(Protocol):
    """Writes a configuration of the core target in the language of some server, with the evidence."""

    format: str
    file_name: str

    def export(self, configuration: Configuration, context: RenderContext, evidence: Evidence) -> str:
        """The text of the file: every setting with a comment that says where its value comes from."""
        ...

    def check_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """The command by which that server checks the file."""
        ...
