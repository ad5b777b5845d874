"""Values that a running server takes at its stats socket for a while, and the way back.

    python -m trimtab_agent.live.switching NOTE

runs their keeper: a process that alone sets the values, so that nothing of a killed agent can come after what
it puts back. It reads values on each line of its input, a JSON object by knob, sets them, and answers with a
line: empty, or a sentence about why it did not. When its input ends it puts everything back.

What it is about to set it first writes into the note, a file. When the keeper itself is killed, the agent
puts back by it, or the next Trimtab. A value that an administrator has set meanwhile stays, and ends it
all.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from trimtab_trials.configuration import Configuration

from trimtab_agent.errors import HostError
from trimtab_agent.live.restoring import Process
from trimtab_agent.os_settings.journal import BOOT_ID
from trimtab_agent.station.server.stats_socket import StatsSocket, StatsSocketError
from trimtab_agent.stopping import wait_readable

ANSWER_S = 5.0
END_S = 5.0
SUFFIX = ".switch.json"


@dataclass(frozen=True)
class Switched:
    """What a note tells: who takes values where, what was production's `own`, and what may be in force in its
    place (`ours`, the two latest). Values are texts, by knob.
    """

    agent: Process
    production: Process
    boot_id: str
    stats_socket: str
    own: Mapping[str, str]
    ours: Mapping[str, tuple[str, ...]]

    @classmethod
    def read(cls, note: Path) -> "Switched | None":
        """None where there is no note, or none that can be understood."""
        try:
            fields = json.loads(note.read_text())
            processes = {name: Process(**fields[name]) for name in ("agent", "production")}
            return cls(**{**fields, **processes})
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, note: Path) -> None:
        """The whole note, or the one before."""
        part = note.with_suffix(".part")
        part.write_text(json.dumps(asdict(self)))
        part.replace(note)

    def with_next(self, values: Mapping[str, str]) -> Self:
        """What may be in force when these values are about to be set."""
        return replace(self, ours={knob: (*self.ours[knob][-1:], value) for knob, value in values.items()})

    def put(self, values: Mapping[str, str]) -> str:
        """Sets values, or says in a sentence what is in the way. Raises StatsSocketError."""
        with StatsSocket(Path(self.stats_socket)) as stats:
            in_force = stats.ask("show config")
            for knob in values:
                if str(in_force[knob]) not in (self.own[knob], *self.ours[knob]):
                    return f"{knob} = {in_force[knob]} has been set by somebody else meanwhile, and stays"
            for knob, value in values.items():
                stats.ask(f"set {knob} {value}")
        return ""

    def put_back(self) -> list[str]:
        """Sets production's own values where ours are in force; sentences about what could not be.

        A server that has ended, or started anew, has its file's.
        """
        if self.boot_id != BOOT_ID.read_text().strip() or not self.production.lives():
            return []
        try:
            with StatsSocket(Path(self.stats_socket)) as stats:
                in_force = stats.ask("show config")
                for knob, value in self.own.items():
                    if str(in_force[knob]) in self.ours[knob]:
                        stats.ask(f"set {knob} {value}")
        except StatsSocketError as error:
            return [str(error)] if self.production.lives() else []
        return []


class Switch:
    """Values of one server that change while it runs; its own again when this is closed.

    `own` are the values that it has, `notes` is a directory. Raises HostError where the server has gone, and
    where another Trimtab sets its values.
    """

    def __init__(self, pid: int, stats_socket: Path, own: Configuration, notes: Path) -> None:
        notes.mkdir(parents=True, exist_ok=True)
        try:
            switched = Switched(
                agent=Process.of(os.getpid()),
                production=Process.of(pid),
                boot_id=BOOT_ID.read_text().strip(),
                stats_socket=str(stats_socket),
                own={knob: str(value) for knob, value in own.items()},
                ours=dict.fromkeys(own, ()),
            )
        except OSError as error:
            raise HostError(f"process {pid} has ended") from error
        for other in filter(None, map(Switched.read, notes.glob(f"*{SUFFIX}"))):
            if other.production == switched.production and other.agent.lives():
                raise HostError(f"process {other.agent.pid} sets values of process {pid} already")
        self._note = notes / f"{os.getpid()}-{pid}{SUFFIX}"
        switched.write(self._note)
        self._socket, its = socket.socketpair()
        self._answers = self._socket.makefile()
        with its:
            self._keeper = subprocess.Popen(
                (sys.executable, "-m", "trimtab_agent.live.switching", str(self._note)),
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

    def put(self, values: Configuration) -> None:
        """These values, of the same knobs, are in force when it returns; raises HostError where not."""
        line = json.dumps({knob: str(value) for knob, value in values.items()})
        with suppress(OSError):  # it has ended: it does not answer either
            self._socket.sendall(f"{line}\n".encode())
        if not wait_readable([self._socket.fileno()], ANSWER_S):
            raise HostError(f"the keeper of the values has not answered for {ANSWER_S:.0f} s")
        said = self._answers.readline()
        if not said:
            raise HostError("the keeper of the values has ended")
        if sentence := said.strip():
            raise HostError(sentence)

    def close(self) -> list[str]:
        """Puts its own values back; sentences about what could not be. A second time does nothing.

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
        left = Switched.read(self._note)  # there is none where the keeper has put everything back
        complaints = left.put_back() if left else []
        self._note.unlink(missing_ok=True)
        return complaints


def put_values_back(notes: Path) -> list[str]:
    """Puts back what killed keepers of agents that have gone have left; sentences about what resists."""
    complaints = []
    for note in sorted(notes.glob(f"*{SUFFIX}")):
        switched = Switched.read(note)
        if switched is None or switched.agent.lives():
            continue
        complaints += switched.put_back()
        note.unlink(missing_ok=True)
    return complaints


def main() -> None:
    """The whole life of a keeper; what cannot be put back is still in the note for whoever comes next."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # it ends with its input, when all is as it was
    note = Path(sys.argv[1])
    switched = Switched.read(note)
    if switched is None:
        sys.exit(f"{note} tells nothing that can be put back")
    for line in sys.stdin:
        values = json.loads(line)
        switched = switched.with_next(values)
        try:
            switched.write(note)
            said = switched.put(values)
        except (OSError, StatsSocketError) as error:
            said = str(error)
        with suppress(BrokenPipeError):  # the agent has gone, and so does the input
            print(said, flush=True)
    if not switched.put_back():
        note.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
