"""A learnt workload asked of the user's own files, where they lie: `--site DIR`.

Their sizes are taken as they are; requests for what is not there are left out. What comes of it is a model
like any learnt one, and recorded, so that all trials ask for the same. Nothing is written below the
directory: it is served as it lies there, and looked at before each run.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab_tuner.wording import counted, in_percent
from trimtab_tuner.workloads.definition import Definition
from trimtab_tuner.workloads.learnt import Learnt, pack

from trimtab_agent.errors import SpecError
from trimtab_agent.workloads.choice import read_model

LEAST_SHARE = 0.5
"""Of the requests that must be left: with fewer it would be another workload, or is another site's."""


@dataclass(frozen=True)
class OwnSite:
    """The directory, the workload's `definition` with the `model` of what can be asked of it, and what is to
    be told of both.
    """

    root: Path
    definition: Definition
    model: dict[str, Any]
    told: tuple[str, ...]


def own_site(root: Path, definition: Definition, own_workloads: Path | None) -> OwnSite:
    """The learnt workload on the files in `root`. Raises SpecError with the field `site`."""
    if definition.learnt is None:
        raise SpecError(
            "site",
            f"site: the workload {definition.name} asks for files of its own making; expected one that "
            "`trimtab workload learn` has made of the site's access log",
        )
    conditions = definition.conditions
    if conditions.memory != "unlimited" or conditions.start == "cold":
        raise SpecError(
            "site",
            "site: the files stay in memory for whoever else is asked for them; expected memory = unlimited "
            "and start = warm",
        )
    if not root.is_absolute() or not root.is_dir():
        raise SpecError("site", f"site = {root}: expected the absolute path of a directory of files")
    before = read_model(definition, own_workloads)
    sizes = {number: size for number, path in _paths(before) if (size := _size(root, path)) is not None}
    model = _of_those_there(before, sizes)
    asked, left = _requests(before), _requests(model)
    lost = [path for number, path in _paths(before) if number not in sizes]
    share = in_percent((asked - left) / asked, 1)
    if left < LEAST_SHARE * asked:
        raise SpecError(
            "site",
            f"site = {root}: not there: {counted(len(lost), 'file')} of {len(before['files'])} that the "
            f"workload {definition.name} asks for, with {share} of its requests; the first is {lost[0]}",
        )
    there = f"{counted(len(sizes), 'file')}, {sum(sizes.values()) / 1e6:.1f} MB"
    told = [f"served from {root} as they lie there, only read: {there}"]
    if lost:
        told.append(
            f"not there: {counted(len(lost), 'file')} that the workload asks for, {lost[0]} for one; {share} "
            "of its requests are left out"
        )
    name, _ = pack(model)
    learnt = Learnt(model=name, files=len(sizes), file_set_bytes=sum(sizes.values()))
    return OwnSite(root, definition.model_copy(update={"learnt": learnt}), model, tuple(told))


def _paths(model: dict[str, Any]) -> Iterator[tuple[int, str]]:
    return ((number, str(path)) for number, (path, _, _) in enumerate(model["files"]))


def _requests(model: dict[str, Any]) -> int:
    return sum(map(len, model["sessions"]))


def _size(root: Path, path: str) -> int | None:
    """The size of a file that is there and may be read; None for anything else."""
    place = f"{root}{path}"
    try:
        found = os.stat(place)  # noqa: PTH116 - of half a million files
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) and os.access(place, os.R_OK) else None


def _of_those_there(model: dict[str, Any], sizes: dict[int, int]) -> dict[str, Any]:
    """The model without the files that have no size; a session's first request begins a burst."""
    numbers = {file: number for number, file in enumerate(sizes)}
    sessions = []
    for session in model["sessions"]:
        kept = [[numbers[file], pause_s, begins] for file, pause_s, begins in session if file in numbers]
        if kept:
            kept[0][2] = True
            sessions.append(kept)
    files = [[model["files"][file][0], size, model["files"][file][2]] for file, size in sizes.items()]
    facts = {**model["facts"], "files": len(files), "file_set_bytes": sum(sizes.values())}
    return {**model, "files": files, "sessions": sessions, "facts": facts}
