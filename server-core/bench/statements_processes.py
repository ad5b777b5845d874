"""The testable statements about connections, processes and caches, each as a measurement in small.

A statement says what the originals saw; its function measures the same here and gives figures, a ratio, and
whether it came out that way. What does not is as much worth knowing: machines have changed since.
The numbers are those of the seeds' digest, section 4; sections of the thesis stand with them.
"""

from __future__ import annotations

from finding import Finding, Statement, hit_share, show
from lab import Lab

LARGEST_FILE_BYTES = 1 << 20


def self_limits(lab: Lab, saturation_rps: float) -> Finding:
    """3: a higher maximum changes neither connections nor throughput of a SPED."""
    at = 1.3 * saturation_rps
    few, many = (lab.measure(at, architecture="sped", max_connections=n) for n in (4000, 12_000))
    ratio = many.goodput_mbps / few.goodput_mbps
    seen = (
        f"max_connections 4,000: {show(few)}, {few.most_connections} open at most; 12,000: {show(many)}, "
        f"{many.most_connections} open"
    )
    return Finding(seen, ratio, 0.9 < ratio < 1.1)


def large_files_starve(lab: Lab, saturation_rps: float) -> Finding:
    """4: several non-blocking processes beyond N connections: timeouts gather at large files."""
    knobs = {"architecture": "symped", "workers": 4, "sendfile": "nonblocking", "max_connections": 10_000}
    outcome = lab.measure(1.5 * saturation_rps, **knobs)
    small = max(outcome.timed_out_small, 1e-4)
    ratio = outcome.timed_out_large / small
    seen = (
        f"{show(outcome)}; timed out: {outcome.timed_out_large:.1%} of requests for files above 100 KB, "
        f"{outcome.timed_out_small:.1%} of the others"
    )
    return Finding(seen, ratio, not outcome.verification.verified and ratio > 1.5)


def buffer_spreads_timeouts(lab: Lab, saturation_rps: float) -> Finding:
    """5: a socket buffer that holds the largest file spreads timeouts over all sizes."""
    knobs = {"architecture": "symped", "workers": 4, "sendfile": "nonblocking", "max_connections": 10_000}
    at = 1.5 * saturation_rps
    small, large = (lab.measure(at, sndbuf=size, **knobs) for size in (65_536, LARGEST_FILE_BYTES))
    unfair = [o.timed_out_large / max(o.timed_out_small, 1e-3) for o in (small, large)]
    ratio = unfair[1] / max(unfair[0], 1e-3)
    seen = (
        f"large to small share of timeouts {unfair[0]:.2f} with 64 KiB ({show(small)}), {unfair[1]:.2f} with "
        f"1 MiB ({show(large)})"
    )
    return Finding(seen, ratio, ratio < 1)


def few_blocking_workers(lab: Lab, saturation_rps: float) -> Finding:
    """6: with too few workers blocking sendfile peaks, then loses more than 20 %."""
    few = {"architecture": "symped", "workers": 2, "sendfile": "blocking", "max_connections": 10_000}
    peak, over = (lab.measure(f * saturation_rps, **few) for f in (0.9, 1.6))
    many = lab.measure(1.6 * saturation_rps, **{**few, "workers": 100})
    ratio = over.goodput_mbps / peak.goodput_mbps
    seen = (
        f"2 workers: {show(peak)} below saturation, {show(over)} at 1.6 times it; "
        f"100 workers there: {show(many)}"
    )
    return Finding(seen, ratio, ratio < 0.8)


def blocking_verifies(lab: Lab, saturation_rps: float) -> Finding:
    """7: blocking sendfile verifies where non-blocking does not, and its requests read level off."""
    common = {"architecture": "symped", "workers": 25, "max_connections": 10_000}
    rates = [1.2 * saturation_rps, 1.6 * saturation_rps]
    blocking = [lab.measure(rate, sendfile="blocking", **common) for rate in rates]
    nonblocking = lab.measure(rates[1], sendfile="nonblocking", **common)
    read = [o.counters["requests"] / o.result["elapsed_s"] for o in blocking]
    ratio = read[1] / read[0]
    seen = (
        f"blocking: {show(blocking[0])}, {show(blocking[1])}, requests read {read[0]:.0f} and {read[1]:.0f} "
        f"a second; nonblocking: {show(nonblocking)}"
    )
    levelled = ratio < 0.9 * rates[1] / rates[0]
    return Finding(seen, ratio, levelled and blocking[1].verification.verified)


def connections_without_processes(lab: Lab, saturation_rps: float) -> Finding:
    """10: more connections without more processes, or the reverse, does not help."""
    at = 1.3 * saturation_rps
    base, connections, processes = (
        lab.measure(at, architecture="symped", sendfile="blocking", workers=w, max_connections=c)
        for w, c in ((25, 2000), (25, 12_000), (100, 2000))
    )
    ratio = max(connections.goodput_mbps, processes.goodput_mbps) / base.goodput_mbps
    seen = (
        f"25 processes, 2,000 connections: {show(base)}; 12,000 connections: {show(connections)}; "
        f"100 processes: {show(processes)}"
    )
    return Finding(seen, ratio, ratio < 1.1)


