"""One rate of a trial: drive it, and put together what generator, server and host have counted meanwhile."""

from trimtab_db import records
from trimtab_tuner.limits import LATENCIES
from trimtab_tuner.records import Measurement, SizeClassCounts

from trimtab_agent.counters.source import Values
from trimtab_agent.load_generator import LoadResult, Percentiles
from trimtab_agent.run.timeouts import timed_out_reads


def measurement_record(
    number: int,
    result: LoadResult,
    server_stats: dict[str, float],
    counters: Values,
) -> records.Measurement:
    """The generator's result as it is recorded, with the server's counters and the host's averages.

    Where the server counts its requests, `health` tells between which numbers those lie that it had read and
    that timed out all the same.
    """
    health = result.health.model_dump()
    if "requests" in server_stats:
        health["timed_out_requests_read"] = timed_out_reads(result, server_stats["requests"])
    return records.Measurement(
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


def _latency(observed: Percentiles) -> records.Latency:
    seen = observed.count > 0
    return records.Latency(
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


def for_tuner(record: records.Measurement) -> Measurement:
    """A recorded measurement (with its size classes) in the form in which the tuner scores and verifies."""
    return Measurement(
        rate_rps=record.rate_rps,
        goodput_mbps=record.goodput_mbps,
        reply_rate_rps=record.reply_rate_rps,
        size_classes=tuple(
            SizeClassCounts(
                size_bytes=c.size_bytes,
                asked=c.asked,
                replied=c.replied,
                timed_out_before_read=c.timed_out_before_read,
                timed_out_after_read=c.timed_out_after_read,
                failed=c.failed,
                abandoned=c.abandoned,
            )
            for c in record.size_classes
        ),
        generator_limited=record.generator_limited,
        reply_latency_us={
            name: value
            for name in LATENCIES
            if (value := getattr(record.reply_latency, f"{name}_us")) is not None
        },
        resident_bytes=record.counters.get("server_processes", {}).get("resident_bytes"),
    )
