"""What can be done with a user's own configuration file.

Two texts are made from it. `changed` is what the user gets back: tuned settings replaced or added, every
other byte as it was. `private` is what is measured: the same settings for the server as a whole (workers,
limits, timeouts, modules), but with one site that serves the workload on a private address. Everything by
which it could meet a running production instance is left out: addresses, pid and log files, users, virtual
hosts, and backends.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from trimtab_trials.configuration import Configuration

from trimtab_tuner.targets.base import RenderContext, Target


@dataclass(frozen=True)
class Include:
    """A file, or a pattern of files, whose text stands for the text from `start` to `end`.

    `pattern` is as it stands in the file; with `optional` no file need match.
    """

    start: int
    end: int
    pattern: str
    optional: bool


class Editor(Protocol):
    """Edits files of one server."""

    def includes(self, text: str) -> Sequence[Include]:
        """What the file includes. Raises RenderError for what cannot be followed."""
        ...

    def changed(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """The user's file with the values of these knobs. Raises RenderError if there is no place for one."""
        ...

    def private(
        self, text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext
    ) -> str:
        """A file to measure with, from the user's with its includes filled in.

        Raises RenderError for what cannot be run privately.
        """
        ...


Edit = tuple[int, int, str]
"""Text from one place to another, and what replaces it."""


def apply(text: str, edits: Collection[Edit]) -> str:
    """The text with these edits, which do not overlap."""
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text


def own_values(target: Target, text: str, cpus: int) -> Configuration:
    """What a file makes of every knob: its own value, or what the server does without being told."""
    return {**target.space(cpus=cpus).default(), **target.parse(text, cpus)}


def changed_knobs(target: Target, text: str, configuration: Configuration, cpus: int) -> tuple[str, ...]:
    """The knobs in which a configuration differs from the file."""
    own = own_values(target, text, cpus)
    return tuple(name for name, value in configuration.items() if own.get(name) != value)
