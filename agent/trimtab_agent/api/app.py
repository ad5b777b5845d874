"""Puts the daemon's HTTP face together: routes, errors, gate, documentation, web UI."""

from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.responses import RedirectResponse

from trimtab_agent import __version__
from trimtab_agent.api.context import Context
from trimtab_agent.api.errors import add_error_handlers
from trimtab_agent.api.gate import Gate
from trimtab_agent.api.head import HeadAsGet
from trimtab_agent.api.routes import (
    affinity,
    catalogue,
    compare,
    exports,
    fleet,
    live,
    live_tuning,
    runs,
    system,
    trials,
)
from trimtab_agent.api.schemas import ErrorBody
from trimtab_agent.api.site import has_pages, make_docs, make_site
from trimtab_agent.settings import AgentSettings


def make_api() -> FastAPI:
    """The routes and what they answer with: all that the OpenAPI document is made from."""
    app = FastAPI(
        title="Trimtab",
        summary="Finds the configuration at which a web server performs best on this machine.",
        version=__version__,
        openapi_url="/api/v1/openapi.json",
        # Their pages load scripts from another host.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_operation_id,
        responses={
            "4XX": {"model": ErrorBody, "description": "The request cannot be met."},
            "5XX": {"model": ErrorBody, "description": "The daemon cannot do its work."},
        },
    )
    for part in (system, affinity, catalogue, runs, compare, trials, exports, fleet, live, live_tuning):
        app.include_router(part.router, prefix="/api/v1")
    add_error_handlers(app)
    _document_errors(app)
    return app


def _document_errors(app: FastAPI) -> None:
    """Errors are JSON everywhere. FastAPI would document them in the type of a route's own replies."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        document = made()
        for path in document["paths"].values():
            for operation in path.values():
                for status in ("4XX", "5XX"):
                    content = operation["responses"][status].get("content", {})
                    if "application/json" not in content and content:
                        content["application/json"] = content.pop(next(iter(content)))
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def create_app(settings: AgentSettings, context: Context) -> FastAPI:
    """The whole application: the API at work on `context`, guarded, with the documentation at /docs and the
    web UI at every other address."""
    app = make_api()
    app.state.context = context
    app.state.documentation = has_pages(settings.docs_site)
    app.add_middleware(HeadAsGet)
    app.add_middleware(Gate, access=context.access)
    app.add_route("/docs", lambda _: RedirectResponse("/docs/"), include_in_schema=False)
    app.mount("/docs", make_docs(settings.docs_site))
    # The default and not a mount: a mount at `/` would answer 404 where a route wants to answer 405.
    app.router.default = make_site(settings.webui)
    return app


def _operation_id(route: APIRoute) -> str:
    return route.name
