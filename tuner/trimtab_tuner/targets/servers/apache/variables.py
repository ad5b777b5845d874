"""Variables of a user's apache2.conf: what `Define` sets, and what Apache is started with.

Apache puts them in as it reads, so that a definition counts from its line on. Debian's apache2ctl reads the
file `envvars` beside the main one before it starts Apache, a file of the shell; only plain assignments in it
are read here, as nothing of it is run. Beside the variables it is known where relative names begin
(`ServerRoot`).
"""

import re
from collections.abc import Mapping

from trimtab_tuner.targets.servers.apache import syntax

ENVIRONMENT_FILE = "envvars"
SERVER_ROOT = "the argument of ServerRoot"  # which no variable is called
MOST_FILLED_CHARACTERS = 4096  # PATH_MAX; definitions that double each other would fill the memory
_USED = re.compile(r"\$\{(\w+)\}")
_ASSIGNED = re.compile(
    r"^[ \t]*(?:export[ \t]+)?(\w+)=(\"[^\"\n]*\"|'[^'\n]*'|[^\s\"';#]*)[ \t]*(?:#.*)?$", re.MULTILINE
)
_OF_SHELL = re.compile(r"\$(?:\{(\w+)(?::?-([^}]*))?\}|(\w+))")


def environment(text: str, directory: str) -> dict[str, str]:
    """What `envvars` with this text plainly sets for an Apache whose files are in that directory."""
    found = {"APACHE_CONFDIR": directory}
    for name, said in _ASSIGNED.findall(text):
        value = said.strip("\"'")
        if not said.startswith("'"):
            value = _OF_SHELL.sub(lambda each: found.get(each[1] or each[3], each[2] or each[0]), value)
        if not set("$`\\") & set(value):
            found[name] = value
    return found


def defined(text: str, known: Mapping[str, str]) -> dict[str, str]:
    """What is known behind this text: of a name that only stands in a section, the first definition."""
    found = dict(known)
    for line in syntax.walk(text):
        if not line.is_directive or not line.words:
            continue
        name = line.words[0].text
        if line.name == "undefine":
            found.pop(name, None)
        elif line.name == "serverroot":
            found[SERVER_ROOT] = filled(name, found)
        elif line.name == "define" and not (line.above and name in found):
            found[name] = filled(line.words[1].text, found) if len(line.words) > 1 else ""
    return found


def filled(text: str, known: Mapping[str, str]) -> str:
    """The text with the variables that are known; others stay, and those that make it too long."""
    left = MOST_FILLED_CHARACTERS

    def value(found: re.Match[str]) -> str:
        nonlocal left
        said = known.get(found[1], found[0])
        left -= len(said)
        return said if left >= 0 else found[0]

    return _USED.sub(value, text)


def used(text: str) -> set[str]:
    """The names of the variables in it."""
    return set(_USED.findall(text))
