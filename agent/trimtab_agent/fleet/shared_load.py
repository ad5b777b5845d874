"""The load of a job from generators on other machines, all of which load the server of this one.

Before each rate the station asks every generator for its monotonic clock a few times and takes the quickest
answer, which says where that clock stands within half of the time it took (as NTP does, RFC 5905, section 8).
Wall clocks play no part, so it does not matter if somebody sets one. Then all are told the same start, each
by its own clock, and each its share of the same arrivals. Their results are merged by trimtab-load, histogram
by histogram.

A generator that is late, gone, busy, or whose clock cannot be told makes the rate void (`StepVoid`).
"""

import asyncio
import hashlib
import json
import os
import queue
import subprocess
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from distributed.comm import Comm, CommClosedError, connect
from distributed.security import Security

from trimtab_agent.fleet.engine import mismatch, own_address, prepare_engine, versions
from trimtab_agent.fleet.generator_orders import ENGAGE, SILENT_S, GeneratorOrder
from trimtab_agent.fleet.loop import LoopThread
from trimtab_agent.fleet.work import AtGenerator
from trimtab_agent.station.generator import (
    LoadOrder,
    LoadResult,
    OnProgress,
    OnWindow,
    ServerDied,
    StepVoid,
    tell,
)
from trimtab_agent.station.processes.children import Child
from trimtab_agent.stopping import Stopped, StopSignal, wait_readable

T = TypeVar("T")

CLOCK_QUESTIONS = 9
MOST_UNSURE_S = 0.02
CONNECT_S = 10.0
# From the order to the start: the generators start their processes meanwhile, some of which read the log.
LEAD_S = 0.5
MERGE_LIMIT_S = 60.0
TRANSFER_BYTES = 4 << 20


@dataclass
class _Engaged:
    """A generator that works for us."""

    name: str
    comm: Comm
    sessions: set[str] = field(default_factory=set)


class SharedLoad:
    """A `LoadSource`; `station` is what we call ourselves. To be closed at the end of the job."""

    def __init__(self, generators: Sequence[AtGenerator], security: Security, station: str) -> None:
        prepare_engine()
        self._generators = generators
        self._security = security
        self._station = station
        self._loop = LoopThread("shared-load")
        self._engaged: dict[str, _Engaged] = {}
        self.server_address = own_address(generators[0].address)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets the generators go."""
        self._hang_up()
        self._loop.close()

    def drive(
        self,
        order: LoadOrder,
        servers: Sequence[Child],
        stop: StopSignal,
        on_progress: OnProgress,
        on_window: OnWindow,
    ) -> LoadResult:
        """See `LoadSource`."""
        lines = _Lines()
        step = self._loop.start(self._step(order, lines))
        step.add_done_callback(lambda _done: lines.end())
        together = _Together(len(self._generators), on_progress, on_window)
        deaths = {server.exit_descriptor: server for server in servers}
        try:
            while True:
                ready = wait_readable([lines.descriptor, *deaths, stop.descriptor], None)
                if stop.descriptor in ready:
                    raise Stopped
                if dead := ready & deaths.keys():
                    raise ServerDied(deaths[dead.pop()].death_sentence())
                told, ended = lines.taken()
                for machine, line in told:
                    together.told(machine, line)
                if ended:
                    break
            return _merged(order, step.result())
        except BaseException:
            # Whatever they still do ends with the connection; they are engaged anew for the next rate.
            step.cancel()
            self._hang_up()
            raise
        finally:
            lines.close()

    async def _step(self, order: LoadOrder, lines: "_Lines") -> list[dict[str, Any]]:
        """One rate; the result of each generator. Raises StepVoid."""
        log = order.sessions.read_bytes()
        digest = hashlib.sha256(log).hexdigest()
        engaged = await _all(self._engage(generator) for generator in self._generators)
        await _all(_send_sessions(one, digest, log) for one in engaged)
        offsets_ns = await _all(_clock_offset_ns(one) for one in engaged)
        start_ns = time.monotonic_ns() + int(LEAD_S * 1e9)
        orders = [
            GeneratorOrder(
                url=order.url,
                destinations=order.destinations,
                rate_rps=order.rate_rps,
                duration_s=order.duration_s,
                warmup_s=order.warmup_s,
                timeout_s=order.timeout_s,
                sessions=digest,
                seed=order.seed,
                clients=order.clients,
                tls=order.tls,
                http2=order.http2,
                machines=len(engaged),
                machine=machine,
                start_at_ns=start_ns + offset_ns,
            )
            for machine, offset_ns in enumerate(offsets_ns)
        ]

        def drive(one: _Engaged, told: GeneratorOrder) -> Coroutine[Any, Any, dict[str, Any]]:
            return _drive(one, told, lambda line: lines.put(told.machine, line))

        return await _all(map(drive, engaged, orders))

    async def _engage(self, generator: AtGenerator) -> _Engaged:
        known = self._engaged.get(generator.name)
        if known is not None and not known.comm.closed():
            return known
        try:
            comm = await connect(
                generator.address, timeout=CONNECT_S, **self._security.get_connection_args("worker")
            )
            await comm.write(
                {"op": ENGAGE, "reply": False, "versions": dict(versions()), "station": self._station}
            )
            answer = await asyncio.wait_for(comm.read(), CONNECT_S)
        except (OSError, TimeoutError) as error:
            raise StepVoid(f"the generator {generator.name} was not reached") from error
        if (refusal := answer.get("refused") or mismatch(answer.get("versions"), generator.name)) != "":
            comm.abort()
            raise StepVoid(f"the generator {generator.name} refused: {refusal}")
        engaged = self._engaged[generator.name] = _Engaged(generator.name, comm)
        return engaged

    def _hang_up(self) -> None:
        async def hang_up() -> None:
            for one in self._engaged.values():
                one.comm.abort()
            self._engaged.clear()

        self._loop.run(hang_up())


async def _all(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """What comes of all; when one fails, the others are ended before its exception is raised."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


