"""What an episode on live traffic has changed on this machine, and how it is put back.

It is written down before it is touched: which sockets of production get an option, whether connections that
wait migrated before, which servers were started beside production, and where their files lie. So whoever
finds the note can put everything back: the keeper at the end of an episode, the agent when the keeper was
killed, and the next Trimtab when both were.

Nothing is put back over somebody else's change: a socket of another process, or a setting that an
administrator has changed meanwhile, stays as it is.
"""

import errno
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from trimtab_agent.errors import HostError
from trimtab_agent.live import steering
from trimtab_agent.live.in_memory import remove_what_nobody_needs
from trimtab_agent.live.listening import Listener, is_there, listening_sockets, sockets_at
from trimtab_agent.os_settings.journal import BOOT_ID

CLOSE_S = 3.0  # so long a server has to close its listening sockets
LOOK_EVERY_S = 0.02


@dataclass(frozen=True)
class Process:
    """A process that is told from a later one of the same number: `started` is in ticks since the boot."""

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> Self:
        """That process now; raises OSError when it has ended, even where its parent does not know yet."""
        columns = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        if columns[0] == "Z":
            raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
        return cls(pid, int(columns[19]))  # column 22, proc_pid_stat(5)

    def lives(self) -> bool:
        """Whether it has not ended."""
        try:
            return Process.of(self.pid) == self
        except OSError:
            return False


def is_running(pid: int) -> bool:
    """Whether the process of that number has not ended, whoever it is."""
    try:
        Process.of(pid)
    except OSError:
        return False
    return True


@dataclass(frozen=True)
class Arm:
    """A server beside production: its main process, which leads a group, and the signal that ends it."""

    process: Process
    quit_signal: int


@dataclass(frozen=True)
class Touched:
    """What an episode has changed, or is about to.

    `ports`: production's sockets with the option SO_REUSEPORT as it was. `migrate_before`: what
    net.ipv4.tcp_migrate_req was before the first of the episodes that go on, None if none has touched it.
    `directory`: of the arms' files.
    """

    keeper: Process
    production: Process
    boot_id: str
    directory: str
    ports: tuple[tuple[Listener, int], ...] = ()
    migrate_before: str | None = None
    arms: tuple[Arm, ...] = ()


