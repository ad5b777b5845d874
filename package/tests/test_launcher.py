"""The command `trimtab` of an installation knows where everything lies."""

import re
from pathlib import Path

from trimtab_agent.settings import CHECKOUT, AgentSettings

LAUNCHER = Path(__file__).parents[1] / "trimtab"


def test_launcher_sets_every_path_that_is_else_one_of_the_checkout():
    """An installation has no checkout: no default that lies in one may stay in force there."""
    in_checkout = {
        f"TRIMTAB_{name.upper()}"
        for name, field in AgentSettings.model_fields.items()
        if isinstance(field.default, Path) and field.default.is_relative_to(CHECKOUT)
    }
    exported = re.search(r"^export (.+)$", LAUNCHER.read_text(), re.MULTILINE)
    assert exported is not None
    assert "TRIMTAB_DOCS_SITE" in in_checkout
    assert in_checkout - set(exported[1].split()) == set()
