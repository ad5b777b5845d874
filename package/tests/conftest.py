"""The built programs of the checkout, which man pages and completions are made from."""

from pathlib import Path

import pytest
from trimtab_agent.settings import AgentSettings

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def programs() -> dict[str, Path]:
    """Where `trimtab-httpd` and `trimtab-load` are; fails if they have not been built."""
    settings = AgentSettings()
    found = {"trimtab-httpd": settings.httpd_path, "trimtab-load": settings.load_path}
    for program in found.values():
        if not program.is_file():
            pytest.fail(f"{program} is not built; run `make build` first")
    return found
