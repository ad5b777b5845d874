"""What a session is attached to: a server that runs, its file, and who observes it.

An administrator goes on with it meanwhile: the file is edited, or one that it includes, a reload changes
where it listens, a restart makes it another process. Each is seen, and the attachment follows.
"""

import time
from contextlib import suppress
from pathlib import Path

import psutil

from trimtab_agent.base_file import BaseFile
from trimtab_agent.errors import HostError, SpecError
from trimtab_agent.live.its_file import read_its_file
from trimtab_agent.live.listening import Listener, inode_of, listeners_of
from trimtab_agent.live.observation import Observer
from trimtab_agent.live.production import production_observer
from trimtab_agent.live.restoring import Process
from trimtab_agent.live.running import RunningServer, running_servers

# Whether the file says something else by what it includes is looked at so often, and not for more than this
# share of the time: it takes reading all of it.
LOOK_EVERY_S = 5.0
LOOK_SHARE = 0.01


class Attachment:
    """A running server with its file, observed until `close`.

    A reply that takes longer than `slow_s` counts as slow. `not_observed` is a sentence about what is not
    known of it; empty for nothing.
    """

    server: RunningServer
    base: BaseFile
    observer: Observer
    not_observed: str

    def __init__(self, server: RunningServer, base: BaseFile, slow_s: float) -> None:
        """Raises HostError where it cannot be observed, or has just ended."""
        self._slow_s, self._process, self.cpus = slow_s, Process(server.pid, 0), 0
        self._is(server, base, *production_observer(server, slow_s))
        if not self.lives():
            self.close()
            raise HostError(f"process {server.pid} has ended")

    def close(self) -> None:
        """Ends the observation."""
        self.observer.close()

    def written(self) -> None:
        """Its file is as Trimtab has just written it."""
        self._read_at, self._look_at_s = _stamp(self.base), time.monotonic() + LOOK_EVERY_S

    def read_anew(self) -> None:
        """Takes in its file and where it listens, as they are now; raises HostError."""
        self.base = read_its_file(self.server)
        self.written()
        if self._sockets == _sockets_of(self.server):
            return
        found = [each for each in running_servers() if each.pid == self.server.pid and each.listeners]
        if not found:
            raise HostError(f"process {self.server.pid} does not listen any more")
        self._turn_to(found[0], self.base, *production_observer(found[0], self._slow_s))

    def changed(self) -> str:
        """What somebody else has changed: a sentence; empty where nothing."""
        if _stamp(self.base) != self._read_at:
            return f"{self.base.path} has been changed"
        if time.monotonic() > self._look_at_s and (changed := self._what_it_leads_to()):
            return changed
        if self._sockets != _sockets_of(self.server) and self.lives():
            return f"process {self.server.pid} listens on other sockets than before"
        return ""

    def _what_it_leads_to(self) -> str:
        """The sentence about a link in its place that leads elsewhere now, and about files that it includes
        which are others, or say something else; empty for neither.

        What cannot be read nobody can take up either: then it is looked at again.
        """
        begun_s = time.monotonic()
        try:
            now = read_its_file(self.server)
        except (SpecError, HostError):
            now = self.base
        ended_s = time.monotonic()
        self._look_at_s = ended_s + max(LOOK_EVERY_S, (ended_s - begun_s) / LOOK_SHARE)
        if now.path != self.base.path:
            return f"{self.server.file} is {now.path} now"
        _, *included = now.sources.files  # its own text may be a candidate's just now
        if included != list(self.base.sources.files[1:]):
            return f"what {self.base.path} includes has been changed"
        return ""

    def lives(self) -> bool:
        """Whether the process that it was attached to has not ended."""
        return self._process.lives()

    def serves(self) -> bool:
        """Whether it lives and listens: one that ends in good order stops to listen first."""
        try:
            return self.lives() and (not self.server.listeners or bool(listeners_of(self.server.pid)))
        except OSError:
            return False

    def is_back(self) -> bool:
        """Whether it runs again, as another process with the same file, and is as far as to tell of its
        requests if it told of them before; then it is attached to that. Raises SpecError for its file.
        """
        own = self.server
        found = [
            each
            for each in running_servers()
            if each.listeners and (each.target.name, each.file) == (own.target.name, own.file)
        ]
        if len(found) != 1:
            return False
        try:
            base = read_its_file(found[0])
            observer, not_observed = production_observer(found[0], self._slow_s)
        except HostError:
            return False  # it is about to start
        if self.observer.tells_requests and not observer.tells_requests:
            observer.close()
            return False
        self._turn_to(found[0], base, observer, not_observed)
        return True

    def _turn_to(self, server: RunningServer, base: BaseFile, observer: Observer, not_observed: str) -> None:
        self.close()
        self._is(server, base, observer, not_observed)

    def _is(self, server: RunningServer, base: BaseFile, observer: Observer, not_observed: str) -> None:
        self.server, self.base, self.observer, self.not_observed = server, base, observer, not_observed
        self._sockets = _sockets_of(server)
        self.written()
        with suppress(OSError, psutil.Error):  # where it has just ended, `lives` says so
            self._process = Process.of(server.pid)
            self.cpus = len(psutil.Process(server.pid).cpu_affinity() or ())


def _sockets_of(server: RunningServer) -> dict[Listener, int]:
    """The inodes of what it listens on; one that it has closed is left out."""
    found = {}
    for listener in server.listeners:
        with suppress(OSError):
            found[listener] = inode_of(server.pid, listener)
    return found


def _stamp(base: BaseFile) -> tuple[int, int] | None:
    """When the file was last written, and its size; None where there is none."""
    try:
        found = Path(base.path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
