"""Every option of the three programs stands in its man page, and the pages are sound."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from trimtab_agent.terminal.main import app

MAKER = Path(__file__).resolve().parents[1] / "man_pages.py"
NAMES = ["trimtab", "trimtab-httpd", "trimtab-load"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory, programs):
    """The directory of the three pages."""
    directory = tmp_path_factory.mktemp("man")
    command = [sys.executable, MAKER, directory, programs["trimtab-httpd"], programs["trimtab-load"]]
    subprocess.run(command, check=True, timeout=120)
    return directory


def text_of(page):
    """The page without roff's escapes."""
    text = page.read_text().replace("\\-", "-").replace("\\e", "\\")
    return re.sub(r"\\\[u([0-9A-F]{4})\]", lambda code: chr(int(code[1], 16)), text)


@pytest.mark.parametrize("name", ["trimtab-httpd", "trimtab-load"])
def test_every_line_of_the_help_is_in_the_page(name, pages, programs):
    """Options, keys, and what is said of each."""
    said = subprocess.run([programs[name], "--help"], capture_output=True, text=True, check=True).stdout
    words = " ".join(text_of(pages / f"{name}.1").split())
    lines = re.findall(r"^  (-\w(?:, --\w+)?|--[\w-]+|\w+)(?: [A-Z]\S*)? +(\S.*)$", said, re.MULTILINE)
    assert len(lines) > 5
    assert [(option, text) for option, text in lines if option not in words or text not in words] == []


def test_every_option_of_every_command_is_under_its_heading(pages):
    """Walks the commands as typer has them."""
    head, *rest = text_of(pages / "trimtab.1").split('.SS "')
    sections = {"trimtab": head, **{section.split('"', 1)[0]: section for section in rest}}
    missing = []

    def walk(command, path):
        children = getattr(command, "commands", {})
        for name, child in children.items():
            walk(child, f"{path} {name}")
        if children and path != "trimtab":
            return  # a group does nothing by itself
        options = [
            name for option in command.params if option.param_type_name == "option" for name in option.opts
        ]
        section = sections.get(path, "")
        missing.extend(
            f"{path} {name}"
            for name in ["", *options]
            if not re.search(rf"^\.B .*{re.escape(name)}(,|\s)", section, re.MULTILINE)
        )

    walk(typer.main.get_command(app), "trimtab")
    assert missing == []


@pytest.mark.parametrize("name", NAMES)
def test_page_is_formatted_without_a_warning(name, pages):
    """groff has nothing to complain of."""
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(
        [groff, "-man", "-ww", "-Tutf8", "-z", pages / f"{name}.1"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
