"""The testable statements about accepting, handing on and waiting, each as a measurement in small."""

from __future__ import annotations

from functools import cache

import servers
from finding import Finding, Statement
from lab import MIX, PACKET_BYTES, Lab, Load, Outcome, listen_drops, one_file

PACKET = one_file(PACKET_BYTES)
BACKLOG = 128  # what the original kernels cut it to
SESSION_TIMEOUT_S = 10.0  # SYNs are sent again after a second, whatever the scale of the rest


@cache
def one_packet_rps(lab: Lab) -> float:
    """About how many connections with one small request each one process serves a second."""
    return lab.most_rps(Load(path=PACKET), architecture="symped", workers=1, backlog=4096)


def dropping(lab: Lab, rate_rps: float, **knobs: object) -> tuple[Outcome, float]:
    """One-packet load, with a short accept queue: the outcome, and the drops a second."""
    load = Load(path=PACKET, timeout_s=SESSION_TIMEOUT_S)
    before = listen_drops()
    outcome = lab.measure(rate_rps, load, **{"backlog": BACKLOG, "max_connections": 15_000, **knobs})
    return outcome, (listen_drops() - before) / outcome.result["elapsed_s"]


def accept_limits(lab: Lab, saturation_rps: float) -> Finding:
    """25: a higher accept limit helps userver, a lower one helps TUX, more so with one-packet load."""
    gains = {}
    for name, load, at in (
        ("one-packet", Load(path=PACKET), 1.4 * one_packet_rps(lab)),
        ("mix", MIX, 1.3 * saturation_rps),
    ):
        for architecture in ("sped", "uring"):
            one, all_ = (
                lab.measure(at, load, architecture=architecture, accept_limit=limit, max_connections=15_000)
                for limit in (1, "inf")
            )
            gains[architecture, name] = all_.reply_rate_rps / one.reply_rate_rps
    ratio = gains["sped", "one-packet"]
    seen = "replies with inf to those with 1: " + ", ".join(
        f"{architecture} {name} {gain:.2f}" for (architecture, name), gain in gains.items()
    )
    helps = ratio > 1.05 and gains["uring", "one-packet"] < 1 / 1.05
    return Finding(seen, ratio, helps and ratio > gains["sped", "mix"])


def drops_exceed(lab: Lab, _saturation_rps: float) -> Finding:
    """26: queue drops and replies together can be more than was offered, for SYNs are sent again."""
    rate_rps = 1.6 * one_packet_rps(lab)
    outcome, drops = dropping(lab, rate_rps, architecture="sped", accept_limit=1)
    ratio = (outcome.reply_rate_rps + drops) / rate_rps
    seen = f"offered {rate_rps:,.0f} a second: {outcome.reply_rate_rps:,.0f} replies and {drops:,.0f} drops"
    return Finding(seen, ratio, ratio > 1)


def accepting_more(lab: Lab, _saturation_rps: float) -> Finding:
    """27: more accepting is not enough: Knot with a limit of 100 drops fewer and serves less."""
    rate_rps = 1.4 * one_packet_rps(lab)
    fifty, hundred = (
        dropping(lab, rate_rps, architecture="knot", workers=1, accept_limit=limit) for limit in (50, 100)
    )
    ratio = hundred[0].reply_rate_rps / fifty[0].reply_rate_rps
    seen = "; ".join(
        f"limit {limit}: {outcome.reply_rate_rps:,.0f} replies, {drops:,.0f} drops a second"
        for limit, (outcome, drops) in ((50, fifty), (100, hundred))
    )
    return Finding(seen, ratio, ratio < 0.99 and hundred[1] < fifty[1])


def one_worker(lab: Lab, _saturation_rps: float) -> Finding:
    """28: one worker for each CPU beats two (lighttpd, a file of 1 KB)."""
    rates = []
    for workers in (1, 2):
        command = servers.lighttpd_with(workers)
        with servers.running("lighttpd", lab.new_place(), lab.root, "/ready", command) as server:
            rates.append(lab.busy_rps_of(server.url, PACKET, 50))
    ratio = rates[0] / rates[1]
    return Finding(f"{rates[0]:,.0f} replies a second with 1, {rates[1]:,.0f} with 2", ratio, ratio > 1)


def batched_readiness(lab: Lab, _saturation_rps: float) -> Finding:
    """30: readiness in batches beats a thread for each descriptor, the more so the larger the transfers."""
    gains = []
    for size in (8_192, 262_144):
        batched = lab.busy_rps(one_file(size), 50, architecture="nm", workers=1, max_connections=200)
        threads = lab.busy_rps(one_file(size), 50, architecture="mt", workers=64)
        gains.append(batched / threads)
    seen = f"replies of nm to those of mt: {gains[0]:.2f} for 8 KB, {gains[1]:.2f} for 256 KB"
    return Finding(seen, gains[1], gains[0] > 1 and gains[1] > gains[0])


def forwarding(lab: Lab, saturation_rps: float) -> Finding:
    """31: forwarding for locality gains nothing when all is in memory."""
    common = {"architecture": "co-amped", "workers": 2, "helpers": 2, "max_connections": 10_000}
    always, never = (
        lab.measure(1.2 * saturation_rps, forward_bias=bias, **common) for bias in ("inf", 1_000_000)
    )
    alone = lab.measure(1.2 * saturation_rps, **{**common, "architecture": "amped", "workers": 1})
    ratio = always.goodput_mbps / alone.goodput_mbps
    forwarded = [outcome.counters["connections_forwarded"] for outcome in (always, never)]
    seen = (
        f"two mains: {always.goodput_mbps:.0f} Mbps with {forwarded[0]:,.0f} connections forwarded, "
        f"{never.goodput_mbps:.0f} Mbps with {forwarded[1]:,.0f}; one main: {alone.goodput_mbps:.0f} Mbps"
    )
    return Finding(seen, ratio, ratio < 1.02)


OF_ACCEPTING = (
    Statement(
        25,
        "A higher accept limit helps userver, a lower one TUX; one-packet gains are the larger ones",
        "USENIX 2004 §6–7",
        "with one-packet load inf gains 5 % in sped (ratio) and loses 5 % in uring; with the mix sped gains "
        "less",
        accept_limits,
    ),
    Statement(
        26,
        "Queue drops and replies together can exceed what is offered",
        "USENIX 2004 §6",
        "they do (ratio above 1)",
        drops_exceed,
    ),
    Statement(
        27,
        "A higher accept rate is not sufficient: Knot at 100 drops fewer and serves less",
        "USENIX 2004 §6",
        "with 100 there are fewer drops and 1 % fewer replies than with 50 (ratio)",
        accepting_more,
    ),
    Statement(
        28,
        "One worker for each CPU beats two (the step of spreading interrupts needs network cards)",
        "ICPE 2013 table 1",
        "lighttpd replies more with one (ratio above 1)",
        one_worker,
    ),
    Statement(
        30,
        "Readiness in batches beats a thread for each descriptor, more so for large transfers",
        "ServLib ch. 4",
        "nm beats mt at 8 KB, and by more at 256 KB (ratio)",
        batched_readiness,
    ),
    Statement(
        31,
        "Forwarding for locality gains nothing when all is in memory",
        "Co-AMPED §4.2",
        "two mains with forwarding have no more than 1.02 times the goodput of one without (ratio)",
        forwarding,
    ),
)
