"""What the behaviour measurements share: a file set, a server in some configuration, and an overload.

One CPU serves and another generates, as in the benchmarks. The load is the SPECweb99-like mix, open loop, its
pauses and time limit at a tenth of the seeds' so that a measurement takes seconds and not minutes.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import servers
from trimtab_agent.counters.server import plain_metrics
from trimtab_agent.station.server.stats_socket import StatsSocket
from trimtab_trials.measurement import Measurement, SizeClassCounts
from trimtab_tuner.verification import Thresholds, Verification, verify
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
    idle_percent: float
    result: dict[str, Any]


class Lab:
    """The files, the log, and the measurements made with them; `folder` is emptied by its owner."""

    def __init__(self, folder: Path) -> None:
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
        self._measured = 0

    def measure(self, rate_rps: float, **knobs: object) -> Outcome:
        """Starts a server with these knobs, drives the rate into it, and stops it."""
        self._measured += 1
        place = self._folder / f"measurement-{self._measured}"
        stats_path = self._folder / f"{self._measured}.sock"
        command = servers.core_with(stats_socket=stats_path, **{"keepalive_timeout": 60, **knobs})
        running = servers.running(f"trimtab-httpd with {knobs}", place, self.root, "/ready", command)
        with running as server, StatsSocket(stats_path) as stats:
            self._warm(server.url)
            before = plain_metrics(stats.ask("show stats")["total"])
            cpu_before_s = server.cpu_s()
            result, most = self._drive(server.url, rate_rps, stats)
            idle = 100 * (1 - (server.cpu_s() - cpu_before_s) / result["elapsed_s"])
            after = plain_metrics(stats.ask("show stats")["total"])
        counters = {key: value - before.get(key, 0) for key, value in after.items()}
        return outcome_of(rate_rps, result, counters, most, max(0.0, idle))

    def saturation_rps(self, **knobs: object) -> float:
        """About the rate that a configuration serves at most: what comes back from far too much."""
        return self.measure(60_000, **knobs).reply_rate_rps

    def _warm(self, url: str) -> None:
        self._load(url, ["closed", "--connections", "8", "--duration", "1", "--timeout", "10"])

    def _drive(self, url: str, rate_rps: float, stats: StatsSocket) -> tuple[dict[str, Any], int]:
        """The generator's result, and the most connections that were seen open at once."""
        options = ["open", "--rate", f"{rate_rps:g}", "--duration", f"{DURATION_S:g}"]
        options += ["--warmup", f"{WARMUP_S:g}", "--timeout", f"{TIMEOUT_S:g}"]
        most = 0
        with self._start(url, options) as child:
            for line in child.stdout or ():
                document = json.loads(line)
                if document["type"] == "result":
                    return document, most
                total = plain_metrics(stats.ask("show stats")["total"])
                most = max(most, int(total["connections_open"]))
        raise RuntimeError(f"trimtab-load ended with status {child.returncode} and no result")

    def _load(self, url: str, options: list[str]) -> None:
        with self._start(url, options) as child:
            child.communicate()

    def _start(self, url: str, options: list[str]) -> subprocess.Popen[str]:
        command = [str(servers.LOAD), *options, "--url", url, "--sessions", str(self.sessions)]
        command += ["--cpus", str(servers.CLIENT_CPU), "--close", "reset"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def outcome_of(
    rate_rps: float, result: dict[str, Any], counters: dict[str, float], most: int, idle_percent: float
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
        idle_percent=idle_percent,
        result=result,
    )


def share_timed_out(classes: Any) -> float:  # noqa: ANN401 - any iterable of counts
    """The share of requests that the server had read and did not answer in time."""
    rows = list(classes)
    read = sum(row.replied + row.timed_out_after_read + row.failed for row in rows)
    return sum(row.timed_out_after_read for row in rows) / read if read else 0.0
