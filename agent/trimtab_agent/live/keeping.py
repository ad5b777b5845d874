"""A process that keeps a change of production, and takes it back when the agent is done, or has gone.

It alone makes the changes, so that nothing of a killed agent can come after what it puts back. It reads what
is to be in force on each line of its input, sees to it, and answers with a line: empty, or a sentence about
why it did not. When its input ends it puts everything back.

What it is about to change it first writes into a note. When the keeper itself is killed, the agent puts back
by that, or the next Trimtab; but not while a keeper lives, which may be about to change something yet. What
the changes are is not known here: switching.py has values of a running server, file_switching.py its file.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Generic, Self, TypeVar

from trimtab_agent.errors import HostError
from trimtab_agent.live.restoring import Process, is_running
from trimtab_agent.os_settings.journal import BOOT_ID
from trimtab_agent.stopping import wait_readable

What = TypeVar("What")


@dataclass(frozen=True, kw_only=True)
class Kept(ABC, Generic[What]):
    """What a note tells: who changes which production, and, with the fields of each kind, what of it.

    The `keeper` is None until it has begun. What is changed may outlive a boot: so does the note then.
    """

    outlives_boot: ClassVar[bool] = False

    agent: Process
    production: Process
    boot_id: str
    keeper: Process | None = None

    @classmethod
    def read(cls, note: Path) -> Self | None:
        """None where there is no note, or none that can be understood."""
        try:
            fields: dict[str, Any] = json.loads(note.read_text())
            named = [name for name in ("agent", "production", "keeper") if fields.get(name)]
            fields |= {name: Process(**fields[name]) for name in named}
            fields |= {name: tuple(each) for name, each in fields.items() if isinstance(each, list)}
            return cls(**fields)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, note: Path) -> None:
        """The whole note, or the one before; raises OSError."""
        part = note.with_suffix(".part")
        try:
            with part.open("w") as written:
                written.write(json.dumps(asdict(self)))
                if self.outlives_boot:
                    written.flush()
                    os.fsync(written.fileno())
            part.replace(note)
        except OSError:
            part.unlink(missing_ok=True)
            raise
        if self.outlives_boot:
            _sync(note.parent)

    @property
    def holder(self) -> Process | None:
        """Who lives, changes it, and will put it back: the agent, or the keeper of one that was killed."""
        return next((each for each in (self.agent, self.keeper) if each is not None and each.lives()), None)

    @property
    def same_start(self) -> bool:
        """Whether production is still the process that it was."""
        return self.boot_id == BOOT_ID.read_text().strip() and self.production.lives()

    @staticmethod
    @abstractmethod
    def understood(line: str) -> What:
        """What a line of the input asks for; raises OSError."""

    @abstractmethod
    def with_next(self, what: What) -> Self:
        """What may be in force when this is about to be put."""

    @abstractmethod
    def put(self, what: What) -> str:
        """Puts it in force, or says in a sentence what is in the way. Raises HostError, OSError."""

    @abstractmethod
    def put_back(self) -> list[str]:
        """Puts back production's own where ours is in force; sentences about what could not be."""


