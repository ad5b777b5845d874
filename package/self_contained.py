"""Makes a built site obey the daemon's Content-Security-Policy, which then needs no exception for it.

    python package/self_contained.py DIRECTORY

The policy allows scripts, styles and images from files only. The site generator writes short scripts into
its pages and small images into its styles: they become files. Its search writes a style into the page: the
browser is given it as an object instead, as the policy is about text. The page for addresses that lead
nowhere is taken away: the daemon has its own answer for them.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from pathlib import Path
from urllib.parse import unquote

SCRIPT = re.compile(r"<script>(.+?)</script>", re.DOTALL)
IMAGE = re.compile(r'url\("data:image/svg\+xml;charset=utf-8,(.+?)"\)')
STYLE = re.compile(r"(\w+)\.appendChild\(\w+\(\"style\",\{\},(\w+)\.toString\(\)\)\)")
ADOPTED = r"(s=>{s.replaceSync(\2.toString());\1.adoptedStyleSheets=[s]})(new CSSStyleSheet)"
DIGITS = 12


def main() -> None:
    """Mends the site in the directory that is named; ends with a sentence where its search is another."""
    site = Path(sys.argv[1])
    assets = site / "assets" / "inline"
    assets.mkdir(parents=True)
    for page in site.rglob("*.html"):
        moved(page, SCRIPT, '<script src="{}"></script>', assets, ".js")
    for style in site.rglob("*.css"):
        moved(style, IMAGE, 'url("{}")', assets, ".svg")
    (bundle,) = (site / "assets" / "javascripts").glob("bundle.*.js")
    text, count = STYLE.subn(ADOPTED, bundle.read_text())
    if count != 1:
        sys.exit(
            f"{bundle}: expected one style that the search writes, found {count}: see this program's head"
        )
    bundle.write_text(text)
    (site / "404.html").unlink()


def moved(file: Path, pattern: re.Pattern[str], reference: str, assets: Path, suffix: str) -> None:
    """Writes what `pattern` finds in the file into `assets`, and puts `reference` to it in its place."""

    def replace(found: re.Match[str]) -> str:
        text = unquote(found[1]) if suffix == ".svg" else found[1]
        target = assets / f"{hashlib.sha256(text.encode()).hexdigest()[:DIGITS]}{suffix}"
        target.write_text(text)
        return reference.format(os.path.relpath(target, file.parent))

    file.write_text(pattern.sub(replace, file.read_text()))


if __name__ == "__main__":
    main()
