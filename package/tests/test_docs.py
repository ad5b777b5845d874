"""The menu of the documentation leads to every page."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def leaves(menu):
    """The files that a menu of zensical.toml names."""
    if isinstance(menu, str):
        return [menu]
    entries = menu.values() if isinstance(menu, dict) else menu
    return [file for entry in entries for file in leaves(entry)]


def test_menu_has_every_page_once():
    """The reference is made by `make docs`; all else lies in the repository."""
    menu = leaves(tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"])
    docs = ROOT / "docs"
    written = {str(page.relative_to(docs)) for page in docs.rglob("*.md")}
    made = {"reference/commands.md", "reference/rest.md"}
    assert sorted(menu) == sorted(written | made)
