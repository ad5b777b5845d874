"""Servers beside production. Those of an episode are the baseline (production's file as it is) and the canary
(the same with other values of knobs).

Their files are made and checked by the server itself before anything is touched. A keeper of their own
(keeper.py) then starts them on production's ports and puts everything back at the end.
"""

import json
import logging
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil
from trimtab_trials.configuration import Configuration
from trimtab_tuner.targets.base import RenderContext, RenderError
from trimtab_tuner.targets.beside import Place

from trimtab_agent.base_file import BaseFile
from trimtab_agent.errors import HostError
from trimtab_agent.live import in_memory, keeper
from trimtab_agent.live.keeper import ArmOrder, Order
from trimtab_agent.live.restoring import Note, is_running, sockets_of
from trimtab_agent.live.running import RunningServer
from trimtab_agent.live.socket_diag import open_connections
from trimtab_agent.live.surroundings import like, user_of
from trimtab_agent.stopping import wait_readable

log = logging.getLogger(__name__)

NAMES = ("baseline", "canary")
KEPT_BYTES = 1 << 20  # of what an arm tells of errors, which lies in memory
ERRORS = ("error.log", "output.log")
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
START_S = 10.0
ANSWER_S = 10.0
DRAIN_S = 30.0
CHECK_S = 20.0
CLOSE_S = 10.0


class CandidateRefused(HostError):
    """The server itself does not accept a candidate, or its file has no place for it."""


@dataclass(frozen=True)
class ArmFiles:
    """One arm on disk: its configuration, and where it tells what it does."""

    configuration: Path
    place: Place


def baseline_and_canary(
    server: RunningServer, base: BaseFile, canary: Configuration, knobs: Collection[str], notes: Path
) -> "Arms":
    """The two arms of an episode; `canary` has the values of `knobs` that the canary differs in.

    Raises HostError as Arms does.
    """
    candidate = changed_file(server, base.expanded, canary, knobs)
    return Arms(server, dict(zip(NAMES, (base.expanded, candidate), strict=True)), notes)


