"""trimtab-httpd against nginx, lighttpd and h2o, and against a server that does nothing, on seven works.

One CPU serves, wrk asks from another. For each work all servers stand ready the whole time; each round drives
them one after another in a new random order, so that a machine whose speed drifts drifts for all, and ratios
are taken inside a round. Ours is there in several architectures; what the table calls "best of ours" is the
one with the least CPU time per request in the median.

    peers.py [--rounds N] [--seconds S] [WORK …]
"""

from __future__ import annotations

import argparse
import contextlib
import random
import re
import statistics
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import report
import servers
from browser import BROWSER
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.content import file_content
from trimtab_tuner.workloads.drawn import DrawnWorkload

MIX_DIRECTORIES = 20
MIX_REQUESTS = 20_000

OURS: dict[str, servers.Command] = {
    "symped": servers.core_with(architecture="symped", workers=1),
    "symped, application cache": servers.core_with(
        architecture="symped", workers=1, sendfile="off", cache_mb=512
    ),
    "uring": servers.core_with(architecture="uring"),
    "pipeline": servers.core_with(architecture="pipeline", workers=1),
}
WANTED_OF_BEST_PEER = 1.05
WANTED_OF_NGINX_AT_1K = 1.3


@dataclass(frozen=True)
class Work:
    """What is asked for: `path` or, with `mix`, the files of a log; by how many connections; kept or not;
    with which header lines beside Host.
    """

    name: str
    connections: int
    path: str = ""
    size_bytes: int = 0
    persistent: bool = True
    mix: bool = False
    header: str = ""


WORKS = (
    Work("1 KB, 64 connections", 64, "/1k.bin", 1024),
    Work("1 KB with a browser's header, 64 connections", 64, "/1k.bin", 1024, header=BROWSER),
    Work("1 KB, 2,000 connections", 2000, "/1k.bin", 1024),
    Work("one-packet: 1 KB, a request per connection", 64, "/1k.bin", 1024, persistent=False),
    Work("64 KB, 64 connections", 64, "/64k.bin", 64 << 10),
    Work("900 KB, 64 connections", 64, "/900k.bin", 900 << 10),
    Work("SPECweb99-like mix in memory", 64, mix=True),
)


@dataclass
class Figures:
    """One value a round: CPU µs a request, requests a second, 99th percentile in ms."""

    cpu_us: list[float] = field(default_factory=list)
    rate_rps: list[float] = field(default_factory=list)
    p99_ms: list[float] = field(default_factory=list)


def drive(server: servers.Server, work: Work, script: Path, seconds: float) -> tuple[float, float, float]:
    """One round of wrk: CPU µs per request of the server, requests per second, p99 in ms."""
    command = ["taskset", "-c", str(servers.CLIENT_CPU), "wrk", "-t1", "--latency", f"-c{work.connections}"]
    command += [f"-d{seconds:g}s", "--timeout", "20s"]
    if work.mix:
        command += ["-s", str(script)]
    if not work.persistent:
        command += ["-H", "Connection: close"]
    for line in work.header.splitlines():
        command += ["-H", line]
    before_s = server.cpu_s()
    said = subprocess.run(
        [*command, server.url + (work.path or "/")], capture_output=True, text=True, check=True
    ).stdout
    spent_s = server.cpu_s() - before_s
    if "Non-2xx" in said:
        raise RuntimeError(f"{server.name} did not answer every request of {work.name}:\n{said}")
    requests = re.search(r"(\d+) requests in ([\d.]+)(s|m)", said)
    p99 = re.search(r"99%\s+([\d.]+)(us|ms|s)", said)
    if not requests or not p99 or int(requests[1]) == 0:
        raise RuntimeError(f"wrk said nothing of requests to {server.name}:\n{said}")
    elapsed_s = float(requests[2]) * (60 if requests[3] == "m" else 1)
    scale = {"us": 1e-3, "ms": 1.0, "s": 1e3}[p99[2]]
    return spent_s / int(requests[1]) * 1e6, int(requests[1]) / elapsed_s, float(p99[1]) * scale


