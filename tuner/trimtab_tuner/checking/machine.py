"""What a machine allows, as plain values: what a file is held against."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

UNSEEN = "whoever checks may not look into its folder"
"""Of a file of which it is not known whether it can be read."""
UNRESOLVED = "its name does not resolve here"
"""Of an address whose name is not known."""


@dataclass(frozen=True)
class SysctlLine:
    """A line of a file that sets variables of the kernel at boot; they come in the order of reading."""

    file: str
    line: int
    key: str
    value: str


@dataclass(frozen=True)
class Descriptors:
    """The limits on open files of each process of the server; `of` says whose they are.

    With `may_raise` (CAP_SYS_RESOURCE) the hard limit is none: what stands above it is `most_of_any`.
    """

    soft: int
    hard: int
    of: str
    may_raise: bool = False
    most_of_any: int = 1_048_576

    @property
    def ceiling(self) -> int:
        """The most that a server can set for itself."""
        return max(self.hard, self.most_of_any) if self.may_raise else self.hard

    @property
    def evidence(self) -> str:
        """The limits, and whose they are."""
        return f"open files of {self.of}: {self.soft:,} (soft), {self.hard:,} (hard)"


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The machine that a file is checked for.

    `cpus` may be kept busy all the time (fractions by a quota), `allowed` are the numbers of those that the
    server may run on, `online` of those that there are; `cpu_limit` says what takes others away. `somaxconn`
    caps every accept queue. `paths` has for each path of the file that was looked for the kind of file system
    that it lies in, None where there is no such path. `protocols_over_tcp` are those that the kernel speaks
    in a server's place, None where that is not known. `in_force` are values of kernel variables. `unanswered`
    says of addresses of upstreams why nobody answers there, `unreadable` of files why they cannot be read.
    """

    cpus: float
    online: tuple[int, ...]
    allowed: tuple[int, ...]
    cpu_limit: str = ""
    descriptors: Descriptors
    somaxconn: int | None = None
    paths: Mapping[str, str | None] = field(default_factory=dict)
    protocols_over_tcp: frozenset[str] | None = None
    sysctl: tuple[SysctlLine, ...] = ()
    in_force: Mapping[str, str] = field(default_factory=dict)
    unanswered: Mapping[str, str] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)

    @property
    def longest_queue(self) -> float:
        """The longest accept queue that the kernel grants; infinite where that is not known."""
        return inf if self.somaxconn is None else self.somaxconn
