"""The testable statements about memory that the files do not fit, each as a measurement in small: the server
and its page cache are in a control group with two thirds of the files' size, and its disk is slow.
"""

from __future__ import annotations

from finding import Finding, Statement, show
from lab import MIX, MIX_FROM_DISK, Lab, Outcome

COMMON: dict[str, object] = {"max_connections": 10_000}
WORKERS = 16  # with 50 processes the group has no room for files, and the server stands still
LOAD = 0.8  # of the saturation in memory: the disk serves less


def cached_mb(outcome: Outcome) -> float:
    """What the kernel held of files at the end, in MB."""
    return (outcome.memory.file_bytes or 0) / 1e6 if outcome.memory else 0.0


def show_memory(outcome: Outcome) -> str:
    """Goodput, and what was cached and read again."""
    refaults = (outcome.memory.file_refaults or 0) if outcome.memory else 0
    return f"{show(outcome)}, {cached_mb(outcome):.0f} MB cached, {refaults:,} pages read again"


def concurrency_grows(lab: Lab, saturation_rps: float) -> Finding:
    """9: the best number of non-blocking processes grows when files have to come from disk."""
    best = {}
    shown = []
    for scarce in (False, True):
        outcomes = {
            n: lab.measure(
                LOAD * saturation_rps,
                MIX_FROM_DISK if scarce else MIX,
                architecture="symped",
                workers=n,
                **COMMON,
            )
            for n in (1, 4, WORKERS)
        }
        best[scarce] = max(outcomes, key=lambda n: outcomes[n].goodput_mbps)
        shown.append(", ".join(f"{n}: {outcome.goodput_mbps:.0f}" for n, outcome in outcomes.items()))
    ratio = best[True] / best[False]
    seen = f"Mbps by processes: in memory {shown[0]}; from disk {shown[1]}"
    return Finding(seen, ratio, ratio > 1)


def blocking_from_disk(lab: Lab, saturation_rps: float) -> Finding:
    """11: in memory non-blocking is at least as good; from disk blocking is better, with less cached."""
    knobs = {"architecture": "pipeline", "workers": WORKERS, **COMMON}
    inside = [lab.measure(saturation_rps, sendfile=m, **knobs) for m in ("nonblocking", "blocking")]
    disk = [
        lab.measure(LOAD * saturation_rps, MIX_FROM_DISK, sendfile=m, **knobs)
        for m in ("nonblocking", "blocking")
    ]
    ratio = disk[1].goodput_mbps / disk[0].goodput_mbps
    seen = (
        f"in memory: {show(inside[0])} nonblocking, {show(inside[1])} blocking; from disk: "
        f"{show_memory(disk[0])} nonblocking, {show_memory(disk[1])} blocking"
    )
    return Finding(seen, ratio, ratio > 1 and inside[0].goodput_mbps >= 0.98 * inside[1].goodput_mbps)


def larger_cache_wins(lab: Lab, saturation_rps: float) -> Finding:
    """12: with equal sendfile mode and threads, who leaves more to the file-system cache wins."""
    outcomes = {
        name: lab.measure(
            LOAD * saturation_rps,
            MIX_FROM_DISK,
            architecture=name,
            sendfile="blocking",
            workers=WORKERS,
            **COMMON,
        )
        for name in ("pipeline", "shared-symped", "symped")
    }
    by_cache = sorted(outcomes, key=lambda name: -cached_mb(outcomes[name]))
    by_goodput = sorted(outcomes, key=lambda name: -outcomes[name].goodput_mbps)
    ratio = outcomes[by_cache[0]].goodput_mbps / outcomes[by_cache[-1]].goodput_mbps
    seen = "; ".join(f"{name}: {show_memory(outcomes[name])}" for name in outcomes)
    return Finding(seen, ratio, by_cache[0] == by_goodput[0] and ratio > 1)


def pipeline_leads(lab: Lab, saturation_rps: float) -> Finding:
    """24: from disk the blocking pipeline leads; blocking shared-symped falls from its peak."""
    peak, over = (
        lab.measure(
            f * saturation_rps,
            MIX_FROM_DISK,
            architecture="shared-symped",
            sendfile="blocking",
            workers=WORKERS,
            **COMMON,
        )
        for f in (0.4, 0.8)
    )
    pipeline = lab.measure(
        0.8 * saturation_rps,
        MIX_FROM_DISK,
        architecture="pipeline",
        sendfile="blocking",
        workers=WORKERS,
        **COMMON,
    )
    ratio = over.goodput_mbps / peak.goodput_mbps
    seen = (
        f"shared-symped: {show(peak)} at 0.4 times the saturation in memory, {show(over)} at 0.8 times; "
        f"pipeline there: {show(pipeline)}"
    )
    return Finding(seen, ratio, ratio < 0.9 and pipeline.goodput_mbps > over.goodput_mbps)


OF_SCARCE_MEMORY = (
    Statement(
        9,
        "The best number of non-blocking processes grows with disk load",
        "thesis §3.14",
        "of 1, 4 and 16 a larger number is best from disk than in memory (ratio above 1)",
        concurrency_grows,
    ),
    Statement(
        11,
        "In memory non-blocking is at least as good as blocking, from disk blocking is better",
        "thesis §3.13",
        "in a pipeline blocking has more goodput from disk (ratio above 1) and at most 2 % more in memory",
        blocking_from_disk,
    ),
    Statement(
        12,
        "Under memory pressure the larger file-system cache wins",
        "thesis §3.14",
        "of three architectures the one with most cached has the best goodput (ratio to the one with least)",
        larger_cache_wins,
    ),
    Statement(
        24,
        "From disk the blocking pipeline leads, shared-symped loses about 23 % from its peak (four CPUs)",
        "thesis §4.7",
        "shared-symped loses a tenth when the load doubles (ratio), and the pipeline is ahead of it",
        pipeline_leads,
    ),
)
