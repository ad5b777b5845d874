"""What a server runs with in place of what its file asks for: limits of the system, numbers that it corrects.

The one is read of its processes, the other in its own words. Both are noted in comments above the text of the
file that was measured, as it is recorded with a trial.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

_NOTE = "# In force: "
_LIMITS = {
    "nginx": re.compile(r"^[ \t]*(worker_rlimit_nofile)\s+(\d+)", re.MULTILINE),
    "lighttpd": re.compile(r"^[ \t]*(server\.max-fds)\s*=\s*(\d+)", re.MULTILINE),
}
# As nginx, Apache, lighttpd and h2o word it when they start.
_SAYS = re.compile(
    r"\d+ worker_connections exceed open file resource limit: \d+|"
    r"AH\d+: WARNING: [^\n]*?(?:decreasing|increasing) (?:\w+ )?to [^.\n]*|"
    r"can't have more connections than fds/2[^\n]*|"
    r"\[WARNING\] failed to raise [^\n]*"
)


class Limit(NamedTuple):
    """How many files a process is to open at most, the setting that says so, and where it begins."""

    name: str
    most: int
    start: int


def limit_of_descriptors(target: str, text: str) -> Limit | None:
    """The setting by which a file of that target limits its open files; None without."""
    found = [*_LIMITS[target].finditer(text)] if target in _LIMITS else []
    return Limit(found[-1][1], int(found[-1][2]), found[-1].start(1)) if found else None


def differences(target: str, text: str, descriptors: int | None, log: str) -> tuple[str, ...]:
    """What is otherwise than the file's text says: `descriptors` are the open files that a process really may
    have, None where that is not known; `log` is what the server has said as it started.
    """
    said = [" ".join(words.split()) for words in _SAYS.findall(log)]
    asked = limit_of_descriptors(target, text)
    if asked is not None and descriptors is not None and descriptors < asked.most:
        said.insert(
            0, f"{descriptors:,} open files in place of {asked.name} {asked.most}: the system allows no more"
        )
    return tuple(dict.fromkeys(said))


def noted(text: str, differing: Iterable[str]) -> str:
    """The text with a comment for each."""
    return "".join(f"{_NOTE}{each}\n" for each in differing) + text


def noted_in(texts: Iterable[str]) -> tuple[str, ...]:
    """What such comments above texts say, each once."""
    lines = (line for text in texts for line in text.splitlines())
    return tuple(dict.fromkeys(line.removeprefix(_NOTE) for line in lines if line.startswith(_NOTE)))