async def _answer(one: _Engaged, question: dict[str, Any], within_s: float) -> dict[str, Any]:
    try:
        await one.comm.write(question)
        answer: dict[str, Any] = await asyncio.wait_for(one.comm.read(), within_s)
    except (OSError, CommClosedError, TimeoutError) as error:
        raise StepVoid(f"the generator {one.name} was lost") from error
    return answer


async def _send_sessions(one: _Engaged, digest: str, log: bytes) -> None:
    if digest in one.sessions:
        return
    answer = await _answer(one, {"do": "sessions", "digest": digest, "bytes": len(log)}, CONNECT_S)
    for begin in range(0, 0 if answer.get("has") else len(log), TRANSFER_BYTES):
        answer = await _answer(one, {"part": log[begin : begin + TRANSFER_BYTES]}, 6 * CONNECT_S)
    if not answer.get("has"):
        raise StepVoid(f"the generator {one.name} has not kept the sessions: {answer.get('refused', '')}")
    one.sessions.add(digest)


async def _clock_offset_ns(one: _Engaged) -> int:
    """How far the generator's monotonic clock is ahead of ours; raises StepVoid when that cannot be told."""
    best_ns, offset_ns = None, 0
    for _ in range(CLOCK_QUESTIONS):
        asked_ns = time.monotonic_ns()
        answer = await _answer(one, {"do": "clock"}, CONNECT_S)
        took_ns = time.monotonic_ns() - asked_ns
        if best_ns is None or took_ns < best_ns:
            best_ns, offset_ns = took_ns, answer["clock_ns"] - asked_ns - took_ns // 2
    if best_ns is None or best_ns / 2 > MOST_UNSURE_S * 1e9:
        raise StepVoid(
            f"the clock of the generator {one.name} could not be told to within {MOST_UNSURE_S * 1000:.0f} ms"
        )
    return offset_ns


async def _drive(
    one: _Engaged, order: GeneratorOrder, on_line: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    answer = await _answer(one, {"do": "drive", "order": order.model_dump(mode="json")}, SILENT_S)
    while "line" in answer:
        line = json.loads(answer["line"])
        if line["type"] == "result":
            result: dict[str, Any] = line
            return result
        on_line(line)
        try:
            answer = await asyncio.wait_for(one.comm.read(), SILENT_S)
        except (OSError, CommClosedError, TimeoutError) as error:
            raise StepVoid(f"the generator {one.name} was lost") from error
    raise StepVoid(f"the generator {one.name} gave up: {answer.get('failed', 'it said nothing')}")


def _merged(order: LoadOrder, results: Sequence[dict[str, Any]]) -> LoadResult:
    """The results of one load as one; raises StepVoid when they are not."""
    if len(results) == 1:
        return LoadResult.model_validate(results[0])
    files: list[Path] = []
    for number, result in enumerate(results):
        files.append(order.log.with_suffix(f".machine-{number}.jsonl"))
        files[-1].write_text(json.dumps(result) + "\n")
    done = subprocess.run(
        [order.program, "merge", *files], capture_output=True, text=True, timeout=MERGE_LIMIT_S, check=False
    )
    if done.returncode != 0:
        raise StepVoid(f"the results of the generators do not go together: {done.stderr.strip()}")
    return LoadResult.model_validate_json(done.stdout.splitlines()[-1])


class _Lines:
    """What the generators tell, on its way from the loop to the station's thread."""

    def __init__(self) -> None:
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._waiting: queue.SimpleQueue[tuple[int, dict[str, Any]]] = queue.SimpleQueue()
        self._ended = False
        self._closed = False

    def put(self, machine: int, line: dict[str, Any]) -> None:
        self._waiting.put((machine, line))
        self._wake()

    def end(self) -> None:
        self._ended = True
        self._wake()

    def taken(self) -> tuple[list[tuple[int, dict[str, Any]]], bool]:
        """What has come since the last time, and whether that is all."""
        with suppress(BlockingIOError):
            os.eventfd_read(self.descriptor)
        ended = self._ended  # before looking: what came before the end is among what is found
        return [self._waiting.get() for _ in range(self._waiting.qsize())], ended

    def close(self) -> None:
        self._closed = True
        os.close(self.descriptor)

    def _wake(self) -> None:
        if not self._closed:
            with suppress(OSError):
                os.eventfd_write(self.descriptor, 1)


class _Together:
    """The lines of several generators as those of one: sums, and of percentiles the largest."""

    def __init__(self, machines: int, on_progress: OnProgress, on_window: OnWindow) -> None:
        self._machines = machines
        self._on_progress = on_progress
        self._on_window = on_window
        self._progress: dict[int, dict[str, Any]] = {}
        self._edges: set[str] = set()

    def told(self, machine: int, line: dict[str, Any]) -> None:
        """One line of one of them."""
        if line["type"] == "window":
            if line["edge"] not in self._edges:
                self._edges.add(line["edge"])
                tell(line, self._on_progress, self._on_window)
            return
        self._progress[machine] = line
        if len(self._progress) == self._machines:
            lines, self._progress = list(self._progress.values()), {}
            self._on_progress(_added(lines))


def _added(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    largest = ("elapsed_s", "reply_p50_us", "reply_p90_us", "reply_p99_us", "reply_p999_us")
    return {
        name: value
        if isinstance(value, str)
        else (max if name in largest else sum)(line[name] for line in lines)
        for name, value in lines[0].items()
    }
