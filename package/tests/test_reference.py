"""Every command and every request of the API stands in the reference of the documentation."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from trimtab_agent.api.openapi import document
from trimtab_agent.terminal.main import app

MAKER = Path(__file__).resolve().parents[1] / "reference.py"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The two pages by name."""
    directory = tmp_path_factory.mktemp("reference")
    subprocess.run([sys.executable, MAKER, directory], check=True, timeout=120)
    return {page.stem: page.read_text() for page in directory.iterdir()}


def commands(command, path):
    """All commands that do something, with the words that call them."""
    inner = getattr(command, "commands", None)
    if inner is None:
        return [(path, command)]
    return [found for name, child in inner.items() for found in commands(child, f"{path} {name}")]


ALL = commands(typer.main.get_command(app), "trimtab")


@pytest.mark.parametrize(("path", "command"), ALL, ids=[path for path, _ in ALL])
def test_every_command_is_in_the_reference_with_its_options(path, command, pages):
    """Under a heading of its own."""
    section = pages["commands"].split(f"\n## {path}\n")[1].split("\n## ")[0]
    for parameter in command.params:
        if parameter.param_type_name == "option":
            assert f"`{parameter.opts[0]}" in section


def test_every_request_is_in_the_reference(pages):
    """With what it does."""
    for path, methods in json.loads(document())["paths"].items():
        for method in methods:
            assert f"\n### `{method.upper()} {path}`\n" in pages["rest"]


def test_every_document_of_the_api_is_in_the_reference_with_its_fields(pages):
    """And every link to one leads to its heading."""
    for name, schema in json.loads(document())["components"]["schemas"].items():
        section = pages["rest"].split(f"\n### {name}\n")[1].split("\n### ")[0]
        assert all(f"\n| `{field}` |" in section for field in schema.get("properties", ()))
    headings = {heading.lower() for heading in re.findall(r"^### (\w+)$", pages["rest"], re.MULTILINE)}
    assert set(re.findall(r"\(#(\w+)\)", pages["rest"])) <= headings
