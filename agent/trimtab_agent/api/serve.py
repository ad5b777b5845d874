"""Listens and serves until told to end; an open live stream does not delay the end."""

import asyncio
import errno
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI
from uvicorn.server import HANDLED_SIGNALS

from trimtab_agent.api.http_protocol import ImpatientProtocol
from trimtab_agent.errors import HostError
from trimtab_agent.settings import AgentSettings

GRACE_S = 5
LAST_PORT = 65_535
_ADVICE = {
    errno.EADDRNOTAVAIL: "; expected an address of this machine",
    errno.EACCES: "; expected a port from 1024 on, those below are for root",
}


def listen(settings: AgentSettings) -> socket.socket:
    """A listening socket on the configured address; raises `HostError` if it cannot be had.

    Made before the application, which has to know the port for its check of Host headers.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind)
    except UnicodeError as error:  # before anybody is asked for it
        raise HostError(f"the daemon cannot listen on {settings.host}: that is no name of a host") from error
    except OSError as error:
        raise HostError(f"the daemon cannot listen on {settings.host}: {error.strerror}") from error
    try:
        # A daemon that has just ended leaves connections in TIME_WAIT; they are no reason not to start.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise HostError(
            f"the daemon cannot listen on port {settings.port} of {settings.host}: {error.strerror}"
            f"{_in_use(settings) if error.errno == errno.EADDRINUSE else _ADVICE.get(error.errno or 0, '')}"
        ) from error
    return listener


def _in_use(settings: AgentSettings) -> str:
    """What to type where something else has the port."""
    other = settings.port + 1 if settings.port < LAST_PORT else 0
    command = f"trimtab up{' --demo' if settings.demo else ''} --port {other}"
    return f"; another daemon may be running. On another port: {command}"


def serve(app: FastAPI, listeners: list[socket.socket]) -> None:
    """Serve `app` on the listeners until SIGTERM or SIGINT, then finish what is being answered."""
    config = uvicorn.Config(
        app,
        http=ImpatientProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    DaemonServer(config, app.state.context.closing).run(listeners)


class DaemonServer(uvicorn.Server):
    """Tells the live streams to end as the first thing of a shutdown; uvicorn waits for them otherwise."""

    def __init__(self, config: uvicorn.Config, closing: asyncio.Event) -> None:
        super().__init__(config)
        self._closing = closing

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """SIGTERM and SIGINT end the serving, and nothing more.

        uvicorn would raise the signal again afterwards and so kill the process before it has stopped its run.
        """
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread may set handlers; whoever started this one ends it
            return
        before = {number: signal.signal(number, self.handle_exit) for number in HANDLED_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Set `closing`, then shut down."""
        self._closing.set()
        await super().shutdown(sockets)
