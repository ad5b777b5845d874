"""One rate of a trial: what generator, server and host have counted meanwhile, put together.

Neither the generator nor the server can count alone how many of the requests that timed out the server had
read. The client sees that no reply came, and not whether anybody read what the server's kernel had
acknowledged for it. The server counts the requests that it read, and not which of them nobody waited for any
more. Together: what the server read beyond what was answered completely it read of requests that timed out,
or that failed without a complete reply. The latter may have been read or not, which makes the uncertainty; it
is nothing where no connection was reset or closed early. A request counts as read also when the server came
to it only after the client had gone: the kernel keeps for it what has arrived.
"""

from trimtab_trials.measurement import Latency, Measurement

from trimtab_agent.counters.source import Values
from trimtab_agent.station.generator import LoadResult, Percentiles

ANSWERED_FAILURES = ("status-", "wrong-length", "wrong-content")
"""Failures of requests that were answered completely: the server has read these."""


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
    return Measurement(
        number=number,
        rate_rps=result.rate_rps,
        duration_s=result.duration_s,
        warmup_s=result.warmup_s,
        elapsed_s=result.elapsed_s,
        goodput_mbps=result.goodput_mbps,
        reply_rate_rps=result.reply_rate_rps,
        bytes_received=result.bytes_received,
        sessions=result.sessions,
        requests=result.requests,
        connect_latency=_latency(result.latency_us.connect),
        first_byte_latency=_latency(result.latency_us.first_byte),
        reply_latency=_latency(result.latency_us.reply),
        failures=dict(result.failures),
        health=health,
        server_stats=server_stats,
        counters=counters,
        generator_limited=result.generator_limited,
        size_classes=result.size_classes,
    )


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
