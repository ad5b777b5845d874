"""What the user of a file is told of it before a run: what stays as it is, what runs, what is refused.

Each server's language has its own reader of these (`Target.told`); comments that warn are the same in all.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from trimtab_tuner.space import Knob

_WARNS = re.compile(
    r"\b(do\s?n[o']t|don.t|never|must(\s+not|n't)|no\s+touch|hands\s+off|careful|beware|warning|caution|leave\b|"
    r"keep\b|important|nicht|niemals|vorsicht|ne\s+pas|no\s+tocar)\b",
    re.IGNORECASE,
)
_BREAK = re.compile("\n")
_LISTEN_OPTIONS = ("backlog", "reuseport")


class Told(NamedTuple):
    """One thing to be told of a line of the file.

    `refused`: the file cannot be run privately. `runs`: a program, or code, that the measured instance runs
    too. `corrected`: a value in whose place the server takes another. `log`: what a log costs, and what it
    would to have it cheaper. `stays`: an exception from a knob, in which its tuned value does not apply.
    `secure`: a site that speaks TLS, by its name.
    `comment`: somebody has written beside a knob that it is not to be touched. `is_part`: refused because no
    server is started with it, only with a file that includes it.
    """

    kind: Literal["refused", "runs", "stays", "corrected", "log", "secure", "comment"]
    line: int
    text: str
    is_part: bool = False


def nothing_told(_text: str) -> Sequence[Told]:
    """For servers whose files run nothing and except nothing."""
    return ()


def line_of(text: str, place: int) -> int:
    """The number of the line of a place, from 1."""
    return text.count("\n", 0, place) + 1


LineAt = Callable[[int], int]


def lines_of(text: str) -> LineAt:
    """Gives the number of the line at a place of the text, from 1, of a text that is asked for many."""
    breaks = [found.start() for found in _BREAK.finditer(text)]
    return lambda place: bisect_left(breaks, place) + 1


def warnings(text: str, knobs: Sequence[Knob]) -> Iterator[Told]:
    """Comments that say to leave a knob alone: behind its value, or in the lines right above it."""
    above: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        said, sign, comment = line.partition("#")
        if not said.strip():
            above = [*above, comment.strip()] if sign else []
            continue
        knob = next((knob.name for knob in knobs if _sets(said, knob.name)), None)
        for each in (*above, comment.strip()) if knob is not None else ():
            if _WARNS.search(each):
                yield Told("comment", number, f"{knob}: {each}")
        above = []


def _sets(line: str, name: str) -> bool:
    if name in _LISTEN_OPTIONS:
        return re.search(rf"\blisten\b.*\b{name}\b", line) is not None
    return re.match(rf"\s*([\w]+\s*{{\s*)?\"?{re.escape(name)}\b", line, re.IGNORECASE) is not None
