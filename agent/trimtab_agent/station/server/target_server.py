"""One start of the server under test: render, check, start, wait until it answers, stop.

Everything of one start lies in one directory of logs under one name: `trial-3.conf`, `trial-3.log`, and
while it runs the directory `trial-3` with what the server itself writes (there, unless the path of the stats
socket in it would be longer than a socket's address may be).

trimtab-httpd runs under the agent's user and answers on its stats socket once its ports accept.  The servers
of Debian's packages run without privileges (unprivileged.py) and are ready when their status page comes: with
Apache the parent listens long before a worker answers.
"""

import shutil
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil
from trimtab_trials.configuration import Configuration
from trimtab_tuner.targets import php
from trimtab_tuner.targets.base import RenderContext, Target, plan_of
from trimtab_tuner.targets.editing import changed_knobs

from trimtab_agent.affinity.os_settings import SettingRefused
from trimtab_agent.affinity.pinning import WorkerPinning, pinning_of
from trimtab_agent.counters.server import plain_metrics
from trimtab_agent.errors import HostError
from trimtab_agent.station import short_directory
from trimtab_agent.station.leftovers import Leftovers
from trimtab_agent.station.processes.children import Child, borrowed_cpus, last_line
from trimtab_agent.station.processes.unprivileged import command_prefix, hand_over
from trimtab_agent.station.server.php_pool import PhpPool, PoolFailed
from trimtab_agent.station.server.stats_socket import StatsSocket, StatsSocketError
from trimtab_agent.station.server.status_page import StatusPage
from trimtab_agent.stopping import Stopped, StopSignal

ADDRESS = "127.0.0.1"
START_LIMIT_S = 10.0
RETRY_S = 0.005
CHECK_LIMIT_S = 20.0
SOCKET_PATH_BYTES = 107  # sizeof(sun_path) - 1, unix(7)


class ConfigurationRejected(Exception):
    """The server's own check refuses the configuration; the text is the server's sentence."""


class ServerFailed(Exception):
    """The server accepted the configuration, but does not come up with it."""


@dataclass(frozen=True, kw_only=True)
class ServerOrder:
    """What is to be started: `name` names its files in `directory`; `within` goes before its command.

    It listens on a free port of `address`, and on the same port of the `addresses`.  `base` is the user's own
    configuration file with its includes, if the server is to run with that.  `leftovers` is where a directory
    for sockets is noted if `directory` lies too deep for them.
    """

    program: Path
    target: Target
    configuration: Configuration
    root: Path
    cpus: tuple[int, ...]
    directory: Path
    name: str
    leftovers: Leftovers
    within: tuple[str, ...] = ()
    address: str = ADDRESS
    addresses: tuple[str, ...] = ()
    base: str | None = None


