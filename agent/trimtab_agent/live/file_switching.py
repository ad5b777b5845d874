"""Production's file with other values for a while, each time taken up by a reload, and the way back.

    python -m trimtab_agent.live.file_switching NOTE

runs the keeper of the file (keeping.py), which alone writes it: it puts the text of each path that it is
given into the file, and has the server check it and take it up. At the end production has its own file again,
and takes that up. A file that an administrator has changed meanwhile stays, and ends it all.
"""

import hashlib
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Self

from trimtab_agent.base_file import BaseFile
from trimtab_agent.errors import HostError
from trimtab_agent.live import own_file
from trimtab_agent.live.arms import CHECK_S
from trimtab_agent.live.keeping import Keeper, Kept, keep, note_of, put_back_by_notes
from trimtab_agent.live.restoring import Process
from trimtab_agent.live.running import RunningServer, running_servers
from trimtab_agent.live.surroundings import catches, like
from trimtab_agent.os_settings.journal import BOOT_ID

ANSWER_S = CHECK_S + 5.0
SUFFIX = ".file.json"
# A server that was started meanwhile takes so long at most until it can be told to reload.
START_S = 5.0
LOOK_EVERY_S = 0.1


@dataclass(frozen=True, kw_only=True)
class SwitchedFile(Kept[str]):
    """Who writes production's `file`, the `backup` of what was in it, and the digests of what may be in it:
    its `own`, and in its place `ours` (the two latest).
    """

    outlives_boot: ClassVar[bool] = True

    file: str
    backup: str
    reload_signal: int
    check_command: tuple[str, ...]
    own: str
    ours: tuple[str, ...] = ()

    @staticmethod
    def understood(line: str) -> str:
        """The text at the path that a line has; raises OSError."""
        return Path(line.rstrip("\n")).read_bytes().decode()

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
        self._reload(self.production.pid)
        return ""

    def put_back(self) -> list[str]:
        """Production's own file, where ours is in force; sentences about what could not be.

        A server that is started later finds its own; one that was started meanwhile is reloaded as well.
        """
        own_file.remove_parts(Path(self.file))
        try:
            now = digest_of(own_file.text_of(Path(self.file)))
            if now not in (self.own, *self.ours):
                return [
                    f"{self.file} has been changed by somebody else: {self.backup} is the file from before"
                ]
            if now != self.own or self._is_kept():
                own_file.put_back(Path(self.file), Path(self.backup))
            else:  # who was killed had put it back, or was about to keep it
                Path(self.backup).unlink(missing_ok=True)
            if self.ours and self.same_start:
                self._reload(self.production.pid)
            elif self.ours:
                self._reload_later_one()
        except HostError as error:
            return [error.sentence]
        return []

    def _complaint(self) -> str:
        """What the server says against the file that is there now; empty for nothing."""
        done = subprocess.run(
            self.check_command,
            capture_output=True,
            text=True,
            timeout=CHECK_S,
            check=False,
            **like(self.production.pid),
        )
        said = done.stderr.strip() or done.stdout.strip()
        return f"the server does not accept {self.file}: {' '.join(said.split())}" if done.returncode else ""

    def _is_kept(self) -> bool:
        """Whether all of production's own file is in the copy; raises HostError."""
        return Path(self.backup).exists() and digest_of(own_file.text_of(Path(self.backup))) == self.own

    def _reload(self, pid: int) -> None:
        try:
            os.kill(pid, self.reload_signal)
        except OSError as error:
            raise HostError(f"process {pid} cannot be reloaded: {error.strerror}") from error

    def _reload_later_one(self) -> None:
        """Production was started anew, perhaps with what was in the file until now; raises HostError."""
        deadline = time.monotonic() + START_S
        while pids := [each.pid for each in running_servers() if _runs_with(each, Path(self.file))]:
            if all(catches(pid, self.reload_signal) for pid in pids):
                for pid in pids:
                    self._reload(pid)
                return
            if time.monotonic() > deadline:  # the signal would end it
                raise HostError(
                    f"process {pids[0]} does not reload at {signal.Signals(self.reload_signal).name}: "
                    f"{self.file} is as it was, and that may run with another text"
                )
            time.sleep(LOOK_EVERY_S)


class FileSwitch(Keeper):
    """Production's file with other texts, one after the other; its own again when this is closed.

    `notes` is a directory. A text `to_come` is put there by whoever makes this. Raises HostError where the
    server has gone, where its file is not what was read, and where another Trimtab writes it.
    """

    def __init__(
        self, server: RunningServer, base: BaseFile, notes: Path, to_come: str | None = None
    ) -> None:
        beside, file = server.target.beside, Path(base.path)
        if beside is None:
            raise HostError(f"Trimtab does not know how {server.target.name} is reloaded")
        note = note_of(notes, server.pid, SUFFIX)
        for other in filter(None, map(SwitchedFile.read, notes.glob(f"*{SUFFIX}"))):
            if other.file == base.path and (holder := other.holder) is not None:
                raise HostError(f"process {holder.pid} writes {file} already")
        if own_file.text_of(file) != base.text:
            raise HostError(f"{file} has been changed since it was read: expected it as it was")
        self.backup = own_file.name_beside(file)
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
                ours=() if to_come is None else (digest_of(to_come),),
            )
            switched.write(note)
        except OSError as error:
            raise HostError(f"process {server.pid} has ended, or {notes} cannot be written") from error
        try:
            own_file.keep_as(self.backup, file)
        except OSError as error:
            note.unlink()
            raise own_file.unwritten(file, error) from error
        super().__init__("trimtab_agent.live.file_switching", note, SwitchedFile, "file", ANSWER_S)

    def put(self, text: str) -> None:
        """That text is in the file, and production takes it up; raises HostError where not."""
        try:
            with tempfile.TemporaryDirectory(prefix="trimtab-live-") as directory:
                handed = Path(directory) / "text"
                handed.write_bytes(text.encode())
                self.ask(str(handed))
        except OSError as error:
            raise HostError(f"{tempfile.gettempdir()} cannot be written to: {error.strerror}") from error


def put_files_back(notes: Path) -> list[str]:
    """Puts back what killed keepers of agents that have gone have left; sentences about what resists."""
    return put_back_by_notes(notes, SUFFIX, SwitchedFile)


def _runs_with(server: RunningServer, file: Path) -> bool:
    return server.file is not None and server.file.resolve() == file and not server.no_reload


def digest_of(text: str) -> str:
    """What tells one text from another."""
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    keep(SwitchedFile)
