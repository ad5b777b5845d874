"""The exported file of a server with the values that were measured.

What is exported is for all CPUs of a machine, and for visitors who pause as long as people do; where it is
climbed from outside the generator keeps some CPUs, and visitors pause as shortly as in the run.
"""

import re

from trimtab_trials.configuration import Configuration
from trimtab_tuner.targets.base import Target


def with_lines(text: str, written: str, measured: str) -> str:
    """An exported file of ours: where `written` and `measured` differ, files made of what is exported and of
    what was measured, it gets the line of the second. So what follows from a value follows it.
    """
    lines = zip(written.splitlines(), measured.splitlines(), strict=True)
    changed = {was: becomes for was, becomes in lines if was != becomes}
    return "\n".join(changed.get(line, line) for line in text.split("\n"))


def with_values(text: str, written: Configuration, measured: Configuration) -> str:
    """A user's own file: the values alone, wherever they stand."""
    for name, value in written.items():
        if measured[name] != value:
            pattern = rf"\b({re.escape(name)}\W+){re.escape(str(value))}\b"
            text = re.sub(pattern, rf"\g<1>{measured[name]}", text)
    return text


def check_measured(
    target: Target, text: str, written: Configuration, measured: Configuration, cpus: int
) -> None:
    """Raises SystemExit with the knobs whose exported value the file still has in place of the measured."""
    read = target.parse(text, cpus)
    still = [
        name
        for name, value in written.items()
        if measured[name] != value and read.get(name) not in (None, measured[name])
    ]
    if still:
        raise SystemExit(f"the exported file cannot be read as measured: {', '.join(still)}")
