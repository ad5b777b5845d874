"""The language of MariaDB's option files (mariadb.com/kb, Configuring MariaDB with Option Files).

[mariadbd]                    a group; the server reads those named in `_OURS`
max_connections = 500         dashes for underscores, `loose-` before a name, and quotes are all the same
skip-name-resolve             no value: switched on; `skip-` before a switch: off
!includedir /etc/mysql/conf.d/
"""

import re
from collections.abc import Collection, Iterator, Sequence

from trimtab_tuner.targets.assignments import Assignment
from trimtab_tuner.targets.base import Include, RenderError

_GROUP = re.compile(r"\s*\[([^\]]*)\]")
_OURS = re.compile(r"(client-server|server|mysqld|mariadb|mariadbd)(-\d+\.\d+)?$")
_OPTION = re.compile(r"\s*([A-Za-z][\w-]*)[ \t]*(=?)[ \t]*(.*?)[ \t]*$")
_COMMENT = re.compile(r"\s*[#;]|\s*$")
_INCLUDE = re.compile(r"\s*!include(dir)?[ \t]+(.*?)\s*$")


def lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """Each line of a file that says something: where it stands, the line, and whether the server reads it."""
    start, ours = 0, False
    for line in text.splitlines(keepends=True):
        if group := _GROUP.match(line):
            ours = _OURS.match(group[1].strip()) is not None
        elif not _COMMENT.match(line):
            yield start, line, ours
        start += len(line)


def assignments(text: str) -> list[Assignment]:
    """What the server's groups set, under the names of its system variables."""
    found = []
    for start, line, ours in lines(text):
        option = _OPTION.match(line) if ours else None
        if option is None:
            continue
        name = option[1].lower().replace("-", "_").removeprefix("loose_")
        said, end = option[3].split(" #")[0].rstrip(), option.start(3)
        value = said.strip("'\"") if option[2] else "ON"
        if not option[2] and name.startswith(("skip_", "disable_")):
            name, value = name.partition("_")[2], "OFF"
        found.append(Assignment(name, value, start + end, start + end + len(said)))
    return found


def includes(text: str) -> Sequence[Include]:
    """What a file includes; RenderError where text follows that would change its group by that."""
    found: list[Include] = []
    group_ended = False
    for start, end, line in _spans(text):
        if _GROUP.match(line):
            group_ended = False
        elif said := _INCLUDE.match(line):
            whole = f"{said[2].rstrip('/')}/*.cnf" if said[1] else said[2]
            found.append(Include(start, end, whole, optional=bool(said[1])))
            group_ended = True
        elif group_ended and not _COMMENT.match(line):
            raise RenderError(f"{line.strip()}: expected a [group] between an include and what follows it")
    return found


def without(text: str, names: Collection[str]) -> str:
    """The text without the lines of the server's groups that set one of these."""
    for assignment in reversed(assignments(text)):
        if assignment.name in names:
            start = text.rfind("\n", 0, assignment.start) + 1
            end = text.find("\n", assignment.end)
            text = text[:start] + (text[end + 1 :] if end >= 0 else "")
    return text


def in_server_group(text: str) -> bool:
    """Whether a line that is added at the end would be one of the server's."""
    ours = False
    for line in text.splitlines():
        if group := _GROUP.match(line):
            ours = _OURS.match(group[1].strip()) is not None
    return ours


def _spans(text: str) -> Iterator[tuple[int, int, str]]:
    start = 0
    for line in text.splitlines(keepends=True):
        yield start, start + len(line), line
        start += len(line)
