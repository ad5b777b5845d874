"""Free TCP ports, for servers that are told in a file where to listen.

The kernel could give a port to somebody else before the server listens at it. So it stays bound until the
server answers: servers set SO_REUSEADDR, and with that one socket may listen where another is only bound.
"""

import socket
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from trimtab_agent.errors import HostError

ADDRESS = "127.0.0.1"


class HeldPorts:
    """Ports that the kernel gives to nobody else until they are let go."""

    def __init__(self) -> None:
        self._held = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.let_go()

    def take(self, address: str = ADDRESS) -> int:
        """A TCP port of `address` at which nobody listens; raises HostError."""
        holder = self._held.enter_context(socket.socket())
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            holder.bind((address, 0))
        except OSError as error:
            raise HostError(f"no free TCP port on {address}: {error.strerror}") from error
        port: int = holder.getsockname()[1]
        return port

    def let_go(self) -> None:
        """Whoever listens there goes on listening."""
        self._held.close()
