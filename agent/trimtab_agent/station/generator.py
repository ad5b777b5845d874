"""Drives one rate with trimtab-load, and reads its JSON lines (schema: docs/internals/load-generator.md)."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field
from trimtab_trials.measurement import RequestCounts, SessionCounts, SizeClassCounts
from trimtab_tuner.clients import Clients
from trimtab_tuner.workloads.http2 import Http2
from trimtab_tuner.workloads.tls import Tls

from trimtab_agent.host.cpu_layout import format_cpus
from trimtab_agent.station.processes.children import Child
from trimtab_agent.stopping import Stopped, StopSignal, wait_readable

# Grace beyond the asked duration and two timeouts of draining before the generator counts as hung.
HANG_MARGIN_S = 10.0


class _FromGenerator(BaseModel):
    """Part of the generator's result, where it is not recorded as it comes; fields that we do not use are
    passed over, in either.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")


class Percentiles(_FromGenerator):
    """A latency distribution in microseconds; the values mean nothing when `count` is 0."""

    count: int
    mean: float
    p50: float
    p90: float
    p99: float
    p999: float
    max: float


class Latencies(_FromGenerator):
    """From the intended start of the connection or request; of a handshake, from the connection on."""

    connect: Percentiles
    handshake: Percentiles
    first_byte: Percentiles
    reply: Percentiles


class Health(_FromGenerator):
    """Whether the generator itself was the limit; the rest of what it says is kept as it is."""

    model_config = ConfigDict(frozen=True, extra="allow")

    verdict: str
    reasons: tuple[str, ...]


class Window(_FromGenerator):
    """What the generator counted between the end of the warm-up and the end of the load.

    `due` are requests that were to be made in it if every reply came at once; 0 in a closed loop.
    `handshakes` are those of TLS.
    """

    seconds: float
    due: int
    handshakes: int


class Handshakes(_FromGenerator):
    """Handshakes of TLS in the whole run: those completed, of them resumed ones, and those that failed."""

    handshakes: int
    resumed: int
    failed: int


class Streams(_FromGenerator):
    """Streams of HTTP/2 in the whole run: those asked for, the most at once on a connection, those that the
    server broke off, connections that it took leave of, and requests asked again for that reason.
    """

    streams: int
    most_streams: int
    reset: int
    goaways: int
    asked_again: int


class LoadResult(_FromGenerator):
    """The generator's last line."""

    # In a closed loop the number of connections takes the place of the rate.
    rate_rps: float = Field(validation_alias=AliasChoices("rate_rps", "connections"))
    duration_s: float
    warmup_s: float
    elapsed_s: float
    interrupted: bool
    sessions: SessionCounts
    requests: RequestCounts
    failures: dict[str, int]
    tls: Handshakes
    http2: Streams
    bytes_received: int
    goodput_mbps: float
    reply_rate_rps: float
    window: Window
    size_classes: tuple[SizeClassCounts, ...]
    latency_us: Latencies
    health: Health

    @property
    def due_rate_rps(self) -> float | None:
        """Requests that were due per second; None in a closed loop, which waits for every reply."""
        return self.window.due / self.window.seconds if self.window.due and self.window.seconds else None

    @property
    def generator_limited(self) -> bool:
        """Whether the rate was not offered as it should have been."""
        return self.health.verdict == "generator-limited"


@dataclass(frozen=True, kw_only=True)
class MachineShare:
    """That this is machine number `machine`, from 0, of so many that load one server together.

    All begin at one moment, which `start_at_ns` says by this machine's monotonic clock.
    """

    machines: int
    machine: int
    start_at_ns: int

    def options(self) -> tuple[str, ...]:
        """As trimtab-load is told."""
        return (
            f"--machines={self.machines}",
            f"--machine={self.machine}",
            f"--start-at={self.start_at_ns}",
        )


