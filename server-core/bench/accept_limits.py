"""What the accept policies give under overload: `accept_limit` fixed at 1, 10, 100, `inf`, and `auto`.

The one-packet work of "accept()able Strategies" (Brecht, Pariag, Gammo, 2004): one small file, one request
for each connection, offered faster than the server can serve. The policies take turns on one server, which
changes them while it runs; figures are ratios to `inf` of the same turn.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any

import report
import servers
from trimtab_agent.station.server.stats_socket import StatsSocket

POLICIES = ("1", "10", "100", "inf", "auto")
ROUNDS = 5
ROUND_S = 5.0
OVERLOAD = 1.4
"""Offered load, as a multiple of what a closed loop of 64 connections gets served."""


def load(url: str, *options: str) -> dict[str, Any]:
    """Run the generator on the client's CPU, a connection for each request, and return its result."""
    command = [str(servers.LOAD), *options, "--url", f"{url}/packet.bin", "--connection", "close"]
    command += ["--close", "reset", "--timeout", "2", "--cpus", str(servers.CLIENT_CPU)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    documents = [json.loads(line) for line in said.splitlines()]
    result: dict[str, Any] = next(row for row in documents if row["type"] == "result")
    return result


def measure(stats: StatsSocket, url: str, policy: str, rate_rps: float) -> tuple[float, float]:
    """One round: replies a second in time, and connections accepted in each accept phase."""
    stats.ask(f"set accept_limit {policy}")
    stats.ask("clear counters")
    result = load(url, "open", "--rate", f"{rate_rps:g}", "--duration", f"{ROUND_S:g}", "--warmup", "1")
    total = stats.ask("show stats")["total"]
    return result["reply_rate_rps"], total["connections_accepted"] / max(1, total["accept_phases"])


def main() -> None:
    """Measures all policies in turns and prints the section."""
    replies: dict[str, list[float]] = {policy: [] for policy in POLICIES}
    accepts: dict[str, list[float]] = {policy: [] for policy in POLICIES}
    with servers.folders() as (folder, root):
        (root / "packet.bin").write_bytes(bytes(1000))
        path = folder / "stats.sock"
        command = servers.core_with(architecture="symped", workers=1, backlog=128, stats_socket=path)
        running = servers.running("trimtab-httpd", folder / "server", root, "/packet.bin", command)
        with running as server, StatsSocket(path) as stats:
            closed = load(server.url, "closed", "--connections", "64", "--duration", f"{ROUND_S:g}")
            rate_rps = OVERLOAD * closed["reply_rate_rps"]
            for _ in range(ROUNDS):
                for policy in POLICIES:
                    rate, accepted = measure(stats, server.url, policy, rate_rps)
                    replies[policy].append(rate)
                    accepts[policy].append(accepted)
    print("## Accept policies under overload\n")
    print(
        f"A 1,000-byte file, one request for each connection, a backlog of 128, one worker; {rate_rps:,.0f} "
        f"requests a second are offered, {OVERLOAD} times what a closed loop gets. {ROUNDS} rounds of "
        f"{ROUND_S:g} s of each policy in turn; replies are ratios to `inf` of the same turn.\n"
    )
    head = ["`accept_limit`", "replies in time, to `inf`", "accepted in each phase"]
    ratios = {
        policy: [a / b for a, b in zip(replies[policy], replies["inf"], strict=True)] for policy in POLICIES
    }
    rows = [[f"`{p}`", report.spread(ratios[p]), report.spread(accepts[p], 1)] for p in POLICIES]
    print(report.table(head, rows))


if __name__ == "__main__":
    main()
