"""Clients that do not get their request out are let go; those whose reply goes on are not."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import request_response
from starlette.types import Receive, Scope, Send
from trimtab_agent.api.http_protocol import REQUEST_TIMEOUT_S, ImpatientProtocol
from uvicorn import Config
from uvicorn.server import ServerState

WHOLE = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nfull"
STREAM = b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n"


@dataclass
class Wire(asyncio.Transport):
    """What the server writes, and whether it has hung up."""

    sent: bytearray = field(default_factory=bytearray)
    gone: bool = False

    def write(self, data: bytes) -> None:
        """Keeps what a client would read."""
        self.sent += data

    def close(self) -> None:
        """The connection ends."""
        self.gone = True

    abort = close

    def is_closing(self) -> bool:
        """Whether it has ended."""
        return self.gone

    def get_extra_info(self, name: str, default: object = None) -> object:
        """Nothing is known of this connection."""
        return default

    def pause_reading(self) -> None:
        """There is no reader."""

    def resume_reading(self) -> None:
        """There is no reader."""


@dataclass
class Timer:
    """Something to be done later, unless it is called off."""

    delay_s: float
    act: Callable[[], None]
    off: bool = False

    def cancel(self) -> None:
        """It is not done."""
        self.off = True


@dataclass
class Connection:
    """A client's connection to the server, and the timers that the server has set."""

    protocol: ImpatientProtocol
    wire: Wire
    timers: list[Timer]
    go_on: asyncio.Event

    async def send(self, data: bytes) -> None:
        """Sends, and lets the server do what it can without another word of the client."""
        self.protocol.data_received(data)
        await self.turns()

    async def turns(self) -> None:
        """Lets the server do what it can."""
        for _ in range(50):
            await asyncio.sleep(0)

    @property
    def waits(self) -> list[Timer]:
        """The timers for a request that are running."""
        return [timer for timer in self.timers if timer.delay_s == REQUEST_TIMEOUT_S and not timer.off]

    def time_passes(self) -> None:
        """All that is waited for has not come."""
        for timer in self.waits:
            timer.act()


def connected(test):
    """Runs a test with a connection."""

    async def run() -> None:
        go_on = asyncio.Event()

        async def echo(request: Request) -> PlainTextResponse:
            return PlainTextResponse((await request.body()).decode())

        async def stream(send: Send) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"first", "more_body": True})
            await go_on.wait()
            await send({"type": "http.response.body", "body": b"last"})

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["path"] == "/stream":
                await stream(send)
            else:
                await request_response(echo)(scope, receive, send)

        loop, timers, wire = asyncio.get_running_loop(), [], Wire()
        config = Config(app, log_config=None)
        config.load()
        protocol = ImpatientProtocol(config, ServerState(), {}, loop)

        def call_later(delay_s: float, act: Callable[[], None], *_rest: object) -> Timer:
            timers.append(Timer(delay_s, act))
            return timers[-1]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loop, "call_later", call_later)
            protocol.connection_made(wire)
            await test(Connection(protocol, wire, timers, go_on))

    return lambda: asyncio.run(run())


def closed_after(*parts):
    """What a client has read when the server gives up waiting for the rest."""
    seen = []

    @connected
    async def ask(client):
        for part in parts:
            await client.send(part)
        assert len(client.waits) == 1
        client.time_passes()
        assert client.wire.gone
        seen.append(bytes(client.wire.sent))

    ask()
    return seen[0]


@pytest.mark.parametrize(
    "parts",
    [(), (STREAM[:20],), (STREAM[:20], STREAM[20:-2]), (WHOLE[:-2],), (WHOLE[:-3], WHOLE[-3:-1])],
    ids=["nothing", "head", "more of a head", "body", "more of a body"],
)
def test_half_a_request_is_not_waited_for(parts):
    """The connection is closed, without a reply to what was never asked; more of it helps nothing."""
    assert closed_after(*parts) == b""


def test_half_a_second_request_is_not_waited_for_either():
    """What came before it is answered."""
    received = closed_after(WHOLE, WHOLE[:20])
    assert received.count(b"HTTP/1.1 200") == 1
    assert received.endswith(b"full")


def test_more_bytes_do_not_give_more_time():
    """Or a byte a second would hold a connection for good."""

    @connected
    async def ask(client):
        (first,) = client.waits
        for byte in STREAM[:30]:
            await client.send(bytes([byte]))
        assert client.waits == [first]

    ask()


def test_reply_that_goes_on_is_not_cut_off():
    """A live stream lasts for hours, and its client has nothing to say meanwhile."""

    @connected
    async def ask(client):
        await client.send(STREAM)
        assert b"first" in client.wire.sent
        assert client.waits == []
        client.go_on.set()
        await client.turns()
        assert b"last" in client.wire.sent
        assert len(client.waits) == 1

    ask()
