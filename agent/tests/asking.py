"""Clients that ask a server for its page at a steady rate, each on a connection of its own.

They do not wait for each other: where some hang, others ask on.
"""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

REQUEST = b"GET /page HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
PAUSE_S = 0.005
LIMIT_S = 10.0


@dataclass(frozen=True)
class Failure:
    """A request without the page in its reply: when it began and ended (monotonic), and how."""

    began_s: float
    ended_s: float
    how: str


@dataclass
class Asked:
    """What the clients have met up to now."""

    port: int
    page: bytes
    answered: int = 0
    failures: list[Failure] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _end: threading.Event = field(default_factory=threading.Event)

    def once(self) -> str:
        """Asks for the page; how that failed, empty if it did not."""
        reply = b""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT_S) as connection:
                connection.sendall(REQUEST)
                while part := connection.recv(1 << 16):
                    reply += part
        except OSError as error:
            return repr(error)
        if reply.startswith(b"HTTP/1.1 200 ") and reply.endswith(self.page):
            return ""
        return reply.partition(b"\r\n")[0].decode() or "no reply"

    def _note(self) -> None:
        """One request, and what came of it."""
        began_s = time.monotonic()
        how = self.once()
        with self._lock:
            if how:
                self.failures.append(Failure(began_s, time.monotonic(), how))
            else:
                self.answered += 1

    def ask(self) -> None:
        """Asks until `end`, and waits for what was asked."""
        clients: list[threading.Thread] = []
        while not self._end.wait(PAUSE_S):
            clients = [each for each in clients if each.is_alive()]
            clients.append(threading.Thread(target=self._note))
            clients[-1].start()
        for client in clients:
            client.join()

    def end(self) -> None:
        """No more requests."""
        self._end.set()


@contextmanager
def asking(port: int, page: bytes) -> Iterator[Asked]:
    """Requests until the end of the block."""
    asked = Asked(port, page)
    thread = threading.Thread(target=asked.ask)
    thread.start()
    try:
        yield asked
    finally:
        asked.end()
        thread.join()
