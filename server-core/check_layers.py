"""Holds the rooms of the server: which may include which, and no circles inside a room.

`make check` runs it. A line "#include "httpd/ROOM/NAME.h"" in a file of one room is allowed when the table
below says so. Inside a room NAME.h and NAME.c are one module, and modules must not use each other in circles.
What another file defines is declared in a header, so that no use is hidden from this: no .c file says
`extern`. The files of the load generator are held to be without circles too.
"""

from __future__ import annotations

import re
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

HTTPD = Path(__file__).parent / "httpd"
LOADGEN = Path(__file__).parent / "loadgen"
INCLUDE = re.compile(r'^#include "httpd/(?:(\w+)/)?(\w+)\.h"', re.MULTILINE)
INCLUDE_OF_LOADGEN = re.compile(r'^#include "(?:loadgen/)?(\w+)\.h"', re.MULTILINE)
EXTERN = re.compile(r"^extern\b", re.MULTILINE)

# Each room may use itself, those named, and what lies beside the rooms in BASE.
ROOMS: dict[str, set[str]] = {
    "http": set(),
    "io": set(),
    "config": {"http", "io"},
    "counters": {"http", "config"},
    "cache": {"http", "config", "counters"},
    "send": {"http", "config", "counters", "cache"},
    "connection": {"http", "io", "config", "counters", "cache", "send"},
    "process": {"http", "io", "config", "counters", "connection"},
    "arch": {"http", "io", "config", "counters", "cache", "send", "connection", "process"},
    "control": {"io", "config", "counters", "process"},
}
BASE = {"log"}


def circle(what: str, uses: dict[str, set[str]]) -> list[str]:
    """The circle in which these modules use each other, if there is one."""
    try:
        TopologicalSorter({name: used - {name} for name, used in uses.items()}).prepare()
    except CycleError as error:
        return [f"{what}/: modules use each other in a circle: {' -> '.join(error.args[1])}"]
    return []


def faults() -> list[str]:
    """Every line that the table does not allow, and every circle."""
    found = []
    uses: dict[str, dict[str, set[str]]] = {room: {} for room in ROOMS}
    for path in sorted(HTTPD.glob("*/*.[ch]")):
        room = path.parent.name
        for used_room, used in INCLUDE.findall(path.read_text()):
            if used_room == room:
                uses[room].setdefault(path.stem, set()).add(used)
            elif used_room not in ROOMS[room] and (used_room or used not in BASE):
                found.append(f"{path}: {room}/ may not use {used_room or '.'}/{used}.h")
    for room, modules in uses.items():
        found += circle(room, modules)
    generator: dict[str, set[str]] = {}
    for path in sorted(LOADGEN.glob("*.[ch]")):
        generator.setdefault(path.stem, set()).update(INCLUDE_OF_LOADGEN.findall(path.read_text()))
    found += circle("loadgen", generator)
    for path in sorted([*HTTPD.rglob("*.c"), *LOADGEN.glob("*.c")]):
        if EXTERN.search(path.read_text()):
            found.append(f"{path}: `extern` belongs into a header of the file that defines it")
    return found


if __name__ == "__main__":
    sys.exit("\n".join(faults()) or None)
