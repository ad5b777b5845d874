"""What a server's knobs mean, in numbers that all servers share: how the settings of one become another's.

A server's table says for a role which of its knobs has it, and how a value is read into the shared meaning
and written from it, given everything else that is known (connections for each worker need the workers). The
meanings are numbers: how many workers, how many connections in total, how many are accepted in one go (0:
all), whether files are sent by the kernel (1) and workers are pinned (1). So a knob may stand here for a
role that is not its own: what nginx allows each worker is, times the workers, its connections in total.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner import affinity
from trimtab_tuner.roles import Role

Meanings = dict[Role, int]


@dataclass(frozen=True)
class Equivalent:
    """The knob that expresses what `role` means.

    `read` makes the meaning from the configuration, `write` the knob's value from all meanings; `lossy` says
    what is lost for a value that the server cannot express, or nothing. It is for configurations that have
    the knob, and the one named `beside`; `otherwise` is for others, as of an architecture with other knobs.
    """

    role: Role
    knob: str
    read: Callable[[Configuration], int]
    write: Callable[[Meanings], Value]
    lossy: Callable[[Meanings], str] = field(default=lambda _: "")
    beside: str = ""
    otherwise: "Equivalent | None" = None

    def of(self, configuration: Configuration) -> "Equivalent | None":
        """The one for such a configuration; None where none of its knobs has the role."""
        if self.knob in configuration and (not self.beside or self.beside in configuration):
            return self
        return None if self.otherwise is None else self.otherwise.of(configuration)


def by_role(*equivalents: Equivalent) -> Mapping[Role, Equivalent]:
    """A server's table."""
    return {equivalent.role: equivalent for equivalent in equivalents}


def equivalents_of(
    table: Mapping[Role, Equivalent], configuration: Configuration
) -> Mapping[Role, Equivalent]:
    """What a server's table says of such a configuration."""
    found = {role: each.of(configuration) for role, each in table.items()}
    return {role: each for role, each in found.items() if each is not None}


def plain(role: Role, knob: str) -> Equivalent:
    """A knob whose number is the meaning."""
    return Equivalent(role, knob, lambda c: int(c[knob]), lambda m: m[role])


def switch(role: Role, knob: str, on: str, off: str) -> Equivalent:
    """A knob of two words, or one of which only two matter here."""
    return Equivalent(role, knob, lambda c: int(c[knob] == on), lambda m: on if m[role] else off)


def pinning(knob: str) -> Equivalent:
    """A knob whose value is an affinity plan; only whether workers are pinned is the server's to do."""
    role = Role.PLACEMENT
    return Equivalent(
        role,
        knob,
        lambda c: int(affinity.pins_workers(c[knob])),
        lambda m: "process" if m[role] else "none",
    )


def share(total: int, parts: int) -> int:
    """The part of each, rounded up."""
    return -(-total // max(1, parts))
