"""HEAD of what can be got: the reply of GET without its body (RFC 9110, section 9.3.2).

The framework's routes take the methods that they name, and would document each. Here a HEAD is asked as GET,
and its reply is complete where the body would begin. The server tells a stream so, which ends as it does when
nobody listens any more.
"""

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HeadAsGet:
    """Pure ASGI, for the addresses of the API; pages are served by what knows HEAD itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on."""
        if scope["type"] != "http" or scope["method"] != "HEAD" or not scope["path"].startswith("/api/"):
            await self._app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body"})

        await self._app({**scope, "method": "GET"}, receive, send_head)
