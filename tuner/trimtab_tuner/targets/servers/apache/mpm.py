"""Which MPM an apache2.conf is for: the module by which Apache divides its work among processes and threads.

Apache runs with one of them. It is a knob so that it stands in every configuration and decides which others
there are, but never one to tune: a file stays with the MPM that it is written for.
"""

import re
from collections.abc import Collection, Sequence
from typing import Protocol, TypeVar

from trimtab_trials.configuration import Configuration

NAME = "mpm"
EVENT, WORKER, PREFORK = "event", "worker", "prefork"
MPMS = (EVENT, WORKER, PREFORK)
_LOADED = re.compile(r"mpm_(\w+)_module", re.IGNORECASE)
_SECTION = re.compile(
    r"(?P<no>!?)(?:mpm_)?(?P<name>prefork|worker|event|itk|peruser|perchild|threadpool|leader|winnt|mpmt_os2|"
    r"netware|beos)(?:_module|\.c)",
    re.IGNORECASE,
)
_OF_ITS_OWN = (*MPMS, "itk")  # of which a section tells that the file is for it


class Said(Protocol):
    """A line of the file: what it is called in small letters, its first argument, and what the sections
    <IfModule> around it ask for.
    """

    @property
    def name(self) -> str:
        """The directive's, or the section's."""
        ...

    @property
    def first(self) -> str:
        """Empty without one."""
        ...

    @property
    def modules(self) -> Sequence[str]:
        """The outermost section's first."""
        ...


Line = TypeVar("Line", bound=Said)


def mpm_of(configuration: Configuration) -> str:
    """The MPM of a configuration; those that earlier versions recorded are all for event."""
    return str(configuration.get(NAME, EVENT))


def for_others(modules: Collection[str], mpm: str) -> bool:
    """Whether one of the sections that ask for these modules is passed over where that MPM is loaded, or none
    if it is "".
    """
    asked = (found for module in modules if (found := _SECTION.fullmatch(module)) is not None)
    return any((found["name"].lower() != mpm) != bool(found["no"]) for found in asked)


def named(lines: Sequence[Line]) -> dict[str, Line]:
    """The MPMs that a file is for, each with the line that says so.

    Those that it loads; where it loads none, as one has been built in, those that it has sections for, and
    event alone if that is among them.
    """
    if loaded := loads(lines):
        return loaded
    sections: dict[str, Line] = {}
    for line in lines:
        found = _SECTION.fullmatch(line.first) if line.name == "ifmodule" else None
        if found is not None and not found["no"] and found["name"].lower() in _OF_ITS_OWN:
            sections.setdefault(found["name"].lower(), line)
    return {EVENT: sections[EVENT]} if EVENT in sections else sections


def loads(lines: Sequence[Line]) -> dict[str, Line]:
    """The MPMs that a file loads, each with its line, but for those under a condition that another one is."""
    loaded: dict[str, Line] = {}
    for line in lines:
        found = _LOADED.fullmatch(line.first) if line.name == "loadmodule" else None
        if found is not None and not for_others(line.modules, next(iter(loaded), "")):
            loaded.setdefault(found[1].lower(), line)
    return loaded


def in_force(lines: Sequence[Line]) -> str:
    """The MPM that a file runs with: event, which Debian has, where it names none."""
    return next((name for name in named(lines) if name in MPMS), EVENT)
