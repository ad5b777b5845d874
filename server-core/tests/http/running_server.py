"""A server under test: its files, its clients, its counters and its end."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .clients import TIMEOUT_S, Connection, StatsClient, eventually
from .modes import BINARY

if TYPE_CHECKING:
    from collections.abc import Callable


class Server:
    """A running trimtab-httpd."""

    def __init__(
        self,
        directory: Path,
        knobs: dict[str, object],
        launch: Callable[..., Any] = subprocess.Popen,
        sections: str = "",
    ) -> None:
        self.root = Path(str(knobs.get("root", directory / "root")))
        self.root.mkdir(exist_ok=True)
        self.log_path = directory / "log"
        settings = {
            "root": self.root,
            "listen": "127.0.0.1:0",
            "stats_socket": directory / "stats",
            "keepalive_timeout": 120,  # a client that stands still for a while is not to be cut off for it
            "request_timeout": 120,
            **knobs,
        }
        self.stats_path = Path(str(settings["stats_socket"]))
        self.configuration = directory / "server.ini"
        lines = [f"{name} = {value}" for name, value in settings.items()]
        self.configuration.write_text("\n".join(["[server]", *lines, sections]))
        with self.log_path.open("wb") as log:
            self.process = launch([BINARY, "-c", self.configuration], stderr=log)
        self.open_clients: list[Connection | StatsClient] = []
        self.stats_client: StatsClient | None = None
        eventually(self._is_ready, "the server is ready")
        host, port = self.command("show info")["listen"][0].rsplit(":", 1)
        self.address = (host.strip("[]"), int(port))

    def _is_ready(self) -> bool:
        if self.process.poll() is not None:
            pytest.fail(f"the server ended: {self.log()}")
        with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
            self.stats_client = self.connect_stats()
            return True
        return False

    def log(self) -> str:
        """Return what the server has written to stderr."""
        return self.log_path.read_text()

    def write(self, name: str, contents: bytes) -> Path:
        """Make a file below the root."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents)
        return path

    def connect(self, receive_buffer: int = 0) -> Connection:
        """Open a connection, which is closed with the server at the latest."""
        connection = Connection(self.address, receive_buffer)
        self.open_clients.append(connection)
        return connection

    def begin_requests(self, *connections: Connection) -> None:
        """Send the beginning of a request, and await that it has been read: who is idle would give way."""
        for connection in connections:
            connection.send(b"GET /fi")
        ports = {connection.socket.getsockname()[1] for connection in connections}

        def are_read() -> bool:
            for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
                _, local, remote, _, queues, *_ = line.split()
                ends = {int(end.rpartition(":")[2], 16) for end in (local, remote)}
                if self.address[1] in ends and ends & ports and int(queues.replace(":", ""), 16):
                    return False  # on its way still, or not read
            return True

        eventually(are_read, "the server has read what was sent")

    def visit(self, target: str, times: int = 1) -> tuple[list[bytes], int]:
        """Ask so often; return the bodies, and how many connections that took.

        A client that stands still for half a second while others wait gives way to them, and comes again.
        """
        bodies: list[bytes] = []
        connection = self.connect()
        connections = 1
        while len(bodies) < times:
            try:
                bodies.append(connection.get(target).body)
            except (ConnectionError, pytest.fail.Exception):
                connection.close()
                connection = self.connect()
                connections += 1
        connection.close()
        return bodies, connections

    def connect_stats(self) -> StatsClient:
        """Open another connection to the stats socket."""
        client = StatsClient(self.stats_path)
        self.open_clients.append(client)
        return client

    def command(self, line: str) -> Any:
        """Carry out a command of the stats socket."""
        assert self.stats_client is not None
        return self.stats_client.command(line)

    def total(self) -> dict[str, Any]:
        """Return the metrics in total."""
        return self.command("show stats")["total"]

    def await_total(self, **expected: int) -> None:
        """Await that the named metrics have the given values."""

        seen: dict[str, Any] = {}

        def reached() -> bool:
            total = self.total()
            seen.update({name: total[name] for name in expected})
            return seen == expected

        eventually(reached, lambda: f"{expected}, but {seen}")

    def worker_pids(self) -> list[int]:
        """Return the process ids of the workers."""
        return [worker["pid"] for worker in self.command("show info")["workers"]]

    def disconnect_clients(self) -> None:
        """Close all connections that tests opened."""
        for client in self.open_clients:
            if client is not self.stats_client:
                client.close()
        self.open_clients = [self.stats_client] if self.stats_client else []

    def stop(self) -> None:
        """End the server if it still runs, and fail if it complained about itself."""
        self.disconnect_clients()
        if self.stats_client:
            self.stats_client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(TIMEOUT_S) in {0, -signal.SIGKILL}, self.log()
        assert "Sanitizer" not in self.log(), self.log()
        assert "runtime error" not in self.log(), self.log()
