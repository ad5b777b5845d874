"""One start of the server under test: render, check, start, wait until it answers, stop.

Everything of one start lies in one directory of logs under one name: `trial-3.conf`, `trial-3.log`, and
while it runs the directory `trial-3` with what the server itself writes (there, unless the path of the stats
socket in it would be longer than a socket's address may be).

trimtab-httpd runs under the agent's user and answers on its stats socket once its ports accept.  The servers
of Debian's packages run without privileges (unprivileged.py) and are ready when their status page comes: with
Apache the parent listens long before a worker answers.  A database is asked in its own language, and runs on
a copy of its data, which goes with its directory.
"""

import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil
from trimtab_trials.configuration import Configuration
from trimtab_tuner.targets import tls
from trimtab_tuner.targets.backends import backend_of
from trimtab_tuner.targets.base import RenderContext, Target, plan_of
from trimtab_tuner.targets.editing import changed_knobs
from trimtab_tuner.targets.in_force import differences, noted
from trimtab_tuner.workloads import shop

from trimtab_agent.affinity.pinning import WorkerPinning, pinning_of
from trimtab_agent.counters.server import plain_metrics
from trimtab_agent.counters.source import Values
from trimtab_agent.host.allowed import open_files_of
from trimtab_agent.os_settings.access import SettingRefused
from trimtab_agent.station import short_directory
from trimtab_agent.station.data_directory import copy_of
from trimtab_agent.station.leftovers import Leftovers
from trimtab_agent.station.processes.children import Child, borrowed_cpus
from trimtab_agent.station.processes.unprivileged import command_prefix, hand_over
from trimtab_agent.station.server.certificates import make_certificates
from trimtab_agent.station.server.own_copies import with_readable
from trimtab_agent.station.server.ports import ADDRESS, HeldPorts
from trimtab_agent.station.server.refusals import (
    ConfigurationRejected,
    ServerFailed,
    require_accepted,
    require_in_force,
)
from trimtab_agent.station.server.running_backend import (
    BackendFailed,
    BackendPlace,
    BackendRefused,
    RunningBackend,
    address_of,
)
from trimtab_agent.station.server.silence import ServerSilent, seen_of
from trimtab_agent.station.server.stats_socket import StatsSocket, StatsSocketError
from trimtab_agent.station.server.status_page import StatusPage
from trimtab_agent.station.server.status_query import StatusQuery
from trimtab_agent.station.server.unresolved import Names, with_resolvable
from trimtab_agent.station.warming import warm, warm_tables
from trimtab_agent.stopping import Stopped, StopSignal

START_LIMIT_S = 10.0
RETRY_S = 0.005
SOCKET_PATH_BYTES = 107  # sizeof(sun_path) - 1, unix(7)


