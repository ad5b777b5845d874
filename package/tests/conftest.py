"""The built programs of the checkout, which man pages and completions are made from."""

from pathlib import Path

import pytest
from trimtab_agent.settings import AgentSettings

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def programs() -> dict[str, Path]:
    """Where the programs of the server core are, by name; fails if they have not been built."""
    settings = AgentSettings()
    paths = (settings.httpd_path, settings.load_path, settings.upstream_path)
    found = {path.name: path for path in paths}
    for program in found.values():
        if not program.is_file():
            pytest.fail(f"{program} is not built; run `make build` first")
    return found
