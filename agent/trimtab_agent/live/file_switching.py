"""Production's file with other values for a while, each time taken up by a reload, and the way back.

    python -m trimtab_agent.live.file_switching NOTE

runs the keeper of the file: a process that alone writes it, so that nothing of a killed agent can come after
what it puts back. It reads the path of a text on each line of its input, puts that text into the file, has
the server check it and take it up, and answers with a line: empty, or a sentence about why it did not. When
its input ends, production has its own file again, and takes that up.

What it is about to write it first notes. When the keeper itself is killed, the agent puts back by the note,
or the next Trimtab. A file that an administrator has changed meanwhile stays, and ends it all.
"""

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from trimtab_agent.base_file import BaseFile
from trimtab_agent.errors import HostError
from trimtab_agent.live import own_file
from trimtab_agent.live.arms import CHECK_S
from trimtab_agent.live.restoring import Process
from trimtab_agent.live.running import RunningServer
from trimtab_agent.live.surroundings import environment_of
from trimtab_agent.os_settings.journal import BOOT_ID
from trimtab_agent.stopping import wait_readable

ANSWER_S = CHECK_S + 5.0
END_S = CHECK_S + 5.0
SUFFIX = ".file.json"


@dataclass(frozen=True, kw_only=True)
class SwitchedFile:
    """What a note tells: who writes production's `file`, the `backup` of what was in it, and the digests of
    what may be in it: its `own`, and in its place `ours` (the two latest).
    """

    agent: Process
    production: Process
    boot_id: str
    file: str
    backup: str
    reload_signal: int
    check_command: tuple[str, ...]
    own: str
    ours: tuple[str, ...] = ()

    @classmethod
    def read(cls, note: Path) -> "SwitchedFile | None":
        """None where there is no note, or none that can be understood."""
        try:
            fields = json.loads(note.read_text())
            processes = {name: Process(**fields[name]) for name in ("agent", "production")}
            lists = {name: tuple(fields[name]) for name in ("check_command", "ours")}
            return cls(**{**fields, **processes, **lists})
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, note: Path) -> None:
        """The whole note, or the one before; raises OSError."""
        part = note.with_suffix(".part")
        part.write_text(json.dumps(asdict(self)))
        part.replace(note)

    def with_next(self, text: str) -> Self:
        """What may be in the file when this text is about to be written."""
        return replace(self, ours=(*self.ours[-1:], digest_of(text)))

    def put(self, text: str) -> str:
        """Writes it and has it taken up, or says in a sentence what is in the way. Raises HostError."""
        file = Path(self.file)
        if digest_of(own_file.text_of(file)) not in (self.own, *self.ours):
            return f"{file} has been changed by somebody else meanwhile, and stays"
        try:
            own_file.write(file, text)
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
            if self.ours and self.boot_id == BOOT_ID.read_text().strip() and self.production.lives():
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


class FileSwitch:
    """Production's file with other texts, one after the other; its own again when this is closed.

    `notes` is a directory. Raises HostError where the server has gone, where its file is not what was read,
    and where another Trimtab writes it.
    """

    def __init__(self, server: RunningServer, base: BaseFile, notes: Path) -> None:
        beside, file = server.target.beside, Path(base.path)
        if beside is None:
            raise HostError(f"Trimtab does not know how {server.target.name} is reloaded")
        notes.mkdir(parents=True, exist_ok=True)
        self._note = notes / f"{os.getpid()}-{server.pid}{SUFFIX}"
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
            switched.write(self._note)
        except OSError as error:
            self.backup.unlink()
            raise HostError(f"process {server.pid} has ended, or {notes} cannot be written") from error
        self._socket, its = socket.socketpair()
        self._answers = self._socket.makefile()
        with its:
            self._keeper = subprocess.Popen(
                (sys.executable, "-m", "trimtab_agent.live.file_switching", str(self._note)),
                stdin=its.fileno(),
                stdout=its.fileno(),
                start_new_session=True,  # Ctrl-C in the terminal is for the agent to act on
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def put(self, text: str) -> None:
        """That text is in the file, and production takes it up; raises HostError where not."""
        with tempfile.NamedTemporaryFile("w", prefix="trimtab-live-") as handed:
            handed.write(text)
            handed.flush()
            with suppress(OSError):  # it has ended: it does not answer either
                self._socket.sendall(f"{handed.name}\n".encode())
            if not wait_readable([self._socket.fileno()], ANSWER_S):
                raise HostError(f"the keeper of the file has not answered for {ANSWER_S:.0f} s")
            said = self._answers.readline()
        if not said:
            raise HostError("the keeper of the file has ended")
        if sentence := said.strip():
            raise HostError(sentence)

    def close(self) -> list[str]:
        """Puts its own file back; sentences about what could not be. A second time does nothing.

        A keeper that was killed is stood in for.
        """
        if self._socket.fileno() < 0:
            return []
        with suppress(OSError):  # it has ended
            self._socket.shutdown(socket.SHUT_RDWR)
        try:
            self._keeper.wait(END_S)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()
        self._answers.close()
        self._socket.close()
        left = SwitchedFile.read(self._note)  # there is none where the keeper has put everything back
        complaints = left.put_back() if left else []
        self._note.unlink(missing_ok=True)
        return complaints

    def _kept(self, file: Path) -> Path:
        try:
            return own_file.kept_beside(file)
        except OSError as error:
            raise own_file.unwritten(file, error) from error


def put_files_back(notes: Path) -> list[str]:
    """Puts back what killed keepers of agents that have gone have left; sentences about what resists."""
    complaints = []
    for note in sorted(notes.glob(f"*{SUFFIX}")):
        switched = SwitchedFile.read(note)
        if switched is None or switched.agent.lives():
            continue
        complaints += switched.put_back()
        note.unlink(missing_ok=True)
    return complaints


def digest_of(text: str) -> str:
    """What tells one text from another."""
    return hashlib.sha256(text.encode()).hexdigest()


def main() -> None:
    """The whole life of a keeper; what cannot be put back is still in the note for whoever comes next."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # it ends with its input, when all is as it was
    note = Path(sys.argv[1])
    switched = SwitchedFile.read(note)
    if switched is None:
        sys.exit(f"{note} tells nothing that can be put back")
    for line in sys.stdin:
        try:
            text = Path(line.rstrip("\n")).read_text()
            switched = switched.with_next(text)
            switched.write(note)
            said = switched.put(text)
        except HostError as error:
            said = error.sentence
        except (OSError, subprocess.TimeoutExpired) as error:
            said = str(error)
        with suppress(BrokenPipeError):  # the agent has gone, and so does the input
            print(" ".join(said.split()), flush=True)
    if not switched.put_back():
        note.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
