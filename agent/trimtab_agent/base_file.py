"""A user's own configuration file, read with everything it includes."""

import glob
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trimtab_trials.configuration import Configuration
from trimtab_tuner.targets.base import RenderError, Target
from trimtab_tuner.telling.two_files import FILE

from trimtab_agent.errors import SpecError

LARGEST_BYTES = 1 << 20
DEEPEST = 16


@dataclass(frozen=True)
class BaseFile:
    """`text` is the file at `path`; `expanded` is the same to stand anywhere: includes filled in,
    paths made absolute.
    """

    path: str
    text: str
    expanded: str

    def as_json(self) -> dict[str, Any]:
        """What is recorded with a run."""
        return asdict(self)


def text_of(recorded: Mapping[str, Any], configuration: Configuration) -> str | None:
    """The text that the server runs with, of the files recorded with a run; None without any.

    Where there are two, the configuration says which.
    """
    file = recorded["new"] if configuration.get(FILE.name) == "new" else recorded
    text: str | None = file.get("expanded")
    return text


@dataclass(frozen=True, kw_only=True)
class UsualFile:
    """The file that a server is usually run with: where it lies, and the values of knobs that it sets.

    `trouble` says why its values are not known; empty where they are.
    """

    path: str
    values: Configuration
    trouble: str = ""


def usual_file(target: Target, cpus: int) -> UsualFile | None:
    """The first of the target's usual files that is there; None without one.

    For those who may not name files: the path is one of a fixed list, and of what is in it they get names and
    values of knobs. So trouble is told without a word of the file.
    """
    # Not Path.is_file(): it raises where a directory above may not be looked into.
    there = next((path for path in target.usual_files if os.path.isfile(path)), None)  # noqa: PTH113
    if there is None:
        return None
    path = Path(there)
    try:
        base = read_base(target, path)
        return UsualFile(path=str(path), values=target.parse(base.expanded, cpus))
    except (SpecError, RenderError):
        trouble = f"It could not be read: trimtab tune --target {target.name} --base {path} says why."
        return UsualFile(path=str(path), values={}, trouble=trouble)


def read_base(target: Target, path: Path) -> BaseFile:
    """Reads the file and what it includes; raises SpecError with the field `base`."""
    file = path.resolve()
    text = _read(file)
    return BaseFile(str(file), text, expanded(target, text, file))


def expanded(target: Target, text: str, file: Path) -> str:
    """The text of `file`, to stand anywhere: includes filled in, paths made absolute; raises SpecError."""
    whole = _expanded(target, text, file, file.parent, (file,))
    try:
        return target.rooted(whole, str(file.parent))
    except RenderError as error:
        raise SpecError("base", f"{file}: {error}") from error


def _expanded(target: Target, text: str, file: Path, directory: Path, above: tuple[Path, ...]) -> str:
    try:
        includes = target.includes(text)
    except RenderError as error:
        raise SpecError("base", f"{file}: {error}") from error
    for include in sorted(includes, key=lambda found: found.start, reverse=True):
        inside = ""
        for found in _matching(include.pattern, include.optional, file, directory):
            if found in above or len(above) >= DEEPEST:
                raise SpecError("base", f"{file}: include {include.pattern}: it includes itself")
            inside += _expanded(target, _read(found), found, directory, (*above, found)).rstrip("\n") + "\n"
        text = text[: include.start] + inside + text[include.end :]
    return text


def _matching(pattern: str, optional: bool, file: Path, directory: Path) -> list[Path]:
    """The files that an include names, in the order of their names; a directory stands for all in it."""
    if "$" in pattern:
        raise SpecError("base", f"{file}: include {pattern}: expected a name without variables")
    whole = directory / pattern
    found = sorted(Path(name) for name in glob.glob(str(whole)))  # noqa: PTH207 - the pattern may be absolute
    try:
        files = [f.resolve() for one in found for f in (sorted(one.iterdir()) if one.is_dir() else [one])]
    except OSError as error:
        raise SpecError("base", f"{file}: include {pattern}: {error.strerror}") from error
    if not files and not optional:
        raise SpecError("base", f"{file}: include {pattern}: expected a file at {whole}, there is none")
    return files


def _read(file: Path) -> str:
    try:
        if not file.is_file():
            raise SpecError("base", f"base = {file}: expected a configuration file, there is none")
        if file.stat().st_size > LARGEST_BYTES:
            raise SpecError("base", f"base = {file}: expected at most {LARGEST_BYTES >> 20} MiB")
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise SpecError("base", f"base = {file}: it cannot be read: {reason}") from error
