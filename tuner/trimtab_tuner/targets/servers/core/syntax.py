"""The language of trimtab-httpd's file: sections, and keys with their values."""

import re
from collections.abc import Collection, Iterator, Mapping

from trimtab_tuner.targets.assignments import Assignment, with_values
from trimtab_tuner.targets.editing import Edit

_SETTING = re.compile(
    r"^[ \t]*(?P<name>\w+)[ \t]*[=:][ \t]*(?P<value>[^\n]*?)[ \t]*(?:[ \t];[^\n]*?)?\r?$", re.MULTILINE
)


_SECTION = re.compile(r"^[ \t]*\[(?P<name>[^\n]*)", re.MULTILINE)


def server_sections(text: str) -> list[tuple[int, int]]:
    """Where the section [server] stands, from and to; more than once if others interrupt it.

    What stands before all sections counts as the first of them.
    """
    return [(start, end) for start, end, name in _sections(text) if name.startswith("server]")]


def host_sections(text: str) -> list[tuple[int, int]]:
    """Where sections of virtual hosts stand, with those for their paths."""
    found = []
    of_host = False
    for start, end, name in _sections(text):
        of_host = name.startswith("host ") or (of_host and not name.startswith("server]"))
        if of_host:
            found.append((start, end))
    return found


def _sections(text: str) -> list[tuple[int, int, str]]:
    headings = [(0, "server]"), *((found.start(), found["name"]) for found in _SECTION.finditer(text))]
    ends = [*(start for start, _name in headings[1:]), len(text)]
    return [(start, end, name) for (start, name), end in zip(headings, ends, strict=True)]


def assignments(text: str) -> Iterator[Assignment]:
    """The keys of the section [server]; what other sections say of paths is no knob."""
    for start, end in server_sections(text):
        for match in _SETTING.finditer(text, start, end):
            yield Assignment(match["name"], match["value"], match.start("value"), match.end("value"))


def without(text: str, names: Collection[str]) -> list[Edit]:
    """The edits that take the lines of these keys out."""
    found = [each for each in assignments(text) if each.name in names]
    return [(text.rfind("\n", 0, each.start) + 1, each.end, "") for each in found]


def with_own(text: str, values: Mapping[str, str]) -> str:
    """The file with these keys at the end of its section [server]."""
    end = server_sections(text)[-1][1]
    return with_values(text[:end], (), values, joint=" = ") + text[end:]
