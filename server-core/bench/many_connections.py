"""What many open connections cost in throughput: 1,000 against 15,000 in one process, and 40,000 over three.

All connections take part: each asks for a 1 KB file again as soon as it has its reply (closed loop). What is
compared is how much of its own throughput with 1,000 connections a server keeps. By the clock that says as
much of the generator, who has as many connections on a CPU of its own and may be the slower of the two. By
the server's CPU time a reply it is the server's alone; but what many connections add is mostly the kernel's,
whose memory of them no cache holds, and the same for all, so who has spent less before keeps a smaller share.
So it is also told in microseconds.

CPU time is that of the window in which replies are counted: accepting the connections is not in it. Rounds
are interleaved in random order.

Three processes, because one may have 20,000 descriptors here. lighttpd is left out: it holds no more than
half its descriptors open.

    many_connections.py [--rounds N] [--seconds S]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import report
import servers
from generator_rate import begin

FEW = 1000
WORKERS = 3


@dataclass
class Figures:
    """One value a round: replies a second, and CPU µs a reply of the server and of the generator."""

    rate_rps: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)
    generator_us: list[float] = field(default_factory=list)


def generator_cpu_s(generator: psutil.Process) -> float:
    """CPU time spent so far by a generator and its processes, also by those that it has seen end, in seconds.

    At the end of the window they may be about to end.
    """
    while True:
        with contextlib.suppress(psutil.NoSuchProcess):
            workers = generator.children()
            spent_s = servers.cpu_s(workers)
            own = generator.cpu_times()
            if generator.children() == workers:
                return spent_s + float(own.user + own.system + own.children_user + own.children_system)


def measure(
    command: servers.Command, folder: Path, root: Path, connections: int, seconds: float
) -> tuple[float, float, float]:
    """Replies a second with so many connections, once all are open, and CPU µs a reply of the server and of
    the generator.
    """
    processes = 1 if connections <= 15_000 else WORKERS
    edges: list[tuple[float, float]] = []  # of the window: CPU time of the server and of the generator
    result: dict[str, Any] = {}
    with servers.running("server", folder, root, "/1k.bin", command) as server:
        load = [str(servers.LOAD), "closed", "--url", server.url + "/1k.bin"]
        load += ["--connections", str(connections), "--duration", f"{3 + seconds:g}", "--warmup", "3"]
        load += ["--processes", str(processes), "--cpus", str(servers.CLIENT_CPU), "--close", "reset"]
        child = begin(*load)
        generator = psutil.Process(child.pid)
        with child.stdout or contextlib.nullcontext() as output:
            for line in output or ():
                result = json.loads(line)
                if result["type"] == "window":
                    edges.append((server.cpu_s(), generator_cpu_s(generator)))
        if child.wait() != 0 or result["failures"]:
            raise RuntimeError(f"{connections} connections: {result.get('failures', child.returncode)}")
    each_us = 1e6 / result["window"]["replies"]
    spent_s = [end - start for start, end in zip(*edges, strict=True)]
    return float(result["reply_rate_rps"]), spent_s[0] * each_us, spent_s[1] * each_us


def main() -> None:
    """Measures both sizes and prints the section."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    print("## Many connections\n")
    print(
        "A 1 KB file, every connection asking again at once; one serving CPU. Replies a second and the "
        f"server's CPU time a reply, median (range) of {options.rounds} rounds, and what is left of the "
        f"throughput with {FEW:,} connections: by the clock, where the generator may be the limit, and by "
        "the server's CPU time, of which the µs that a reply takes more stand beside it.\n"
    )
    with servers.folders() as (folder, root):
        (root / "1k.bin").write_bytes(bytes(1024))
        for many, workers in ((15_000, 1), (40_000, WORKERS)):
            in_one = -(-many // workers) + 500
            commands = {
                "symped": servers.core_with(
                    architecture="symped", workers=workers, max_connections=many + 500
                ),
                "uring": servers.core_with(architecture="uring", workers=workers, max_connections=many + 500),
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
    few = {name: Figures() for name in commands}
    lots = {name: Figures() for name in commands}
    for number in range(rounds):
        for name in random.sample(sorted(commands), len(commands)):
            for count, figures in ((FEW, few[name]), (many, lots[name])):
                place = folder / f"{name}-{count}-{number}"
                rate_rps, cpu_us, generator_us = measure(commands[name], place, root, count, seconds)
                figures.rate_rps.append(rate_rps)
                figures.cpu_us.append(cpu_us)
                figures.generator_us.append(generator_us)
    rows = [
        [
            name,
            report.spread(few[name].rate_rps, 0),
            report.spread(lots[name].rate_rps, 0),
            report.spread([b / a for a, b in zip(few[name].rate_rps, lots[name].rate_rps, strict=True)]),
            report.spread(few[name].cpu_us),
            report.spread(lots[name].cpu_us),
            report.spread([a / b for a, b in zip(few[name].cpu_us, lots[name].cpu_us, strict=True)]),
            report.spread([b - a for a, b in zip(few[name].cpu_us, lots[name].cpu_us, strict=True)]),
            report.spread(few[name].generator_us),
            report.spread(lots[name].generator_us),
        ]
        for name in commands
    ]
    heads = ["server", f"{FEW:,} connections", f"{many:,}", "kept"]
    heads += [f"CPU µs/reply, {FEW:,}", f"CPU µs/reply, {many:,}", "kept per CPU second", "added, µs"]
    heads += [f"generator's CPU µs/reply, {FEW:,}", f"generator's, {many:,}"]
    print(report.table(heads, rows) + "\n")


if __name__ == "__main__":
    main()