class Keeper:
    """The agent's end of such a process: `module` is the one that it runs, `what` it keeps, for messages.

    Raises HostError where it cannot be started.
    """

    def __init__(self, module: str, note: Path, kind: type[Kept[Any]], what: str, limit_s: float) -> None:
        self._note, self._kind = note, kind
        self._name, self._limit_s = f"the keeper of the {what}", limit_s
        self._socket, its = socket.socketpair()
        self._answers = self._socket.makefile()
        with its:
            try:
                self._keeper = subprocess.Popen(
                    (sys.executable, "-m", module, str(note)),
                    stdin=its.fileno(),
                    stdout=its.fileno(),
                    start_new_session=True,  # Ctrl-C in the terminal is for the agent to act on
                )
            except OSError as error:
                self._put_back()  # nothing but the note has been made
                raise HostError(f"{self._name} cannot be started: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def ask(self, line: str) -> None:
        """Returns when what the line asks for is in force; raises HostError where it is not."""
        with suppress(OSError):  # it has ended: it does not answer either
            self._socket.sendall(f"{line}\n".encode())
        if not wait_readable([self._socket.fileno()], self._limit_s):
            raise HostError(f"{self._name} has not answered for {self._limit_s:.0f} s")
        said = self._answers.readline()
        if not said:
            raise HostError(f"{self._name} has ended")
        if sentence := said.strip():
            raise HostError(sentence)

    def leave(self) -> None:
        """Ends it, and everything stays as it is; for one that has nothing to do but to put back."""
        if self._socket.fileno() < 0:
            return
        self._keeper.kill()
        self._keeper.wait()
        _forget(self._note)
        self._answers.close()
        self._socket.close()

    def close(self) -> list[str]:
        """Has everything put back; sentences about what could not be. A second time does nothing.

        A keeper that was killed is stood in for.
        """
        if self._socket.fileno() < 0:
            return []
        with suppress(OSError):  # it has ended
            self._socket.shutdown(socket.SHUT_RDWR)
        try:
            self._keeper.wait(self._limit_s)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()
        return self._put_back()

    def _put_back(self) -> list[str]:
        """What the keeper has left to put back, if anything; sentences about what could not be."""
        self._answers.close()
        self._socket.close()
        left = self._kind.read(self._note)  # there is none where the keeper has put everything back
        complaints = left.put_back() if left else []
        _forget(self._note)
        return complaints


def note_of(notes: Path, pid: int, suffix: str) -> Path:
    """Where this process notes what it changes of the production `pid`; raises HostError."""
    try:
        notes.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HostError(f"{notes} cannot be made: {error.strerror}") from error
    return notes / f"{os.getpid()}-{pid}{suffix}"


def put_back_by_notes(notes: Path, suffix: str, kind: type[Kept[Any]]) -> list[str]:
    """Puts back what killed keepers of agents that have gone have left; sentences about what resists."""
    complaints = []
    for note in sorted(notes.glob(f"*{suffix}")):
        kept = kind.read(note)
        if kept is None and note.exists():
            complaints.append(f"{note} tells nothing that can be put back: look at it, and remove it")
        if kept is None or kept.holder is not None:
            continue
        complaints += kept.put_back()
        _forget(note)
    # An agent that was killed over its first note has changed nothing yet.
    for part in notes.glob(f"*{Path(suffix).stem}.part"):
        agent, _, _ = part.name.partition("-")
        if not part.with_suffix(".json").exists() and not (agent.isdecimal() and is_running(int(agent))):
            part.unlink(missing_ok=True)
    return complaints


def _forget(note: Path) -> None:
    """There is none any more, nor what a killed process was about to write in its place."""
    for left in (note, note.with_suffix(".part")):
        left.unlink(missing_ok=True)


def keep(kind: type[Kept[Any]]) -> None:
    """The whole life of a keeper; what cannot be put back is still in the note for whoever comes next."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # it ends with its input, when all is as it was
    note = Path(sys.argv[1])
    kept = kind.read(note)
    if kept is None:
        sys.exit(f"{note} tells nothing that can be put back")
    kept = replace(kept, keeper=Process.of(os.getpid()))
    try:
        kept.write(note)
    except OSError as error:
        sys.exit(f"{note} cannot be written: {error.strerror}")
    for line in sys.stdin:
        try:
            what = kept.understood(line)
            kept = kept.with_next(what)
            kept.write(note)
            said = kept.put(what)
        except HostError as error:
            said = error.sentence
        except (OSError, subprocess.TimeoutExpired) as error:
            said = str(error)
        with suppress(BrokenPipeError):  # the agent has gone, and so does the input
            print(" ".join(said.split()), flush=True)
    if not kept.put_back():
        note.unlink(missing_ok=True)


def _sync(directory: Path) -> None:
    """The names in it are on the disk; raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
