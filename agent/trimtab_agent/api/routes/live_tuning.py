"""Live tuning: servers that run here, sessions on them, and what a person asks of a session.

A session may be run by the daemon or by a command: what is asked of it goes through its record.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from trimtab_db.records import LiveRequest, LiveSession, LiveState

from trimtab_agent.api.access import AccessDenied
from trimtab_agent.api.context import Context, ContextDep
from trimtab_agent.api.live_tuning_schemas import (
    LiveSampleReply,
    LiveServer,
    LiveSessionDetail,
    LiveSessionReply,
)
from trimtab_agent.api.local import is_local
from trimtab_agent.errors import LiveRequestRefused
from trimtab_agent.live.allowed import is_listed
from trimtab_agent.live.describing import server_document
from trimtab_agent.live.running import RunningServer, production_servers
from trimtab_agent.live.service import AttachSpec, is_alive, servers_that_answer_to

router = APIRouter(prefix="/live-tuning", tags=["live tuning"])
SessionId = Annotated[int, Path(ge=1, le=2**31 - 1)]
MOST_SAMPLES = 3600
SHOWN_AT_FIRST = timedelta(hours=1)


@router.get("/servers")
def list_live_servers(context: ContextDep, request: Request) -> list[LiveServer]:
    """The web servers that run here, what their files set, and what stands in the way; touches nothing."""
    for_all = not is_local(request.scope)
    return [
        LiveServer(
            **server_document(server, for_all=for_all), attachable=_is_attachable(server, context, request)
        )
        for server in production_servers()
    ]


@router.get("/sessions")
def list_live_sessions(context: ContextDep) -> list[LiveSessionReply]:
    """All sessions of this machine, the latest first."""
    sessions = context.repository.live_sessions(context.host_id)
    return [
        LiveSessionReply.model_validate(_session(session, dead=_has_died(session))) for session in sessions
    ]


@router.post("/sessions", status_code=201)
def attach_live_session(spec: AttachSpec, context: ContextDep, request: Request) -> LiveSessionDetail:
    """Attaches to a running server; 403 for one that the operator does not list (`TRIMTAB_LIVE_SERVERS`)."""
    found = servers_that_answer_to(spec.server)
    for server in found:
        if not _is_attachable(server, context, request):
            raise AccessDenied(
                403,
                "server-not-listed",
                f"{server.target.name} (process {server.pid}) may not be attached to from here: expected its "
                "unit, program or port in TRIMTAB_LIVE_SERVERS, or `trimtab live attach` on the machine.",
            )
    if len(found) == 1:  # that one, and none that takes its port meanwhile
        spec = spec.model_copy(update={"server": str(found[0].pid)})
    return _detail(context, context.live.attach(spec))


@router.get("/sessions/{session_id}")
def get_live_session(session_id: SessionId, context: ContextDep) -> LiveSessionDetail:
    """One session with its decisions."""
    return _detail(context, session_id)


@router.get("/sessions/{session_id}/samples")
def get_live_samples(
    session_id: SessionId,
    context: ContextDep,
    since: Annotated[datetime | None, Query(description="Those after it; otherwise the last hour.")] = None,
) -> list[LiveSampleReply]:
    """What the arms did, oldest first, 3600 samples at most: further ones are those since the last."""
    session = context.repository.live_session(session_id)
    if since is None:
        since = (session.ended_at or datetime.now(UTC)) - SHOWN_AT_FIRST
    elif since.tzinfo is None:
        since = since.replace(tzinfo=UTC)
    samples = context.repository.live_samples(session_id, since, MOST_SAMPLES)
    return [LiveSampleReply.model_validate(sample) for sample in samples]


@router.post("/sessions/{session_id}/promote", status_code=202)
def promote_live_session(session_id: SessionId, context: ContextDep) -> LiveSessionDetail:
    """Has the candidate promoted; 409 unless the session waits for a person."""
    return _answer(context, session_id, LiveRequest.PROMOTE)


@router.post("/sessions/{session_id}/reject", status_code=202)
def reject_live_session(session_id: SessionId, context: ContextDep) -> LiveSessionDetail:
    """Has the candidate given up; 409 unless the session waits for a person."""
    return _answer(context, session_id, LiveRequest.REJECT)


@router.post("/sessions/{session_id}/detach", status_code=202)
def detach_live_session(session_id: SessionId, context: ContextDep) -> LiveSessionDetail:
    """Ends a session at once: production has all connections again; 409 if it has ended.

    What was promoted stays. Of a session whose process is gone, what its keeper has not put back is put back.
    """
    session = context.repository.live_session(session_id)
    if session.ended_at is not None:
        raise LiveRequestRefused(session_id, LiveRequest.DETACH, session.state)
    if _is_dead(session, context):
        context.live.end_dead()
    else:
        context.repository.ask_live_session(session_id, LiveRequest.DETACH)
    return _detail(context, session_id)


def _answer(context: Context, session_id: int, request: LiveRequest) -> LiveSessionDetail:
    """Passes on what a person answers to a session that waits for it."""
    session = context.repository.live_session(session_id)
    if session.state is not LiveState.WAITING:
        raise LiveRequestRefused(session_id, request, session.state)
    context.repository.ask_live_session(session_id, request)
    return _detail(context, session_id)


def _is_attachable(server: RunningServer, context: Context, request: Request) -> bool:
    return is_local(request.scope) or is_listed(server, context.live_servers)


def _is_dead(session: LiveSession, context: Context) -> bool:
    """Whether its process is gone; not known of one of another machine, which may be in the same database."""
    own = context.repository.live_sessions(context.host_id)
    return any(each.id == session.id for each in own) and _has_died(session)


def _has_died(session: LiveSession) -> bool:
    return session.ended_at is None and not is_alive(session)


def _session(session: LiveSession, *, dead: bool) -> dict[str, object]:
    return {**vars(session), "dead": dead}


def _detail(context: Context, session_id: int) -> LiveSessionDetail:
    repository = context.repository
    session = repository.live_session(session_id)
    incumbents = repository.live_incumbents(session.host_id, session.target, session.file)
    further = {"decisions": repository.live_decisions(session_id), "incumbents": incumbents}
    known = _session(session, dead=_is_dead(session, context))
    return LiveSessionDetail.model_validate({**known, **further})
