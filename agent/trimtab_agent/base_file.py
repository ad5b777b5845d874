"""A user's own configuration file, read with everything it includes.

Files are read as bytes and keep each of them: line breaks as they are, and where one of them is not text in
UTF-8 (a comment in Latin-1 or Big5), all are taken as Latin-1, in which every byte is a character.
"""

import codecs
import glob
import os
import re
import subprocess
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from trimtab_trials.configuration import Configuration
from trimtab_tuner.targets.base import Include, RenderError, Target
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.targets.kinds import other_kind, template_line
from trimtab_tuner.targets.sources import MACRO, OUTPUT, Filling, Sources, unmarked
from trimtab_tuner.targets.told import Told, line_of
from trimtab_tuner.telling.two_files import FILE

from trimtab_agent.errors import SpecError

LARGEST_BYTES = 1 << 20
DEEPEST = 16
COMMAND_LIMIT_S = 20.0
BYTE_ORDER_MARK = "\ufeff"
_OF_A_VALUE = re.compile(r"(\S+) = (.*?): expected ")


@dataclass(frozen=True)
class BaseFile:
    """`text` is the file at `path`; `expanded` is the same to stand anywhere: includes filled in,
    paths made absolute. `sources` tells the included files apart; all are in `encoding`.
    """

    path: str
    text: str
    expanded: str
    sources: Sources
    encoding: str = "utf-8"

    def as_json(self) -> dict[str, Any]:
        """What is recorded with a run."""
        return asdict(self)

    def place(self, line: int) -> tuple[str, int]:
        """The file that a line of `expanded` stands in, and its number there; added lines come first."""
        return self.sources.place(self._own(line))

    def inside(self, line: int) -> str:
        """Which line it is of what no file holds; "" for one of a file (`Sources.inside`)."""
        return self.sources.inside(self._own(line))

    def _own(self, line: int) -> int:
        """The line of the whole that it is in `expanded`."""
        return max(1, line - self._added)

    @cached_property
    def _added(self) -> int:
        """How many lines `expanded` begins with that are none of the user's."""
        return self.expanded.count("\n") - self.sources.whole.count("\n")


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

    `each_cpu` are those of which the file says one for each CPU (nginx's `auto`), by the word that it says.
    `trouble` says why its values are not known; empty where they are.
    """

    path: str
    values: Configuration
    each_cpu: Mapping[str, str] = field(default_factory=dict)
    trouble: str = ""


def usual_path(target: Target) -> Path | None:
    """The first of the target's usual files that is there; None without one."""
    # Not Path.is_file(): it raises where a directory above may not be looked into.
    there = next((path for path in target.usual_files if os.path.isfile(path)), None)  # noqa: PTH113
    return None if there is None else Path(there)


def usual_file(target: Target, cpus: int) -> UsualFile | None:
    """The first of the target's usual files that is there; None without one.

    For those who may not name files: the path is one of a fixed list, and of what is in it they get names and
    values of knobs. So trouble is told without a word of the file.
    """
    path = usual_path(target)
    if path is None:
        return None
    try:
        base = read_base(target, path)
        values = target.parse(base.expanded, cpus)
        each_cpu = words_for_each_cpu(target, base.expanded, values)
        return UsualFile(path=str(path), values=values, each_cpu=each_cpu)
    except (SpecError, RenderError):
        trouble = f"It could not be read: trimtab tune --target {target.name} --base {path} says why."
        return UsualFile(path=str(path), values={}, trouble=trouble)


def words_for_each_cpu(target: Target, text: str, values: Configuration) -> dict[str, str]:
    """The word by which the text says of some of these values that they are one for each CPU."""
    return dict.fromkeys(sorted(values.keys() & one_for_each_cpu(target, text)), "auto")


def one_for_each_cpu(target: Target, text: str) -> set[str]:
    """The knobs that are as many as the CPUs, as nginx has its workers with `auto`."""
    one, two = (own_values(target, text, cpus) for cpus in (1, 2))
    return {name for name, value in one.items() if (value, two[name]) == (1, 2)}


def encoding_of(content: bytes) -> str:
    """In which a file's bytes are read and written: UTF-8 where they are that, else Latin-1."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def read_base(target: Target, path: Path, *, with_commands: bool = False) -> BaseFile:
    """Reads the file and what it includes; raises SpecError with the field `base`.

    Commands whose output it includes are run once, only `with_commands`; else they stay as they are.
    """
    try:
        file = path.resolve()
    except RuntimeError as error:  # what pathlib makes of ELOOP
        raise SpecError("base", f"base = {path}: it cannot be read: its links lead in a circle") from error
    try:
        return _read_base(target, file, "utf-8", with_commands=with_commands)
    except UnicodeDecodeError as error:
        if target.only_utf8:
            line = error.object.count(b"\n", 0, error.start) + 1
            raise SpecError(
                "base", f"{error.reason}: line {line}: expected text in UTF-8, which {target.name} insists on"
            ) from error
        return _read_base(target, file, "latin-1", with_commands=with_commands)


def _read_base(target: Target, file: Path, encoding: str, *, with_commands: bool) -> BaseFile:
    text = _read(target, file, encoding)
    if looks := other_kind(text, target.name):
        raise SpecError("base", f"{file}: {looks}; expected one of {target.name}")
    if (number := template_line(text)) is not None:
        _refuse_template(target, text, file, number)
    filling = Filling(str(file), text)
    reading = _Reading(encoding, file.parent, filling, with_commands, _environment(target, file))
    sources = filling.sources(_filled(target, text, file, reading, (file,)))
    return BaseFile(str(file), text, anywhere(target, sources.marked, file), sources, encoding)


def _refuse_template(target: Target, text: str, file: Path, line: int) -> None:
    """Raises SpecError for a text that is no file of the target as it stands, because one is made of it."""
    try:
        tuple(target.told(text))
    except RenderError as error:
        raise SpecError(
            "base",
            f"{file}:{line}: this looks like a template that a program fills in; expected the file that it "
            "makes",
        ) from error


def refuse_part(target: Target, base: BaseFile) -> None:
    """Raises SpecError for a file that no server is started with, only with one that includes it."""
    try:
        first = next(iter(target.told(base.sources.whole)), None)  # that it is a part is told first
    except RenderError as error:
        raise located(base, error) from error
    if first is not None and first.is_part:
        refuse(first, base)


def located(base: BaseFile, error: RenderError) -> SpecError:
    """What the file is refused for: with the line of the setting if it is the value of one, else with its
    path.
    """
    said, place = str(error), base.path
    if found := _OF_A_VALUE.match(said):
        name, value = map(re.escape, found.groups())
        setting = re.compile(rf"^[^#\n]*(?<![\w.-]){name}\b.*{value}", re.MULTILINE | re.IGNORECASE)
        if there := setting.search(base.sources.whole):
            line = line_of(base.sources.whole, there.start())
            place = ":".join(map(str, base.sources.place(line)))
    return SpecError("base", f"{place}: {said}")


def refuse(told: Told, base: BaseFile) -> None:
    """Raises SpecError, unless what looks like a part of a file is included by one."""
    file, line = base.sources.place(told.line)
    if not told.is_part or file == base.path:
        inside = base.sources.inside(told.line)
        raise SpecError("base", f"{file}:{line}: {told.text}{f' ({inside})' if inside else ''}")


def anywhere(target: Target, marked: str, file: Path) -> str:
    """The whole of `file` from its marked text, to stand anywhere; raises SpecError."""
    whole = unmarked(marked).removeprefix(BYTE_ORDER_MARK)
    try:
        return target.rooted(whole, str(file.parent), _environment(target, file))
    except RenderError as error:
        raise SpecError("base", f"{file}: {error}") from error


def _environment(target: Target, file: Path) -> Mapping[str, str]:
    """The variables that the server is started with: as a file beside its own says them, or, by names that
    its language has for them, those of whoever asks.
    """
    if target.environment_file is None:
        own = target.environment_prefix
        return {} if own is None else {f"{own}{name}": value for name, value in os.environ.items()}
    try:
        text = (file.parent / target.environment_file).read_text(errors="replace")
    except OSError:
        text = ""
    return target.environment(text, str(file.parent))


@dataclass
class _Reading:
    """How includes are read, where their names begin, what gathers them, whether commands are run, and the
    variables that are known so far.
    """

    encoding: str
    directory: Path
    filling: Filling
    with_commands: bool
    known: Mapping[str, str]


def _filled(target: Target, text: str, file: Path, reading: _Reading, above: tuple[Path, ...]) -> str:
    """The text of `file` with its includes between marks."""
    if len(above) > DEEPEST:
        raise SpecError("base", f"{above[-2]}: include {file}: expected at most {DEEPEST} in a row")
    known = reading.known
    includes = _includes(target, text, file, known)
    pieces, position, seen = [], 0, 0
    while (number := bisect_left(includes, seen, key=_start)) < len(includes):
        include = includes[number]
        reading.known = target.defined(text[seen : include.start], reading.known)
        seen = include.end
        if include.is_command and not reading.with_commands:
            continue
        if include.text is not None:
            name = f"{MACRO}{include.pattern}"
            filled = _filled(target, include.text, Path(name), reading, (*above, Path(name)))
            inside = reading.filling.file(name, include.text, filled)
        elif include.is_command:
            output = _output(include.pattern, _at(text, include, file), reading)
            inside = reading.filling.file(f"{OUTPUT}{include.pattern}", output, output)
        else:
            at = _at(text, include, file)
            found = _matching(target, include, at, reading.directory)
            if not found and include.may_not_apply:
                continue
            inside = _files(target, include, found, at, reading, above)
        directive = text[include.start : include.end]
        pieces += [text[position : include.start], reading.filling.include(directive, inside)]
        position = include.end
        if reading.known != known:  # an included file may say what the next one is called
            known = reading.known
            includes = _includes(target, text, file, known)
    reading.known = target.defined(text[seen:], reading.known)
    return "".join((*pieces, text[position:]))


def _start(include: Include) -> int:
    return include.start


def _at(text: str, include: Include, file: Path) -> str:
    """The file and the line of an include."""
    return f"{file}:{line_of(text, include.start)}"


def _includes(target: Target, text: str, file: Path, known: Mapping[str, str]) -> list[Include]:
    """The includes of a file in their order; raises SpecError."""
    try:
        return sorted(target.includes(text, known), key=lambda found: found.start)
    except RenderError as error:
        raise SpecError("base", f"{file}: {error}") from error


def _files(
    target: Target,
    include: Include,
    files: Sequence[Path],
    at: str,
    reading: _Reading,
    above: tuple[Path, ...],
) -> str:
    """The files of an include, each between its marks."""
    inside = ""
    for found in files:
        if found in above:
            raise SpecError("base", f"{at}: include {include.pattern}: it includes itself")
        own = _read(target, found, reading.encoding)
        filled = _filled(target, own, found, reading, (*above, found))
        inside += reading.filling.file(str(found), own, filled)
    return inside


def _output(command: str, at: str, reading: _Reading) -> str:
    """What a command prints; raises SpecError where it fails."""
    begins = f"{at}: include_shell {command}"
    try:
        done = subprocess.run(  # the administrator's own, which the server runs at each start
            ["/bin/sh", "-c", command],
            cwd=reading.directory,
            capture_output=True,
            timeout=COMMAND_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SpecError("base", f"{begins}: had not ended after {COMMAND_LIMIT_S:.0f} s") from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise SpecError("base", f"{begins}: it ended with exit code {done.returncode}: {said}")
    return done.stdout.decode(reading.encoding)


def _matching(target: Target, include: Include, at: str, directory: Path) -> list[Path]:
    """The files that an include names, in the order of their names."""
    pattern = include.pattern
    if "$" in pattern and include.may_not_apply:
        return []
    if "$" in pattern:
        beside = target.environment_file
        expected = "a name without variables"
        if beside is not None:
            expected = f"its variables set by Define above it, or in {directory / beside}"
        raise SpecError("base", f"{at}: include {pattern}: expected {expected}")
    whole = directory / pattern
    found = sorted(Path(name) for name in glob.glob(str(whole)))  # noqa: PTH207 - the pattern may be absolute
    if not found:
        _require_sight(include, at, whole)
    folder = None if include.takes_directories else next((one for one in found if one.is_dir()), None)
    if folder is not None:
        raise SpecError(
            "base",
            f"{at}: include {pattern}: {folder} is a directory, which {target.name} refuses; expected "
            f"files, such as {folder}/*.conf",
        )
    try:
        files = [f.resolve() for one in found for f in (sorted(one.iterdir()) if one.is_dir() else [one])]
    except OSError as error:
        raise SpecError("base", f"{at}: include {pattern}: {error.strerror}") from error
    except RuntimeError as error:  # what pathlib makes of ELOOP
        raise SpecError("base", f"{at}: include {pattern}: its links lead in a circle") from error
    if not files and not (include.optional or include.may_not_apply):
        raise SpecError("base", f"{at}: include {pattern}: expected a file at {whole}, there is none")
    return files


def _require_sight(include: Include, at: str, whole: Path) -> None:
    """Raises SpecError where nobody can tell whether there are files of that name: not all of it would be
    read, without a word.
    """
    above = next(each for each in whole.parents if not glob.has_magic(str(each)))
    try:
        if glob.has_magic(str(whole)):
            os.scandir(above).close()
        else:
            whole.stat()
    except PermissionError as error:
        raise SpecError("base", f"{at}: include {include.pattern}: {error.strerror}") from error
    except OSError:
        return  # there are none


def read_text(path: Path) -> str:
    """The file's text, whichever server it is for; raises SpecError."""
    content = _content(path)
    return content.decode(encoding_of(content))


def _content(file: Path) -> bytes:
    """The file's bytes; raises SpecError."""
    try:
        if not file.is_file():
            there = "this is none" if file.exists() else "there is none"
            raise SpecError("base", f"base = {file}: expected a configuration file, {there}")
        if file.stat().st_size > LARGEST_BYTES:
            raise SpecError("base", f"base = {file}: expected at most {LARGEST_BYTES >> 20} MiB")
        return file.read_bytes()
    except OSError as error:
        raise SpecError("base", f"base = {file}: it cannot be read: {error.strerror}") from error


def _read(target: Target, file: Path, encoding: str) -> str:
    """The file's text, every byte of it; raises SpecError, UnicodeDecodeError with the file as its reason."""
    content = _content(file)
    if b"\0" in content:
        raise SpecError("base", f"{file}: expected text in UTF-8 or Latin-1, and it has bytes that are zero")
    if content.startswith(codecs.BOM_UTF8) and not target.only_utf8:
        raise SpecError(
            "base",
            f"{file}: line 1: it begins with a byte-order mark, which {target.name} takes for a part of the "
            f"first word; expected it without: sed -i '1s/^\\xEF\\xBB\\xBF//' {file}",
        )
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        error.reason = str(file)
        raise
