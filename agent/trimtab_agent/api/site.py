"""What browsers are shown: the files of the web UI's build, its first page for every address the UI routes by
itself, and the built documentation.
"""

from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Trimtab</title></head>
<body>
{}
</body>
</html>
"""
NO_WEBUI = """<h1>The web UI has not been built</h1>
<p>The daemon is running and its API answers under <a href="/api/v1/health">/api/v1</a>.
<code>make up</code> in the checkout builds the web UI and starts the daemon with it.</p>"""
NO_DOCS = """<h1>The documentation has not been built</h1>
<p><code>make docs</code> in the checkout builds it; then start the daemon again. The same pages are the files
in the folder <code>docs</code>.</p>"""


def has_pages(directory: Path) -> bool:
    """Whether a site has been built into the directory."""
    return (directory / "index.html").is_file()


def make_site(directory: Path) -> ASGIApp:
    """What answers the requests that no route of the API has claimed: the UI, or how to build it."""
    return Site(directory) if has_pages(directory) else NotBuilt(NO_WEBUI)


def make_docs(directory: Path) -> ASGIApp:
    """What answers below /docs: the documentation, or how to build it."""
    return Docs(directory=directory, html=True) if has_pages(directory) else NotBuilt(NO_DOCS)


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


class Docs(StaticFiles):
    """The built documentation. A build leaves the names of pages as they are, so each is asked for anew."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file at `path`, or the first page of a folder; raises HTTPException 404 or 405."""
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response


class NotBuilt:
    """A page that says how to build what is missing, whatever page was asked for."""

    def __init__(self, text: str) -> None:
        self._page = PAGE.format(text)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 503; raises HTTPException 404 for the API and 405."""
        _refuse_api(scope)
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"Allow": "GET, HEAD"})
        await HTMLResponse(self._page, status_code=503)(scope, receive, send)


def _refuse_api(scope: Scope) -> None:
    if scope["path"] == "/api" or scope["path"].startswith("/api/"):
        raise HTTPException(404)
