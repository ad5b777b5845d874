"""Client of trimtab-httpd's stats socket: one command a line, one JSON document a line back.

The protocol is written up in docs/internals/stats-socket.md.  One connection serves any number of commands.
"""

import json
import os
import socket
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from trimtab_agent.counters.server import plain_metrics


class StatsSocketError(Exception):
    """The server does not answer on its stats socket, or answers with an error."""


class StatsSocket:
    """A connection to the stats socket at `path`; raises StatsSocketError when nobody listens there."""

    def __init__(self, path: Path, *, timeout_s: float = 2.0) -> None:
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self._socket.settimeout(timeout_s)
        try:
            _connect(self._socket, path)
        except OSError as error:
            self._socket.close()
            raise StatsSocketError(f"stats socket {path}: {error.strerror or error}") from error
        self._lines = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection."""
        self._lines.close()
        self._socket.close()

    def ask(self, command: str) -> Any:  # noqa: ANN401 - each command has its own document
        """Sends one command and returns the document that comes back.

        Raises StatsSocketError when the server has gone, does not answer in time, or refuses the command.
        """
        document = json.loads(self._answer(command))
        if isinstance(document, dict) and "error" in document:
            raise StatsSocketError(f"stats socket {self._path}: {command}: {document['error']['message']}")
        return document

    def metrics(self) -> list[str]:
        """The lines of `show metrics`, without the comments; raises StatsSocketError."""
        lines = []
        line = self._answer("show metrics")
        while line != b"# EOF\n":
            lines.append(line.decode())
            line = self._line("show metrics")
        return [line for line in lines if not line.startswith("#")]

    def total(self) -> dict[str, float]:
        """The plain counters and gauges of `show stats`, added up over the workers."""
        return plain_metrics(self.ask("show stats")["total"])

    def _answer(self, command: str) -> bytes:
        """Sends one command, and returns the first line of what comes back."""
        try:
            self._socket.sendall(command.encode() + b"\n")
        except OSError as error:
            raise StatsSocketError(f"stats socket {self._path}: {command}: {error}") from error
        return self._line(command)

    def _line(self, command: str) -> bytes:
        """The next line of the answer to a command."""
        try:
            line = self._lines.readline()
        except OSError as error:
            raise StatsSocketError(f"stats socket {self._path}: {command}: {error}") from error
        if not line.endswith(b"\n"):
            raise StatsSocketError(f"stats socket {self._path}: {command}: the server closed the connection")
        return line


def _connect(connection: socket.socket, path: Path) -> None:
    # By way of a descriptor: unix(7) gives a path 107 bytes, and directories lie deeper.
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        connection.connect(f"/proc/self/fd/{directory}/{path.name}")
    finally:
        os.close(directory)
