"""A server's own file held against this machine: `trimtab check`, and the card of the first page."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from trimtab_tuner.checking import check, files, tls
from trimtab_tuner.checking.contradiction import Contradiction
from trimtab_tuner.checking.statements import read
from trimtab_tuner.checking.unclosed import unclosed
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderError, Target
from trimtab_tuner.targets.kinds import kind_of

from trimtab_agent.base_file import BaseFile, located, read_base, read_text, refuse_part, usual_path
from trimtab_agent.errors import SpecError
from trimtab_agent.host.allowed import machine_for


def checked(target: Target, path: Path) -> tuple[Contradiction, ...]:
    """What in the file, or in one that it includes, contradicts this machine; each with its file and line.

    Raises SpecError for a file that cannot be read, or that is not closed.
    """
    base = read_base(target, path)
    broken = unclosed(target, [text for _, text in base.sources.files])
    if broken is not None:
        raise SpecError("base", f"{base.sources.files[broken.file][0]}:{broken.line}: {broken.sentence}")
    refuse_part(target, base)
    try:
        file = read(target, base.expanded)
    except RenderError as error:
        raise located(base, error) from error
    upstreams = [each for _, each in file.upstreams]
    machine = machine_for(target.program, files.paths(file), upstreams, tls.named_files(file))
    return tuple(_placed(each, base) for each in check(file, machine))


class Known(NamedTuple):
    """The target that reads a file; `looks_like` says what its text looks like where only that tells."""

    target: Target
    looks_like: str = ""


def target_of(path: Path, name: str | None) -> Known:
    """The target of that name; without one, that whose file is called so, else that for which the file is by
    its text. Raises SpecError.
    """
    if name is not None:
        if name not in TARGETS:
            raise SpecError("target", f"target = {name!r}: expected one of {', '.join(TARGETS)}")
        return Known(TARGETS[name])
    for target in TARGETS.values():
        if path.name in {target.file_name, *(Path(usual).name for usual in target.usual_files)}:
            return Known(target)
    kind, called = kind_of(read_text(path))
    if kind:
        return Known(TARGETS[kind], called)
    looks = f"; it looks like {called}, which Trimtab does not tune" if called else ""
    raise SpecError(
        "target",
        f"{path}: neither its name nor its text says which server reads it{looks}; expected --target with "
        f"one of {', '.join(TARGETS)}",
    )


class CheckedFile(Frozen):
    """What contradicts this machine in the file that a server is usually run with.

    `path` is None where there is no such file. `trouble` says why that is not known; empty where it is.
    `check_command` has the server itself look at the file, which is not asked here; empty where it is not
    known where the server would have it.
    """

    path: str | None
    check_command: str = ""
    found: tuple[Contradiction, ...] = ()
    trouble: str = ""


def usual_file_checked(target: Target) -> CheckedFile:
    """For those who may not name files: the path is one of a fixed list, and what is told of the file are its
    settings of limits, queues, CPUs, upstreams, roots and logs.
    """
    path = usual_path(target)
    if path is None:
        return CheckedFile(path=None)
    asking = asks_server(target, path)
    try:
        return CheckedFile(path=str(path), check_command=asking, found=checked(target, path))
    except SpecError:
        trouble = f"It could not be read: trimtab check {path} says why."
        return CheckedFile(path=str(path), check_command=asking, trouble=trouble)


def asks_server(target: Target, file: Path) -> str:
    """The command by which an administrator has the server itself look at the file, with its own environment
    and its own folder.
    """
    path = str(file.absolute())
    usual = {"nginx": ("nginx", "-t", "-c", path), "apache": ("apachectl", "-t", "-f", path)}
    return shlex.join(usual.get(target.name) or target.check_command(path))


def failing(found: Sequence[Contradiction]) -> bool:
    """Whether more than notes have been found."""
    return any(each.severity != "note" for each in found)


def _placed(found: Contradiction, base: BaseFile) -> Contradiction:
    """With the file and the line as the user has them."""
    if found.file or found.line is None:
        return found if found.file else found.model_copy(update={"file": base.path})
    file, line = base.place(found.line)
    inside = base.inside(found.line)
    evidence = (*found.evidence, inside) if inside else found.evidence
    return found.model_copy(update={"file": file, "line": line, "evidence": evidence})
