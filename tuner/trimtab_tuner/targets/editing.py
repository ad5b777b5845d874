"""What editing a user's own configuration file has in common, whatever the server's language.

What is made of such a file, a target says itself (`Target.changed`, `Target.private`).
"""

from collections.abc import Collection

from trimtab_trials.configuration import Configuration

from trimtab_tuner.targets.base import Excerpt, Target

Edit = tuple[int, int, str]
"""Text from one place to another, and what replaces it."""


def apply(text: str, edits: Collection[Edit]) -> str:
    """The text with these edits, which do not overlap."""
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text


def single_lines(text: str, knobs: Collection[str]) -> Excerpt:
    """The lines of a file in whose language a setting is one line, each with the knob that it sets.

    A line that only goes with another has none.
    """
    names = sorted(knobs, key=len, reverse=True)
    return [
        (tuple(name for name in names if line.startswith(name))[:1], line + "\n")
        for line in text.splitlines()
        if line
    ]


def own_values(target: Target, text: str, cpus: int) -> Configuration:
    """What a file makes of every knob: its own value, or what the server does without being told."""
    return {**target.space(cpus=cpus).default(), **target.parse(text, cpus)}


def changed_knobs(target: Target, text: str, configuration: Configuration, cpus: int) -> tuple[str, ...]:
    """The knobs in which a configuration differs from the file."""
    own = own_values(target, text, cpus)
    return tuple(name for name, value in configuration.items() if own.get(name) != value)
