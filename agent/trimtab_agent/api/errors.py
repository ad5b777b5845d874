"""Every failure as the one canonical body: `{"error": {"code": …, "message": …, "field": …}}`.

`code` is for programs and stays the same; `message` is a sentence for people; `field` names the input at
fault.
"""

import re
from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Match
from trimtab_db import errors as database

from trimtab_agent import errors as agent
from trimtab_agent.api.access import AccessDenied
from trimtab_agent.api.headers import SECURITY_HEADERS
from trimtab_agent.api.schemas import Error, ErrorBody

STATUS_OF_AGENT_ERROR: Mapping[type[agent.TrimtabError], int] = {
    agent.SpecError: 422,
    agent.RunConflict: 409,
    agent.RunNotRunning: 409,
    agent.RunNotResumable: 409,
    agent.RunGoingOn: 409,
    agent.LiveConflict: 409,
    agent.RunChanged: 409,
    agent.TrialNotRepeatable: 409,
    agent.LiveRequestRefused: 409,
    agent.BinaryMissing: 503,
    agent.FileSetError: 503,
    agent.HostError: 503,
    agent.GeneratorsLost: 503,
    agent.FleetError: 503,
    agent.StationLost: 503,
}

STATUS_OF_DATABASE_ERROR: Mapping[type[database.DatabaseError], tuple[int, str]] = {
    database.RecordNotFoundError: (404, "not-found"),
    database.RecordConflictError: (409, "record-conflict"),
    database.RecordChangedError: (412, "changed-meanwhile"),
    database.LeaseLostError: (409, "lease-lost"),
    database.DatabaseLockedError: (503, "database-locked"),
    database.DatabaseReadOnlyError: (503, "database-read-only"),
    database.DatabaseFullError: (503, "disk-full"),
    database.DatabaseUnavailableError: (503, "database-unavailable"),
    database.SchemaTooNewError: (503, "schema-too-new"),
}

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
CODE_OF_STATUS = {404: "not-found", 405: "method-not-allowed", 413: "body-too-large"}


def error_reply(
    status: int, code: str, message: str, field: str | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """A reply with the canonical body."""
    body = ErrorBody(error=Error(code=code, message=_sendable(message), field=field and _sendable(field)))
    return JSONResponse(body.model_dump(), status_code=status, headers=headers)


def _sendable(text: str) -> str:
    """The text as UTF-8 has it: JSON may name half a character, and a file bytes that are none."""
    return text.encode(errors="backslashreplace").decode()


def add_error_handlers(app: FastAPI) -> None:
    """Answer every exception that leaves a route of `app`."""
    app.add_exception_handler(agent.TrimtabError, _agent_error)
    app.add_exception_handler(database.DatabaseError, _database_error)
    app.add_exception_handler(AccessDenied, _access_denied)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected)


def _agent_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, agent.TrimtabError)  # noqa: S101 - what the handler is registered for
    status = STATUS_OF_AGENT_ERROR.get(type(error), 500)
    return error_reply(status, error.code, error.sentence, getattr(error, "field", None))


def _database_error(_request: Request, error: Exception) -> Response:
    status, code = STATUS_OF_DATABASE_ERROR.get(type(error), (503, "database"))  # type: ignore[arg-type]
    headers = {"Retry-After": "1"} if code == "database-locked" else None
    return error_reply(status, code, str(error), headers=headers)


def _access_denied(_request: Request, error: Exception) -> Response:
    assert isinstance(error, AccessDenied)  # noqa: S101
    return error_reply(error.status, error.code, error.sentence, headers=error.headers)


def _invalid_request(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return error_reply(422, "bad-json", f"The body is not JSON: {first['ctx']['error']}.")
    field = ".".join(str(part) for part in first["loc"][1:])
    if first["type"] == "extra_forbidden":
        return error_reply(422, "bad-request", f"{field}: there is no such field here.", field)
    if first["type"] == "missing":
        return error_reply(422, "bad-request", f"{field or 'The body'} is missing.", field or None)
    reason = re.sub(r"^(Input|Value) (error, |should be )", "", first["msg"])
    return error_reply(
        422,
        "bad-request",
        f"{field or 'The body'} = {first['input']!r:.100}: expected {reason}.",
        field or None,
    )


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    if error.status_code == 400 and isinstance(error.__cause__, (ValueError, RecursionError)):
        return error_reply(422, "bad-json", f"The body is not JSON: {_why_no_json(error.__cause__)}.")
    code = CODE_OF_STATUS.get(error.status_code, "http")
    message = {
        404: f"There is nothing at {request.url.path}.",
        405: f"{request.url.path} does not take {request.method}.",
    }.get(error.status_code, f"{error.detail}.")
    headers = dict(error.headers or {})
    if error.status_code == 405 and request.url.path.startswith("/api/"):
        headers["Allow"] = ", ".join(_allowed(request))
    return error_reply(error.status_code, code, message, headers=headers)


def _why_no_json(cause: BaseException) -> str:
    """What a reader of JSON says that gives up before the grammar; the framework keeps only the cause."""
    if isinstance(cause, UnicodeDecodeError):
        return f"its byte {cause.start + 1} is not UTF-8"
    if isinstance(cause, RecursionError):
        return "it has too many lists and objects in each other"
    return "one of its numbers has too many digits"


def _allowed(request: Request) -> list[str]:
    """All methods of the path: each has a route of its own, and the framework names those of the first. What
    can be got has a HEAD too.
    """
    routed = [
        method
        for method in METHODS
        if any(
            route.matches({**request.scope, "method": method})[0] is Match.FULL
            for route in request.app.routes
        )
    ]
    return [method for each in routed for method in ((each, "HEAD") if each == "GET" else (each,))]


def _unexpected(_request: Request, _error: Exception) -> Response:
    # What happened goes to the log (the server raises it again after this reply), never to the client.
    # Made outside of all middleware, so the headers are added here.
    sentence = "Something went wrong inside the daemon; its log says what."
    return error_reply(500, "internal", sentence, headers=SECURITY_HEADERS)
