"""What a target (a kind of server that can be tuned) offers, and what goes into a file exported for it.

Rendering is text only: writing files, running the server's own check and starting it are the caller's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from trimtab_trials.configuration import Configuration

from trimtab_tuner import affinity
from trimtab_tuner.space import Space
from trimtab_tuner.statistics import Gain
from trimtab_tuner.targets.placement import Workers

DESCRIPTOR_RESERVE = 64  # listeners, event queues, control sockets, logs, and what is open for a moment


class RenderError(ValueError):
    """A configuration or a path that cannot be written in the server's language; the message names it."""


@dataclass(frozen=True, kw_only=True)
class RenderContext:
    """What a configuration file needs besides the knobs.

    `listen` are `address:port` strings; `server_cpus` the CPUs set aside for the server, used when the
    configuration pins its workers; `prefix` is a directory of the server's own for run-time files (pid,
    temporary files) of targets that need one. What the server counts is read at `stats_socket` (core) or
    under the target's `status_path` at `status_listen` (the others); None leaves it out of the file.
    `error_log` is a path, or `stderr`. Requests for PHP go to the pool at `php_socket`; without one there is
    no PHP.
    """

    root: str
    listen: tuple[str, ...]
    stats_socket: str | None = None
    status_listen: str | None = None
    server_cpus: tuple[int, ...] = ()
    prefix: str = "."
    error_log: str = "stderr"
    php_socket: str | None = None


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What was measured for an exported configuration; every number comes from the run.

    `gain` compares it with the default configuration by the interleaved confirmation (None if there was no
    confirmation, or the default itself is exported). `tail` is the change of the 99th percentile of the reply
    time at a rung of the ladder (`tail_at`, in words), less than 0 being better. `knob_gains` holds gains
    measured for single knobs, by name, where the run compared configurations that differ in that knob alone.
    `trade_off` is a sentence on which one of the front it is, where the run had two objectives. `remeasured`
    says in words what the exported file itself scored.
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
    trade_off: str = ""
    tail: Gain | None = None
    tail_at: str = ""
    knob_gains: Mapping[str, Gain] = field(default_factory=dict)
    remeasured: str = ""


def cpus_for_workers(plan: object, context: RenderContext) -> tuple[int, ...]:
    """The CPUs that a plan deals out to the workers; empty when it pins none. Raises RenderError."""
    if not affinity.pins_workers(plan):
        return ()
    if not context.server_cpus:
        raise RenderError(
            f"affinity plan {plan}: expected to know the CPUs set aside for the server, there are none"
        )
    return context.server_cpus


About = Callable[[str], str]
"""Gives the comment lines over the setting of a knob, by the knob's name; empty for none."""


def no_comment(_knob: str) -> str:
    """Leaves a rendered file without comments."""
    return ""


@dataclass(frozen=True)
class Demands:
    """What a configuration needs from the operating system.

    `descriptors` for each process, of which `connections` are for connections and `files` for cached files;
    `backlog` is the length of the accept queue, None where it is no setting.
    """

    descriptors: int
    connections: int
    files: int
    backlog: int | None


class Target(Protocol):
    """A kind of server.

    `program` is the name of its executable, `file_name` that of its configuration file. A server has
    `status_path`, where it tells over HTTP what it has counted, or None if it has the stats socket of `core`.
    `verify_live` has for a knob the command that shows what a running server does with it.
    """

    name: str
    help: str
    program: str
    file_name: str

    @property
    def status_path(self) -> str | None:
        """Path and query of the status page."""
        ...

    @property
    def verify_live(self) -> Mapping[str, str]:
        """Commands by knob."""
        ...

    def space(self, architecture: str = "symped", cpus: int = 1) -> Space:
        """The knobs, with those free that a run tunes by default and the others fixed at their defaults.

        `architecture` is that of the core target; `cpus` is how many CPUs the server may use, on which the
        default of some servers depends.
        """
        ...

    def expert(self, cpus: int) -> Configuration:
        """What the server's documentation and its tuning guides advise for static files on `cpus` CPUs."""
        ...

    def render(self, configuration: Configuration, context: RenderContext, about: About = no_comment) -> str:
        """The configuration file, in the server's own language. Raises RenderError."""
        ...

    def parse(self, text: str, cpus: int = 1) -> Configuration:
        """The knobs that a configuration file sets, by name; those it leaves to the server are left out.

        Raises RenderError for a file or a value that cannot be understood.
        """
        ...

    def demands(self, configuration: Configuration) -> Demands:
        """What the operating system must allow."""
        ...

    def workers_to_pin(self, configuration: Configuration) -> Workers | None:
        """The workers that whoever starts the server puts on their CPUs; None if it does so itself."""
        ...

    def check_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """The command by which the server checks that file; `binary` replaces the name found by PATH."""
        ...

    def start_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """The command that runs the server in the foreground with that file."""
        ...

    def parse_status(self, text: str) -> dict[str, float]:
        """What the page at `status_path` says, under the names of docs/stats-socket.md where they exist."""
        ...
