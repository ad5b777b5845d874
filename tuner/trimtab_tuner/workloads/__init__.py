"""The workloads that come with Trimtab, by name; and what every workload can do."""

from collections.abc import Iterator
from importlib.resources import files
from typing import Protocol

from trimtab_tuner.workloads.definition import Definition, parse_definition
from trimtab_tuner.workloads.session_log import Session


class Workload(Protocol):
    """Files and the sessions that ask for them, made from a definition."""

    name: str
    default_sessions: int

    def files(self) -> Iterator[tuple[str, int]]:
        """URL path and size in bytes of every file."""

    def total_bytes(self) -> int:
        """Size of the whole file set."""

    def scripts(self) -> dict[str, str]:
        """Text of the programs that make dynamic pages, by URL path; empty for a static workload."""

    def data(self) -> str:
        """The statements that make the database it asks for; empty for one that asks for files."""

    def sessions(self, count: int | None = None) -> list[Session]:
        """The first `count` sessions of its log, `default_sessions` if not given."""


def definition_text(name: str) -> str:
    """The TOML text of a workload that comes with Trimtab; KeyError for any other name."""
    if name not in WORKLOADS:
        raise KeyError(name)
    return (_DIRECTORY / f"{name}.toml").read_text()


_DIRECTORY = files(__name__) / "definitions"

# In the order in which they are listed: the main one first, then by the study they come from.
_NAMES = (
    "specweb99",
    "specweb99-tls",
    "specweb99-h2",
    "one-packet",
    "tcp-1k",
    "support",
    "php",
    "python",
    "proxy",
    "single-file",
    "trace-cs",
    "trace-nasa",
    "w1",
    "w2",
    "w3",
    "w4",
    "shop",
    "shop-browsing",
    "shop-ordering",
)

WORKLOADS: dict[str, Definition] = {
    name: parse_definition((_DIRECTORY / f"{name}.toml").read_bytes(), f"{name}.toml") for name in _NAMES
}
