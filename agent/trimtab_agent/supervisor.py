"""One start of the server under test: render, check, start, wait until it answers, stop.

Everything of one start lies in the run's log directory under one name: `trial-3.conf`, `trial-3.log`, and the
stats socket while it runs (there, unless the path would be longer than a socket's address may be).
"""

import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from trimtab_tuner.records import Configuration
from trimtab_tuner.targets.base import RenderContext, Target

from trimtab_agent.children import Child, StopSignal, last_line
from trimtab_agent.errors import HostError
from trimtab_agent.load_generator import Stopped
from trimtab_agent.stats_socket import StatsSocket, StatsSocketError

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
    """What is to be started: `name` names its files in `directory`."""

    program: Path
    target: Target
    configuration: Configuration
    root: Path
    cpus: tuple[int, ...]
    directory: Path
    name: str


class TargetServer:
    """A running server that answers; `text` is the configuration it runs with.

    Raises ConfigurationRejected, ServerFailed, or Stopped when a stop is requested before it answers.
    """

    def __init__(self, order: ServerOrder, stop: StopSignal) -> None:
        self.port = free_port()
        self.url = f"http://{ADDRESS}:{self.port}"
        self._socket_directory: tempfile.TemporaryDirectory[str] | None = None
        self.stats_socket = self._choose_socket_path(order)
        context = RenderContext(
            root=str(order.root),
            listen=(f"{ADDRESS}:{self.port}",),
            stats_socket=str(self.stats_socket),
            server_cpus=order.cpus,
            prefix=str(order.directory),
        )
        self.text = order.target.render(order.configuration, context)
        file = order.directory / f"{order.name}.conf"
        file.write_text(self.text)
        self._check(order, file)
        self.child = Child(
            (str(order.program), "-c", str(file)),
            cpus=order.cpus,
            log=order.directory / f"{order.name}.log",
        )
        try:
            self.pids = self._wait_until_it_answers(stop)
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

    def stop(self) -> None:
        """Ends the server with all its processes; the stats socket goes as well."""
        self.child.stop()
        self.stats_socket.unlink(missing_ok=True)
        if self._socket_directory is not None:
            self._socket_directory.cleanup()

    def stats(self) -> dict[str, float]:
        """The server's own counters; empty when it does not answer any more."""
        try:
            with StatsSocket(self.stats_socket) as stats:
                return stats.total()
        except StatsSocketError:
            return {}

    def worker_restarts(self) -> int:
        """How many workers its master has had to replace; 0 when it does not answer any more."""
        try:
            with StatsSocket(self.stats_socket) as stats:
                return int(stats.ask("show info")["worker_restarts"])
        except StatsSocketError:
            return 0

    def _choose_socket_path(self, order: ServerOrder) -> Path:
        path = (order.directory / f"{order.name}.sock").resolve()
        if len(str(path).encode()) > SOCKET_PATH_BYTES:
            self._socket_directory = tempfile.TemporaryDirectory(prefix="trimtab-")
            path = Path(self._socket_directory.name) / "stats.sock"
        path.unlink(missing_ok=True)
        return path

    @staticmethod
    def _check(order: ServerOrder, file: Path) -> None:
        command = order.target.check_command(str(file), str(order.program))
        check = subprocess.run(command, capture_output=True, text=True, timeout=CHECK_LIMIT_S, check=False)
        if check.returncode != 0:
            output = check.stderr.strip() or check.stdout.strip()
            raise ConfigurationRejected(output or f"{command[0]} ended with exit code {check.returncode}")

    def _wait_until_it_answers(self, stop: StopSignal) -> tuple[int, ...]:
        """Waits for the stats socket, which answers once the ports accept; returns the server's pids."""
        deadline = time.monotonic() + START_LIMIT_S
        while time.monotonic() < deadline:
            try:
                with StatsSocket(self.stats_socket) as stats:
                    info = stats.ask("show info")
                return (info["pid"], *(worker["pid"] for worker in info["workers"]))
            except StatsSocketError:
                # Not there yet; meanwhile look out for its death and for a stop.
                if stop.wait(RETRY_S, self.child):
                    if stop.requested:
                        raise Stopped from None
                    self.child.wait(0)
                    raise ServerFailed(self.child.death_sentence()) from None
        raise ServerFailed(
            f"{self.child.name} did not answer on its stats socket within {START_LIMIT_S:.0f} s: "
            f"{last_line(self.child.log)}"
        )


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on, by asking the kernel for one."""
    with socket.socket() as probe:
        try:
            probe.bind((ADDRESS, 0))
        except OSError as error:
            raise HostError(f"no free TCP port on {ADDRESS}: {error.strerror}") from error
        port: int = probe.getsockname()[1]
        return port
