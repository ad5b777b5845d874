"""Promotion: production's own file with other values, checked and taken up, and the way back.

It is taken up by a reload. trimtab-httpd takes some values at its stats socket instead, while it runs, and
tells there what it has taken up by a reload.

The file that was there stays beside the new one. Nothing is written over a file that somebody has changed
since it was read, neither on the way there nor on the way back. Until it is known whether the promotion is to
stay, a keeper puts the earlier file back if this process is killed (file_switching.py).
"""

import logging
import os
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from trimtab_trials.configuration import Configuration
from trimtab_tuner.targets.editing import own_values

from trimtab_agent.base_file import BaseFile
from trimtab_agent.errors import HostError
from trimtab_agent.live import own_file
from trimtab_agent.live.arms import changed_file, check
from trimtab_agent.live.file_switching import FileSwitch
from trimtab_agent.live.production import stats_socket_of
from trimtab_agent.live.running import RunningServer
from trimtab_agent.station.server.stats_socket import StatsSocket, StatsSocketError

log = logging.getLogger(__name__)

TAKEN_UP_S = 10.0  # so long a core may take to have other values after a reload
LOOK_EVERY_S = 0.1


def is_set(server: RunningServer, knobs: Collection[str]) -> bool:
    """Whether a change of these knobs needs no reload: the running server takes them all."""
    beside = server.target.beside
    return beside is not None and set(knobs) <= beside.live and stats_socket_of(server) is not None


class Promotion:
    """A change of production's file; `backup` is the file as it was.

    It is in force until `undo` or the end of this process, and after `keep` for good. What is changed is
    noted in the directory `notes`. Raises HostError where it cannot be made, with the file as it was.
    """

    def __init__(
        self,
        server: RunningServer,
        base: BaseFile,
        values: Configuration,
        knobs: Collection[str],
        notes: Path,
    ) -> None:
        self._server = server
        self.file = Path(base.path)
        self._text = changed_file(server, base.text, values, knobs)
        own = own_values(server.target, base.expanded, 1)
        self._values, self._own = ({knob: of[knob] for knob in knobs} for of in (values, own))
        self.by_reload = not is_set(server, knobs)
        self._keeper = FileSwitch(server, base, notes, to_come=self._text)
        self.backup = self._keeper.backup
        try:
            self._carry_out()
        except HostError:
            self._keeper.leave()
            raise
        except BaseException:
            self._keeper.close()
            raise

    def keep(self) -> None:
        """It stays, whoever ends."""
        self._keeper.leave()

    def take_back(self) -> None:
        """The keeper puts the earlier file back, as it would if this process were killed."""
        for complaint in self._keeper.close():
            log.warning("%s: %s", self._server.target.name, complaint)

    def undo(self) -> None:
        """Puts the earlier file back and has production take it up; raises HostError where it cannot be done.

        A file that somebody has changed since stays as it is.
        """
        try:
            self._undo()
        finally:
            self._keeper.leave()

    def _carry_out(self) -> None:
        """Raises HostError, with the file as it was."""
        try:
            own_file.write(self.file, self._text)
        except OSError as error:
            with suppress(OSError):  # where nothing can be written, nothing can be removed
                self.backup.unlink(missing_ok=True)
            raise own_file.unwritten(self.file, error) from error
        try:
            check(self._server, self.file)
        except HostError:
            own_file.put_back(self.file, self.backup)
            raise
        try:
            self._take_up(self._values)
        except HostError:
            own_file.put_back(self.file, self.backup)
            with suppress(HostError):  # it has ended
                self._take_up(self._own)
            raise

    def _undo(self) -> None:
        if own_file.text_of(self.file) != self._text:
            raise HostError(
                f"{self.file} has been changed since it was promoted, and stays as it is; {self.backup} is "
                "the file from before"
            )
        own_file.put_back(self.file, self.backup)
        check(self._server, self.file)
        self._take_up(self._own)

    def _take_up(self, values: Configuration) -> None:
        """Production has these values when it returns, or begins to; raises HostError."""
        stats_socket = stats_socket_of(self._server) if self._server.target.name == "core" else None
        if self.by_reload:
            self._reload()
            if stats_socket is not None:
                self._wait_for(stats_socket, values)
        elif stats_socket is not None:
            try:
                with StatsSocket(stats_socket) as stats:
                    for knob, value in values.items():
                        stats.ask(f"set {knob} {value}")
            except StatsSocketError as error:
                raise HostError(str(error)) from error

    def _wait_for(self, stats_socket: Path, values: Configuration) -> None:
        """A core refuses at a reload what only a restart changes, and goes on as it was."""
        deadline = time.monotonic() + TAKEN_UP_S
        wanted = {knob: str(value) for knob, value in values.items()}
        while True:
            with suppress(StatsSocketError), StatsSocket(stats_socket) as stats:
                in_force = stats.ask("show config")
                if all(str(in_force.get(knob)) == value for knob, value in wanted.items()):
                    return
            if time.monotonic() > deadline:
                raise HostError(f"process {self._server.pid} has not taken up {self.file}: its log says why")
            time.sleep(LOOK_EVERY_S)

    def _reload(self) -> None:
        beside = self._server.target.beside
        if beside is None:  # nothing is promoted that was not tried beside production
            raise HostError(f"Trimtab does not know how to reload {self._server.target.name}")
        try:
            os.kill(self._server.pid, beside.reload_signal)
        except OSError as error:
            raise HostError(f"process {self._server.pid} cannot be reloaded: {error.strerror}") from error
