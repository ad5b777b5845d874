"""Whether the sections of an apache2.conf are closed: each in its own file, the innermost first.

Apache is stricter in some places than a reader expects, and laxer in others. Only what no Apache starts with
is told: a file that a macro, a section of some module or a variable may change unseen is taken as it is.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from trimtab_tuner.targets.servers.apache import syntax
from trimtab_tuner.targets.servers.apache.syntax import CONDITIONS, MACRO, Line

# What stands in a condition that does not apply is only skipped over. One that does apply may end with the
# file, and all that is open in it. Sections of other modules may hold code, as <Perl> does.
_KNOWN = CONDITIONS | {
    "authnprovideralias", "authzprovideralias", "directory", "directorymatch", "else", "elseif", "files",
    "filesmatch", "if", "limit", "limitexcept", "location", "locationmatch", "proxy", "proxymatch",
    "requireall", "requireany", "requirenone", "virtualhost", MACRO,
}  # fmt: skip
_WITHOUT_END = re.compile(r"<(\w+)\b[^>$]*")
_ENDS_THE_FILE = re.compile(r"__end__|=\w+")  # of mod_perl


def unclosed(files: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """What keeps Apache from starting: the number of the file, the place in it, and a sentence; of each file
    the first. `files` are the texts as they are, the main file first.
    """
    lines = [list(syntax.walk_all(text)) for text in files]
    if not all(_is_plain(each) for each in lines):
        return
    conditional = any(
        line.name.startswith("include") and {*CONDITIONS, MACRO}.intersection(line.above)
        for each in lines
        for line in each
    )
    for number, each in enumerate(lines[:1] if conditional else lines):
        found = _first(each)
        if found is not None:
            yield number, found[0].start, found[1]


def _is_plain(lines: Sequence[Line]) -> bool:
    """Whether all sections of a file are seen as Apache sees them, and macros close what they open."""
    for line in lines:
        if line.is_directive and (_ENDS_THE_FILE.fullmatch(line.name) or line.name.startswith(("<$", "</$"))):
            return False
        if not line.is_directive and line.name not in _KNOWN:
            return False
    return all(_first(body) is None and not _is_open(body) for body in _bodies(lines))


def _bodies(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """The lines of each macro."""
    body: list[Line] | None = None
    for line in lines:
        if line.name == MACRO and not line.is_directive:
            if line.closes and body is not None:
                yield body
                body = None
                continue
            if body is None:
                body = []
                continue
        if body is not None:
            body.append(line)


def _is_open(lines: Sequence[Line]) -> bool:
    return any(line.name == MACRO for line in lines) or sum(line.opens - line.closes for line in lines) != 0


def _first(lines: Sequence[Line]) -> tuple[Line, str] | None:
    """The first line that Apache would complain about, and what of; None without one."""
    around: list[Line] = []
    for line in lines:
        if line.is_directive:
            without_end = None if around else _WITHOUT_END.fullmatch(line.text)
            if without_end is not None and without_end[1].lower() in _KNOWN:
                return line, f"<{without_end[1]} has no > at its end"
        elif line.opens:
            around.append(line)
        elif not around:
            return line, f"</{line.called}> closes a section that is not open here"
        elif around[-1].name != line.name:
            return around[-1], f"<{around[-1].called}> is not closed before </{line.called}>"
        else:
            around.pop()
    outside = [*takewhile(lambda line: line.name not in CONDITIONS, around)]
    return (outside[-1], f"<{outside[-1].called}> is not closed") if outside else None
