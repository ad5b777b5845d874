"""Production's file with other values for a while, each time taken up by a reload, and the way back.

    python -m trimtab_agent.live.file_switching NOTE

runs the keeper of the file (keeping.py), which alone writes it: it puts the text of each path that it is
given into the file, and has the server check it and take it up. At the end production has its own file again,
and takes that up. A file that an administrator has changed meanwhile stays, and ends it all.
"""

import hashlib
import os
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from trimtab_agent.base_file import BaseFile
from trimtab_agent.errors import HostError
from trimtab_agent.live import own_file
from trimtab_agent.live.arms import CHECK_S
from trimtab_agent.live.keeping import Keeper, Kept, keep, note_of, put_back_by_notes
from trimtab_agent.live.restoring import Process
from trimtab_agent.live.running import RunningServer
from trimtab_agent.live.surroundings import environment_of
from trimtab_agent.os_settings.journal import BOOT_ID

ANSWER_S = CHECK_S + 5.0
SUFFIX = ".file.json"


@dataclass(frozen=True, kw_only=True)
class SwitchedFile(Kept[str]):
    """Who writes production's `file`, the `backup` of what was in it, and the digests of what may be in it:
    its `own`, and in its place `ours` (the two latest).
    """

    file: str
    backup: str
    reload_signal: int
    check_command: tuple[str, ...]
    own: str
    ours: tuple[str, ...] = ()

    @staticmethod
    def understood(line: str) -> str:
        """The text at the path that a line has; raises OSError."""
        return Path(line.rstrip("\n")).read_text()

    def with_next(self, what: str) -> Self:
        """What may be in the file when this text is about to be written."""
        return replace(self, ours=(*self.ours[-1:], digest_of(what)))

    def put(self, what: str) -> str:
        """Writes it and has it taken up, or says in a sentence what is in the way. Raises HostError."""
        file = Path(self.file)
        if digest_of(own_file.text_of(file)) not in (self.own, *self.ours):
            return f"{file} has been changed by somebody else meanwhile, and stays"
        try:
            own_file.write(file, what)
        except OSError as error:
            raise own_file.unwritten(file, error) from error
        if said := self._complaint():
            own_file.write(file, own_file.text_of(Path(self.backup)))
            return said
        self._reload()
        return ""

    def put_back(self) -> list[str]:
        """Production's own file, where ours is in force; sentences about what could not be.

        A server that has ended meanwhile finds its own when it starts.
        """
        try:
            ours = digest_of(own_file.text_of(Path(self.file))) in (self.own, *self.ours)
            if not ours:
                return [
                    f"{self.file} has been changed by somebody else: {self.backup} is the file from before"
                ]
            own_file.put_back(Path(self.file), Path(self.backup))
            if self.ours and self.same_start:
                self._reload()
        except HostError as error:
            return [error.sentence]
        return []

    def _complaint(self) -> str:
        """What the server says against the file that is there now; empty for nothing."""
        environment = environment_of(self.production.pid)
        done = subprocess.run(
            self.check_command, capture_output=True, text=True, timeout=CHECK_S, check=False, env=environment
        )
        said = done.stderr.strip() or done.stdout.strip()
        return f"the server does not accept {self.file}: {' '.join(said.split())}" if done.returncode else ""

    def _reload(self) -> None:
        try:
            os.kill(self.production.pid, self.reload_signal)
        except OSError as error:
            raise HostError(f"process {self.production.pid} cannot be reloaded: {error.strerror}") from error


class FileSwitch(Keeper):
    """Production's file with other texts, one after the other; its own again when this is closed.

    `notes` is a directory. Raises HostError where the server has gone, where its file is not what was read,
    and where another Trimtab writes it.
    """

    def __init__(self, server: RunningServer, base: BaseFile, notes: Path) -> None:
        beside, file = server.target.beside, Path(base.path)
        if beside is None:
            raise HostError(f"Trimtab does not know how {server.target.name} is reloaded")
        notes.mkdir(parents=True, exist_ok=True)
        note = note_of(notes, server.pid, SUFFIX)
        for other in filter(None, map(SwitchedFile.read, notes.glob(f"*{SUFFIX}"))):
            if other.file == base.path and other.agent.lives():
                raise HostError(f"process {other.agent.pid} writes {file} already")
        if own_file.text_of(file) != base.text:
            raise HostError(f"{file} has been changed since it was read: expected it as it was")
        self.backup = self._kept(file)
        try:
            switched = SwitchedFile(
                agent=Process.of(os.getpid()),
                production=Process.of(server.pid),
                boot_id=BOOT_ID.read_text().strip(),
                file=str(file),
                backup=str(self.backup),
                reload_signal=beside.reload_signal,
                check_command=beside.check_command(str(server.program), str(file)),
                own=digest_of(base.text),
            )
            switched.write(note)
        except OSError as error:
            self.backup.unlink()
            raise HostError(f"process {server.pid} has ended, or {notes} cannot be written") from error
        super().__init__("trimtab_agent.live.file_switching", note, SwitchedFile, "file", ANSWER_S)

    def put(self, text: str) -> None:
        """That text is in the file, and production takes it up; raises HostError where not."""
        with tempfile.NamedTemporaryFile("w", prefix="trimtab-live-") as handed:
            handed.write(text)
            handed.flush()
            self.ask(handed.name)

    def _kept(self, file: Path) -> Path:
        try:
            return own_file.kept_beside(file)
        except OSError as error:
            raise own_file.unwritten(file, error) from error


def put_files_back(notes: Path) -> list[str]:
    """Puts back what killed keepers of agents that have gone have left; sentences about what resists."""
    return put_back_by_notes(notes, SUFFIX, SwitchedFile)


def digest_of(text: str) -> str:
    """What tells one text from another."""
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    keep(SwitchedFile)
