"""The version stands in the file VERSION; whatever else has to name it names the same."""

import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VERSION = (ROOT / "VERSION").read_text().strip()


def test_version_is_semantic():
    """Three numbers, and a suffix of a version before."""
    assert re.fullmatch(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", VERSION)


@pytest.mark.parametrize("package", ["agent", "db", "trials", "tuner"])
def test_python_packages_have_the_version(package):
    """Each package's own file."""
    project = tomllib.loads((ROOT / package / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION


def test_c_programs_have_the_version():
    """What trimtab-httpd and trimtab-load print."""
    assert f"version: '{VERSION}'" in (ROOT / "server-core/meson.build").read_text()


@pytest.mark.parametrize("name", ["package.json", "package-lock.json"])
def test_web_ui_has_the_version(name):
    """npm's two files."""
    assert json.loads((ROOT / "webui" / name).read_text())["version"] == VERSION


def test_api_document_has_the_version():
    """The client of the web UI is generated from it."""
    assert json.loads((ROOT / "webui/openapi.json").read_text())["info"]["version"] == VERSION


def test_container_images_have_the_version():
    """The tag that both services share."""
    tags = re.findall(r"image: trimtab:(\S+)", (ROOT / "docker-compose.yml").read_text())
    assert set(tags) == {VERSION}


def test_changelog_begins_with_the_version():
    """The newest heading; "unreleased" or a date follows."""
    headings = re.findall(r"^## (\S+) – (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0][0] == VERSION
