"""Conditions of an apache2.conf (<IfModule> and its like), which Apache decides as it reads the file.

What is said of a site under one is said of a site that is made after it under the same one.
"""

from collections.abc import Callable, Sequence
from itertools import groupby

from trimtab_tuner.targets.servers.apache.syntax import CONDITIONS, SITE, Line


def of_whole_site(line: Line) -> bool:
    """Whether it is a directive that is said of a whole site, under conditions or not."""
    return line.is_directive and {*line.above} <= {SITE, *CONDITIONS}


def copied(lines: Sequence[Line], wanted: Callable[[Line], bool], text: Callable[[Line], str]) -> str:
    """The texts of the lines that are wanted, for another site: each under the conditions it stands under."""
    found: list[tuple[tuple[str, ...], str]] = []
    around: list[Line] = []
    for line in lines:
        if line.opens:
            around.append(line)
        elif line.closes:
            while line.name in [each.name for each in around] and around.pop().name != line.name:
                pass
        elif wanted(line):
            heads = tuple(each.text for each in around if each.name in CONDITIONS)
            found.append((heads, text(line)))
    copy = ""
    for heads, together in groupby(found, key=lambda each: each[0]):
        ends = [f"    </{head.lstrip('< ').split()[0]}>\n" for head in reversed(heads)]
        copy += "".join(f"    {head}\n" for head in heads)
        copy += "".join(f"    {said}\n" for _, said in together) + "".join(ends)
    return copy
