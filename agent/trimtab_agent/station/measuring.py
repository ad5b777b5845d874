"""One rate of a trial: what generator, server and host have counted meanwhile, put together.

Neither the generator nor the server can count alone how many of the requests that timed out the server had
read. The client sees that no reply came, and not whether anybody read what the server's kernel had
acknowledged for it. The server counts the requests that it read, and not which of them nobody waited for any
more. Together: what the server read beyond what was answered completely it read of requests that timed out,
or that failed without a complete reply. The latter may have been read or not, which makes the uncertainty; it
is nothing where no connection was reset or closed early. A request counts as read also when the server came
to it only after the client had gone: the kernel keeps for it what has arrived.

Host and processes are counted in the window in which the generator counts replies: without the warm-up, and
without the drain after the load, in which a server does little. The server's own counters cover all of the
rate, as the counts of requests do that they are held against.
"""

import time
from dataclasses import replace
from typing import Any

from trimtab_trials.measurement import Latency, Measurement
from trimtab_tuner.diagnosis.tls import cpu_us_per_handshake

from trimtab_agent.counters.source import Snapshot, Values
from trimtab_agent.counters.watched import WatchedCounters
from trimtab_agent.station.generator import LoadResult, Percentiles

ANSWERED_FAILURES = ("status-", "error-", "wrong-length", "wrong-content")
"""Failures of requests that were answered completely: the server has read these."""


MIDDLE_READ_S = 0.005
"""The longest reading of the processes' memory that is made while load is offered."""


class WindowCounters:
    """What host and server processes count in the window of one rate, from `warmup_s` to `duration_s`.

    Told by the generator when the window begins and ends. The memory of the processes is read by this
    process, at the end of the window and in its middle, and the larger counts. A reading is a walk through
    all their pages, 25 ms for each GiB (docs/lab/benchmarks.md), in which a process cannot map a file: so the
    middle is left out if a reading before the load, while they were idle, has taken longer than
    `MIDDLE_READ_S`.
    """

    def __init__(self, counters: WatchedCounters, warmup_s: float, duration_s: float) -> None:
        self._counters = counters
        self._window_s = duration_s - warmup_s
        self._middle_s = (warmup_s + duration_s) / 2
        self._edges: dict[str, Snapshot] = {}
        self._memory_bytes: list[int] = []
        begun_s = time.monotonic()
        counters.server_memory_bytes()
        self._middle_due = time.monotonic() - begun_s <= MIDDLE_READ_S

    def at_edge(self, edge: str) -> None:
        """The window begins (`begin`) or ends (`end`) now."""
        self._edges[edge] = self._counters.take()
        if edge == "end":
            self._see_memory()

    def progressed(self, line: dict[str, Any]) -> None:
        """The generator has reported its progress."""
        if self._middle_due and line["elapsed_s"] >= self._middle_s and "end" not in self._edges:
            self._middle_due = False
            self._see_memory()

    def values(self) -> Values:
        """The averages over the window; of the processes also the seconds on a CPU and the peak of memory.

        The memory is left out where it cannot be read. Resident memory is not told: see counters/process.py.
        """
        values = self._counters.between(self._edges["begin"], self._edges["end"])
        if (processes := values.get("server_processes")) is not None:
            processes.pop("resident_bytes")
            percent = processes["user"] + processes["system"]
            processes["cpu_s"] = round(percent / 100 * self._window_s, 4)
            if self._memory_bytes:
                processes["peak_memory_bytes"] = max(self._memory_bytes)
        return values

    def _see_memory(self) -> None:
        size_bytes = self._counters.server_memory_bytes()
        if size_bytes is not None:
            self._memory_bytes.append(size_bytes)


