"""The program behind a server that answers its dynamic requests: php-fpm, gunicorn or uvicorn.

It runs like the server it belongs to: in the same directory, under the same user, on the same CPUs, in the
same groups, under a guard of its own.
"""

import json
import socket
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import psutil
from trimtab_trials.configuration import Configuration
from trimtab_tuner.targets.backends import php_fpm
from trimtab_tuner.targets.backends.base import Backend, BackendContext

from trimtab_agent.counters.process import proportional_bytes
from trimtab_agent.counters.source import Values
from trimtab_agent.errors import BinaryMissing
from trimtab_agent.station.processes.children import Child, last_line
from trimtab_agent.station.processes.programs import find_installed
from trimtab_agent.station.server import fastcgi
from trimtab_agent.stopping import StopSignal

START_LIMIT_S = 20.0
CHECK_LIMIT_S = 20.0
RETRY_S = 0.01
STATUS_LIMIT_S = 0.5
LISTENS = "0A"  # the state of a listening socket in /proc/net/tcp


class BackendFailed(Exception):
    """The program does not come up; the text says why."""


class BackendRefused(Exception):
    """The program's own check refuses its configuration; the text is its sentence."""


def backend_program(backend: Backend) -> Path:
    """The program of a backend; raises BinaryMissing."""
    program = find_installed(backend.package)
    if program is None:
        raise BinaryMissing(
            f"{backend.package} is not installed here; `apt-get install --no-install-recommends "
            f"{backend.package}` installs it"
        )
    return program


@dataclass(frozen=True, kw_only=True)
class BackendPlace:
    """Where a backend runs: `root` is the document root with its application; `prefix` goes before its
    command, and `within` before that.
    """

    directory: Path
    root: Path
    log: Path
    cpus: tuple[int, ...]
    prefix: tuple[str, ...]
    within: tuple[str, ...]
    port: int


class RunningBackend:
    """A backend that answers at `address`. Raises BackendFailed, BackendRefused, BinaryMissing."""

    def __init__(
        self, backend: Backend, configuration: Configuration, place: BackendPlace, stop: StopSignal
    ) -> None:
        self._backend = backend
        # php-fpm has those that are to be there before it accepts; others come with the load.
        self._expected = int(configuration[backend.children]) if backend.speaks == "http" else 0
        program = str(backend_program(backend))
        self.address = address_of(backend, place)
        self._status = place.directory / "backend-status.sock"
        context = BackendContext(
            address=self.address,
            directory=str((place.root / backend.script_path.lstrip("/")).parent),
            prefix=str(place.directory),
            error_log=str(place.directory / "backend.log"),
            status=str(self._status) if backend.speaks == "fastcgi" else None,
        )
        file = place.directory / backend.file_name
        file.write_text(backend.render(configuration, context))
        _check(backend, place, str(file), program)
        self._child = Child(
            backend.start_command(str(file), program),
            cpus=place.cpus,
            log=place.log,
            guarded=True,
            prefix=(*place.within, *place.prefix),
        )
        try:
            self._wait_until_it_answers(stop)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends it with all its processes."""
        self._child.stop()

    @property
    def pids(self) -> tuple[int, ...]:
        """Its processes, that which watches over the others first."""
        try:
            return tuple(child.pid for child in psutil.Process(self._child.pid).children(recursive=True))
        except psutil.NoSuchProcess:
            return ()

    @property
    def ended(self) -> bool:
        """Whether it has come to its end by itself."""
        return self._child.exit_code is not None

    def read(self) -> Values:
        """What it is doing now: processes, the memory of each, and how many requests wait for one.

        What cannot be read is left out.
        """
        children = self.pids[1:] or self.pids
        sizes = [size for size in map(proportional_bytes, children) if size is not None]
        values: Values = {"children": len(children)}
        if sizes:
            values["memory_per_child_bytes"] = round(sum(sizes) / len(sizes))
        if self._backend.speaks == "fastcgi":
            return values | self._php_status()
        queued = accept_queue_of(int(self.address.rpartition(":")[2]))
        return values if queued is None else values | {"queued": queued}

    def _php_status(self) -> Values:
        """What php-fpm says of its pool, at a socket that no page can block."""
        try:
            said = json.loads(fastcgi.ask(self._status, php_fpm.STATUS_PATH, "json", STATUS_LIMIT_S))
            return {
                "active": int(said["active processes"]),
                "queued": int(said["listen queue"]),
                "queue_length_max": int(said["max listen queue"]),
                "limit_reached": int(said["max children reached"]),
            }
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def _answers(self) -> bool:
        if self._backend.speaks == "fastcgi":
            with socket.socket(socket.AF_UNIX) as probe:
                return probe.connect_ex(self.address) == 0
        if len(self.pids) <= self._expected:
            return False
        try:
            with urllib.request.urlopen(f"http://{self.address}{self._backend.path}", timeout=5):
                return True
        except (OSError, urllib.error.URLError):
            return False

    def _wait_until_it_answers(self, stop: StopSignal) -> None:
        deadline = time.monotonic() + START_LIMIT_S
        while time.monotonic() < deadline:
            if self._answers():
                return
            if stop.wait(RETRY_S, self._child):
                raise BackendFailed("stopped" if stop.requested else self._child.death_sentence())
        raise BackendFailed(
            f"{self._backend.package} did not answer within {START_LIMIT_S:.0f} s: "
            f"{last_line(self._child.log)}"
        )


def address_of(backend: Backend, place: BackendPlace) -> str:
    """Where it listens: a socket in its directory, or its port."""
    if backend.speaks == "fastcgi":
        return str(place.directory / php_fpm.SOCKET)
    return f"127.0.0.1:{place.port}"


def accept_queue_of(port: int, proc: Path = Path("/proc")) -> int | None:
    """How many connections wait to be accepted at the port, of all that listen there; None if nobody does.

    For a listening socket the kernel tells that as what is to be received (net/ipv4/tcp_ipv4.c).
    """
    waiting = None
    for line in (proc / "net/tcp").read_text().splitlines()[1:]:
        columns = line.split()
        if columns[3] == LISTENS and int(columns[1].rpartition(":")[2], 16) == port:
            waiting = (waiting or 0) + int(columns[4].rpartition(":")[2], 16)
    return waiting


def _check(backend: Backend, place: BackendPlace, file: str, program: str) -> None:
    command = backend.check_command(file, program)
    if not command:
        return
    try:
        check = subprocess.run(
            (*place.prefix, *command), capture_output=True, text=True, timeout=CHECK_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise BackendFailed(
            f"{backend.package} had not checked {file} after {CHECK_LIMIT_S:.0f} s and was killed"
        ) from error
    if check.returncode != 0:
        raise BackendRefused(check.stderr.strip() or check.stdout.strip())
