"""A station's membership in a fleet: joins, joins again when the scheduler was away, leaves in good order."""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distributed import Worker
from distributed.core import rpc
from distributed.security import Security

from trimtab_agent.errors import FleetError
from trimtab_agent.fleet.engine import (
    ANSWERED_BY_WORKERS,
    WithoutHttp,
    answer_only,
    mismatch,
    own_address,
    prepare_engine,
)

log = logging.getLogger(__name__)

START_S = 60.0
ASK_S = 10.0
PAUSES_S = (0.5, 1.0, 2.0, 5.0)

DRAIN = "trimtab_drain"
ABORT = "trimtab_abort"
"""What a station may be told directly."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """Who joins, and where.

    `facts` are told when it joins, `condition` with every heartbeat; `handlers` answer what others ask of it
    directly. `on_joined` gets its address in the fleet each time it has joined.
    """

    scheduler: str
    name: str
    role: str
    security: Security
    folder: Path
    facts: Mapping[str, Any]
    condition: Callable[[], dict[str, Any]]
    handlers: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    on_joined: Callable[[str], None] = lambda _address: None


class StationWorker(WithoutHttp, Worker):  # type: ignore[misc]
    """Dask's worker: one thread for one order at a time, which goes on if the worker is closed meanwhile."""

    def __init__(self, member: Member) -> None:
        super().__init__(
            member.scheduler,
            name=member.name,
            nthreads=1,
            resources={member.role: 1},
            security=member.security,
            host=own_address(member.scheduler),
            local_directory=str(member.folder),
            memory_limit=0,
            extensions={},
            startup_information={"trimtab": lambda _worker: dict(member.facts)},
            metrics={"trimtab": lambda _worker: member.condition()},
        )
        answer_only(self.handlers, ANSWERED_BY_WORKERS)
        self.handlers.update(member.handlers)

    async def close(self, *arguments: Any, **options: Any) -> str | None:  # noqa: ANN401 - of the library
        """Leaves the engine without waiting for what its thread does."""
        said: str | None = await super().close(*arguments, **{**options, "executor_wait": False})
        return said


class Membership:
    """A member's time in the fleet, for one event loop."""

    def __init__(self, member: Member) -> None:
        prepare_engine()
        self._member = member
        self._worker: StationWorker | None = None
        self._loop = asyncio.get_running_loop()
        self._leaving = asyncio.Event()

    def leave(self) -> None:
        """Has `last` return; for any thread."""
        with suppress(RuntimeError):  # the loop has ended: it has left
            self._loop.call_soon_threadsafe(self._leaving.set)

    def tell(self, event: dict[str, Any]) -> None:
        """Tells whoever listens to this station now; for any thread. Lost while there is no scheduler."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._tell, event)

    async def last(self) -> None:
        """Belongs to the fleet until it is to leave.

        Raises FleetError when the fleet refuses it, or nobody answers the first time.
        """
        tries = 0
        while not self._leaving.is_set():
            try:
                await self._ask_what_is_spoken()
                self._worker = worker = await asyncio.wait_for(_joined(self._member), START_S)
            except (OSError, TimeoutError) as error:
                if not tries:
                    why = str(error) or "it took too long"
                    raise FleetError(f"nobody answers at {self._member.scheduler}: {why}") from error
                await self._pause(tries)
                tries += 1
                continue
            tries = 1
            self._member.on_joined(worker.address)
            leaving = asyncio.ensure_future(self._leaving.wait())
            await asyncio.wait(
                [leaving, asyncio.ensure_future(worker.finished())], return_when=asyncio.FIRST_COMPLETED
            )
            leaving.cancel()
            if not self._leaving.is_set():
                log.warning("the scheduler at %s is gone; joining again", self._member.scheduler)
            self._worker = None
            await worker.close()

    async def _ask_what_is_spoken(self) -> None:
        scheduler = self._member.scheduler
        connection = self._member.security.get_connection_args("worker")
        async with rpc(scheduler, connection_args=connection, timeout=ASK_S) as asked:
            said = await asyncio.wait_for(asked.identity(n_workers=0), ASK_S)
        if refusal := mismatch(said.get("versions"), f"the scheduler at {scheduler}"):
            raise FleetError(refusal)

    async def _pause(self, tries: int) -> None:
        pause_s = PAUSES_S[min(tries, len(PAUSES_S)) - 1]
        try:
            await asyncio.wait_for(self._leaving.wait(), pause_s)
        except TimeoutError:
            return

    def _tell(self, event: dict[str, Any]) -> None:
        if self._worker is not None:
            self._worker.log_event(topic_of(self._member.name), event)


def topic_of(name: str) -> str:
    """Under which a station tells what happens."""
    return f"station-{name}"


async def _joined(member: Member) -> StationWorker:
    """A worker that has joined; raises FleetError when the scheduler refuses it, OSError."""
    worker = StationWorker(member)
    try:
        await worker
    except BaseException as error:
        await worker.close()
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ValueError) and "register" in str(cause):
                raise FleetError(_refusal(str(cause))) from error
            cause = cause.__cause__
        if isinstance(error, RuntimeError):
            raise OSError(str(error.__cause__ or error)) from error
        raise
    return worker


def _refusal(text: str) -> str:
    """What the scheduler wrote, out of what the library makes of it."""
    found = re.search(r"""'message': (["'])(.*?)\1, '""", text)
    return found[2] if found else text
