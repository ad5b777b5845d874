"""docs/targets.md has every knob of every server, with its values, default and help; docs/behind.md those of
proxying, and of what stands behind.
"""

from pathlib import Path

import pytest
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.backends import BACKENDS
from trimtab_tuner.targets.placement import REPLICA_KNOBS

DOCS = Path(__file__).parents[3] / "docs"
DOCUMENT = (DOCS / "targets.md").read_text()
BEHIND = (DOCS / "behind.md").read_text()


def rows_of(section, document=DOCUMENT):
    """The knobs' rows of a section."""
    text = document.split(f"\n### {section}\n")[1].split("\n### ")[0]
    return [line for line in text.splitlines() if line.startswith(("| `", "| **"))]


def test_knobs_of_all_targets_are_documented_as_they_are():
    """They have a table of their own; a database has no replicas."""
    for name, target in TARGETS.items():
        if target.protocol != "http":
            continue
        knobs = [knob for knob in target.space(cpus=4).knobs if knob.name in REPLICA_KNOBS]
        for row, knob in zip(rows_of("every target"), knobs, strict=True):
            values = "1–CPUs" if knob.kind == "integer" else ", ".join(map(str, knob.choices))
            assert row.startswith(f"| `{knob.name}` | {values}"), name
            assert row.endswith(f"| {knob.help} |"), name


@pytest.mark.parametrize("name", [name for name in TARGETS if name != "core"])
def test_every_knob_is_documented_as_it_is(name):
    """Bold if it is tuned by default."""
    space = TARGETS[name].space(cpus=1)
    free = {knob.name for knob in space.free}
    knobs = [knob for knob in space.knobs if knob.name not in REPLICA_KNOBS]
    check(rows_of(name), knobs, free)


def test_every_knob_of_apache_with_prefork_is_documented_as_it_is():
    """It has others than with event, whose own are documented with the server."""
    space = TARGETS["apache"].space("prefork")
    free = {knob.name for knob in space.free}
    knobs = [knob for knob in space.knobs if knob.name not in REPLICA_KNOBS]
    check(rows_of("apache with prefork"), knobs, free)


def check(rows, knobs, free):
    """A row for each, in their order."""
    for row, knob in zip(rows, knobs, strict=True):
        bold = "**" if knob.name in free else ""
        values = f"{knob.low}–{knob.high}" if knob.kind == "integer" else ", ".join(map(str, knob.choices))
        assert row.startswith(f"| {bold}`{knob.name}`{bold} | {values}")
        assert row.endswith(f"| {knob.help} |")


@pytest.mark.parametrize("name", [name for name, target in TARGETS.items() if target.log_knobs])
def test_every_knob_of_access_logs_is_documented_as_it_is(name):
    """None is tuned without being asked for."""
    check(rows_of(f"{name} with an access log"), TARGETS[name].log_knobs, ())


@pytest.mark.parametrize("name", [name for name, target in TARGETS.items() if target.proxy_knobs])
def test_every_knob_of_proxying_is_documented_as_it_is(name):
    """Bold if it is tuned where the workload proxies."""
    target = TARGETS[name]
    check(rows_of(f"{name} as a proxy", BEHIND), target.proxy_knobs, target.proxy_free)


@pytest.mark.parametrize("name", BACKENDS)
def test_every_knob_of_what_stands_behind_is_documented_as_it_is(name):
    """Bold if it is tuned where it stands there."""
    check(rows_of(name, BEHIND), BACKENDS[name].knobs, BACKENDS[name].free)
