"""The middleware in front of everything: checks who asks, limits what is sent, adds the security headers.

The framework has a limit of its own for bodies, but answers an excess in words of its own.
"""

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trimtab_agent.api.access import Access, AccessDenied
from trimtab_agent.api.errors import error_reply
from trimtab_agent.api.headers import SECURITY_HEADERS
from trimtab_agent.api.local import is_local

LARGEST_BODY_BYTES = 1 << 20


class Gate:
    """Pure ASGI, so that the live stream passes through unbuffered."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer with what is wrong with it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(SECURITY_HEADERS)
                if scope["path"].startswith("/api/"):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            if not is_local(scope):
                client = (scope.get("client") or ("",))[0]
                self._access.check(scope["method"], scope["path"], Headers(scope=scope), client)
        except AccessDenied as denied:
            reply = error_reply(denied.status, denied.code, denied.sentence, headers=denied.headers)
            await reply(scope, receive, send_guarded)
        else:
            await self._app(scope, _limited(receive), send_guarded)


def _limited(receive: Receive) -> Receive:
    """Raises HTTPException 413 once the request's body has grown too large, for its reader to pass on."""
    received = 0

    async def receive_limited() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > LARGEST_BODY_BYTES:
            raise HTTPException(413, f"A body has at most {LARGEST_BODY_BYTES} bytes")
        return message

    return receive_limited
