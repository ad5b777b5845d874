"""What the behaviour measurements share: a file set, a server in some configuration, and an overload.

One CPU serves and another generates, as in the benchmarks; the server is held to a part of its CPU
(small_machine.py). The load is the SPECweb99-like mix, open loop, its pauses and time limit at a tenth of the
seeds' so that a measurement takes seconds and not minutes.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import servers
from bystanders import Bystanders
from small_machine import CPU_SHARE, Joining, slow_disk
from trimtab_agent.counters.memory_group import GroupReading
from trimtab_agent.counters.server import plain_metrics
from trimtab_agent.station.leftovers import Leftovers
from trimtab_agent.station.memory_group import MemoryGroup, memory_group
from trimtab_agent.station.server.stats_socket import StatsSocket
from trimtab_trials.measurement import Measurement, SizeClassCounts
from trimtab_tuner.judging.verification import Thresholds, Verification, verify
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.content import file_content
from trimtab_tuner.workloads.drawn import DrawnWorkload
from trimtab_tuner.workloads.session_log import write_session_log

DIRECTORIES = 20
TIME_SCALE = 0.1
TIMEOUT_S = 10 * TIME_SCALE
LARGE_BYTES = 100_000
# Two thirds of the load is gone in a second: enough for the state in which a server stays.
DURATION_S = 4.0
WARMUP_S = 1.0
FIRST_RPS = 500.0  # a search for the most that is served begins there
RISE = 1.5
FOLLOWED = 0.8  # of what was offered; who answers less is beyond its most
MOST_TRIES = 3
DISTURBED_SHARE = 0.1
ANSWER_S = 30.0  # of the stats socket: a hundred processes share a part of a CPU
PHASE_S = 10  # 64 threads are gone after 7.4 s without work


# Statements about disks are tried with less memory than the files need (102 MB), the server's own included.
SCARCE_BYTES = 64 << 20
PACKET_BYTES = 1000  # with its head it fits one packet
ONE_FILE_BYTES = (PACKET_BYTES, 8_192, 262_144, 2_097_152)


@dataclass(frozen=True)
class Load:
    """What is asked for, beside the rate, and with how much memory it is served.

    With a `path` each request is for that file on a connection of its own, otherwise the mix is asked for.
    `scarce` limits the server's memory, page cache included, to SCARCE_BYTES. It lasts for `duration_s`, of
    which the first `warmup_s` do not count.
    """

    path: str = ""
    timeout_s: float = TIMEOUT_S
    scarce: bool = False
    duration_s: float = DURATION_S
    warmup_s: float = WARMUP_S


MIX = Load()
MIX_FROM_DISK = Load(scarce=True)


@dataclass(frozen=True)
class Outcome:
    """One rate driven into one configuration: the generator's result and the server's counters."""

    rate_rps: float
    goodput_mbps: float
    reply_rate_rps: float
    verification: Verification
    timed_out_large: float
    timed_out_small: float
    counters: dict[str, float]
    most_connections: int
    server_cpu_s: float
    result: dict[str, Any]
    resident_bytes: int
    memory: GroupReading | None
    """At the end, where memory was limited."""
    generator_limited: bool
    """Whether the generator could not offer the rate; then the outcome says little of the server."""

    @property
    def idle_percent(self) -> float:
        """How much of its part of a CPU the server did not use."""
        return max(0.0, 100 * (1 - self.server_cpu_s / (float(self.result["elapsed_s"]) * CPU_SHARE)))


def one_file(size_bytes: int) -> str:
    """The path of the file of that size, one of ONE_FILE_BYTES, that is asked for alone."""
    return f"/one/{size_bytes}.bin"


def listen_drops() -> int:
    """Connections that the kernel has dropped on this machine because an accept queue was full."""
    names, values = (
        line.split()
        for line in Path("/proc/net/netstat").read_text().splitlines()
        if line.startswith("TcpExt")
    )
    return int(dict(zip(names, values, strict=True))["ListenOverflows"])


class Lab:
    """The files, the log, and what is measured with them; `folder` is emptied by its owner.

    `joining` goes before the command of every server. `measured` counts what `measure` was asked for,
    `limited` what the generator held up of it.
    """

    def __init__(self, folder: Path, joining: Joining = ()) -> None:
        self.measured = self.limited = 0
        self._joining = joining
        self._folder = folder
        self.root = folder / "root"
        self.sessions = folder / "sessions.log"
        workload = DrawnWorkload(WORKLOADS["specweb99"].sized(DIRECTORIES), time_scale=TIME_SCALE)
        for path, size in workload.files():
            file = self.root / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(file_content(path, size))
        self.sessions.write_text(write_session_log(workload.sessions()))
        (self.root / "ready").write_text("yes")
        (self.root / "one").mkdir()
        for size in ONE_FILE_BYTES:
            (self.root / one_file(size).lstrip("/")).write_bytes(file_content(one_file(size), size))
        self._places = 0

    def measure(self, rate_rps: float, load: Load = MIX, /, **knobs: object) -> Outcome:
        """Starts a server with these knobs, drives the rate into it, and stops it.

        Again, a few times at most, while something else takes part of the CPUs; the calmest one counts.
        """
        calmest: tuple[float, Outcome] | None = None
        for _ in range(MOST_TRIES):
            disturbance, outcome = self._once(rate_rps, load, knobs)
            if calmest is None or disturbance < calmest[0]:
                calmest = disturbance, outcome
            if disturbance < DISTURBED_SHARE:
                break
        assert calmest is not None  # noqa: S101 - there is one try at least
        self.measured += 1
        self.limited += calmest[1].generator_limited
        return calmest[1]

    def _once(self, rate_rps: float, load: Load, knobs: dict[str, object]) -> tuple[float, Outcome]:
        """How much was taken from a measurement, and what came of it."""
        options = ["open", "--rate", f"{rate_rps:g}", "--duration", f"{load.duration_s:g}"]
        options += ["--warmup", f"{load.warmup_s:g}", "--timeout", f"{load.timeout_s:g}"]
        with self._limits(load.scarce) as (group, joining), self._server(knobs, joining) as (server, stats):
            warming = ["closed", "--connections", "8", "--duration", "1", "--timeout", "10"]
            self._load(server.url, warming, load.path)
            before = plain_metrics(stats.ask("show stats")["total"])
            cpu_before_s = server.cpu_s()
            bystanders = Bystanders((servers.SERVER_CPU, servers.CLIENT_CPU), server.cpu_s)
            result, most = self._drive(server.url, options, load.path, stats)
            disturbance = bystanders.share()
            server_cpu_s = server.cpu_s() - cpu_before_s
            after = plain_metrics(stats.ask("show stats")["total"])
            resident_bytes = server.resident_bytes()
            memory = group.read() if group else None
        counters = {key: value - before.get(key, 0) for key, value in after.items()}
        outcome = outcome_of(rate_rps, result, counters, most, server_cpu_s, resident_bytes, memory)
        return disturbance, outcome

    def shift(
        self, phases: tuple[tuple[str, int], ...], look: Callable[[StatsSocket], int], **knobs: object
    ) -> list[int]:
        """What `look` sees at the end of each phase: a path, and how many connections ask for it."""
        seen = []
        with self._server(knobs) as (server, stats):
            for path, connections in phases:
                options = [
                    "closed",
                    "--connections",
                    str(connections),
                    "--duration",
                    str(PHASE_S),
                    "--timeout",
                    "10",
                ]
                with self._start(server.url, options, path) as child:
                    looks = [look(stats) for _line in child.stdout or ()]
                seen.append(looks[-1])
        return seen

    def busy_rps(self, path: str, connections: int, **knobs: object) -> float:
        """Replies a second that so many connections get which ask for one file all the time."""
        with self._server(knobs) as (server, _stats):
            return self.busy_rps_of(server.url, path, connections)

    def busy_rps_of(self, url: str, path: str, connections: int) -> float:
        """The same of a server that runs already."""
        options = ["closed", "--connections", str(connections), "--duration", f"{DURATION_S:g}"]
        result = self._load(url, [*options, "--warmup", f"{WARMUP_S:g}", "--timeout", "10"], path)
        return float(result["reply_rate_rps"])

    def most_rps(self, load: Load = MIX, /, **knobs: object) -> float:
        """About the most that a configuration serves: the rate offered rises until it does not follow."""
        most, offered = 0.0, FIRST_RPS
        while True:
            outcome = self.measure(offered, load, **knobs)
            most = max(most, outcome.reply_rate_rps)
            if outcome.generator_limited or outcome.reply_rate_rps < FOLLOWED * offered:
                return most
            offered *= RISE

    def new_place(self) -> Path:
        """A name for a folder that nobody has used."""
        self._places += 1
        return self._folder / f"measurement-{self._places}"

    @contextlib.contextmanager
    def _server(
        self, knobs: dict[str, object], joining: Joining = ()
    ) -> Iterator[tuple[servers.Server, StatsSocket]]:
        """A server with these knobs, and a client of its stats socket."""
        place = self.new_place()
        stats_path = place.with_suffix(".sock")
        plain = servers.core_with(stats_socket=stats_path, **{"keepalive_timeout": 60, **knobs})

        def command(folder: Path, root: Path, port: int) -> list[str]:
            return [*self._joining, *joining, *plain(folder, root, port)]

        running = servers.running(f"trimtab-httpd with {knobs}", place, self.root, "/ready", command)
        with running as server, StatsSocket(stats_path, timeout_s=ANSWER_S) as stats:
            yield server, stats

    @contextlib.contextmanager
    def _limits(self, scarce: bool) -> Iterator[tuple[MemoryGroup | None, Joining]]:
        """Little memory, a slow disk, and no file in the page cache; nothing if memory is not scarce."""
        if not scarce:
            yield None, ()
            return
        for file in self.root.rglob("*"):
            if file.is_file():
                with file.open("rb") as opened:
                    os.fsync(opened.fileno())
                    os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        name = f"behaviours-{os.getpid()}"
        with (
            memory_group(name, SCARCE_BYTES, Leftovers(self._folder / "leftovers.json")) as group,
            slow_disk(self.root) as slowly,
        ):
            yield group, (*group.join_command, *slowly)

    def _drive(
        self, url: str, options: list[str], path: str, stats: StatsSocket
    ) -> tuple[dict[str, Any], int]:
        """The generator's result, and the most connections that were seen open at once."""
        most = 0
        with self._start(url, options, path) as child:
            for line in child.stdout or ():
                document = json.loads(line)
                if document["type"] == "result":
                    return document, most
                total = plain_metrics(stats.ask("show stats")["total"])
                most = max(most, int(total["connections_open"]))
        raise RuntimeError(f"trimtab-load ended with status {child.returncode} and no result")

    def _load(self, url: str, options: list[str], path: str) -> dict[str, Any]:
        with self._start(url, options, path) as child:
            lines = child.communicate()[0].splitlines()
        result: dict[str, Any] = json.loads(lines[-1])
        return result

    def _start(self, url: str, options: list[str], path: str) -> subprocess.Popen[str]:
        command = [str(servers.LOAD), *options, "--url", url + path]
        command += [] if path else ["--sessions", str(self.sessions)]
        command += ["--cpus", str(servers.CLIENT_CPU), "--close", "reset"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def outcome_of(
    rate_rps: float,
    result: dict[str, Any],
    counters: dict[str, float],
    most: int,
    server_cpu_s: float,
    resident_bytes: int,
    memory: GroupReading | None,
) -> Outcome:
    """The generator's result put together with the server's counters."""
    classes = tuple(
        SizeClassCounts(**{field.name: row[field.name] for field in fields(SizeClassCounts)})
        for row in result["size_classes"]
    )
    measurement = Measurement(
        rate_rps=rate_rps,
        goodput_mbps=result["goodput_mbps"],
        reply_rate_rps=result["reply_rate_rps"],
        size_classes=classes,
    )
    return Outcome(
        rate_rps=rate_rps,
        goodput_mbps=result["goodput_mbps"],
        reply_rate_rps=result["reply_rate_rps"],
        verification=verify([measurement], Thresholds()),
        timed_out_large=share_timed_out(row for row in classes if row.size_bytes > LARGE_BYTES),
        timed_out_small=share_timed_out(row for row in classes if row.size_bytes <= LARGE_BYTES),
        counters=counters,
        most_connections=most,
        server_cpu_s=server_cpu_s,
        result=result,
        resident_bytes=resident_bytes,
        memory=memory,
        generator_limited=result["health"]["verdict"] != "ok",
    )


def share_timed_out(classes: Any) -> float:  # noqa: ANN401 - any iterable of counts
    """The share of requests that the server had read and did not answer in time."""
    rows = list(classes)
    read = sum(row.replied + row.timed_out_after_read + row.failed for row in rows)
    return sum(row.timed_out_after_read for row in rows) / read if read else 0.0
