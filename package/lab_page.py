"""Puts what people have written to a page of measurements: `lab_page.py NOTES < measured > page`.

A page in docs/lab has two sources that lie apart. Its tables are printed by programs, anew whenever somebody
measures. Its notes (`package/lab_notes/`) are written by people: what a table shows, what was missed and why,
what was measured by hand. A notes file has the headings of the page with notes under them; they come at the
end of the section of that heading, between `MARKS`. Where the page has no such heading any more, the notes
come last, under their own.

A page that has its notes already may be given: they are replaced. So notes can be changed without measuring.
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
    sys.stdout.write(with_notes(sys.stdin.read(), file.read_text() if file.exists() else ""))