class Arms:
    """Servers beside a running one, each with the file that `texts` has for its name, from start to end.

    What the keeper changes it notes in the directory `notes`. Raises HostError where they cannot be had, with
    everything as it was.
    """

    def __init__(self, server: RunningServer, texts: Mapping[str, str], notes: Path) -> None:
        if server.target.beside is None:
            raise HostError(f"Trimtab cannot start a second {server.target.name} beside one that runs yet")
        self._server, self._beside = server, server.target.beside
        self._ended = ""
        self.files: tuple[ArmFiles, ...] = ()
        self._errors: list[int] = []
        with ExitStack() as undone, in_memory.new_directory() as (directory, held):
            undone.callback(shutil.rmtree, directory, ignore_errors=True)
            undone.callback(self._close_errors)
            try:
                self.files = tuple(self._written(directory / name, text) for name, text in texts.items())
            except OSError as error:
                raise HostError(
                    f"files of servers beside process {server.pid} cannot be made in {directory}: "
                    f"{error.strerror}"
                ) from error
            for arm in self.files:
                check(server, arm.configuration)
            self._note = notes / f"{directory.name}.json"
            self._socket, self._keeper = self._start_keeper(directory, held, texts)
            undone.pop_all()
        try:
            self.pids: tuple[int, ...] = tuple(self._answer(START_S)["pids"])
        except BaseException:
            self.close()
            self.wait()
            shutil.rmtree(directory, ignore_errors=True)  # where the keeper has not come so far
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        self.wait()

    def weigh(self, share: float) -> None:
        """Each of them gets that share of the new connections; raises HostError."""
        try:
            self._socket.sendall(json.dumps({"shares": [share] * len(self.files)}).encode() + b"\n")
        except OSError as error:
            raise HostError("the keeper of the episode has ended") from error
        self._answer(ANSWER_S)

    def open_connections(self) -> int:
        """How many connections clients have open to them; 0 where that cannot be told any more."""
        pids = set(self.pids)
        with suppress(psutil.Error):
            for pid in self.pids:
                pids |= {child.pid for child in psutil.Process(pid).children(recursive=True)}
        try:
            at_ports = open_connections({listener.port for listener in self._server.listeners})
        except OSError:
            return 0
        return len(at_ports & sockets_of(pids))

    def ended(self) -> str:
        """The sentence about an arm that has ended by itself; empty while none has.

        Raises HostError where the keeper has ended, which is nobody's fault whom it keeps.
        """
        if not self._ended:
            told = wait_readable([self._socket.fileno()], 0)
            if told or not all(map(is_running, self.pids)):  # then it is about to be told
                self._ended = self._line(ANSWER_S).get("ended", "")
        return self._ended

    def tidy(self) -> None:
        """Keeps what the arms write from filling the memory that it lies in; raises HostError where it does:
        what they are sent may lie there too.
        """
        for told in self._errors:
            if os.fstat(told).st_size > KEPT_BYTES:
                os.ftruncate(told, 0)  # whoever appends goes on at the beginning
        in_memory.require_room(self.files[0].configuration.parents[1])

    def close(self) -> list[str]:
        """Sends all new connections to production, and returns when it alone listens again.

        The arms answer what they have begun, and end by themselves. Returns sentences about what could not be
        put back. A keeper that was killed is stood in for. A second time changes nothing.
        """
        if self._socket.fileno() < 0:
            return []
        complaints: list[str] = []
        try:
            self._socket.shutdown(socket.SHUT_WR)
            while "complaints" not in (said := self._line(CLOSE_S)):
                pass
            complaints = list(said["complaints"])
        except (OSError, HostError):
            self._keeper.kill()  # it may hang; what it leaves behind is put back here
            self._keeper.wait()
            if (note := Note.read(self._note)) is not None:
                complaints = note.put_back()
                note.end(DRAIN_S)
        self._socket.close()
        self._close_errors()
        for complaint in complaints:
            log.warning("%s: %s", self._server.target.name, complaint)
        return complaints

    def wait(self, limit_s: float | None = None) -> bool:
        """Waits until the arms have answered what they had begun, and have ended; whether they have."""
        try:
            self._keeper.wait(limit_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _written(self, directory: Path, text: str) -> ArmFiles:
        directory.mkdir(mode=0o711)
        place = Place(
            directory=str(directory),
            access_log=str(directory / "access.log"),
            stats_socket=str(directory / "stats.sock"),
        )
        # Who reads it may come before the server has opened it. It has queries, which are nobody else's
        # business.
        Path(place.access_log).touch(mode=0o600)
        errors = [directory / name for name in ERRORS]
        self._errors += [os.open(each, NEW, 0o600) for each in errors]
        file = directory / self._server.target.file_name
        try:
            own_text = self._beside.file(text, place)
        except RenderError as error:
            raise HostError(f"{self._server.file}: {error}") from error
        # Production's file, and what that includes, may be kept from others too.
        file.touch(mode=0o600)
        file.write_text(own_text)
        if os.geteuid() == 0:
            user, group, _ = user_of(self._server.pid)
            for own in map(str, (place.access_log, *errors, file, place.directory)):
                os.chown(own, user, group)  # in a directory of ours yet
        return ArmFiles(file, place)

    def _close_errors(self) -> None:
        while self._errors:
            os.close(self._errors.pop())

    def _start_keeper(
        self, directory: Path, held: int, names: Iterable[str]
    ) -> tuple[socket.socket, subprocess.Popen[bytes]]:
        server = self._server
        environment = dict(self._beside.environment(keeper.inherited(server.listeners)))
        order = Order(
            production=server.pid,
            listeners=server.listeners,
            arms=tuple(
                ArmOrder(
                    name=name,
                    command=self._beside.start_command(str(server.program), str(arm.configuration)),
                    environment=environment,
                    quit_signal=self._beside.quit_signal,
                    log=str(Path(arm.place.directory) / "output.log"),
                )
                for name, arm in zip(names, self.files, strict=True)
            ),
            note=str(self._note),
            directory=str(directory),
            drain_s=DRAIN_S,
            arms_open=self._beside.opens_sockets,
        )
        ours, its = socket.socketpair()
        with its:
            try:
                # A session of its own: Ctrl-C in the terminal is for the agent to act on.
                process = subprocess.Popen(
                    (sys.executable, "-m", "trimtab_agent.live.keeper", str(its.fileno())),
                    stdin=subprocess.DEVNULL,
                    pass_fds=[its.fileno(), held],
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise HostError(f"the keeper of the episode cannot be started: {error.strerror}") from error
        with suppress(OSError):  # it has ended already: its answer tells
            ours.sendall(json.dumps(order.as_json()).encode() + b"\n")
        return ours, process

    def _answer(self, limit_s: float) -> dict[str, Any]:
        """The keeper's answer to a request; raises HostError where it is an error or the end."""
        said = self._line(limit_s)
        if "error" in said:
            raise HostError(said["error"])
        if "ended" in said:
            self._ended = said["ended"]
            raise HostError(self._ended)
        return said

    def _line(self, limit_s: float) -> dict[str, Any]:
        """The next line that the keeper sends; raises HostError if none comes."""
        line = b""
        while not line.endswith(b"\n"):
            if not wait_readable([self._socket.fileno()], limit_s):
                raise HostError(f"the keeper of the episode has not answered for {limit_s:.0f} s")
            try:
                part = self._socket.recv(1)  # lines are short, and what follows is for the next call
            except OSError:
                part = b""
            if not part:
                raise HostError("the keeper of the episode has ended")
            line += part
        document: dict[str, Any] = json.loads(line)
        return document


def changed_file(server: RunningServer, text: str, values: Configuration, knobs: Collection[str]) -> str:
    """Production's file with other values of knobs; raises HostError, where they have no place in it
    CandidateRefused.
    """
    try:
        cpus = tuple(sorted(os.sched_getaffinity(server.pid)))
    except ProcessLookupError as error:
        raise HostError(f"process {server.pid} has ended") from error
    context = RenderContext(root="/", listen=(), server_cpus=cpus)
    try:
        return server.target.changed(text, values, knobs, context)
    except RenderError as error:
        raise CandidateRefused(f"{server.file}: {error}") from error


def check(server: RunningServer, file: Path) -> None:
    """The server's own check of a file; raises CandidateRefused with its sentence, HostError without one."""
    if server.target.beside is None:
        raise HostError(f"Trimtab does not know how {server.target.name} is run beside production")
    command = server.target.beside.check_command(str(server.program), str(file))
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=CHECK_S, check=False, **like(server.pid)
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostError(f"{command[0]} did not check {file}: {error}") from error
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip()
        raise CandidateRefused(f"{server.target.name} does not accept {file}: {said}")
