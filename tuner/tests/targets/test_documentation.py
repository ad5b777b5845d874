"""docs/targets.md has every knob of every server, with its values, default and help."""

from pathlib import Path

import pytest
from trimtab_tuner.targets import TARGETS

DOCUMENT = (Path(__file__).parents[3] / "docs" / "targets.md").read_text()


@pytest.mark.parametrize("name", [name for name in TARGETS if name != "core"])
def test_every_knob_is_documented_as_it_is(name):
    """Bold if it is tuned by default."""
    space = TARGETS[name].space(cpus=1)
    free = {knob.name for knob in space.free}
    section = DOCUMENT.split(f"\n### {name}\n")[1].split("\n### ")[0]
    rows = [line for line in section.splitlines() if line.startswith(("| `", "| **"))]
    assert len(rows) == len(space.knobs)
    for row, knob in zip(rows, space.knobs, strict=True):
        bold = "**" if knob.name in free else ""
        values = f"{knob.low}–{knob.high}" if knob.kind == "integer" else ", ".join(map(str, knob.choices))
        assert row.startswith(f"| {bold}`{knob.name}`{bold} | {values}")
        assert row.endswith(f"| {knob.help} |")
