"""What people write to a page of measurements stays when it is measured anew."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "package/lab_page.py"
NOTES = ROOT / "package/lab_notes"

MEASURED = """# Speed

Machine: one.

## Small files

| server | requests/s |
| --- | ---: |
| ours | 1,000 |

## Large files

| server | requests/s |
| --- | ---: |
| ours | 10 |
"""
WRITTEN = """# Speed

Nothing else ran.

## Small files

The aim is missed.

## By hand

| server | requests/s |
| --- | ---: |
| theirs | 9 |
"""


def page_of(measured, notes, tmp_path, page=None):
    """What the program makes of both, and of the page whose other sections are to stay."""
    file = tmp_path / "notes.md"
    file.write_text(notes)
    command = [sys.executable, PROGRAM, file]
    if page is not None:
        command.append(tmp_path / "page.md")
        command[-1].write_text(page)
    return subprocess.run(command, input=measured, capture_output=True, text=True, check=True).stdout


def test_notes_end_the_section_of_their_heading(tmp_path):
    """And what has no section of its own any more comes last; nothing is lost."""
    page = page_of(MEASURED, WRITTEN, tmp_path)
    order = ["Machine: one.", "Nothing else ran.", "| ours | 1,000 |", "The aim is missed.", "| ours | 10 |"]
    places = [page.index(part) for part in (*order, "## By hand", "| theirs | 9 |")]
    assert places == sorted(places)


def test_measuring_anew_changes_the_tables_alone(tmp_path):
    """The page itself may be given too, to change the notes without measuring."""
    first = page_of(MEASURED, WRITTEN, tmp_path)
    anew = page_of(MEASURED.replace("1,000", "1,200"), WRITTEN, tmp_path)
    assert anew == first.replace("1,000", "1,200")
    assert page_of(first, WRITTEN, tmp_path) == first
    assert "The aim is reached." in page_of(first, WRITTEN.replace("missed", "reached"), tmp_path)


def test_section_that_was_measured_alone_takes_its_place(tmp_path):
    """With what stands below it; the others stay as they are, and so do the notes."""
    page = page_of(MEASURED.replace("| ours | 1,000 |", "### Details\n\nOld."), WRITTEN, tmp_path)
    alone = "## Small files\n\n| ours | 2,000 |\n"
    anew = page_of(alone, WRITTEN, tmp_path, page)
    assert anew == page_of(
        f"{MEASURED.partition('## Small')[0]}{alone}\n## Large{MEASURED.partition('## Large')[2]}",
        WRITTEN,
        tmp_path,
    )
    assert "Old." not in anew


def test_section_that_the_page_has_not_yet_comes_last(tmp_path):
    """A benchmark that is new."""
    page = page_of("## Middling files\n\nNone.\n", "", tmp_path, MEASURED)
    assert page == MEASURED + "\n## Middling files\n\nNone.\n"


def test_page_without_notes_is_what_was_measured(tmp_path):
    """As it was printed."""
    assert page_of(MEASURED, "", tmp_path) == MEASURED


@pytest.mark.parametrize("name", [file.name for file in sorted(NOTES.glob("*.md"))])
def test_pages_hold_their_notes_as_they_are_written(name, tmp_path):
    """A note that was changed on the page only would be lost when somebody measures."""
    page = (ROOT / "docs/lab" / name).read_text()
    assert page_of(page, (NOTES / name).read_text(), tmp_path) == page
