"""A user's file and those that it includes, as one text in which each can be told apart again.

A setting is changed in the file that it stands in, while where it stands is decided by the whole. So includes
are filled in between comments that no server minds (`marked`), the whole is changed, and `apart` takes it to
pieces: the text of each file, with its includes as they were.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

from trimtab_tuner.targets.base import RenderError

_MARK = re.compile(r"#trimtab (?P<what>include|included|file|end) (?P<number>\d+)\n")
# The line break before the mark of an end is the mark's own.
_UNMARKED = re.compile(r"(?<=\n)\n#trimtab end \d+\n|\n(?=#trimtab end )|#trimtab \w+ \d+\n")


OUTPUT = "the output of "
"""What the path of an included text begins with that no file holds: a command's output."""
MACRO = "the macro of "
"""The same of the lines that the use of a macro stands for."""


class _Place(NamedTuple):
    """A line of a file; `inside` says which line of what no file holds is meant, where it stands for that."""

    path: str
    line: int
    inside: str = ""


@dataclass(frozen=True)
class Sources:
    """`marked` is the whole text; `files` has the path and the text of each file, the user's own first, and
    `directives` what stands for each include, both by the numbers in the marks.
    """

    marked: str
    files: tuple[tuple[str, str], ...]
    directives: tuple[str, ...] = ()

    @cached_property
    def whole(self) -> str:
        """The text that the server reads, without the marks."""
        return unmarked(self.marked)

    def as_json(self) -> dict[str, Any]:
        """What is recorded with a run."""
        return asdict(self)

    def apart(self, changed: str) -> dict[str, str]:
        """The text of each file, by path, in the changed whole.

        Raises RenderError for a file that is included more than once and has changed in one of its places.
        """
        texts: dict[str, str] = {}
        for number, text in self._pieces(changed):
            path, before = self.files[number]
            if path.startswith((OUTPUT, MACRO)) and text != before:
                where = "outside of macros" if path.startswith(MACRO) else "in a file"
                raise RenderError(f"what is tuned is set in {path}; expected it {where}")
            if texts.setdefault(path, text) != text:
                raise RenderError(
                    f"{path} is included more than once, and what is tuned would differ in it from place to "
                    "place; expected it once, or such settings in a file that is"
                )
        return texts

    def place(self, line: int) -> tuple[str, int]:
        """The file in which a line of the whole stands, and its number there; both count from 1. For what no
        file holds, that of the line in whose place it stands.
        """
        found = self._place(line)
        return found.path, found.line

    def inside(self, line: int) -> str:
        """Which line of a command's output or of a macro it is: "line 2 of the macro of Use A"; "" for one of
        a file.
        """
        return self._place(line).inside

    def _place(self, line: int) -> _Place:
        places, behind_the_last = self._places
        return places.get(line, behind_the_last)

    @cached_property
    def _places(self) -> tuple[dict[int, _Place], _Place]:
        """The place of each line of the whole, and that of those behind the last."""
        places: dict[int, _Place] = {}
        at = 1
        around = [_Text(self.files[0][0])]  # the innermost last
        for mark, said in _parts(self.marked):
            own = said.removesuffix("\n") if mark is not None and mark["what"] == "end" else said
            text = around[-1]
            breaks = own.count("\n")
            more = own.rpartition("\n")[2].strip() != ""
            for further in range(breaks + more):
                places.setdefault(at + further, text.place(further))
            text.line += breaks
            at += breaks
            if mark is None:
                continue
            number = int(mark["number"])
            if mark["what"] == "end":
                at += own != "" and not own.endswith("\n")
                around.pop()
            elif mark["what"] == "included":
                text.line += self.directives[number].count("\n")
            elif mark["what"] == "file":
                path = self.files[number][0]
                around.append(_Text(path, text.place() if path.startswith((OUTPUT, MACRO)) else None))
        return places, around[0].place()

    def _pieces(self, changed: str) -> Iterator[tuple[int, str]]:
        """The text of each file by its number, as often as it is included; the user's own last."""
        around: list[tuple[int, str]] = [(0, "")]
        for mark, said in _parts(changed):
            number, text = around.pop()
            text += said
            if mark is None:
                yield number, text
            elif mark["what"] == "end":
                yield number, text.removesuffix("\n")
            else:
                if mark["what"] == "include":
                    text += self.directives[int(mark["number"])]
                around.append((number, text))
                if mark["what"] == "file":
                    around.append((int(mark["number"]), ""))


@dataclass
class _Text:
    """A text that is gone through, at which line; `used_at` is the place of what stands for it where no file
    holds it.
    """

    path: str
    used_at: _Place | None = None
    line: int = 1

    def place(self, further: int = 0) -> _Place:
        """That of a line further on."""
        if self.used_at is None:
            return _Place(self.path, self.line + further)
        around = f", in {self.used_at.inside}" if self.used_at.inside else ""
        return self.used_at._replace(inside=f"line {self.line + further} of {self.path}{around}")


class Filling:
    """Makes the marked text, from the innermost file outwards."""

    def __init__(self, path: str, text: str) -> None:
        self._numbers: dict[str, int] = {path: 0}
        self._texts = [text]
        self._directives: list[str] = []

    def file(self, path: str, text: str, filled: str) -> str:
        """An included file between its marks: `text` is as it is, in `filled` its includes are filled in."""
        if path not in self._numbers:
            self._numbers[path] = len(self._texts)
            self._texts.append(text)
        number = self._numbers[path]
        return f"#trimtab file {number}\n{filled}\n#trimtab end {number}\n"

    def include(self, directive: str, inside: str) -> str:
        """What stands in place of an include: its files, between marks."""
        self._directives.append(directive)
        number = len(self._directives) - 1
        return f"#trimtab include {number}\n{inside}#trimtab included {number}\n"

    def sources(self, marked: str) -> Sources:
        """The whole."""
        files = tuple(zip(self._numbers, self._texts, strict=True))
        return Sources(marked, files, tuple(self._directives))


def unmarked(text: str) -> str:
    """The text without marks."""
    return _UNMARKED.sub(lambda found: "\n" if found[0] == "\n" else "", text)


def recorded_sources(recorded: Mapping[str, Any]) -> Sources:
    """The sources of a file that is recorded with a run; an earlier version recorded the file alone."""
    if "sources" not in recorded:
        return Sources(recorded["text"], ((recorded["path"], recorded["text"]),))
    kept = recorded["sources"]
    files = tuple((path, text) for path, text in kept["files"])
    return Sources(kept["marked"], files, tuple(kept["directives"]))


def _parts(marked: str) -> Iterator[tuple[re.Match[str] | None, str]]:
    """Each mark with the text before it, then the rest."""
    position = 0
    for mark in _MARK.finditer(marked):
        yield mark, marked[position : mark.start()]
        position = mark.end()
    yield None, marked[position:]
