"""What many open connections cost in throughput: 1,000 against 15,000 in one process, and 40,000 over three.

All connections take part: each asks for a 1 KB file again as soon as it has its reply (closed loop). What is
compared is how much of its own throughput with 1,000 connections a server keeps, so that servers of different
speed can be told apart by this alone. Rounds are interleaved in random order.

Three processes, because one may have 20,000 descriptors here. lighttpd is left out: it holds no more than
half its descriptors open.

    many_connections.py [--rounds N] [--seconds S]
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import tempfile
from pathlib import Path

import report
import servers

FEW = 1000
WORKERS = 3


def measure(command: servers.Command, folder: Path, root: Path, connections: int, seconds: float) -> float:
    """Replies a second with so many connections, once all of them are open."""
    processes = 1 if connections <= 15_000 else WORKERS
    with servers.running("server", folder, root, "/1k.bin", command) as server:
        load = [str(servers.LOAD), "closed", "--url", server.url + "/1k.bin"]
        load += ["--connections", str(connections), "--duration", f"{3 + seconds:g}", "--warmup", "3"]
        load += ["--processes", str(processes), "--cpus", str(servers.CLIENT_CPU), "--close", "reset"]
        done = subprocess.run(load, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout.splitlines()[-1])
    if result["failures"]:
        raise RuntimeError(f"{connections} connections: {result['failures']}")
    return float(result["reply_rate_rps"])


def main() -> None:
    """Measures both sizes and prints the section."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    print("## Many connections\n")
    print(
        "A 1 KB file, every connection asking again at once; one serving CPU. Replies a second, median "
        f"(range) of {options.rounds} rounds, and what is left of the throughput with {FEW:,} connections.\n"
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        folder.chmod(0o755)
        root = folder / "root"
        root.mkdir()
        (root / "1k.bin").write_bytes(bytes(1024))
        for many, workers in ((15_000, 1), (40_000, WORKERS)):
            in_one = -(-many // workers) + 500
            commands = {
                "symped": servers.core_with(
                    architecture="symped", workers=workers, max_connections=many + 500
                ),
                "nginx": servers.nginx_with(workers, in_one + 3000),
                "h2o": servers.h2o_with(workers, many + 500),
            }
            if workers > 1:
                del commands["h2o"]  # its threads share one process and its descriptors
            print_table(commands, folder / str(many), root, many, options.rounds, options.seconds)


def print_table(
    commands: dict[str, servers.Command], folder: Path, root: Path, many: int, rounds: int, seconds: float
) -> None:
    """One table: each server with few and with many connections."""
    folder.mkdir()
    few_rps: dict[str, list[float]] = {name: [] for name in commands}
    many_rps: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds):
        for name in random.sample(sorted(commands), len(commands)):
            for count, rates in ((FEW, few_rps), (many, many_rps)):
                place = folder / f"{name}-{count}-{number}"
                rates[name].append(measure(commands[name], place, root, count, seconds))
    rows = [
        [
            name,
            report.spread(few_rps[name], 0),
            report.spread(many_rps[name], 0),
            report.spread([b / a for a, b in zip(few_rps[name], many_rps[name], strict=True)]),
        ]
        for name in commands
    ]
    print(report.table(["server", f"{FEW:,} connections", f"{many:,}", "kept"], rows) + "\n")


if __name__ == "__main__":
    main()
