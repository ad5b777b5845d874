"""What stands behind a server and answers its dynamic requests: programs with settings of their own.

A backend's knobs are searched beside the server's. Each is named after the program's own setting; a prefix
tells it from the server's where the two could be mistaken. Rendering is text only, as for targets.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

from trimtab_trials.configuration import Configuration

from trimtab_tuner.space import Knob, OnlyWith
from trimtab_tuner.targets.base import About, no_comment


@dataclass(frozen=True, kw_only=True)
class BackendContext:
    """What a backend's file needs besides the knobs.

    It listens at `address`: a path where it speaks FastCGI, else `address:port`. `directory` is where the
    application lies, `prefix` a directory of its own; what it counts is told at the path `status` if it can.
    Started by root it becomes `user`, whose socket it listens at; without one it is not for root.
    """

    address: str
    directory: str
    prefix: str
    error_log: str
    status: str | None = None
    user: str | None = None


class Backend(Protocol):
    """A program that answers dynamic requests behind a server.

    `speaks` is how the server asks it. `free` are the knobs that a run tunes by default, `children` is the
    one of how many processes answer. `path` is what is asked for, `script` the text of the program there.
    """

    @property
    def name(self) -> str:
        """As a workload calls it."""
        ...

    @property
    def help(self) -> str:
        """A sentence."""
        ...

    @property
    def speaks(self) -> Literal["fastcgi", "http"]:
        """How it is asked."""
        ...

    @property
    def package(self) -> str:
        """Debian's package, and its program."""
        ...

    @property
    def file_name(self) -> str:
        """Of its configuration."""
        ...

    @property
    def knobs(self) -> tuple[Knob, ...]:
        """Its settings."""
        ...

    @property
    def free(self) -> tuple[str, ...]:
        """Those tuned by default."""
        ...

    @property
    def constraints(self) -> tuple[OnlyWith, ...]:
        """What goes only together."""
        ...

    @property
    def children(self) -> str:
        """The knob of its processes."""
        ...

    @property
    def path(self) -> str:
        """What is asked for."""
        ...

    @property
    def script_path(self) -> str:
        """Where the program lies, below the document root."""
        ...

    @property
    def script(self) -> str:
        """Its text."""
        ...

    def render(self, configuration: Configuration, context: BackendContext, about: About = no_comment) -> str:
        """Its configuration file. Raises RenderError if a path cannot be written in it."""
        ...

    def check_command(self, file: str, program: str) -> tuple[str, ...]:
        """The command by which it checks that file; empty if it has none."""
        ...

    def start_command(self, file: str, program: str) -> tuple[str, ...]:
        """The command that runs it in the foreground with that file."""
        ...


def processes(name: str, default: int, most: int, weight_kib: float, what: str) -> Knob:
    """The knob of how many processes answer."""
    return Knob(
        name=name,
        kind="integer",
        scale="log",
        low=1,
        high=most,
        default=default,
        unit="processes",
        resource_weight=weight_kib,
        scope="total",
        help=what,
    )