class Note:
    """The note of one episode, a file; what changes in it is on disk before it is touched."""

    def __init__(self, path: Path, touched: Touched) -> None:
        self._path = path
        self.touched = touched
        self._write()

    @classmethod
    def read(cls, path: Path) -> "Note | None":
        """The note that lies there; None where there is none, or none that can be understood."""
        try:
            fields = json.loads(path.read_text())
            note = cls.__new__(cls)
            note._path, note.touched = path, _touched(fields)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return note

    @staticmethod
    def of_living_keepers(notes: Path) -> "list[Touched]":
        """What the notes in a directory tell of episodes that go on."""
        found = (Note.read(path) for path in sorted(notes.glob("*.json")))
        return [note.touched for note in found if note is not None and note.touched.keeper.lives()]

    def becomes(self, **changes: Any) -> None:  # noqa: ANN401 - fields of Touched
        """Notes that these fields have changed; raises OSError."""
        self.touched = replace(self.touched, **changes)
        self._write()

    def put_back(self) -> list[str]:
        """Puts everything back and takes the note away; returns sentences about what could not be.

        Production gets all new connections at once. The arms answer what they have begun: they may live for
        a while (`end`). After a boot nothing is left to put back but files.
        """
        touched, complaints = self.touched, []
        if touched.boot_id == BOOT_ID.read_text().strip():
            complaints = self._put_back_kernel()
        for left in (self._path, self._path.with_suffix(".part")):  # who was killed may have been writing
            left.unlink(missing_ok=True)
        return complaints

    def end(self, limit_s: float) -> None:
        """Waits until the arms have ended, kills what lives after `limit_s`, and removes their files."""
        arms = self.touched.arms if self.touched.boot_id == BOOT_ID.read_text().strip() else ()
        deadline = time.monotonic() + limit_s
        while any(_group_lives(arm) for arm in arms) and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY_S)
        for arm in arms:
            _signal_group(arm, signal.SIGKILL)
        shutil.rmtree(self.touched.directory, ignore_errors=True)

    def _put_back_kernel(self) -> list[str]:
        touched, complaints = self.touched, []
        for listener, _ in self._shared():
            with suppress(HostError):
                steering.weigh(touched.production.pid, listener, ())
        for arm in touched.arms:
            _quit(arm)
        self._wait_until_production_alone_listens()
        for listener, option in self._shared():
            try:
                steering.leave(touched.production.pid, listener, option)
            except HostError as error:
                if touched.production.lives():
                    complaints.append(error.sentence)
        others = Note.of_living_keepers(self._path.parent)
        needed = any(each.migrate_before is not None and each.keeper != touched.keeper for each in others)
        if touched.migrate_before is not None and steering.can_migrate() and not needed:
            try:
                steering.MIGRATE.write_text(touched.migrate_before)
            except OSError as error:
                complaints.append(f"{steering.MIGRATE} stays 1: {error.strerror}")
        return complaints

    def _shared(self) -> list[tuple[Listener, int]]:
        """Production's sockets with the option, as far as it has not closed them: an administrator may have
        had it listen elsewhere, and what has their descriptors then is none of ours.
        """
        touched = self.touched
        if not touched.production.lives():
            return []
        try:
            return [each for each in touched.ports if is_there(touched.production.pid, each[0])]
        except OSError:
            return list(touched.ports)  # whoever takes one of them is told why not

    def _wait_until_production_alone_listens(self) -> None:
        """The arms close their sockets soon; the one that does not is killed, with what waits on it going to
        production.

        An arm that was about to start when its keeper was killed is not noted. It ends by itself; but without
        the filter it would get connections until then.
        """
        arms = self.touched.arms
        inodes = {inode for arm in arms for inode in sockets_of(_members(arm))}
        if not _are_closed(inodes):
            for arm in arms:
                if sockets_of(_members(arm)) & listening_sockets():
                    _signal_group(arm, signal.SIGKILL)
            _are_closed(inodes)  # a killed process has them for a moment yet
        _comes_true(self._production_alone_listens)

    def _production_alone_listens(self) -> bool:
        production = self.touched.production.pid
        try:
            return all(sockets_at(production, listener) == 1 for listener, _ in self._shared())
        except OSError:
            return True  # it has ended

    def _write(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_suffix(".part")
        try:
            part.write_text(json.dumps(asdict(self.touched)))
            part.replace(self._path)
        except OSError:
            part.unlink(missing_ok=True)
            raise


def put_back_left_behind(notes: Path) -> list[str]:
    """Puts back what killed keepers have left in the directory of notes, and removes what killed processes
    have left in memory; sentences about what resists.
    """
    complaints = []
    for path in sorted(notes.glob("*.json")):
        note = Note.read(path)
        if note is None or note.touched.keeper.lives():
            continue
        complaints += note.put_back()
        note.end(CLOSE_S)
    remove_what_nobody_needs()
    return complaints


def _are_closed(inodes: Collection[int]) -> bool:
    """Whether none of these sockets listens any more; waits for that."""
    return _comes_true(lambda: not listening_sockets().intersection(inodes))


def _comes_true(condition: Callable[[], bool]) -> bool:
    """Whether it does, in the time that a server has to close its sockets; waits for it."""
    deadline = time.monotonic() + CLOSE_S
    while not (true := condition()) and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY_S)
    return true


def sockets_of(pids: Collection[int]) -> set[int]:
    """The inodes of what these processes have open, sockets among them."""
    found = set()
    for pid in pids:
        with suppress(OSError):
            for link in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    found.add(link.stat().st_ino)
    return found


def _members(arm: Arm) -> list[int]:
    """The processes of its group: its own children, and theirs."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                columns = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(columns[2]) == arm.process.pid and columns[0] != "Z":
                    found.append(int(entry.name))
    return found


def _group_lives(arm: Arm) -> bool:
    """Whether a process of its group is left, and the group is still the arm's.

    The number of a group is not given away while it has members, so they are the arm's if its leader lives
    or has died; another leader of that number means that the group had ended before.
    """
    members = _members(arm)
    return bool(members) and (arm.process.pid not in members or arm.process.lives())


def _quit(arm: Arm) -> None:
    """Asks it to end: its main process, or what that has left behind."""
    if arm.process.lives():
        with suppress(ProcessLookupError):
            os.kill(arm.process.pid, arm.quit_signal)
    else:
        _signal_group(arm, arm.quit_signal)


def _signal_group(arm: Arm, number: int) -> None:
    if _group_lives(arm):
        with suppress(ProcessLookupError):
            os.killpg(arm.process.pid, number)


def _touched(fields: dict[str, Any]) -> Touched:
    """What `asdict` made of it, as it was."""
    return Touched(
        **{
            **fields,
            "keeper": Process(**fields["keeper"]),
            "production": Process(**fields["production"]),
            "ports": tuple((Listener(**listener), option) for listener, option in fields["ports"]),
            "arms": tuple(Arm(Process(**arm["process"]), arm["quit_signal"]) for arm in fields["arms"]),
        }
    )
