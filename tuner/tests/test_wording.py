"""Sentences count as people do."""

import json
import re
from pathlib import Path

import pytest
from trimtab_tuner.wording import (
    counted,
    in_change,
    in_confidence,
    in_digits,
    in_mbps,
    in_percent,
    in_unit,
)

ROOT = Path(__file__).parents[2]
# Beside the web UI's own: its test reads the same file.
SHARED = json.loads((ROOT / "webui/src/maths/figures.json").read_text())
HERE = {
    "counts": lambda value: in_unit(value, "connections").removesuffix(" connections"),
    "figures": in_digits,
    "mbps": in_mbps,
    "frequencies": lambda value: in_unit(value, "1/s"),
    "gains": in_change,
    "shares": in_percent,
    "confidences": in_confidence,
}


@pytest.mark.parametrize("kind", SHARED)
def test_figures_are_those_of_the_web_ui(kind):
    """A page, a terminal and a report of the same run show the same text."""
    assert [HERE[kind](value) for value, _ in SHARED[kind]] == [text for _, text in SHARED[kind]]


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 processes"), (1, "1 process"), (2, "2 processes"), (2744, "2,744 processes")]
)
def test_only_one_is_singular(number, words):
    """Also where the plural is no mere s."""
    assert counted(number, "process", "processes") == words
    assert counted(number, "run") == f"{number:,} run{'s' * (number != 1)}"


@pytest.mark.parametrize(
    ("goodput_mbps", "text"),
    [(1321.4, "1,321 Mbps"), (99.96, "100 Mbps"), (99.0, "99.0 Mbps"), (1.5, "1.50 Mbps")],
)
def test_goodput_has_the_digits_that_the_web_ui_shows(goodput_mbps, text):
    """A sentence stands beside the figures that it is about."""
    assert in_mbps(goodput_mbps) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (36231.4, "requests/s", "36,231 requests/s"),
        (1200.0, "connections", "1,200 connections"),
        (1234.5, "MB", "1,234 MB"),
        (0.0512, "", "0.0512"),
        (9.996, "%", "10.0 %"),
        (0.0, "%", "0 %"),
        (-12.34, "ms", "-12.3 ms"),
        (1234567.0, "MB", "1,234,567 MB"),
    ],
)
def test_figures_have_three_digits_and_no_exponent(value, unit, text):
    """Rates and counts keep all of theirs."""
    assert in_unit(value, unit) == text


def test_no_figure_is_an_empty_cell():
    """A table has nothing to say there."""
    assert in_digits(None) == ""


def test_requests_per_second_have_one_name():
    """On pages and the axes of their charts as in sentences, tables and the documents."""
    places = ("tuner/trimtab_tuner", "agent/trimtab_agent", "webui/src", "webui/e2e", "docs")
    files = [file for place in places for file in sorted((ROOT / place).rglob("*"))]
    written = [file for file in files if file.suffix in (".py", ".ts", ".tsx", ".md", ".toml")]
    assert len(written) > len(places)
    other = [f"{file.name}: {line.strip()}" for file in written for line in _lines_with_another_name(file)]
    assert other == []


def _lines_with_another_name(file):
    lines = file.read_text().splitlines()
    return [line for line in lines if re.search(r"\breqs?\\?/s(ec)?\b|\brequests/sec", line)]


# Members of a JSON document, and bounds as they are typed: `errors <= 0.1%`.
OWN_SYNTAX = ("replay.py", "guards.py")


@pytest.mark.parametrize("part", ["tuner/trimtab_tuner", "agent/trimtab_agent"])
def test_no_sentence_makes_its_own_percentages(part):
    """`98%` in one and `98 %` in the next came of Python's own format for them."""
    own = [
        f"{file.name}: {line.strip()}"
        for file in sorted((ROOT / part).rglob("*.py"))
        for line in file.read_text().splitlines()
        if re.search(r":[+.0-9,]*%\}", line) and file.name not in OWN_SYNTAX
    ]
    assert own == []
