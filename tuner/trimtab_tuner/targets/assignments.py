"""Settings of one line each, as lighttpd, Apache, h2o and trimtab-httpd have them, and where they stand.

Each of those languages has a scanner (in its target's file) that finds its `Assignment`s; reading knobs and
changing single settings, every other byte kept, are the same for all of them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Assignment:
    """`name` is set to `value`, which stands in the text from `start` to `end`."""

    name: str
    value: str
    start: int
    end: int


def last_values(assignments: Iterable[Assignment]) -> dict[str, str]:
    """The value that counts for each name: the last one."""
    return {assignment.name: assignment.value for assignment in assignments}


def with_values(
    text: str, assignments: Iterable[Assignment], values: Mapping[str, str], *, joint: str
) -> str:
    """The text with the last value of each name replaced; what is set nowhere is added at the end, each on a
    line of its own, with `joint` between name and value.
    """
    last = {a.name: a for a in assignments if a.name in values}
    for assignment in sorted(last.values(), key=lambda a: a.start, reverse=True):
        text = text[: assignment.start] + values[assignment.name] + text[assignment.end :]
    added = "".join(f"{name}{joint}{value}\n" for name, value in values.items() if name not in last)
    return text + ending_as_in(text, "\n" * (added != "" and not text.endswith("\n")) + added)


def ending_as_in(text: str, added: str) -> str:
    """What is added to the text, its lines ending as the text's do: by CR and LF, where those are."""
    return added.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in text else added
