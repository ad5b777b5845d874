"""The web UI: the files of its build, and its first page for every address the UI routes by itself."""

from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

NOT_BUILT = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Trimtab</title></head>
<body>
<h1>The web UI has not been built</h1>
<p>The daemon is running and its API answers under <a href="/api/v1/health">/api/v1</a>.
<code>make up</code> in the checkout builds the web UI and starts the daemon with it.</p>
</body>
</html>
"""


def make_site(directory: Path) -> ASGIApp:
    """What answers the requests that no route of the API has claimed: the UI, or how to build it."""
    return Site(directory) if (directory / "index.html").is_file() else answer_not_built


class Site(StaticFiles):
    """The built UI.

    A deep link such as `/runs/7` is a place inside the UI and gets its first page; an unknown address under
    `/api` or a missing asset is a plain 404, so that a mistake in a program does not look like success.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(directory=directory, html=True)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file at `path` or the first page; raises HTTPException 404 or 405."""
        _refuse_api(scope)
        try:
            response = await super().get_response(path, scope)
        except HTTPException as error:
            if error.status_code != 404 or Path(path).suffix:
                raise
            response = await super().get_response("index.html", scope)
        # Assets carry a hash of their contents in their names; the page naming them must be asked for anew.
        response.headers["Cache-Control"] = (
            "public, max-age=31536000, immutable" if path.startswith("assets/") else "no-cache"
        )
        return response


async def answer_not_built(scope: Scope, receive: Receive, send: Send) -> None:
    """The page that says how to build the UI, whatever page was asked for."""
    _refuse_api(scope)
    if scope["method"] not in ("GET", "HEAD"):
        raise HTTPException(405, headers={"Allow": "GET, HEAD"})
    await HTMLResponse(NOT_BUILT, status_code=503)(scope, receive, send)


def _refuse_api(scope: Scope) -> None:
    if scope["path"] == "/api" or scope["path"].startswith("/api/"):
        raise HTTPException(404)
