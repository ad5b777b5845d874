"""The README as it is installed: its links lead to the documentation's site beside it, not into a repository.

    installed_readme.py README.md SITE PREFIX

prints it. `SITE` is the built site, `PREFIX` the way to it from where the README lies. Ends with status 1 if
a link would lead nowhere, and names it.
"""

import re
import sys
from pathlib import Path

_LINK = re.compile(r"\]\(docs/(?P<file>[^)#]+)(?P<part>#[^)]*)?\)")


def installed(text: str, site: Path, prefix: str) -> str:
    """The text with its links turned; raises FileNotFoundError for one that the site has no page for."""

    def turned(link: re.Match[str]) -> str:
        page = re.sub(r"(?:^|/)index$", "", link["file"].removesuffix(".md"))
        there = f"{page}/index.html".removeprefix("/") if link["file"].endswith(".md") else link["file"]
        if not (site / there).is_file():
            raise FileNotFoundError(f"README.md: {link['file']} is not on the site ({there})")
        return f"]({prefix}/{there}{link['part'] or ''})"

    return _LINK.sub(turned, text)


if __name__ == "__main__":
    readme, built, way = sys.argv[1:]
    try:
        print(installed(Path(readme).read_text(encoding="utf-8"), Path(built), way), end="")
    except FileNotFoundError as error:
        sys.exit(str(error))
