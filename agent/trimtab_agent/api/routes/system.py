"""The daemon and its host: health, session, the machine, its counters."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from trimtab_db.repository.counters import RETENTION

from trimtab_agent import __version__
from trimtab_agent.api.access import COOKIE
from trimtab_agent.api.context import ContextDep
from trimtab_agent.api.counter_schemas import CounterSampleReply
from trimtab_agent.api.metrics import CONTENT_TYPE, exposition
from trimtab_agent.api.samples import as_means, as_stored
from trimtab_agent.api.schemas import Health, HostReply, SessionRequest
from trimtab_agent.errors import SpecError

router = APIRouter(tags=["system"])
METRICS = {"text/plain": {"schema": {"type": "string"}}}
LONGEST_WINDOW_S = 30 * 24 * 3600
MOST_SAMPLES = 3600
LONGEST_AS_TAKEN_S = 600
KEPT_S = tuple(kept for kept in RETENTION if kept)


@router.get("/health")
def get_health(context: ContextDep, request: Request) -> Health:
    """Answers once the daemon is ready; 503 when its database cannot be read. Needs no token."""
    context.repository.count_runs()
    return Health(
        status="ok",
        version=__version__,
        token_required=context.access.token_required,
        documentation=request.app.state.documentation,
        demo=context.settings.demo,
    )


@router.get("/metrics", response_class=Response, responses={200: {"content": METRICS}})
def get_metrics(context: ContextDep) -> Response:
    """The runs, and how far the one that is going on has come, in Prometheus' text format."""
    return Response(exposition(context), media_type=CONTENT_TYPE)


@router.post("/session", status_code=204)
def open_session(body: SessionRequest, request: Request, response: Response, context: ContextDep) -> None:
    """Exchanges the token for a cookie, for browsers, which cannot add a header to the live stream."""
    response.set_cookie(
        COOKIE,
        context.access.open_session(body.token, request.client.host if request.client else ""),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )


@router.get("/host", response_model=HostReply)
def get_host(context: ContextDep) -> object:
    """The machine, and which of its CPUs serve and which generate load."""
    host = context.repository.host(context.host_id)
    return {**vars(host), "layout": context.layout, "layout_sentence": context.layout.sentence()}


@router.get("/counters", response_model=list[CounterSampleReply])
def get_counters(
    context: ContextDep,
    seconds: Annotated[int, Query(ge=1, le=LONGEST_WINDOW_S)] = 300,
    step_s: Annotated[int, Query(ge=0, le=3600, description="Mean of so many seconds for each sample.")] = 1,
) -> Response:
    """The samples of the last seconds, oldest first; the live stream goes on from there without a gap.

    From a step of ten seconds on they come from means of ten seconds, from a minute on from means of a
    minute, which say nothing of single CPUs and workers; a step that is no multiple of these is rounded down
    to one. With a step of 0 they are those taken faster than once a second, where somebody has asked for it.
    """
    if step_s == 0 and seconds > LONGEST_AS_TAKEN_S:
        raise SpecError("step_s", f"step_s = 0: expected at most {LONGEST_AS_TAKEN_S} s, not {seconds}")
    # Not only what is answered is bounded, but also what is read for it.
    readable_s = next((kept for kept in KEPT_S if seconds <= MOST_SAMPLES * kept), KEPT_S[-1])
    least = max(-(-seconds // MOST_SAMPLES), readable_s)
    if 0 < step_s < least:
        raise SpecError("step_s", f"step_s = {step_s}: expected at least {least} for {seconds} s")
    context.recorder.write()
    since = datetime.now(UTC) - timedelta(seconds=seconds)
    kept_s = max(kept for kept in RETENTION if kept <= step_s)
    samples = context.repository.counter_samples(context.host_id, since, step_s=kept_s)
    if kept_s == 0 or step_s < 2 * kept_s:
        return as_stored(samples)
    return as_means(samples, step_s - step_s % kept_s)
