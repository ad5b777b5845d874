"""CPU time per request of trimtab-httpd against nginx, lighttpd and h2o.

One worker on one CPU, a 1 KB file, 64 persistent connections driven by wrk on the other CPU. All
servers stand ready the whole time; each round drives them one after another in a new random order,
so that a machine whose speed drifts drifts for all. Ratios are taken inside a round.
"""

from __future__ import annotations

import contextlib
import random
import re
import subprocess
import tempfile
from pathlib import Path

import report
import servers

ROUNDS = 7
ROUND_S = 3
CONNECTIONS = 64


def drive(server: servers.Server) -> tuple[float, float]:
    """One round of wrk: CPU microseconds per request of the server, and requests per second."""
    before_s = server.cpu_s()
    wrk = subprocess.run(
        [
            "taskset",
            "-c",
            str(servers.CLIENT_CPU),
            "wrk",
            "-t1",
            f"-c{CONNECTIONS}",
            f"-d{ROUND_S}s",
            server.url + "/1k.bin",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    spent_s = server.cpu_s() - before_s
    if "Non-2xx" in wrk or "Socket errors" in wrk:
        raise RuntimeError(f"{server.name} did not answer every request:\n{wrk}")
    found = re.search(r"(\d+) requests in ([\d.]+)s", wrk)
    if not found:
        raise RuntimeError(f"wrk said nothing of requests:\n{wrk}")
    requests = int(found[1])
    return spent_s / requests * 1e6, requests / float(found[2])


def main() -> None:
    """Runs the rounds and prints the section."""
    cpu_us: dict[str, list[float]] = {name: [] for name in servers.COMMANDS}
    rate_rps: dict[str, list[float]] = {name: [] for name in servers.COMMANDS}
    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as stack:
        folder = Path(temporary)
        folder.chmod(0o755)
        root = folder / "root"
        root.mkdir()
        (root / "1k.bin").write_bytes(bytes(1024))
        up = [
            stack.enter_context(servers.running(name, folder / name, root, "/1k.bin"))
            for name in servers.COMMANDS
        ]
        for server in up:
            drive(server)  # caches, branch predictors and clock speed settle; not counted
        for _ in range(ROUNDS):
            for server in random.sample(up, len(up)):
                cpu, rate = drive(server)
                cpu_us[server.name].append(cpu)
                rate_rps[server.name].append(rate)
    ours = cpu_us["trimtab-httpd"]
    print("## CPU time per request\n")
    print(
        f"1 KB file, {CONNECTIONS} persistent connections from wrk, one worker on one CPU, wrk on another; "
        f"{ROUNDS} rounds of {ROUND_S} s, interleaved in random order. Median (range); the ratio is "
        "trimtab-httpd's CPU time to the peer's within one round, so below 1 is better than the peer.\n"
    )
    said = servers.versions()
    rows = [
        [
            said[name],
            report.spread(cpu_us[name]),
            report.spread(rate_rps[name], 0),
            "1"
            if name == "trimtab-httpd"
            else report.spread([a / b for a, b in zip(ours, cpu_us[name], strict=True)]),
        ]
        for name in servers.COMMANDS
    ]
    print(report.table(["server", "CPU µs/request", "requests/s", "ratio of CPU time"], rows))


if __name__ == "__main__":
    main()
