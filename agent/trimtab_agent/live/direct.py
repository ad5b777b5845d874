"""Requests of our own to one server of those that share a port, past the weights (filters.py).

They come from a reserved port of the loopback address, so only root can send them. They are for pages that
production tells its counts on, and for what an arm is asked before anybody else asks it.
"""

import errno
import http.client
import random
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress

from trimtab_agent.errors import HostError
from trimtab_agent.live.filters import MOST_DIRECT, RESERVED
from trimtab_agent.live.listening import Listener

TIMEOUT_S = 2.0
MOST_BYTES = 1 << 20
PORTS_TRIED = 16
# Loopback addresses that answer for a server that listens everywhere.
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - not listened on
_TAKEN = frozenset({errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES})


class NoAnswer(HostError):
    """A server did not answer a request of ours; the sentence says how."""


class Line:
    """A connection to the server of that index at a listener, opened anew whenever it was closed.

    Production is 0, the arms follow in their order. Where nobody shares the port, that is production too.
    """

    def __init__(self, listener: Listener, index: int = 0) -> None:
        if not 0 <= index < MOST_DIRECT:
            raise ValueError(f"index {index}: expected one of {MOST_DIRECT}")
        self._listener, self._index = listener, index
        self._connection: http.client.HTTPConnection | None = None
        self._tls = False

    def get(self, path: str, host: str = "localhost", timeout_s: float = TIMEOUT_S) -> tuple[int, bytes]:
        """Status and at most a MiB of the body; raises NoAnswer."""
        kept = self._connection is not None
        try:
            status, body = self._asked(path, {"Host": host}, timeout_s)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            if kept:  # it had closed the connection meanwhile
                return self.get(path, host, timeout_s)
            if not self._tls and self._finds_tls(timeout_s):
                return self.get(path, host, timeout_s)
            raise NoAnswer(f"{self._listener.address} {path}: {error or type(error).__name__}") from error
        if (
            status == http.HTTPStatus.BAD_REQUEST
            and not kept
            and not self._tls
            and self._finds_tls(timeout_s)
        ):
            self.close()
            return self.get(path, host, timeout_s)
        return status, body

    def close(self) -> None:
        """Closes the connection; get() opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _asked(self, path: str, headers: Mapping[str, str], timeout_s: float) -> tuple[int, bytes]:
        """Raises OSError and HTTPException."""
        if self._connection is None:
            self._connection = self._opened(timeout_s)
        self._connection.request("GET", path, headers=headers)
        reply = self._connection.getresponse()
        body = reply.read(MOST_BYTES)
        if reply.will_close or not reply.isclosed():
            self.close()
        return reply.status, body

    def _opened(self, timeout_s: float) -> http.client.HTTPConnection:
        plain = self._connected(timeout_s)
        connection = http.client.HTTPConnection(self._listener.host, self._listener.port)
        try:
            connection.sock = _unverified().wrap_socket(plain) if self._tls else plain
        except OSError:
            plain.close()
            raise
        return connection

    def _finds_tls(self, timeout_s: float) -> bool:
        """Whether a handshake succeeds there; who it is does not matter, it stays on this host."""
        with suppress(OSError), self._connected(timeout_s) as plain, _unverified().wrap_socket(plain):
            self._tls = True
        return self._tls

    def _connected(self, timeout_s: float) -> socket.socket:
        """Raises OSError."""
        host = EVERYWHERE.get(self._listener.host, self._listener.host)
        family, source = (socket.AF_INET6, "::1") if ":" in host else (socket.AF_INET, "127.0.0.1")
        ports = random.sample(range(RESERVED.start + self._index, RESERVED.stop, MOST_DIRECT), PORTS_TRIED)
        for port in ports:
            connection = socket.socket(family)
            connection.settimeout(timeout_s)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                connection.bind((source, port))
                connection.connect((host, self._listener.port))
            except OSError as error:
                connection.close()
                if error.errno not in _TAKEN or port == ports[-1]:
                    raise
                continue
            return connection
        raise AssertionError("the last port was tried")


def _unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
