"""The language of lighttpd.conf: settings, conditions with settings in braces, strings, lists over lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from trimtab_tuner.targets import values
from trimtab_tuner.targets.assignments import Assignment


def quoted(path: str) -> str:
    """A path as a string of lighttpd's; a backslash would begin an escape."""
    return f'"{values.unquoted_path(path, chr(34) + chr(92))}"'


_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|#[^\n]*|[(){}\n]|[^"#(){}\n]+|"', re.DOTALL)
_SETTING = re.compile(r"([A-Za-z][\w.-]*)\s*(\+=|:=|=)\s*(?=\S)")
STRING = r"\"(?:[^\"\\]|\\.)*\""
_TERM = rf"(?:{STRING}|\w[\w.-]*)"
_VALUE = re.compile(rf"{_TERM}(?:\s*\+\s*{_TERM})*")
_CONDITION = re.compile(r'\$([A-Z]+)\s*\[\s*"([\w-]+)"\s*\]\s*(==|!=|=~|!~|=\^|=\$)\s*"([^"]*)"')


@dataclass(frozen=True)
class Statement:
    """A setting, an include, or the head of a condition, from `start` to `end`; `depth` conditions deep."""

    text: str
    start: int
    end: int
    depth: int
    is_head: bool

    @property
    def setting(self) -> tuple[str, str, str] | None:
        """Name, operator and value of a setting; None for anything else."""
        match = None if self.is_head else _SETTING.match(self.text)
        return None if match is None else (match[1], match[2], self.text[match.end() :])

    @property
    def name(self) -> str:
        """What is set; empty where nothing is."""
        return "" if self.setting is None else self.setting[0]

    @property
    def value_place(self) -> tuple[int, int]:
        """Where the value begins and ends in the file."""
        match = _SETTING.match(self.text)
        return (self.start if match is None else self.start + match.end()), self.end

    @property
    def condition(self) -> tuple[str, str, str] | None:
        """Variable, operator and what it is compared with, such as SERVER.socket; None for anything else."""
        match = _CONDITION.search(self.text) if self.is_head else None
        return None if match is None else (f"{match[1]}.{match[2]}", match[3], match[4])


def walk(text: str) -> Iterator[Statement]:
    """Everything that the file says, in conditions too, in its order; comments are nothing. What stands in
    `global { }` is outside of conditions.
    """
    depth, brackets, start = 0, 0, None
    around: list[int] = []  # the depths outside of the blocks

    def ended(first: int | None, end: int, *, is_head: bool = False) -> Iterator[Statement]:
        if first is not None and text[first:end].strip():
            said = text[first:end].rstrip()
            yield Statement(said, first, first + len(said), depth, is_head)

    for piece in _PIECE.finditer(text):
        part, place = piece[0], piece.start()
        if brackets == 0 and part in ("{", "}", "\n"):
            yield from ended(start, place, is_head=part == "{")
            if part == "{":
                around.append(depth)
                depth = 0 if start is not None and text[start:place].strip() == "global" else depth + 1
            elif part == "}":
                depth = around.pop() if around else 0
            start = None
        elif part.startswith("#"):
            if brackets == 0:
                yield from ended(start, place)
                start = None
        else:
            brackets = max(0, brackets + {"(": 1, ")": -1}.get(part, 0))
            if start is None and not part.isspace():
                start = place + len(part) - len(part.lstrip())
    yield from ended(start, len(text))


def assignments(text: str) -> Iterator[Assignment]:
    """The settings outside of conditions whose value is a number or a string, or is made of others."""
    for statement in walk(text):
        if statement.depth == 0 and (setting := statement.setting) is not None and setting[1] != "+=":
            match = _VALUE.match(setting[2])
            if match is not None:
                start = statement.value_place[0]
                yield Assignment(setting[0], match[0], start, start + match.end())