def shared_cache_hits(lab: Lab, saturation_rps: float) -> Finding:
    """13: a shared cache hits more often than one in each process."""
    at = saturation_rps
    common = {"workers": 16, "sendfile": "nonblocking", "max_connections": 10_000}
    own = lab.measure(at, architecture="symped", **common)
    shared = lab.measure(at, architecture="shared-symped", **common)
    hits = [hit_share(outcome) for outcome in (own, shared)]
    ratio = shared.goodput_mbps / own.goodput_mbps
    seen = f"hits: {hits[1]:.1%} shared, {hits[0]:.1%} apart; {show(shared)} against {show(own)}"
    return Finding(seen, ratio, hits[1] >= hits[0] and ratio > 0.95)


def event_calls(lab: Lab, saturation_rps: float) -> Finding:
    """15: a pipeline waits for events less often than symmetric processes do."""
    at = 0.8 * saturation_rps
    calls = {}
    for name, knobs in (
        ("pipeline", {"workers": 25}),
        ("symped", {"workers": 25}),
        ("shared-symped", {"workers": 25}),
    ):
        outcome = lab.measure(at, architecture=name, sendfile="blocking", max_connections=10_000, **knobs)
        calls[name] = outcome.counters["event_calls"] / outcome.result["elapsed_s"]
    ratio = calls["symped"] / calls["pipeline"]
    seen = ", ".join(f"{name} {rate:,.0f} a second" for name, rate in calls.items())
    return Finding(seen, ratio, ratio > 1)


def cache_lock_idles(lab: Lab, saturation_rps: float) -> Finding:
    """19: a mutex round the shared cache leaves CPU idle; the two-tier lock does not."""
    common = {"architecture": "shared-symped", "sendfile": "blocking", "workers": 100}
    mutex, rw = (
        lab.measure(1.3 * saturation_rps, max_connections=10_000, cache_lock=lock, **common)
        for lock in ("mutex", "rw")
    )
    ratio = rw.goodput_mbps / mutex.goodput_mbps
    seen = "; ".join(
        f"{name}: {show(outcome)}, idle {outcome.idle_percent:.0f} %, "
        f"{outcome.counters['lock_waits']:.0f} waits"
        for name, outcome in (("mutex", mutex), ("rw", rw))
    )
    return Finding(seen, ratio, ratio > 1 and mutex.idle_percent > rw.idle_percent)


OF_PROCESSES = (
    Statement(
        3,
        "SPED limits itself: a higher maximum changes neither connections nor throughput",
        "thesis §3.10.2",
        "the ratio of goodputs is between 0.9 and 1.1",
        self_limits,
    ),
    Statement(
        4,
        "Several non-blocking processes fail verification beyond N connections, timeouts at large files",
        "thesis §3.10.2.1",
        "it fails verification, and large files time out 1.5 times as often",
        large_files_starve,
    ),
    Statement(
        5,
        "A socket buffer holding the largest file spreads timeouts over all sizes",
        "thesis table 3.8",
        "the larger buffer makes timeouts less uneven (ratio below 1)",
        buffer_spreads_timeouts,
    ),
    Statement(
        6,
        "With too few workers blocking sendfile peaks, then loses more than 20 %",
        "thesis §3.10–3.11",
        "the ratio of goodputs, over saturation to below it, is under 0.8",
        few_blocking_workers,
    ),
    Statement(
        7,
        "Blocking sendfile verifies at more connections; requests read level off",
        "thesis §3.10.2",
        "blocking verifies at 1.6 times saturation, and its requests read grow (ratio) by less than nine "
        "tenths of the load's growth",
        blocking_verifies,
    ),
    Statement(
        10,
        "More connections without processes, or the reverse, does not help",
        "thesis §3.10.2",
        "neither gains a tenth",
        connections_without_processes,
    ),
    Statement(
        13,
        "A shared cache hits more often than one per process, at no less throughput",
        "thesis §3.11.4",
        "hits are no fewer, and the ratio of goodputs is above 0.95",
        shared_cache_hits,
    ),
    Statement(
        15,
        "A pipeline waits for events less often than symmetric processes",
        "thesis §3.11.3",
        "symped calls more often than pipeline (ratio above 1)",
        event_calls,
    ),
    Statement(
        19,
        "A mutex round the cache leaves CPU idle, a two-tier lock does not",
        "thesis §4.6.1",
        "the mutex leaves more CPU idle and less goodput (ratio above 1)",
        cache_lock_idles,
    ),
)
