"""What SEDA's controllers promise, measured with those of the pipeline. The digest names it as
prior work only, so these are numbered behind its statements.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from finding import Finding, Statement
from lab import Lab, Load, one_file
from trimtab_agent.station.server.stats_socket import StatsSocket

TARGET_MS = 20
LARGE = Load(path=one_file(2_097_152))
SETTLED = replace(LARGE, duration_s=12.0, warmup_s=4.0)
BLOCKING: dict[str, object] = {
    "architecture": "pipeline", "sendfile": "blocking", "workers": 16, "max_connections": 10_000,
}  # fmt: skip


def writers_at_work(stats: StatsSocket) -> int:
    """How many threads the stage Write has at work."""
    rows = stats.ask("show stats")["workers"]
    return int(next(row["stage_threads"] for row in rows if row["role"] == "write-controller"))


def threads_follow(lab: Lab, _saturation_rps: float) -> Finding:
    """32: threads follow a shift of the load, from small files to large ones that hold writers, and back."""
    phases = ((one_file(1000), 4), (one_file(262_144), 200), (one_file(1000), 4))
    seen = lab.shift(
        phases,
        writers_at_work,
        architecture="pipeline",
        sendfile="blocking",
        workers=64,
        sndbuf=16_384,
        stage_threads="adaptive",
    )
    ratio = seen[1] / seen[0]
    said = f"writers at work: {seen[0]} for small files, {seen[1]} for large ones, {seen[2]} for small again"
    return Finding(said, ratio, ratio > 1 and seen[2] < seen[1])


@cache
def large_rps(lab: Lab) -> float:
    """About how many large files the pipeline serves a second."""
    return lab.most_rps(LARGE, **BLOCKING)


def bounded_percentile(lab: Lab, _saturation_rps: float) -> Finding:
    """33: under overload admission control bounds the 90th percentile of those that are served.

    With large files, as reading and refusing have to leave time for serving; judged when it has settled.
    """
    at = 1.5 * large_rps(lab)
    p90_ms: dict[object, float] = {}
    goodputs = {}
    for target in ("off", TARGET_MS):
        outcome = lab.measure(at, SETTLED, admission_p90_ms=target, **BLOCKING)
        reply = outcome.result["latency_us"]["reply"]
        p90_ms[target] = reply["p90"] / 1000 if reply["count"] else float("inf")
        goodputs[target] = outcome.goodput_mbps
    ratio = p90_ms[TARGET_MS] / p90_ms["off"]
    seen = (
        f"90th percentile {p90_ms['off']:.0f} ms at {goodputs['off']:.0f} Mbps without, "
        f"{p90_ms[TARGET_MS]:.0f} ms at {goodputs[TARGET_MS]:.0f} Mbps with a target of {TARGET_MS} ms"
    )
    return Finding(seen, ratio, ratio < 1 and p90_ms[TARGET_MS] < 3 * TARGET_MS)


OF_STAGES = (
    Statement(
        32,
        "A stage gets threads when the load shifts to what holds them",
        "SEDA, SOSP 2001 §4.2",
        "more writers work under large files than under small ones, before (ratio above 1) and after",
        threads_follow,
    ),
    Statement(
        33,
        "Admission control bounds the 90th percentile under overload",
        "SEDA, USITS 2003",
        "at 1.5 times what is served of files of 2 MB it is below three times the target of 20 ms (two "
        "stages, and the network), and below that without (ratio)",
        bounded_percentile,
    ),
)
