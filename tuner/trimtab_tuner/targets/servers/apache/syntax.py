"""The language of apache2.conf: a directive a line, sections between lines in angle brackets.

A backslash at the end of a line takes the next one with it. Names are written in any case.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|(?:\\\n|[^\s"])+|"', re.DOTALL)
_SECTION = re.compile(r"<\s*(/?)\s*(\w+)\s*([^>]*)>")
SITE = "virtualhost"
CONDITIONS = {"ifdefine", "ifdirective", "iffile", "ifmodule", "ifsection", "ifversion"}
"""Sections of which Apache decides, as it reads the file, whether what stands in them applies."""
MACRO = "macro"


@dataclass(frozen=True)
class Word:
    """An argument without its quotes, and where it stands with them."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Line:
    """A directive, or the line that opens or closes a section, from `start` to `end`.

    `name` is in small letters, that of a section too; `above` are the sections that it stands in, the
    outermost first, `modules` what those of <IfModule> ask for, and `site` is the number of the virtual host,
    0 outside of all.
    """

    text: str
    name: str
    words: tuple[Word, ...]
    start: int
    end: int
    above: tuple[str, ...]
    modules: tuple[str, ...]
    site: int
    opens: bool = False
    closes: bool = False

    @property
    def is_directive(self) -> bool:
        """Whether it is no line of a section."""
        return not (self.opens or self.closes)

    @property
    def first(self) -> str:
        """The first argument; empty without one."""
        return self.words[0].text if self.words else ""

    @property
    def called(self) -> str:
        """The name of a section as it is written; empty for a directive."""
        section = _SECTION.match(self.text)
        return "" if section is None else section[2]

    @property
    def of_site(self) -> bool:
        """Whether it is said of a virtual host as a whole, or of the server, and of no part of it."""
        return all(section in (SITE, "ifmodule", "ifdefine", "ifversion") for section in self.above)


def walk(text: str) -> Iterator[Line]:
    """The lines that say something: no comments, no empty ones, nothing of what a macro would say if it were
    used.
    """
    return (line for line in walk_all(text) if MACRO not in line.above)


def walk_all(text: str) -> Iterator[Line]:
    """The same with the lines in macros; a virtual host there is none, and has no number."""
    above: list[str] = []
    asked: list[str] = []  # by each of those sections, if it is <IfModule>
    sites = 0
    position = 0
    while position < len(text):
        end = _end_of_line(text, position)
        start = position + len(text[position:end]) - len(text[position:end].lstrip())
        said = text[start:end].rstrip()
        position = end + 1
        if not said or said.startswith("#"):
            continue
        section = _SECTION.match(said)
        inside = sites if SITE in above and MACRO not in above else 0
        around = tuple(above), tuple(filter(None, asked))
        if section is None:
            words = tuple(_words(said, start))
            if words:
                name = words[0].text.lower()
                yield Line(said, name, words[1:], start, start + len(said), *around, inside)
            continue
        name = section[2].lower()
        if section[1]:
            if name in above:
                del above[len(above) - 1 - above[::-1].index(name) :]
                del asked[len(above) :]
            around = tuple(above), tuple(filter(None, asked))
            yield Line(said, name, (), start, start + len(said), *around, inside, closes=True)
            continue
        opens_site = name == SITE and MACRO not in above
        sites += opens_site
        words = tuple(_words(section[3], start + section.start(3)))
        inside = sites if opens_site or inside else 0
        yield Line(said, name, words, start, start + len(said), *around, inside, opens=True)
        above.append(name)
        asked.append(words[0].text if name == "ifmodule" and words else "")


def one_line(said: str) -> str:
    """Text without the breaks of a line that goes on, which is read as one."""
    return re.sub(r"\\(\r?\n|\Z)", "", said)


def _end_of_line(text: str, position: int) -> int:
    """Where the line that begins there ends, with those that it continues in."""
    while True:
        end = text.find("\n", position)
        if end < 0:
            return len(text)
        if not text[position:end].rstrip("\r").endswith("\\"):
            return end
        position = end + 1


def _words(text: str, offset: int) -> Iterator[Word]:
    for match in _WORD.finditer(text):
        plain = match[0] if match[1] is None else re.sub(r"\\(.)", r"\1", match[1])
        if match[0].strip("\\\n"):
            yield Word(plain, offset + match.start(), offset + match.end())