def measurement_of(
    number: int,
    result: LoadResult,
    server_stats: dict[str, float],
    counters: Values,
) -> Measurement:
    """The generator's result as a measurement, with the server's counters and the host's averages.

    Where the server counts its requests, `health` tells between which numbers those lie that it had read and
    that timed out all the same.
    """
    health = result.health.model_dump(mode="json")
    if "requests" in server_stats:
        health["timed_out_requests_read"] = [*timed_out_reads(result, server_stats["requests"])]
    measurement = Measurement(
        number=number,
        rate_rps=result.rate_rps,
        duration_s=result.duration_s,
        warmup_s=result.warmup_s,
        elapsed_s=result.elapsed_s,
        goodput_mbps=result.goodput_mbps,
        reply_rate_rps=result.reply_rate_rps,
        due_rate_rps=result.due_rate_rps,
        bytes_received=result.bytes_received,
        sessions=result.sessions,
        requests=result.requests,
        connect_latency=_latency(result.latency_us.connect),
        first_byte_latency=_latency(result.latency_us.first_byte),
        reply_latency=_latency(result.latency_us.reply),
        failures=dict(result.failures),
        health=health,
        server_stats=server_stats,
        counters={**counters, **tls_counters(result), **http2_counters(result)},
        generator_limited=result.generator_limited,
        size_classes=result.size_classes,
    )
    return _with_cpu_of_handshakes(measurement)


def _with_cpu_of_handshakes(measurement: Measurement) -> Measurement:
    """The measurement with one more counter of `tls`, if both sides have counted what it needs."""
    each_us = cpu_us_per_handshake(measurement)
    if each_us is None:
        return measurement
    counters = measurement.counters
    tls = {**counters["tls"], "cpu_us_per_handshake": round(each_us, 1)}
    return replace(measurement, counters={**counters, "tls": tls})


def tls_counters(result: LoadResult) -> Values:
    """What the generator saw of TLS, as one more source of counters; empty where nobody spoke it.

    Handshakes per second of the window; of the whole rate the percentage that resumed a session, how many
    failed, and how long they took.
    """
    seen, window, took = result.tls, result.window, _latency(result.latency_us.handshake)
    if not seen.handshakes and not seen.failed:
        return {}
    return {
        "tls": {
            "handshakes_per_s": round(window.handshakes / window.seconds, 2) if window.seconds else 0.0,
            "resumed_percent": round(100 * seen.resumed / max(seen.handshakes, 1), 2),
            "failed": seen.failed,
            "handshake_p50_us": took.p50_us,
            "handshake_p99_us": took.p99_us,
        }
    }


def http2_counters(result: LoadResult) -> Values:
    """What the generator saw of HTTP/2, as one more source of counters; empty where nobody spoke it.

    Of the whole rate: the most streams at once on a connection, streams that the server broke off,
    connections that it took leave of, and requests that were asked again for that reason.
    """
    seen = result.http2
    if not seen.streams:
        return {}
    return {
        "http2": {
            "most_streams": seen.most_streams,
            "streams_reset": seen.reset,
            "goaways": seen.goaways,
            "asked_again": seen.asked_again,
        }
    }


def _latency(observed: Percentiles) -> Latency:
    seen = observed.count > 0
    return Latency(
        p50_us=observed.p50 if seen else None,
        p90_us=observed.p90 if seen else None,
        p99_us=observed.p99 if seen else None,
        p999_us=observed.p999 if seen else None,
        max_us=observed.max if seen else None,
        mean_us=observed.mean if seen else None,
    )


def counted(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    """What the server counted from one reading of its stats to the other; empty if either is missing."""
    return {name: value - before[name] for name, value in after.items() if name in before}


def timed_out_reads(result: LoadResult, requests_read: float) -> tuple[int, int]:
    """The least and the largest number of timed-out requests that the server had read.

    `requests_read` is what the server counted during the measurement.  Requests of others in that time, such
    as those for a status page, count among them and make the result too large by their number.
    """
    failed_answered = sum(
        count for name, count in result.failures.items() if name.startswith(ANSWERED_FAILURES)
    )
    beyond = round(requests_read) - result.requests.replied - failed_answered
    # Before the connection was there, nothing was sent that could have been read.
    could_be_read = result.requests.timed_out - result.sessions.timed_out_connect
    at_most = max(0, min(could_be_read, beyond))
    at_least = max(0, beyond - (result.requests.failed - failed_answered))
    return min(at_least, at_most), at_most