@dataclass(frozen=True, kw_only=True)
class ServerOrder:
    """What is to be started: `name` names its files in `directory`; `within` goes before its command.

    `root` is the document root, or the data directory that a database gets a copy of.  It listens on a free
    port of `address`, and on the same port of the `addresses`.  `base` is the user's own configuration file
    with its includes, if the server is to run with that.  `upstream` is the address of the server that it
    proxies to, unless a backend of its own answers there; `stand_ins` are those for upstreams of `base`.
    `leftovers` is where a directory for sockets is noted if `directory` lies too deep for them.  `names` are
    those of upstreams, the same for all starts that are to be alike.  `reads` are files that not everybody
    may read, and that it must.
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
    upstream: str | None = None
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    names: Names = field(default_factory=Names)
    reads: tuple[Path, ...] = ()


class TargetServer:
    """A running server that answers; `text` is the configuration it runs with.

    Raises ConfigurationRejected, ServerFailed, or Stopped when a stop is requested before it answers.
    """

    def __init__(self, order: ServerOrder, stop: StopSignal) -> None:
        self._order = order
        self._ports = HeldPorts()
        self.port = self._ports.take(order.address)
        self.address = order.address
        self._short = self._too_deep()
        self._directory = short_directory.make(order.leftovers) if self._short else self._own_directory()
        try:
            self.stats_socket = self._directory / "stats.sock"
            self._status: StatusPage | StatusQuery | None = None
            self._prefix: tuple[str, ...] = ()
            self._backend: RunningBackend | None = None
            self._backend_port = self._ports.take()
            file = order.directory / f"{order.name}.conf"
            self.text = self._render(file)
            command = order.target.check_command(str(file), str(order.program))
            # On the server's CPUs: it refuses to pin workers to those that it could not use itself.
            with borrowed_cpus(command[0], order.cpus):
                require_accepted((*self._prefix, *command), command[0], file)
            if order.target.protocol == "mariadb":
                copy_of(order.root, self._data)
            self._start_backend(stop)
            self.child = Child(
                order.target.start_command(str(file), str(order.program)),
                cpus=order.cpus,
                log=self._log(),
                guarded=True,
                prefix=(*order.within, *self._prefix),
            )
        except BaseException:
            self._ports.let_go()
            self._stop_backend()
            self._remove_directory()
            raise
        self._seen_workers: set[int] = set()
        self._pinning: WorkerPinning | None = None
        try:
            self._wait_until_it_answers(stop)
            self._ports.let_go()
            self.text = noted(self.text, self._not_in_force())
            if isinstance(self._status, StatusQuery):
                require_in_force(self.child, self._status, order.target.parse(self.text))
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
        if self._order.target.protocol == "mariadb":
            return f"mariadb://{shop.USER}@{self.address}:{self.port}/{shop.DATABASE}"
        return f"{'https' if self.secure else 'http'}://{self.address}:{self.port}"

    @property
    def secure(self) -> bool:
        """Whether it speaks TLS."""
        return tls.speaks_tls(self._order.configuration)

    def _processes(self) -> list[psutil.Process]:
        try:
            return psutil.Process(self.child.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    @property
    def pids(self) -> tuple[int, ...]:
        """Its processes, the main one first; Apache still starts some when it answers already."""
        processes = self._processes()
        self._seen_workers.update(workers_among(processes, self._order.target.worker_title))
        pids = tuple(process.pid for process in processes)
        # The processes of a pool come and go with the load; whether it is there is asked in `workers_lost`.
        return pids if self._backend is None else pids + self._backend.pids

    def stop(self) -> None:
        """Ends the server with all its processes; its directory goes as well."""
        self._ports.let_go()
        self.child.stop()
        self._stop_backend()
        self._remove_directory()

    def read_backend(self) -> Values | None:
        """What the program behind it is doing; None without one."""
        return None if self._backend is None else self._backend.read()

    def warm(self, paths: Sequence[str], stop: StopSignal) -> None:
        """Has it answer for each of the paths, or read all of its tables; raises WarmingFailed, Stopped."""
        if isinstance(self._status, StatusQuery):
            warm_tables(self._status)
        else:
            warm(self.address, self.port, paths, stop, secure=self.secure)

    def read_stats(self) -> dict[str, Any] | None:
        """The server's own counters as `show stats` has them, with the workers if it tells of them.

        None when it does not answer.
        """
        if self._status is not None:
            total = self._status.read()
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
        """How many of the workers that `pids` has named have ended; trimtab-httpd counts them itself.

        Of a program behind it only the one counts that watches over the others. 0 when the server does not
        answer any more.
        """
        if self._backend is not None and self._backend.ended:
            return 1
        if self._status is not None:
            return len(self._seen_workers - {process.pid for process in self._processes()})
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

    @property
    def _data(self) -> Path:
        """Where a database has its copy of the data."""
        return self._directory / "data"

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
        if order.target.package is not None:
            status_port = self._ports.take()
            status_listen = f"{ADDRESS}:{status_port}"
            kind = StatusQuery if target.protocol == "mariadb" else StatusPage
            self._status = kind(target, ADDRESS, status_port)
        certificates = (order.directory / "tls").resolve()
        backend = backend_of(order.configuration)
        passed = None if backend is None else address_of(backend, self._backend_place())
        context = RenderContext(
            root=str(order.root),
            listen=tuple(f"{address}:{self.port}" for address in (order.address, *order.addresses)),
            stats_socket=str(self.stats_socket),
            status_listen=status_listen,
            server_cpus=order.cpus,
            prefix=str(self._directory),
            php_socket=passed if backend is not None and backend.speaks == "fastcgi" else None,
            upstream=passed if backend is not None and backend.speaks == "http" else order.upstream,
            stand_ins=order.stand_ins,
            tls_directory=str(certificates) if self.secure else None,
            data_directory=str(self._data) if target.protocol == "mariadb" else None,
        )
        keys = make_certificates(certificates) if self.secure else ()
        if order.base is None:
            text = target.render(order.configuration, context)
        else:
            cpus = len(order.cpus)
            tuned = changed_knobs(target, order.base, order.configuration, cpus)
            named = {*tuned, *target.parse(order.base, cpus)}
            text = target.private(order.base, order.configuration, named, context)
            text = with_resolvable(target, text, order.names)
            if target.package is not None:
                text = with_readable(target, text, self._directory, certificates)
        file.write_text(text)
        if target.package is not None:
            self._prefix = command_prefix((file, order.root, *order.reads))
            if self._prefix:
                hand_over(self._directory)
                for key in keys:
                    hand_over(key)
        return text

    def _backend_place(self) -> BackendPlace:
        order = self._order
        return BackendPlace(
            directory=self._directory,
            root=order.root,
            log=order.directory / f"{order.name}.log",
            cpus=order.cpus,
            prefix=self._prefix,
            within=order.within,
            port=self._backend_port,
        )

    def _start_backend(self, stop: StopSignal) -> None:
        order = self._order
        backend = backend_of(order.configuration)
        if backend is None:
            return
        self._log()
        try:
            self._backend = RunningBackend(backend, order.configuration, self._backend_place(), stop)
        except BackendRefused as error:
            raise ConfigurationRejected(str(error)) from error
        except BackendFailed as error:
            if stop.requested:
                raise Stopped from error
            raise ServerFailed(str(error)) from error

    def _stop_backend(self) -> None:
        if self._backend is not None:
            self._backend.stop()

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
        where = "its stats socket" if self._status is None else self._status.what
        silence = self.child.silence_sentence(where, START_LIMIT_S)
        raise ServerSilent(f"{silence}. {seen_of(self.pids, self.address, self.port)}")

    def _not_in_force(self) -> tuple[str, ...]:
        """What is otherwise than the file says. A worker that has just begun still has its parent's limit."""
        limits = [limit for pid in self.pids if (limit := open_files_of(pid)) is not None]
        return differences(
            self._order.target.name,
            self.text,
            max(limits, default=None),
            self.child.log.read_text(errors="replace") if self.child.log.is_file() else "",
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
        if self._status is not None:
            return self._status.answers(START_LIMIT_S / 10)
        try:
            StatsSocket(self.stats_socket).close()
        except StatsSocketError:
            return False
        return True


def workers_among(processes: Sequence[psutil.Process], title: str) -> set[int]:
    """The ids of those that call themselves so; of all without a title to tell them by.

    What ends by itself, as nginx's loader of its cache does, is no worker that has been lost.
    """
    found: set[int] = set()
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            if not title or " ".join(process.cmdline()).startswith(title):
                found.add(process.pid)
    return found
