"""What a file opens and does not close, where its server does not start with that.

Each file for itself, as servers read them: no file may close what another has opened. The readers of
nginx.conf and h2o.conf refuse such files themselves.
"""

from collections.abc import Sequence
from typing import NamedTuple

from trimtab_tuner.targets.base import Target
from trimtab_tuner.targets.servers.apache import sections
from trimtab_tuner.targets.servers.lighttpd import unclosed as lighttpd


class Unclosed(NamedTuple):
    """`file` is the number of the file, `line` counts from 1; `sentence` says what is not closed."""

    file: int
    line: int
    sentence: str


def unclosed(target: Target, texts: Sequence[str]) -> Unclosed | None:
    """The first in these files, the main file first, each as it is; None without any."""
    found: list[tuple[int, int, str]] = []
    if target.name == "apache":
        found = list(sections.unclosed(texts))
    elif target.name == "lighttpd":
        found = [(number, *each) for number, text in enumerate(texts) if (each := lighttpd.unclosed(text))]
    if not found:
        return None
    file, place, sentence = found[0]
    return Unclosed(file, texts[file].count("\n", 0, place) + 1, sentence)
