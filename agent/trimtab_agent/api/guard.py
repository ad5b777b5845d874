"""The middleware in front of everything: checks who asks, and adds the security headers to every answer."""

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trimtab_agent.api.access import Access, AccessDenied
from trimtab_agent.api.errors import error_reply
from trimtab_agent.api.headers import SECURITY_HEADERS


class Guard:
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
                MutableHeaders(scope=message).update(SECURITY_HEADERS)
            await send(message)

        try:
            self._access.check(scope["method"], scope["path"], Headers(scope=scope))
        except AccessDenied as denied:
            await error_reply(denied.status, denied.code, denied.sentence)(scope, receive, send_guarded)
        else:
            await self._app(scope, receive, send_guarded)