def make_files(root: Path, script: Path) -> None:
    """The single files, the mix's file set, and the wrk script that asks for it as its log does."""
    for size, name in ((1024, "1k"), (64 << 10, "64k"), (900 << 10, "900k")):
        (root / f"{name}.bin").write_bytes(file_content(f"/{name}.bin", size))
    mix = DrawnWorkload(WORKLOADS["specweb99"].sized(MIX_DIRECTORIES))
    for path, size in mix.files():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(file_content(path, size))
    paths = [request.path for session in mix.sessions() for request in session][:MIX_REQUESTS]
    lines = ",\n".join(f'"{path}"' for path in paths)
    script.write_text(
        f"local paths = {{\n{lines}\n}}\nlocal at = 0\n"
        "function request()\n  at = at % #paths + 1\n  return wrk.format(nil, paths[at])\nend\n"
    )


def measure(
    work: Work, folder: Path, root: Path, script: Path, rounds: int, seconds: float
) -> dict[str, Figures]:
    """All servers on one work; those of ours that cannot run here are left out and said so."""
    commands = {**OURS, **servers.PEERS}
    if work.size_bytes == 1024:
        commands["do-nothing"] = servers.do_nothing(work.size_bytes)
    figures: dict[str, Figures] = {}
    with contextlib.ExitStack() as stack:
        up = []
        for name, command in commands.items():
            try:
                place = folder / re.sub(r"\W+", "-", f"{work.name} {name}")
                up.append(stack.enter_context(servers.running(name, place, root, "/1k.bin", command)))
            except RuntimeError as problem:
                print(f"{name} does not run here: {problem}\n")
        for server in up:
            figures[server.name] = Figures()
            drive(server, work, script, 1)  # caches and branch predictors settle; not counted
        for _ in range(rounds):
            for server in random.sample(up, len(up)):
                cpu_us, rate_rps, p99_ms = drive(server, work, script, seconds)
                figures[server.name].cpu_us.append(cpu_us)
                figures[server.name].rate_rps.append(rate_rps)
                figures[server.name].p99_ms.append(p99_ms)
    return figures


def ratios(above: Figures, below: Figures) -> list[float]:
    """CPU time of one to that of another, round by round."""
    return [a / b for a, b in zip(above.cpu_us, below.cpu_us, strict=True)]


def print_work(work: Work, figures: dict[str, Figures]) -> None:
    """The table of one work, and how the best of ours stands."""
    ours = {name: found for name, found in figures.items() if name in OURS}
    best = min(ours, key=lambda name: statistics.median(ours[name].cpu_us))
    rows = [
        [
            f"**{name}**" if name == best else name,
            report.spread(found.cpu_us),
            report.spread(found.rate_rps, 0),
            report.spread(found.p99_ms),
            "1" if name == best else report.spread(ratios(found, figures[best])),
        ]
        for name, found in figures.items()
    ]
    head = [
        "server",
        "CPU µs/request",
        "requests/s",
        "p99, ms",
        "best of ours to it, per CPU second",
    ]
    print(f"### {work.name}\n\n{report.table(head, rows)}\n")
    peer = min(
        (name for name in figures if name in servers.PEERS),
        key=lambda name: statistics.median(figures[name].cpu_us),
    )
    reached = statistics.median(ratios(figures[peer], figures[best]))
    print(f"Best of ours ({best}) to the best peer ({peer}): {reached:.2f} (wanted: {WANTED_OF_BEST_PEER}).")
    if work.size_bytes == 1024 and work.persistent:
        reached = statistics.median(ratios(figures["nginx"], figures[best]))
        print(f"To nginx: {reached:.2f} (wanted: {WANTED_OF_NGINX_AT_1K}).")
    if "do-nothing" in figures and work.persistent:
        for name in ours:
            reached = statistics.median(ratios(ours[name], figures["do-nothing"]))
            print(f"CPU time of {name} to that of do-nothing: {reached:.2f}.")
    print()


def main() -> None:
    """Measures the works asked for, all by default, and prints the section."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("works", nargs="*", metavar="WORK", help="part of the name of a work")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    chosen = [work for work in WORKS if not options.works or any(part in work.name for part in options.works)]
    print("## Against other servers\n")
    print(
        f"One serving CPU, wrk on another; {options.rounds} rounds of {options.seconds:g} s for each server "
        "and work, interleaved in random order. Median (range); ratios of requests per CPU second are taken "
        "within a round: above 1, ours is better than that server.\n"
    )
    print("; ".join(servers.versions().values()) + ".\n")
    with servers.folders() as (folder, root):
        script = folder / "mix.lua"
        make_files(root, script)
        for work in chosen:
            print_work(work, measure(work, folder, root, script, options.rounds, options.seconds))


if __name__ == "__main__":
    main()
