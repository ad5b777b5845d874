"""Puts what people have written to a page of measurements: `lab_page.py NOTES [PAGE] < measured > page`.

A page in docs/lab has two sources that lie apart. Its tables are printed by programs, anew whenever somebody
measures. Its notes (`package/lab_notes/`) are written by people: what a table shows, what was missed and why,
what was measured by hand. A notes file has the headings of the page with notes under them; they come at the
end of the section of that heading, between `MARKS`. Where the page has no such heading any more, the notes
come last, under their own.

A page that has its notes already may be given: they are replaced. So notes can be changed without measuring.

With PAGE only some of its sections were measured: each, with what stands below it, takes the place of the one
of the same heading, or comes last. What is said of the machine at the head of the page is then of the others.
"""

import re
import sys
from pathlib import Path

MARKS = ("<!-- notes, from package/lab_notes -->", "<!-- end of notes -->")
HEADING = re.compile(r"^#{1,6} ")
NOTED = re.compile(rf"\n*{re.escape(MARKS[0])}\n.*?{re.escape(MARKS[1])}\n?", re.DOTALL)


def sections(text: str) -> list[tuple[str, str]]:
    """The headings of a text, each with what stands below; the first is empty, for what stands above all."""
    found: list[tuple[str, list[str]]] = [("", [])]
    fenced = False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        if HEADING.match(line) and not fenced:
            found.append((line, []))
        else:
            found[-1][1].append(line)
    return [(heading, "\n".join(lines).strip("\n")) for heading, lines in found if heading or any(lines)]


def measured_of(page: str) -> str:
    """The page without its notes."""
    return NOTED.sub("\n", page)


def _level(heading: str) -> int:
    return len(heading) - len(heading.lstrip("#"))


def _outermost(text: str) -> list[tuple[str, str]]:
    """The sections of the second level or above, with their headings; the first is what stands above all."""
    found: list[tuple[str, str]] = []
    for heading, body in sections(text):
        part = "\n\n".join(each for each in (heading, body) if each)
        if found and _level(heading) > 2:
            found[-1] = (found[-1][0], found[-1][1] + "\n\n" + part)
        else:
            found.append((heading, part))
    return found


def with_sections(page: str, measured: str) -> str:
    """The page, without notes, with these sections in the place of those of the same headings."""
    new = dict(_outermost(measured))
    parts = [new.pop(heading, part) for heading, part in _outermost(measured_of(page))]
    return "\n\n".join([*parts, *new.values()]) + "\n"


def with_notes(page: str, notes: str) -> str:
    """The page with these notes in the place of those that it has."""
    left = dict(sections(notes))
    parts = []
    for heading, body in sections(measured_of(page)):
        parts += [part for part in (heading, body, _marked(left.pop(heading, ""))) if part]
    for heading, body in left.items():
        parts += [part for part in (heading, _marked(body)) if part]
    return "\n\n".join(parts) + "\n"


def _marked(notes: str) -> str:
    return f"{MARKS[0]}\n\n{notes}\n\n{MARKS[1]}" if notes else ""


if __name__ == "__main__":
    file = Path(sys.argv[1])  # a page need not have any
    made = sys.stdin.read()
    if len(sys.argv) > 2:
        made = with_sections(Path(sys.argv[2]).read_text(), made)
    sys.stdout.write(with_notes(made, file.read_text() if file.exists() else ""))
