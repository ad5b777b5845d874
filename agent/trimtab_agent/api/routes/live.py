"""The live stream: everything that happens, on one connection of server-sent events.

Browsers allow six connections to a host over HTTP/1.1, so there is one stream and not one per subject. Events
come from the broadcaster's threads; a bounded subscription decouples them from a slow listener, which loses
the oldest events and is told how many by an event `lost`. The stream ends when the daemon is about to.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Header
from fastapi.sse import EventSourceResponse, ServerSentEvent

from trimtab_agent.api.context import ContextDep
from trimtab_agent.api.counter_schemas import SamplingRate
from trimtab_agent.api.live_schemas import LivePayload
from trimtab_agent.broadcast import Subscription

router = APIRouter(tags=["live"])
EVENT_ID = re.compile("[0-9]{1,18}")


@dataclass(frozen=True)
class Listener:
    """A subscription, and what says that something has arrived."""

    subscription: Subscription
    arrived: asyncio.Event


async def _listener(
    context: ContextDep, last_event_id: Annotated[str | None, Header()] = None
) -> AsyncIterator[Listener]:
    """Subscribed before the reply begins: who has its head misses nothing that happens from then on."""
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()

    def wake() -> None:
        # The loop may have ended by the time the last publisher does.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(arrived.set)

    seen = int(last_event_id) if last_event_id is not None and EVENT_ID.fullmatch(last_event_id) else None
    subscription = context.broadcaster.subscribe(wake, after_id=seen)
    try:
        yield Listener(subscription, arrived)
    finally:
        subscription.close()


@router.get("/live", response_class=EventSourceResponse)
async def follow_live(
    context: ContextDep, listener: Annotated[Listener, Depends(_listener)]
) -> AsyncIterator[LivePayload]:
    """Events `sample`, `progress`, `trial`, `measurement`, `run`, `ladder`, `log` and `lost`, named in
    `event:`.

    `data:` holds, in this order, CounterValues, Progress, TrialLine, MeasurementLine, RunChange,
    LadderChange, LogLine, Lost. Everyone gets the present progress at once, if a run goes on, and what the
    trial under way has measured so far; a listener that comes back with `Last-Event-ID` also what it missed,
    as far as that is still kept.
    """
    subscription, arrived = listener.subscription, listener.arrived
    # Asked for before what has arrived is taken, so that nothing older than it comes after it.
    progress, under_way = context.service.progress(), context.service.under_way()
    closing = asyncio.create_task(context.closing.wait())
    lost = 0
    try:
        missed = subscription.drain()
        if progress is not None and not any(event.name == "progress" for event in missed):
            yield _event("progress", progress)
        for line in under_way:
            yield _event("measurement", line)
        for event in missed:
            yield _event(event.name, event.data, event.id)
        while not context.closing.is_set():
            arrival = asyncio.create_task(arrived.wait())
            try:
                await asyncio.wait((arrival, closing), return_when=asyncio.FIRST_COMPLETED)
            finally:  # also when the listener has gone
                arrival.cancel()
            arrived.clear()
            events = subscription.drain()
            if subscription.lost > lost:
                yield _event("lost", {"events": subscription.lost - lost})
                lost = subscription.lost
            for event in events:
                yield _event(event.name, event.data, event.id)
    finally:
        closing.cancel()


@router.post("/live/rate")
def set_sampling_rate(body: SamplingRate, context: ContextDep) -> SamplingRate:
    """Has samples taken up to ten times a second for a while; then once a second again.

    They come as events `sample`, and are kept for a day: `GET counters` with a step of 0.
    """
    context.sampler.sample_every(body.interval_s, body.for_s)
    return body


def _event(name: str, data: object, number: int | None = None) -> LivePayload:
    """An event of the stream, as FastAPI wants it; the cast is what makes it document the payload instead."""
    event = ServerSentEvent(event=name, data=data, id=None if number is None else str(number))
    return cast("LivePayload", event)
