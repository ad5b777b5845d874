"""HTTP as uvicorn speaks it, with an end to waiting: a client that does not get its request out is let go.

uvicorn waits for as long as it takes for the head of a request, and for its body. So a few hundred
connections that send half of one would hold that many descriptors for good. Here a connection has
`REQUEST_TIMEOUT_S` to send a whole head, from its start or from the end of the last reply; and as long again
for the body. A live stream, whose reply goes on, has none of these limits.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_TIMEOUT_S = 20.0


class ImpatientProtocol(H11Protocol):
    """Closes a connection whose request does not come in time."""

    request_timeout_s = REQUEST_TIMEOUT_S

    _deadline: asyncio.TimerHandle | None = None
    _awaited: object = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Waits for the first head."""
        super().connection_made(transport)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Waits for nothing more."""
        super().connection_lost(exc)
        self._wait_for(None)

    def handle_events(self) -> None:
        """Takes in what has come, and sees what is still to come."""
        super().handle_events()
        self._watch()

    def on_response_complete(self) -> None:
        """After a reply the next head is waited for."""
        super().on_response_complete()
        self._watch()

    def _watch(self) -> None:
        """Starts the time again only when something else is waited for than before."""
        state = self.conn.their_state
        if self.transport.is_closing() or state not in (h11.IDLE, h11.SEND_BODY):
            self._wait_for(None)
        elif state is h11.SEND_BODY:
            self._wait_for(("body", self.cycle))
        else:
            self._wait_for(("head", self.cycle))

    def _wait_for(self, awaited: object) -> None:
        if awaited == self._awaited:
            return
        self._awaited = awaited
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if awaited is not None:
            self._deadline = self.loop.call_later(self.request_timeout_s, self._give_up)

    def _give_up(self) -> None:
        self.transport.abort()
