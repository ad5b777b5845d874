"""The installed README leads to the installed documentation."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAKER = ROOT / "package/installed_readme.py"


def installed(readme: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """What the maker prints of a README."""
    command = [sys.executable, MAKER, readme, site, "../../trimtab/docs"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def built(site: Path) -> Path:
    """A site as it is built: a folder with an index for each page, pictures as they are."""
    for page in (ROOT / "docs").rglob("*"):
        name = page.relative_to(ROOT / "docs")
        if page.suffix == ".md":
            there = site / (name.parent if page.stem == "index" else name.with_suffix("")) / "index.html"
        else:
            there = site / name
        if page.is_file():
            there.parent.mkdir(parents=True, exist_ok=True)
            there.touch()
    return site


def test_links_of_the_readme_lead_to_pages_of_the_site(tmp_path):
    """No link into a repository is left, and each that is there has its page."""
    text = installed(ROOT / "README.md", built(tmp_path)).stdout
    assert "](docs/" not in text
    links = re.findall(r"\]\(\.\./\.\./trimtab/docs/([^)#]+)", text)
    assert "tutorial/index.html" in links
    assert "index.html" in links
    assert [link for link in links if not (tmp_path / link).is_file()] == []


def test_link_to_a_page_that_is_not_there_ends_the_build(tmp_path):
    """It is named."""
    readme = tmp_path / "README.md"
    readme.write_text("[x](docs/gone.md#y)")
    ended = installed(readme, tmp_path)
    assert ended.returncode == 1
    assert "gone.md is not on the site" in ended.stderr
