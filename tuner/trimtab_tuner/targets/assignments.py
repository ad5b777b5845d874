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


def replaced(
    text: str, assignments: Iterable[Assignment], changes: Mapping[str, str]
) -> tuple[str, set[str]]:
    """The text with the last value of each changed name replaced, and the names that are nowhere set."""
    last = {a.name: a for a in assignments if a.name in changes}
    for assignment in sorted(last.values(), key=lambda a: a.start, reverse=True):
        text = text[: assignment.start] + changes[assignment.name] + text[assignment.end :]
    return text, changes.keys() - last.keys()