@dataclass(frozen=True, kw_only=True)
class LoadOrder:
    """One rate to drive over the session log, the first `warmup_s` of it not counted.

    In a closed loop (`clients`) the number of connections takes the place of `rate_rps`. `tls` goes with a
    URL of https; without `http2` it is HTTP/1.1. `within` goes before the command. Connections go from the
    `sources` to the `destinations` (addresses with the port), both in turn; to the host of the URL, from
    where the generator likes, if they are empty.
    """

    program: Path
    url: str
    rate_rps: float
    duration_s: float
    warmup_s: float
    timeout_s: float
    sessions: Path
    seed: int
    cpus: Sequence[int]
    prioritised: bool
    log: Path
    clients: Clients = field(default_factory=Clients)
    tls: Tls | None = None
    http2: Http2 | None = None
    within: tuple[str, ...] = ()
    destinations: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    share: "MachineShare | None" = None

    def command(self) -> tuple[str, ...]:
        """The command line."""
        pace: tuple[str, ...]
        # A process for each CPU, so that a machine with many can be driven to its limit.
        processes = len(self.cpus)
        if self.clients.loop == "closed":
            pace = ("closed", f"--connections={self.rate_rps:.0f}")
            machines = 1 if self.share is None else self.share.machines
            processes = max(1, min(processes, round(self.rate_rps) // machines))
        else:
            pace = ("open", f"--rate={self.rate_rps:g}", f"--arrivals={self.clients.arrivals}")
        shares = {"conditional": self.clients.conditional_share, "slow": self.clients.slow_share}
        return (
            str(self.program),
            *pace,
            f"--url={self.url}",
            f"--duration={self.duration_s:g}",
            f"--warmup={self.warmup_s:g}",
            f"--timeout={self.timeout_s:g}",
            f"--sessions={self.sessions}",
            f"--seed={self.seed}",
            f"--processes={processes}",
            f"--cpus={format_cpus(tuple(self.cpus))}",
            # A run makes hundreds of thousands of connections: closed with FIN they would fill the table of
            # a host that tracks connections (nf_conntrack), which then drops SYNs
            # (docs/internals/load-generator.md).
            "--close=reset",
            *(f"--{name}-share={share:g}" for name, share in shares.items() if share > 0),
            *protocol_options(self.tls, self.http2),
            *((f"--destination={','.join(self.destinations)}",) if self.destinations else ()),
            *((f"--source={','.join(self.sources)}",) if self.sources else ()),
            *(() if self.share is None else self.share.options()),
        )


def protocol_options(tls: Tls | None, http2: Http2 | None) -> tuple[str, ...]:
    """What the generator is told of TLS and HTTP/2; that it is to speak TLS the URL says."""
    spoken = () if http2 is None else ("--http=2", f"--streams={http2.streams}")
    if tls is None:
        return spoken
    return (
        *spoken,
        f"--tls-version={tls.version}",
        f"--tls-resumed={tls.resumed_share:g}",
        *((f"--tls-ciphers={tls.ciphers}",) if tls.ciphers is not None else ()),
        *((f"--tls-name={tls.server_name}",) if tls.server_name is not None else ()),
    )


class GeneratorDied(Exception):
    """The load generator ended without a result."""


class ServerDied(Exception):
    """The server ended while load was being driven."""


class StepVoid(Exception):
    """A generator on another machine was late, lost or unwell: the rate says nothing, and is driven again."""


OnProgress = Callable[[dict[str, Any]], None]
OnWindow = Callable[[str], None]


def drive(
    order: LoadOrder,
    servers: Sequence[Child],
    stop: StopSignal,
    on_progress: OnProgress,
    on_window: OnWindow = lambda _edge: None,
) -> LoadResult:
    """Runs the generator to its end and returns its result.

    `on_progress` gets every progress line; `on_window` is told `begin` and `end` of the window in which the
    generator counts replies, when they come.  Ends the generator and raises ServerDied as soon as a server
    ends, Stopped as soon as a stop is requested, GeneratorDied when it ends without a result or hangs.
    """

    def told(line: dict[str, Any]) -> None:
        tell(line, on_progress, on_window)

    return LoadResult.model_validate(run_generator(order, servers, stop, told))


def tell(line: dict[str, Any], on_progress: OnProgress, on_window: OnWindow) -> None:
    """Tells of a line of a generator to whom it may concern."""
    if line["type"] == "progress":
        on_progress(line)
    elif line["type"] == "window":
        on_window(line["edge"])


def run_generator(
    order: LoadOrder,
    servers: Sequence[Child],
    stop: StopSignal,
    on_line: Callable[[dict[str, Any]], None],
) -> dict[str, Any]:
    """Runs the generator to its end and returns its result as it wrote it; `on_line` gets the lines before.

    Raises what `drive` does.
    """
    with Child(
        order.command(),
        cpus=order.cpus,
        log=order.log,
        capture=True,
        prioritised=order.prioritised,
        prefix=order.within,
    ) as generator:
        pipe = generator.stdout.fileno()
        limit_s = order.duration_s + 2 * order.timeout_s + HANG_MARGIN_S
        pending = b""
        deaths = {server.exit_descriptor: server for server in servers}
        result: dict[str, Any] | None = None
        while True:
            # It reports every second: silence for longer than a whole rate means that it hangs.
            ready = wait_readable([pipe, *deaths, stop.descriptor], limit_s)
            if stop.descriptor in ready:
                generator.stop(grace_s=0.0)
                raise Stopped
            if dead := ready & deaths.keys():
                generator.stop(grace_s=0.0)
                raise ServerDied(deaths[dead.pop()].death_sentence())
            if not ready:
                generator.stop(grace_s=0.0)
                raise GeneratorDied(f"{generator.name} reported nothing for {limit_s:.0f} s and was killed")
            chunk = os.read(pipe, 1 << 20)
            if not chunk:
                break
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                document = json.loads(line)
                if document["type"] == "result":
                    result = document
                else:
                    on_line(document)
        if generator.wait(HANG_MARGIN_S) != 0 or result is None or result["interrupted"]:
            raise GeneratorDied(generator.death_sentence())
        return result
