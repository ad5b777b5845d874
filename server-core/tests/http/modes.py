"""The modes that the program under test has, and which of them are in the gate."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

BUILT = Path(__file__).parents[2] / "build" / "httpd" / "trimtab-httpd"
BINARY = os.environ.get("TRIMTAB_HTTPD", str(BUILT))
DEFAULT_EVENTS = "epoll-et"


def ask_for_architectures() -> list[dict[str, Any]]:
    """What the binary says it can do: each architecture with the modes that it allows."""
    finished = subprocess.run([BINARY, "-V", "--json"], capture_output=True, check=True, timeout=60)
    architectures: list[dict[str, Any]] = json.loads(finished.stdout)["architectures"]
    return architectures


def knobs_of(architecture: dict[str, Any], mode: dict[str, str]) -> dict[str, str]:
    """The configuration of a mode: two of whatever the architecture multiplies.

    Where a worker is a connection the default stays, which is more.
    """
    knobs = {"architecture": architecture["name"], **mode}
    knobs |= {name: "2" for name in ("workers", "helpers", "copies") if name in architecture["knobs"]}
    if "copies" in architecture["knobs"]:
        knobs["reuseport"] = "on"  # each copy needs a listener, and there is one address
    if architecture["workers_default"] > 1:
        del knobs["workers"]
    if mode["events"] == "select":
        knobs["max_connections"] = "400"  # the descriptors that it can watch are few
    return {name: value for name, value in knobs.items() if name in {*architecture["knobs"], "architecture"}}


ARCHITECTURES = ask_for_architectures()


def gate(is_in_it: bool) -> list[pytest.MarkDecorator]:
    """The marks of a parameter: what is not in the gate is tested with everything else that takes long."""
    return [] if is_in_it else [pytest.mark.live]


def takes_its_turn(architecture: dict[str, Any], mode: dict[str, str]) -> bool:
    """Whether a mode is in the gate: each event mechanism of an architecture with one way of sending.

    The ways take turns. An architecture with a single mechanism has all of them.
    """
    mechanisms, ways = (list(dict.fromkeys(each[key] for each in architecture["modes"])) for key in mode)
    turn = mechanisms.index(mode["events"]) - ways.index(mode["sendfile"])
    return len(mechanisms) == 1 or turn % len(ways) == 0


EVERY_MODE = [
    pytest.param(
        knobs_of(architecture, mode),
        id="-".join((architecture["name"], *mode.values())),
        marks=gate(takes_its_turn(architecture, mode)),
    )
    for architecture in ARCHITECTURES
    for mode in architecture["modes"]
]

# Those whose ways of sending are most unlike each other have all of them in the gate, the others the first.
ALL_WAYS_IN_THE_GATE = {"symped", "mt", "pipeline", "knot"}
# The pipeline once more, with its sizes left to its controllers and a wait that nobody has.
EVERY_MODE += [
    pytest.param(
        {
            **knobs_of(architecture, mode),
            "readers": "2",
            "stage_threads": "adaptive",
            "stage_batch": "adaptive",
            "admission_p90_ms": "60000",
        },
        id=f"pipeline-adaptive-{mode['sendfile']}",
        marks=gate(mode["sendfile"] == "nonblocking"),
    )
    for architecture in ARCHITECTURES
    for mode in architecture["modes"]
    if architecture["name"] == "pipeline"
]

# Each architecture with each way of sending, at its default events.
EVERY_ARCHITECTURE = [
    pytest.param(
        knobs_of(architecture, mode),
        id=f"{architecture['name']}-{mode['sendfile']}",
        marks=gate(architecture["name"] in ALL_WAYS_IN_THE_GATE or mode["sendfile"] == "nonblocking"),
    )
    for architecture in ARCHITECTURES
    for mode in architecture["modes"]
    if mode["events"] == DEFAULT_EVENTS
]

# The same, of which each architecture is in the gate once: for what waits for a while.
EVERY_ARCHITECTURE_ONCE = [
    pytest.param(*each.values, id=each.id, marks=gate(each.id.endswith("-nonblocking")))
    for each in EVERY_ARCHITECTURE
]

# The same, of which one is in the gate: for time limits, which have to be waited for.
TIMED_ARCHITECTURE = [
    pytest.param(*each.values, id=each.id, marks=gate(each.id == "symped-nonblocking"))
    for each in EVERY_ARCHITECTURE
]

# What does not depend on the architecture is tested with one.
SENDFILE = [
    pytest.param({"architecture": "symped", "sendfile": mode["sendfile"]}, id=mode["sendfile"])
    for architecture in ARCHITECTURES
    for mode in architecture["modes"]
    if architecture["name"] == "symped" and mode["events"] == DEFAULT_EVENTS
]
TIMED_SENDFILE = [
    pytest.param(*each.values, id=each.id, marks=gate(each.id == "nonblocking")) for each in SENDFILE
]
