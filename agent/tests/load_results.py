"""What the load generator says at the end of a rate, to be altered by hand."""

from trimtab_agent.station.generator import LoadResult

LATENCY = {"count": 0, "mean": 0, "p50": 0, "p90": 0, "p99": 0, "p999": 0, "max": 0}


def result(*, replied=0, before=0, after=0, failures=None, timed_out_connect=0, handshakes=0, resumed=0):
    """A result with these counts, of one second."""
    failures = failures or {}
    failed = sum(failures.values())
    offered = replied + before + after + failed
    return LoadResult(
        rate_rps=1,
        duration_s=1,
        warmup_s=0,
        elapsed_s=1,
        interrupted=False,
        sessions={
            "offered": offered,
            "started": offered,
            "completed": replied,
            "timed_out_connect": timed_out_connect,
            "timed_out": before + after - timed_out_connect,
            "failed": failed,
            "dropped": 0,
        },
        requests={
            "offered": offered,
            "replied": replied,
            "timed_out_before_read": before,
            "timed_out_after_read": after,
            "failed": failed,
            "abandoned": 0,
            "dropped": 0,
        },
        failures=failures,
        bytes_received=0,
        goodput_mbps=0,
        reply_rate_rps=0,
        window={"seconds": 1, "due": offered, "handshakes": handshakes},
        size_classes=(),
        latency_us=dict.fromkeys(("connect", "handshake", "first_byte", "reply"), LATENCY),
        tls={"handshakes": handshakes, "resumed": resumed, "failed": 0},
        http2={"streams": 0, "most_streams": 0, "reset": 0, "goaways": 0, "asked_again": 0},
        health={"verdict": "ok", "reasons": ()},
    )
