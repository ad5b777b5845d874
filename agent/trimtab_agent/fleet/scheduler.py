"""The scheduler of a fleet: the engine's own, which lets in only who speaks as it does.

It keeps nothing: when it is started anew the stations join again, and what they were carrying out goes on.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from distributed import Scheduler
from distributed.comm import Comm
from distributed.security import Security

from trimtab_agent.errors import FleetError
from trimtab_agent.fleet.engine import (
    ANSWERED_BY_SCHEDULERS,
    SCHEME,
    WithoutHttp,
    answer_only,
    mismatch,
    prepare_engine,
    versions,
)

log = logging.getLogger(__name__)

TAKEN_FROM_US = "Only one station of a name can be in a fleet"


class FleetScheduler(WithoutHttp, Scheduler):  # type: ignore[misc]
    """Dask's scheduler, which says what it speaks."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - those of the library
        super().__init__(extensions={}, dashboard=False, **options)
        answer_only(self.handlers, ANSWERED_BY_SCHEDULERS)

    def identity(self, n_workers: int = -1) -> dict[str, Any]:
        """What the library's says, and our versions."""
        return {**super().identity(n_workers), "versions": dict(versions())}

    async def add_worker(self, comm: Comm, **told: Any) -> None:  # noqa: ANN401 - those of the library
        """Takes a station in, unless it speaks otherwise or its name is taken by another machine.

        A machine that joins anew takes the place that it had: its connection was cut.
        """
        name, facts = told["name"], told["extra"].get("trimtab", {})
        refusal = mismatch(facts.get("versions"), f"the station {name}")
        if not refusal and (taken := self.aliases.get(name)) is not None:
            other = self.workers[taken].extra.get("trimtab", {})
            if other.get("machine_id") == facts.get("machine_id"):
                await self.remove_worker(taken, stimulus_id=f"joined-anew-{name}", expected=True)
            else:
                refusal = f"{TAKEN_FROM_US}: {name} has joined from {self.workers[taken].host} already"
        if refusal:
            await comm.write({"status": "error", "message": refusal, "time": 0.0})
            return
        await super().add_worker(comm, **told)


async def serve(
    host: str,
    port: int,
    security: Security,
    folder: Path,
    ready: Callable[[str], None],
    stop: asyncio.Event,
) -> None:
    """Runs the scheduler at that address until it is to stop; `ready` gets the address it listens at, and
    `folder` is for what the engine keeps.

    Raises FleetError when it cannot listen there.
    """
    prepare_engine()
    scheduler = FleetScheduler(
        host=host, port=port, protocol=SCHEME, security=security, local_directory=str(folder)
    )
    try:
        await scheduler
    except (OSError, RuntimeError) as error:
        why = error if isinstance(error, OSError) else error.__cause__
        if not isinstance(why, OSError):
            raise
        place = f"port {port} of {host or socket.gethostname()}"
        raise FleetError(f"the scheduler cannot listen on {place}: {why.strerror}") from error
    try:
        ready(scheduler.address)
        await stop.wait()
    finally:
        await scheduler.close()
