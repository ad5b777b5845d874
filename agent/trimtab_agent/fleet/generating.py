"""A generator of the fleet: drives load into servers of other machines, for one station at a time.

What is said stands in generator_orders.py. The load itself is trimtab-load on all CPUs of this machine; it
runs in a thread that lives as long as the generator does, because children end with their thread.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from distributed.comm import Comm, CommClosedError
from distributed.core import Status
from pydantic import ValidationError

from trimtab_agent.errors import TrimtabError
from trimtab_agent.fleet.engine import mismatch, versions
from trimtab_agent.fleet.facts import Busy
from trimtab_agent.fleet.generator_orders import GeneratorOrder
from trimtab_agent.host.priority import priority_allowed
from trimtab_agent.station.generator import GeneratorDied, LoadOrder, MachineShare, run_generator
from trimtab_agent.stopping import Stopped, StopSignal

LARGEST_LOG_BYTES = 256 << 20
MOST_LOGS = 8


class Generating:
    """What a generator does; `cpus` are its CPUs, `folder` is where it keeps session logs."""

    def __init__(self, load: Path, cpus: tuple[int, ...], folder: Path) -> None:
        self._load = load
        self._cpus = cpus
        self._folder = folder
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="load")
        self._stop: StopSignal | None = None
        self.station = ""  # for which it works now
        self.busy = Busy()
        self._idle = asyncio.Event()
        self._idle.set()
        self._waiting: asyncio.Task[None] | None = None

    @property
    def doing(self) -> str:
        """What it does now, in words; empty if nothing."""
        return f"loads {self.station}" if self.station else ""

    def when_idle(self, then: Callable[[], None]) -> None:
        """Has `then` called as soon as it works for no station; returns at once."""

        async def wait() -> None:
            await self._idle.wait()
            then()

        self._waiting = asyncio.ensure_future(wait())

    def close(self) -> None:
        """Ends a load that goes on."""
        if self._stop is not None:
            self._stop.request()
        self._thread.shutdown()

    async def engage(self, comm: Comm, versions: object = None, station: object = "") -> Status:
        """Works for a station until it hangs up."""
        refusal = mismatch(versions, f"the station {station}")
        if not refusal and self.station:
            refusal = f"it works for {self.station}"
        with suppress(OSError, CommClosedError):
            if refusal:
                await comm.write({"refused": refusal})
                return Status.dont_reply
            self.station = str(station)
            self.busy.begin()
            self._idle.clear()
            try:
                await self._work(comm)
            finally:
                self.station = ""
                self.busy.end()
                self._idle.set()
        return Status.dont_reply

    async def _work(self, comm: Comm) -> None:
        """Answers what the station asks, until it hangs up."""
        await comm.write({"versions": dict(versions())})
        asked_for: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        reading = asyncio.ensure_future(_read_into(asked_for, comm))
        try:
            while asked := await asked_for.get():
                match asked.get("do"):
                    case "clock":
                        await comm.write({"clock_ns": time.monotonic_ns()})
                    case "sessions":
                        await comm.write(await self._take_sessions(comm, asked_for, asked))
                    case "drive":
                        await self._drive(comm, asked_for, asked.get("order"))
                    case _:
                        return
        finally:
            reading.cancel()
            comm.abort()

    async def _take_sessions(
        self, comm: Comm, asked_for: "asyncio.Queue[dict[str, Any]]", asked: dict[str, Any]
    ) -> dict[str, Any]:
        """Takes the parts of a session log, unless it is here; what to answer at last."""
        path = self._log(asked["digest"])
        if path.exists():
            path.touch()
            return {"has": True}
        wanted = asked["bytes"]
        if not 0 < wanted <= LARGEST_LOG_BYTES:
            return {"refused": f"{wanted} bytes: expected at most {LARGEST_LOG_BYTES >> 20} MiB"}
        text = bytearray()
        while len(text) < wanted:
            await comm.write({"has": False})
            text += bytes((await asked_for.get())["part"])
        if hashlib.sha256(text).hexdigest() != asked["digest"]:
            return {"refused": "what came is not what was announced"}
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            by_age = sorted(self._folder.glob("*.log"), key=lambda log: log.stat().st_mtime)
            for old in by_age[: -MOST_LOGS + 1]:
                old.unlink()
            unfinished = path.with_suffix(".part")
            unfinished.write_bytes(text)
            unfinished.rename(path)
        except OSError as error:
            return {"refused": f"{path}: {error.strerror}"}
        return {"has": True}

    async def _drive(self, comm: Comm, asked_for: "asyncio.Queue[dict[str, Any]]", asked: object) -> None:
        """Drives one rate; ends it at once when the station says anything meanwhile, or is gone."""
        loop, lines = asyncio.get_running_loop(), asyncio.Queue[str | None]()
        self._stop = stop = StopSignal()

        def told(line: dict[str, Any]) -> None:
            loop.call_soon_threadsafe(lines.put_nowait, json.dumps(line))

        work = loop.run_in_executor(self._thread, self._run, asked, stop, told)
        work.add_done_callback(lambda _done: lines.put_nowait(None))
        interrupted = asyncio.ensure_future(asked_for.get())
        interrupted.add_done_callback(lambda _done: stop.request())
        try:
            while (line := await lines.get()) is not None:
                await comm.write({"line": line})
            await comm.write(await work)
        finally:
            stop.request()
            await asyncio.wait([work])
            interrupted.cancel()
            self._stop = None
            stop.close()

    def _run(self, asked: object, stop: StopSignal, told: Callable[[dict[str, Any]], None]) -> dict[str, str]:
        """In the generator's thread; what to answer at last."""
        try:
            order = GeneratorOrder.model_validate(asked)
            return {"line": json.dumps(run_generator(self._order(order), (), stop, told))}
        except ValidationError as error:
            return {"failed": f"it does not understand the order: {error.errors()[0]['msg']}"}
        except (GeneratorDied, TrimtabError) as error:
            return {"failed": str(error)}
        except Stopped:
            return {"failed": "it was stopped"}

    def _order(self, order: GeneratorOrder) -> LoadOrder:
        return LoadOrder(
            program=self._load,
            url=order.url,
            rate_rps=order.rate_rps,
            duration_s=order.duration_s,
            warmup_s=order.warmup_s,
            timeout_s=order.timeout_s,
            sessions=self._log(order.sessions),
            seed=order.seed,
            cpus=self._cpus,
            prioritised=priority_allowed(),
            log=self._folder / "load.log",
            clients=order.clients,
            tls=order.tls,
            http2=order.http2,
            destinations=order.destinations,
            share=MachineShare(machines=order.machines, machine=order.machine, start_at_ns=order.start_at_ns),
        )

    def _log(self, digest: str) -> Path:
        if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
            raise ValueError(f"{digest!r}: expected the digest of a log")
        return self._folder / f"{digest}.log"


async def _read_into(asked_for: "asyncio.Queue[dict[str, Any]]", comm: Comm) -> None:
    """Whatever the station says; nothing at all at last, when it has hung up."""
    try:
        while True:
            said = await comm.read()
            asked_for.put_nowait(said if isinstance(said, dict) else {})
    except (OSError, CommClosedError):
        asked_for.put_nowait({})
