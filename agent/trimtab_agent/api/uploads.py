"""Configuration files that are sent through the browser: looked through, kept, and then named by their path.

A server's configuration is close to a program. So an operator allows it (`TRIMTAB_UPLOADS`), the file may
bring nothing but settings (`checking/reach.py`), and nothing runs it but the server that it is for, as the
private instance of a run. It lies below `var`, in a folder of its target named by its content, until its runs
are deleted or another file is sent in its place; a run has its own copy in its record. In a demo, where no
server is started, nobody needs to allow it.
"""

import hashlib
import os
import re
import shutil
import threading
from pathlib import Path

from trimtab_tuner.checking.reach import Reach, beyond, can_be_told
from trimtab_tuner.targets.base import RenderError, Target
from trimtab_tuner.targets.kinds import other_kind

from trimtab_agent.base_file import BYTE_ORDER_MARK, encoding_of
from trimtab_agent.errors import HostError, SpecError
from trimtab_agent.paths import VarPaths
from trimtab_agent.settings import AgentSettings

KEPT = 50
"""So many of a target's are kept; the oldest make room."""

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_DIGEST = re.compile(r"[0-9a-f]{16}")
_ELSE = (
    "expected its path instead, listed in TRIMTAB_BASE_FILES of the daemon, or trimtab tune --base FILE in a "
    "terminal, where it is measured with all of that"
)


class Uploads:
    """The files that were sent to one daemon."""

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self._all = VarPaths(settings.var.resolve()).uploads
        self._alone = threading.Lock()  # two tabs may send at once

    def folder(self, target: Target) -> str | None:
        """Where those of the target lie; None where none are taken."""
        allowed = self._settings.uploads or self._settings.demo
        return str(self._all / target.name) if allowed and can_be_told(target) else None

    def has(self, target: Target, path: str) -> bool:
        """Whether the path is that of a file that was taken for this target."""
        folder = self.folder(target)
        if folder is None or not path.startswith(f"{folder}/"):
            return False
        digest, _, name = path.removeprefix(f"{folder}/").partition("/")
        plain = _DIGEST.fullmatch(digest) is not None and _PLAIN.fullmatch(name) is not None
        return plain and Path(path).is_file()

    def take(self, target: Target, name: str, content: bytes) -> str:
        """Keeps the file and gives its path; raises SpecError, field `base`, for one that is not taken.

        `name` is what its user calls it; one that is more than a plain name becomes the target's usual one.
        Raises HostError where there is no room for it.
        """
        folder = self.folder(target)
        if folder is None:
            raise SpecError("base", f"a whole file of {target.name} is not taken here; {_ELSE}")
        called = name if _PLAIN.fullmatch(name) else target.file_name
        _look_through(target, called, content)
        try:
            with self._alone:
                return str(_kept(Path(folder), called, content))
        except OSError as error:
            raise HostError(f"{called} cannot be kept in {folder}: {error.strerror}") from error


def _kept(folder: Path, called: str, content: bytes) -> Path:
    """Keeps the file, whole or not at all, and drops the oldest; raises OSError."""
    place = folder / hashlib.sha256(content).hexdigest()[:16]
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    path, part = place / called, place / ".part"
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    os.utime(place)
    by_age = sorted(folder.iterdir(), key=lambda each: each.stat().st_mtime_ns, reverse=True)
    for old in by_age[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
    return path


def _look_through(target: Target, name: str, content: bytes) -> None:
    """Refuses a file of another kind, and one that reaches beyond itself."""
    text = content.decode(encoding_of(content)).removeprefix(BYTE_ORDER_MARK)
    if _NO_TEXT.search(text):
        raise SpecError("base", f"{name}: expected a text, and this has control characters in it")
    if not text.strip():
        raise SpecError("base", f"{name}: expected a configuration, and this is empty")
    if looks := other_kind(text, target.name):
        raise SpecError("base", f"{name}: {looks}; expected one of {target.name}")
    try:
        found = beyond(target, text)
    except RenderError as error:
        raise SpecError("base", f"{name}: {error}") from error
    if found:
        raise SpecError("base", f"{name}{_told(found)}; {_ELSE}")


def _told(found: tuple[Reach, ...]) -> str:
    included = dict.fromkeys(each.said for each in found if each.kind == "includes")
    if included:
        return f" includes {', '.join(included)}: a file from the browser comes alone, without others"
    first = found[0]
    why = {
        "runs": "starts no program and loads no code",
        "asks": "has no other server asked",
        "takes": "lets nobody write files",
    }[first.kind]
    return f", line {first.line}: {first.said}: a file from the browser {why}"
