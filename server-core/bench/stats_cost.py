"""What reading `show stats` ten times a second costs: CPU time per request with a reader and without.

The master answers the stats socket, the workers only count; what is left to pay is the master's own CPU time
and its place in the caches. Rounds with and without a reader take turns.
"""

from __future__ import annotations

import re
import subprocess
import threading
from pathlib import Path

import report
import servers
from trimtab_agent.station.server.stats_socket import StatsSocket

ROUNDS = 9
ROUND_S = 3
READS_PER_S = 10


def drive(server: servers.Server) -> float:
    """One round of wrk: CPU microseconds of all the server's processes for each request."""
    before_s = server.cpu_s()
    command = ["taskset", "-c", str(servers.CLIENT_CPU), "wrk", "-t1", "-c64", f"-d{ROUND_S}s"]
    said = subprocess.run(
        [*command, f"{server.url}/1k.bin"], capture_output=True, text=True, check=True
    ).stdout
    spent_s = server.cpu_s() - before_s
    found = re.search(r"(\d+) requests in", said)
    if not found:
        raise RuntimeError(f"wrk said nothing of requests:\n{said}")
    return spent_s / int(found[1]) * 1e6


def read_until(done: threading.Event, path: Path) -> None:
    """Reads the statistics READS_PER_S times a second."""
    with StatsSocket(path) as stats:
        while not done.wait(1 / READS_PER_S):
            stats.ask("show stats")


def main() -> None:
    """Measures both in turns and prints the section."""
    alone: list[float] = []
    watched: list[float] = []
    with servers.folders() as (folder, root):
        (root / "1k.bin").write_bytes(bytes(1024))
        path = folder / "stats.sock"
        command = servers.core_with(architecture="symped", workers=1, stats_socket=path)
        with servers.running("trimtab-httpd", folder / "server", root, "/1k.bin", command) as server:
            drive(server)
            for _ in range(ROUNDS):
                alone.append(drive(server))
                done = threading.Event()
                reader = threading.Thread(target=read_until, args=(done, path))
                reader.start()
                watched.append(drive(server))
                done.set()
                reader.join()
    print("## Reading the statistics\n")
    print(
        f"CPU time per request of a 1 KB file while `show stats` is read {READS_PER_S} times a second, to "
        f"that without a reader, in {ROUNDS} pairs of rounds of {ROUND_S} s: "
        f"{report.spread([b / a for a, b in zip(alone, watched, strict=True)], 3)}; wanted: below 1.01."
    )


if __name__ == "__main__":
    main()
