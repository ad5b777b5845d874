"""The testable statements about how many processes and connections are right, each measured in small."""

from __future__ import annotations

from finding import Finding, Statement, show
from lab import Lab

ROOMY = 10_000  # connections
LIMITS = (1000, 3000, ROOMY)  # of which the best is taken where a server has to be tuned


def small_nonblocking_pool(lab: Lab, saturation_rps: float) -> Finding:
    """1: in memory one non-blocking process for each CPU is best, blocking sendfile needs tens."""
    at = 1.3 * saturation_rps
    common = {"architecture": "symped", "max_connections": ROOMY}
    one, more = (lab.measure(at, sendfile="nonblocking", workers=n, **common) for n in (1, 25))
    few, tens = (lab.measure(at, sendfile="blocking", workers=n, **common) for n in (1, 50))
    ratio = more.goodput_mbps / one.goodput_mbps
    seen = (
        f"nonblocking: {show(one)} with 1 process, {show(more)} with 25; blocking: {show(few)} with 1, "
        f"{show(tens)} with 50"
    )
    return Finding(seen, ratio, ratio < 1 and tens.goodput_mbps > few.goodput_mbps)


def low_maximum(lab: Lab, saturation_rps: float) -> Finding:
    """2: too low a maximum of connections is a ceiling, however many processes there are."""
    common = {"architecture": "symped", "sendfile": "nonblocking"}
    at = saturation_rps
    one, more = (lab.measure(at, max_connections=400, workers=n, **common) for n in (1, 25))
    roomy = lab.measure(at, max_connections=ROOMY, workers=1, **common)
    ratio = max(one.goodput_mbps, more.goodput_mbps) / roomy.goodput_mbps
    apart = more.goodput_mbps / one.goodput_mbps
    seen = (
        f"400 connections: {show(one)} with 1 process, {show(more)} with 25; "
        f"10,000 connections: {show(roomy)}"
    )
    return Finding(seen, ratio, ratio < 0.9 and 0.9 < apart < 1.1)


def threads_plateau(lab: Lab, saturation_rps: float) -> Finding:
    """8: asymmetric servers keep their throughput as threads are added, symmetric ones lose some."""
    at = 1.3 * saturation_rps
    kept = {}
    for name in ("pipeline", "symped"):
        few, many = (
            lab.measure(at, architecture=name, sendfile="blocking", workers=n, max_connections=ROOMY)
            for n in (50, 200)
        )
        kept[name] = many.goodput_mbps / few.goodput_mbps
    ratio = kept["pipeline"] / kept["symped"]
    seen = "of its goodput with 50 threads or processes each keeps with 200: " + ", ".join(
        f"{name} {share:.0%}" for name, share in kept.items()
    )
    return Finding(seen, ratio, kept["pipeline"] > 0.95 and ratio > 1)


def writing_copies(lab: Lab, saturation_rps: float) -> Finding:
    """14: writing from an application cache costs time for copying that sendfile does not."""
    common = {"architecture": "symped", "workers": 1, "max_connections": ROOMY, "cache_mb": 256}
    costs = {}
    for mode in ("nonblocking", "off"):
        outcome = lab.measure(0.6 * saturation_rps, sendfile=mode, **common)
        costs[mode] = outcome.server_cpu_s / (outcome.counters["bytes_sent"] / 1e9)
    ratio = costs["off"] / costs["nonblocking"]
    seen = f"CPU seconds for a GB: {costs['nonblocking']:.2f} by sendfile, {costs['off']:.2f} by write"
    return Finding(seen, ratio, ratio > 1.1)


def keeps_its_peak(lab: Lab, saturation_rps: float) -> Finding:
    """16: a tuned server keeps its throughput beyond saturation."""
    common = {"architecture": "symped", "workers": 1}
    tuned = {limit: lab.measure(1.4 * saturation_rps, max_connections=limit, **common) for limit in LIMITS}
    limit = max(tuned, key=lambda each: tuned[each].goodput_mbps)
    outcomes = [lab.measure(f * saturation_rps, max_connections=limit, **common) for f in (0.9, 1.1, 2.0)]
    outcomes.insert(2, tuned[limit])
    goodputs = [outcome.goodput_mbps for outcome in outcomes]
    ratio = goodputs[-1] / max(goodputs)
    seen = f"with {limit:,} connections, at 0.9, 1.1, 1.4 and 2 times saturation: " + ", ".join(
        show(outcome) for outcome in outcomes
    )
    return Finding(seen, ratio, ratio > 0.95)


def merged_memory(lab: Lab, saturation_rps: float) -> Finding:
    """21: blocking shared-symped takes more memory in one piece than as copies."""
    common = {"sendfile": "blocking", "max_connections": ROOMY}
    at = 0.6 * saturation_rps
    merged = lab.measure(at, architecture="shared-symped", workers=100, **common)
    apart = lab.measure(
        at,
        architecture="n-copy",
        copy_of="shared-symped",
        copies=4,
        workers=25,
        reuseport="on",
        **common,
    )
    ratio = merged.resident_bytes / apart.resident_bytes
    seen = (
        f"100 processes: {merged.resident_bytes / 2**20:.0f} MiB in one piece, "
        f"{apart.resident_bytes / 2**20:.0f} MiB as four copies of 25"
    )
    return Finding(seen, ratio, ratio > 1.02)


OF_SIZES = (
    Statement(
        1,
        "In memory one non-blocking process for each CPU is best, blocking sendfile needs tens",
        "thesis §3.11, §4.6",
        "25 non-blocking processes have less goodput than 1 (ratio), 50 blocking ones more than 1",
        small_nonblocking_pool,
    ),
    Statement(
        2,
        "Too low a maximum of connections is a ceiling whatever the number of processes",
        "thesis §3.10",
        "400 connections have less than nine tenths of the goodput of 10,000 (ratio), with 1 process and 25 "
        "alike",
        low_maximum,
    ),
    Statement(
        8,
        "Asymmetric servers level off as threads are added, symmetric ones decline",
        "thesis §3.15",
        "the pipeline keeps 95 % and more than symped does (ratio above 1)",
        threads_plateau,
    ),
    Statement(
        14,
        "Writing from an application cache costs 17–19 % of the CPU for copying",
        "thesis tables 3.14, 3.27, 3.40",
        "a byte costs a tenth more CPU by write (ratio above 1.1)",
        writing_copies,
    ),
    Statement(
        16,
        "A tuned server stays within a few per cent of its peak beyond saturation",
        "thesis §3.7",
        "at twice the saturation there is more than 95 % of the best goodput (ratio)",
        keeps_its_peak,
    ),
    Statement(
        21,
        "Blocking shared-symped takes more memory in one piece than as copies",
        "thesis §4.6.2",
        "one piece takes 2 % more (ratio above 1.02)",
        merged_memory,
    ),
)
