"""A server of HTTP/2 that does as a script says, and the load generator asked over HTTP/2.

The server speaks through the library h2, which checks what the generator sends.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, RequestReceived, StreamEnded, StreamReset
from h2.settings import SettingCodes

ONE = ("--rate", "10", "--duration", "0.1", "--timeout", "30")
"""One session."""
BURSTS = "/page size=10\n /a size=10\n /b size=10\n /c size=10\n/next size=10\n"
"""A page, what lies in it, and the next page."""


@dataclass(frozen=True)
class Asked:
    """A request as the server read it, and its stream."""

    stream: int
    method: str
    path: str
    fields: dict[str, str]


@dataclass
class Peer:
    """The server's end of a connection, for scripts."""

    connection: Any
    limit: int = 100
    asked: list[Asked] = field(default_factory=list)
    """Whose END_STREAM has come."""
    reset: list[int] = field(default_factory=list)
    left: bool = False
    """The client has sent GOAWAY."""

    def __post_init__(self) -> None:
        self._begun: dict[int, Asked] = {}
        self.h2 = H2Connection(H2Configuration(client_side=False))
        self.h2.local_settings = self.h2.local_settings.__class__(
            client=False, initial_values={SettingCodes.MAX_CONCURRENT_STREAMS: self.limit}
        )
        self.h2.initiate_connection()
        self.flush()

    def flush(self) -> None:
        """Sends what is to be sent."""
        self.connection.send(self.h2.data_to_send())

    def read(self) -> bool:
        """Takes what comes next. Returns False at the end of the stream."""
        data = self.connection.socket.recv(65536)
        for event in self.h2.receive_data(data) if data else ():
            if isinstance(event, RequestReceived):
                fields = {_text(name): _text(value) for name, value in event.headers}
                self._begun[event.stream_id] = Asked(
                    event.stream_id, fields[":method"], fields[":path"], fields
                )
            elif isinstance(event, StreamEnded):
                self.asked.append(self._begun[event.stream_id])
            elif isinstance(event, StreamReset):
                self.reset.append(event.stream_id)
            elif isinstance(event, ConnectionTerminated):
                self.left = True
        self.flush()
        return bool(data)

    def await_asked(self, count: int) -> list[Asked]:
        """The first requests, when so many have been asked; what there is at the end of the stream."""
        while len(self.asked) < count and self.read():
            pass
        return self.asked

    def until_end(self) -> None:
        """Reads until the client closes."""
        while self.read():
            pass

    def reply(
        self, asked: Asked, body: bytes = b"1234567890", announced: int | None = None, **fields: str
    ) -> None:
        """A whole reply that announces so many bytes, those of the body if nothing is said."""
        head = {":status": "200", "content-length": str(len(body) if announced is None else announced)}
        head |= {name.replace("_", "-"): value for name, value in fields.items()}
        self.h2.send_headers(asked.stream, list(head.items()), end_stream=not body)
        if body:
            self.h2.send_data(asked.stream, body, end_stream=True)
        self.flush()


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


def answering(peer: Peer) -> None:
    """Answers one request after the other."""
    done = 0
    while len(peer.await_asked(done + 1)) > done:
        peer.reply(peer.asked[done])
        done += 1


@pytest.fixture
def serve_h2(serve: Callable[..., Any]) -> Callable[..., Any]:
    """Starts a scripted server; a script gets the Peer of each connection."""

    def start(script: Callable[[Peer], None], **options: Any) -> Any:
        return serve(lambda connection: script(Peer(connection, **options)))

    return start


@pytest.fixture
def ask(load: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """Runs trimtab-load over HTTP/2 and returns its result."""

    def run(url: str, *arguments: str, mode: str = "open") -> dict[str, Any]:
        return dict(load(url, "--http=2", *arguments, mode=mode).result)

    return run


def cells(result: dict[str, Any]) -> dict[str, int]:
    """The cells of the requests that are not zero."""
    return {name: n for name, n in result["requests"].items() if n and name != "offered"}