class TargetServer:
    """A running server that answers; `text` is the configuration it runs with.

    Raises ConfigurationRejected, ServerFailed, or Stopped when a stop is requested before it answers.
    """

    def __init__(self, order: ServerOrder, stop: StopSignal) -> None:
        self._order = order
        self.port = free_port(order.address)
        self.address = order.address
        self._short = self._too_deep()
        self._directory = short_directory.make(order.leftovers) if self._short else self._own_directory()
        try:
            self.stats_socket = self._directory / "stats.sock"
            self._status_page: StatusPage | None = None
            self._prefix: tuple[str, ...] = ()
            self._pool: PhpPool | None = None
            file = order.directory / f"{order.name}.conf"
            self.text = self._render(file)
            self._check(file)
            self._start_pool(stop)
            self.child = Child(
                order.target.start_command(str(file), str(order.program)),
                cpus=order.cpus,
                log=self._log(),
                guarded=True,
                prefix=(*order.within, *self._prefix),
            )
        except BaseException:
            self._stop_pool()
            self._remove_directory()
            raise
        self._seen_pids: set[int] = set()
        self._pinning: WorkerPinning | None = None
        try:
            self._wait_until_it_answers(stop)
            self._pin_workers(stop)
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{self.address}:{self.port}"

    @property
    def pids(self) -> tuple[int, ...]:
        """Its processes, the main one first; Apache still starts some when it answers already."""
        try:
            pids = tuple(child.pid for child in psutil.Process(self.child.pid).children(recursive=True))
        except psutil.NoSuchProcess:
            return ()
        if self._pool is not None:
            pids += self._pool.pids
        self._seen_pids.update(pids)
        return pids

    def stop(self) -> None:
        """Ends the server with all its processes; its directory goes as well."""
        self.child.stop()
        self._stop_pool()
        self._remove_directory()

    def read_stats(self) -> dict[str, Any] | None:
        """The server's own counters as `show stats` has them, with the workers if it tells of them.

        None when it does not answer.
        """
        if self._status_page is not None:
            total = self._status_page.read()
            return {"total": total} if total else None
        try:
            with StatsSocket(self.stats_socket) as stats:
                document: dict[str, Any] = stats.ask("show stats")
        except StatsSocketError:
            return None
        return document

    def stats(self) -> dict[str, float]:
        """The server's own counters in total; empty when it does not answer any more."""
        document = self.read_stats()
        return {} if document is None else plain_metrics(document["total"])

    def workers_lost(self) -> int:
        """How many of the processes that `pids` has named have ended; trimtab-httpd counts them itself.

        0 when it does not answer any more.
        """
        if self._status_page is not None:
            return len(self._seen_pids - set(self.pids))
        try:
            with StatsSocket(self.stats_socket) as stats:
                return int(stats.ask("show info")["worker_restarts"])
        except StatsSocketError:
            return 0

    def workers_moved(self) -> tuple[str, ...]:
        """A sentence for each worker that somebody has taken from the CPU where this class had put it.

        Workers that came since are put on theirs.
        """
        if self._pinning is None:
            return ()
        moved = self._pinning.drift()
        self._pinning.pin()
        return moved

    def _own_directory(self) -> Path:
        directory = (self._order.directory / self._order.name).resolve()
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        return directory

    def _remove_directory(self) -> None:
        if not self._short:
            shutil.rmtree(self._directory, ignore_errors=True)
            return
        with suppress(OSError):  # then the next start takes it away
            short_directory.unmake(self._directory, self._order.leftovers)

    def _too_deep(self) -> bool:
        path = (self._order.directory / self._order.name / "stats.sock").resolve()
        return len(str(path).encode()) > SOCKET_PATH_BYTES

    def _log(self) -> Path:
        log = self._order.directory / f"{self._order.name}.log"
        log.touch()
        if self._prefix:
            hand_over(log)
        return log

    def _render(self, file: Path) -> str:
        """Writes the configuration file, and settles under which user the server runs."""
        order, target = self._order, self._order.target
        status_listen: str | None = None
        if target.status_path is not None:
            status_port = free_port()
            status_listen = f"{ADDRESS}:{status_port}"
            self._status_page = StatusPage(target, ADDRESS, status_port)
        context = RenderContext(
            root=str(order.root),
            listen=tuple(f"{address}:{self.port}" for address in (order.address, *order.addresses)),
            stats_socket=str(self.stats_socket),
            status_listen=status_listen,
            server_cpus=order.cpus,
            prefix=str(self._directory),
            php_socket=str(self._directory / php.SOCKET) if self._wants_php else None,
        )
        if order.base is None:
            text = target.render(order.configuration, context)
        else:
            cpus = len(order.cpus)
            tuned = changed_knobs(target, order.base, order.configuration, cpus)
            named = {*tuned, *target.parse(order.base, cpus)}
            text = target.private(order.base, order.configuration, named, context)
        file.write_text(text)
        if target.status_path is not None:
            self._prefix = command_prefix((file, order.root))
            if self._prefix:
                hand_over(self._directory)
        return text

    @property
    def _wants_php(self) -> bool:
        return php.POOL_SIZE.name in self._order.configuration

    def _start_pool(self, stop: StopSignal) -> None:
        if not self._wants_php:
            return
        order = self._order
        try:
            self._pool = PhpPool(
                order.configuration,
                directory=self._directory,
                log=self._log(),
                cpus=order.cpus,
                prefix=self._prefix,
                within=order.within,
                stop=stop,
            )
        except PoolFailed as error:
            if stop.requested:
                raise Stopped from error
            raise ServerFailed(str(error)) from error

    def _stop_pool(self) -> None:
        if self._pool is not None:
            self._pool.stop()

    def _check(self, file: Path) -> None:
        order = self._order
        command = order.target.check_command(str(file), str(order.program))
        try:
            # On the server's CPUs: it refuses to pin workers to those that it could not use itself.
            with borrowed_cpus(command[0], order.cpus):
                check = subprocess.run(
                    (*self._prefix, *command),
                    capture_output=True,
                    text=True,
                    timeout=CHECK_LIMIT_S,
                    check=False,
                )
        except subprocess.TimeoutExpired as error:
            raise ServerFailed(
                f"{command[0]} had not checked {file} after {CHECK_LIMIT_S:.0f} s and was killed"
            ) from error
        if check.returncode != 0:
            output = check.stderr.strip() or check.stdout.strip()
            raise ConfigurationRejected(output or f"{command[0]} ended with exit code {check.returncode}")

    def _wait_until_it_answers(self, stop: StopSignal) -> None:
        deadline = time.monotonic() + START_LIMIT_S
        while time.monotonic() < deadline:
            if self._answers():
                return
            # Not there yet; meanwhile look out for its death and for a stop.
            if stop.wait(RETRY_S, self.child):
                if stop.requested:
                    raise Stopped
                self.child.wait(0)
                raise ServerFailed(self.child.death_sentence())
        where = "its status page" if self._status_page is not None else "its stats socket"
        raise ServerFailed(
            f"{self.child.name} did not answer on {where} within {START_LIMIT_S:.0f} s: "
            f"{last_line(self.child.log)}"
        )

    def _pin_workers(self, stop: StopSignal) -> None:
        """Puts the workers on their CPUs if the configuration asks for it and the server cannot do so."""
        order, pids = self._order, self.pids
        pinning = pinning_of(order.target, order.configuration, order.cpus, pids[0]) if pids else None
        if pinning is None:
            return
        deadline = time.monotonic() + START_LIMIT_S
        while not pinning.complete():
            if stop.wait(RETRY_S, self.child):
                if stop.requested:
                    raise Stopped
                self.child.wait(0)
                raise ServerFailed(self.child.death_sentence())
            if time.monotonic() > deadline:
                raise ServerFailed(
                    f"{self.child.name} did not start all its workers within {START_LIMIT_S:.0f} s"
                )
        try:
            pinning.pin()
        except SettingRefused as error:
            plan = plan_of(order.target, order.configuration)
            raise ConfigurationRejected(f"affinity plan {plan}: {error}") from error
        self._pinning = pinning

    def _answers(self) -> bool:
        if self._status_page is not None:
            return self._status_page.answers(START_LIMIT_S / 10)
        try:
            StatsSocket(self.stats_socket).close()
        except StatsSocketError:
            return False
        return True


def free_port(address: str = ADDRESS) -> int:
    """A TCP port of `address` that nobody listens on, by asking the kernel for one."""
    with socket.socket() as probe:
        try:
            probe.bind((address, 0))
        except OSError as error:
            raise HostError(f"no free TCP port on {address}: {error.strerror}") from error
        port: int = probe.getsockname()[1]
        return port
