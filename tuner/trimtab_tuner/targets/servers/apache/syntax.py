"""The language of apache2.conf: a directive a line, sections between lines in angle brackets.

A backslash at the end of a line takes the next one with it. Names are written in any case.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|(?:\\\n|[^\s"])+|"', re.DOTALL)
_SECTION = re.compile(r"<\s*(/?)\s*(\w+)\s*([^>]*)>")
_MPM = re.compile(
    r"(?P<no>!?)(?:mpm_)?(?P<name>prefork|worker|event|itk|peruser|perchild|threadpool|leader|winnt|mpmt_os2|"
    r"netware|beos)(?:_module|\.c)",
    re.IGNORECASE,
)
SITE = "virtualhost"


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
    outermost first, and `site` the number of the virtual host, 0 outside of all.
    """

    text: str
    name: str
    words: tuple[Word, ...]
    start: int
    end: int
    above: tuple[str, ...]
    site: int
    opens: bool = False
    closes: bool = False

    @property
    def is_directive(self) -> bool:
        """Whether it is no line of a section."""
        return not (self.opens or self.closes)

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
    """The lines that say something; comments and empty ones are left out."""
    above: list[str] = []
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
        inside = sites if SITE in above else 0
        if section is None:
            words = tuple(_words(said, start))
            if words:
                yield Line(
                    said, words[0].text.lower(), words[1:], start, start + len(said), tuple(above), inside
                )
            continue
        name = section[2].lower()
        if section[1]:
            if name in above:
                del above[len(above) - 1 - above[::-1].index(name) :]
            yield Line(said, name, (), start, start + len(said), tuple(above), inside, closes=True)
            continue
        sites += name == SITE
        words = tuple(_words(section[3], start + section.start(3)))
        inside = sites if name == SITE or SITE in above else 0
        yield Line(said, name, words, start, start + len(said), tuple(above), inside, opens=True)
        above.append(name)


def for_another_mpm(module: str, mpm: str = "event") -> bool:
    """Whether a section `<IfModule MODULE>` is passed over where that MPM is loaded."""
    found = _MPM.fullmatch(module)
    return found is not None and (found["name"].lower() != mpm) != bool(found["no"])


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
