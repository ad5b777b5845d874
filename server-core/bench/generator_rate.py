"""What one trimtab-load process can do, beside wrk and httperf, and how punctual it is.

All generators are pinned to one CPU and ask trimtab-httpd on another. The tables:

CPU time: what a request costs the generator, in the SPECweb99-like mix beside what it costs the server, and
beside a client that does nothing but the system calls (do_nothing_client.c); and for a 1 KB file beside wrk
and httperf. CPU time and not rates, which say as much about the server.

The others ask for a 1 KB file. Closed loop: 64 connections, rounds in which wrk and trimtab-load alternate in
random order. Requests a second, and CPU time of the generator a request, which says what a core could do for
a server that is fast enough.

Highest sustainable rate of the open loop: each generator climbs a ladder of rates. A rate is sustained when
at least 99.5 % of the requests that were asked for were made and replied to, the last of them not long after
the load was over, and, for trimtab-load, when it did not call itself the limit. The climb ends with the
second rate in a row that is not.

Punctuality: what was offered at rising rates, and how late the arrivals were.

Memory: of the worker process, while so many sessions think between two requests.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import report
import servers
from lab import TIMEOUT_S, Lab

CONNECTIONS = 64
SESSION_REQUESTS = 100
LOWEST_RPS = 10_000
HIGHEST_RPS = 200_000
SUSTAINED = 0.995

RATES_RPS = [100, 1_000, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000, 70_000, 80_000]

WAITING_SESSIONS = (10, 10_000)
ARRIVING_S = 5.0

PATH = "/1k.bin"

MIX_RPS = 20_000
"""Well below what one worker of the server sustains."""


@dataclass(frozen=True)
class Effort:
    """How often and how long is measured; the ladder of the climbs has steps of the factor `step`."""

    mix_rounds: int = 7
    closed_rounds: int = 7
    climbs: int = 3
    step: float = 1.15
    seconds: int = 3


BRIEF = Effort(mix_rounds=1, closed_rounds=1, climbs=1, step=2.0, seconds=1)
"""Just enough to see that it works."""


@dataclass(frozen=True)
class Drive:
    """What a run of a generator printed, and the CPU time that it took."""

    text: str
    cpu_s: float

    def number(self, pattern: str) -> float:
        """The number that the pattern finds in the text."""
        found = re.search(pattern, self.text)
        if found is None:
            raise RuntimeError(f"no {pattern!r} in {self.text[-500:]!r}")
        return float(found.group(1))

    def result(self) -> dict[str, Any]:
        """trimtab-load's last line."""
        result: dict[str, Any] = json.loads(self.text.splitlines()[-1])
        return result


def begin(*command: str) -> subprocess.Popen[str]:
    """Starts a generator on its CPU; what it prints can be read."""
    pinned = ["setpriv", "--pdeathsig", "KILL", "--", "taskset", "-c", str(servers.CLIENT_CPU), *command]
    return subprocess.Popen(pinned, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def drive(*command: str) -> Drive:
    """Runs a generator on its CPU to its end."""
    child = begin(*command)
    with child.stdout or contextlib.nullcontext() as output:
        text = output.read() if output else ""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with status {child.returncode}: {text[-500:]}")
    return Drive(text, usage.ru_utime + usage.ru_stime)


def closed_ours(url: str, seconds: int) -> tuple[float, float]:
    """Requests a second and CPU microseconds a request of trimtab-load."""
    done = drive(
        str(servers.LOAD),
        *("closed", f"--url={url}", f"--connections={CONNECTIONS}", f"--duration={seconds}"),
    )
    result = done.result()
    return result["reply_rate_rps"], done.cpu_s * 1e6 / result["requests"]["replied"]


def closed_wrk(url: str, seconds: int) -> tuple[float, float]:
    """The same of wrk."""
    done = drive("wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", url)
    return done.number(r"Requests/sec:\s+([\d.]+)"), done.cpu_s * 1e6 / done.number(r"(\d+) requests in")


Pairs = dict[str, list[tuple[float, float]]]
"""By generator and round: requests a second, and CPU microseconds of the generator a request."""


@dataclass(frozen=True)
class MixCost:
    """CPU microseconds a request, in the mix: of a client, and of the server meanwhile."""

    client_us: float
    server_us: float


def mix_costs(server: servers.Server, lab: Lab, effort: Effort) -> dict[str, list[MixCost]]:
    """By client and round: trimtab-load, and the client that does nothing.

    Raises RuntimeError when not every request was replied to: then it was no light load.
    """
    port = server.url.rpartition(":")[2]
    ours = [str(servers.LOAD), "open", f"--url={server.url}", f"--sessions={lab.sessions}", "--close=reset"]
    ours += [f"--rate={MIX_RPS}", f"--duration={effort.seconds}", f"--timeout={TIMEOUT_S:g}"]
    nothing = [str(servers.DO_NOTHING_CLIENT), port, str(lab.sessions), str(MIX_RPS), str(effort.seconds)]
    costs: dict[str, list[MixCost]] = {"trimtab-load": [], "do-nothing": []}
    for _ in range(effort.mix_rounds + 1):  # the first one fills the caches
        for name, command in random.sample([("trimtab-load", ours), ("do-nothing", nothing)], 2):
            before_s = server.cpu_s()
            done = drive(*command)
            result = done.result()
            replied = result["replied"] if name == "do-nothing" else result["requests"]["replied"]
            # The lengths of sessions vary, so that it is not known to the request how many were offered.
            if replied < 0.95 * MIX_RPS * effort.seconds:
                raise RuntimeError(f"{MIX_RPS} requests/s of the mix are too many here: {replied} replied")
            costs[name].append(
                MixCost(done.cpu_s * 1e6 / replied, (server.cpu_s() - before_s) * 1e6 / replied)
            )
    return {name: rounds[1:] for name, rounds in costs.items()}


def cost_section(mix: dict[str, list[MixCost]], closed: Pairs, opened: Pairs) -> str:
    """The table of CPU time, with what is wanted."""
    ours, nothing = mix["trimtab-load"], mix["do-nothing"]
    beside_server = [(cost.client_us, cost.server_us) for cost in ours]
    floor = [(cost.client_us, cost.server_us) for cost in nothing]
    beside_floor = [(a.client_us, b.client_us) for a, b in zip(ours, nothing, strict=True)]
    rows = [
        ("specweb99, trimtab-load", "trimtab-httpd", beside_server, "at most 0.5"),
        ("specweb99, client that does nothing", "trimtab-httpd", floor, ""),
        ("specweb99, trimtab-load", "client that does nothing", beside_floor, ""),
    ]
    beside = (
        ("closed loop, trimtab-load", "wrk", closed, "at most 1.0"),
        ("open loop, trimtab-load", "httperf", opened, "at most 0.33"),
    )
    for what, other, measured, wanted in beside:
        one, another = measured["trimtab-load"], measured[other]
        rows.append((what, other, [(a[1], b[1]) for a, b in zip(one, another, strict=True)], wanted))
    return report.table(
        ["", "its CPU µs/request", "beside", "the other's", "ratio", "wanted"],
        [
            [
                what,
                report.spread([one for one, _ in pairs]),
                other,
                report.spread([another for _, another in pairs]),
                report.spread([one / another for one, another in pairs]),
                wanted,
            ]
            for what, other, pairs, wanted in rows
        ],
    )


def closed_pairs(url: str, effort: Effort) -> Pairs:
    """Both generators in the closed loop."""
    measured: Pairs = {"trimtab-load": [], "wrk": []}
    sides: list[tuple[str, Callable[[str, int], tuple[float, float]]]] = [
        ("trimtab-load", closed_ours),
        ("wrk", closed_wrk),
    ]
    for _ in range(effort.closed_rounds):
        random.shuffle(sides)
        for name, run in sides:
            measured[name].append(run(url, effort.seconds))
    return measured


def closed_section(measured: Pairs) -> str:
    """The table of the closed loop."""
    rows = [
        [
            name,
            report.spread([rate for rate, _ in pairs], 0),
            report.spread([cpu for _, cpu in pairs]),
        ]
        for name, pairs in measured.items()
    ]
    both = list(zip(measured["trimtab-load"], measured["wrk"], strict=True))
    rows.append(
        [
            "trimtab-load / wrk",
            report.spread([ours[0] / wrk[0] for ours, wrk in both]),
            report.spread([ours[1] / wrk[1] for ours, wrk in both]),
        ]
    )
    return report.table(["closed loop", "requests/s", "generator's CPU µs/request"], rows)


def open_ours(url: str, rate_rps: float, seconds: int) -> Drive:
    """One run of the open loop."""
    return drive(
        str(servers.LOAD),
        *("open", f"--url={url}", f"--rate={rate_rps:g}", f"--duration={seconds}", "--timeout=5"),
        *(f"--session-requests={SESSION_REQUESTS}", "--close=reset"),
    )


def allowed_s(seconds: int) -> float:
    """How long a load of so many seconds may last. The last session begins one interval before the end and
    takes its time; that is not falling behind.
    """
    return seconds / SUSTAINED + SESSION_REQUESTS * 200e-6


def sustained_ours(url: str, rate_rps: float, seconds: int) -> float | None:
    """CPU microseconds a request of trimtab-load at the rate, None if it does not sustain it."""
    done = open_ours(url, rate_rps, seconds)
    result = done.result()
    replied = int(result["requests"]["replied"])
    enough = replied >= SUSTAINED * rate_rps * seconds and result["elapsed_s"] <= allowed_s(seconds)
    if not enough or result["health"]["verdict"] != "ok":
        return None
    return done.cpu_s * 1e6 / replied


def sustained_httperf(url: str, rate_rps: float, seconds: int) -> float | None:
    """The same of httperf."""
    host, path = url.removeprefix("http://").split("/", 1)
    name, port = host.split(":")
    sessions_per_s = rate_rps / SESSION_REQUESTS
    sessions = round(sessions_per_s * seconds)
    done = drive(
        *("httperf", "--hog", f"--server={name}", f"--port={port}", f"--uri=/{path}", "--timeout=5"),
        *(f"--rate={sessions_per_s:.6f}", f"--num-conns={sessions}", f"--num-calls={SESSION_REQUESTS}"),
    )
    replies, took_s = done.number(r"replies (\d+) test-duration"), done.number(r"test-duration ([\d.]+) s")
    if replies < SUSTAINED * sessions * SESSION_REQUESTS or took_s > allowed_s(seconds):
        return None
    return done.cpu_s * 1e6 / replies


def nothing_sustained(log: Path) -> Callable[[str, float, int], float | None]:
    """The same of the client that does nothing, which reads its sessions from a log."""
    log.write_text(f"{PATH} size=1024\n" * SESSION_REQUESTS)

    def sustained(url: str, rate_rps: float, seconds: int) -> float | None:
        port = url.removesuffix(PATH).rpartition(":")[2]
        done = drive(str(servers.DO_NOTHING_CLIENT), port, str(log), f"{rate_rps:g}", str(seconds))
        result = done.result()
        enough = result["replied"] >= SUSTAINED * rate_rps * seconds
        if not enough or result["elapsed_s"] > allowed_s(seconds):
            return None
        return done.cpu_s * 1e6 / int(result["replied"])

    return sustained


def climb(
    url: str, sustained: Callable[[str, float, int], float | None], effort: Effort
) -> tuple[float, float]:
    """The highest rate of the ladder that is sustained, and CPU microseconds a request at it.

    Raises RuntimeError if none is.
    """
    best: tuple[float, float] | None = None
    rate_rps, failed = float(LOWEST_RPS), 0
    while failed < 2 and rate_rps <= HIGHEST_RPS:
        cpu_us = sustained(url, rate_rps, effort.seconds)
        if cpu_us is None:
            failed += 1
        else:
            best, failed = (rate_rps, cpu_us), 0
        rate_rps *= effort.step
    if best is None:
        raise RuntimeError(f"not even {LOWEST_RPS} requests/s are sustained here")
    return best


def climb_all(url: str, effort: Effort, log: Path) -> Pairs:
    """The generators in the open loop, at the highest rates that they sustain; `log` is written."""
    best: Pairs = {"trimtab-load": [], "httperf": [], "do-nothing": []}
    sides = [
        ("trimtab-load", sustained_ours),
        ("httperf", sustained_httperf),
        ("do-nothing", nothing_sustained(log)),
    ]
    for _ in range(effort.climbs):
        random.shuffle(sides)
        for name, sustained in sides:
            best[name].append(climb(url, sustained, effort))
    return best


def climb_section(best: Pairs) -> str:
    """The table of highest sustainable rates."""
    ours = best["trimtab-load"]
    rows = []
    for name, pairs in best.items():
        ratios = report.spread([a[0] / b[0] for a, b in zip(ours, pairs, strict=True)])
        rates, cpu = [rate for rate, _ in pairs], [cpu_us for _, cpu_us in pairs]
        rows.append([name, report.spread(rates, 0), "" if pairs is ours else ratios, report.spread(cpu)])
    head = ["open loop", "highest sustainable requests/s", "trimtab-load to it", "CPU µs/request there"]
    return report.table(head, rows)


def punctuality_section(url: str, effort: Effort) -> str:
    """The table of offered rates and lateness."""
    rows = []
    for rate_rps in RATES_RPS:
        result = open_ours(url, rate_rps, effort.seconds).result()
        offered = result["requests"]["offered"]
        rows.append(
            [
                f"{rate_rps:,}",
                f"{(offered / (rate_rps * effort.seconds) - 1) * 100:+.2f} %",
                f"{result['requests']['replied'] / offered * 100:.2f} %",
                f"{result['health']['lateness_p99_us'] / 1000:.2f}",
                f"{result['health']['lateness_max_us'] / 1000:.2f}",
                f"{result['health']['cpu_share'] * 100:.0f} %",
                result["health"]["verdict"],
            ]
        )
    head = ["requests/s asked", "offered", "replied", "arrival lateness p99, ms", "largest, ms"]
    return report.table([*head, "generator CPU", "its own verdict"], rows)


def waiting_bytes(url: str, sessions: int, folder: Path) -> int:
    """Memory of the worker process that no other shares, while so many sessions wait."""
    log = folder / "think.log"
    log.write_text(f"{PATH} think={ARRIVING_S + 3:g}\n{PATH}\n")
    command = [str(servers.LOAD), "open", f"--url={url.removesuffix(PATH)}", f"--sessions={log}"]
    command += [f"--rate={2 * sessions / ARRIVING_S:g}", f"--duration={ARRIVING_S:g}", "--timeout=60"]
    with subprocess.Popen([*command, "--close=reset"], stdout=subprocess.PIPE, text=True) as child:
        try:
            for line in child.stdout or ():
                if json.loads(line).get("sessions_open", 0) >= sessions:
                    [worker] = psutil.Process(child.pid).children()
                    status = Path(f"/proc/{worker.pid}/status").read_text()
                    return int(re.findall(r"RssAnon:\s+(\d+) kB", status)[0]) * 1024
        finally:
            child.kill()
    raise RuntimeError(f"never were {sessions} sessions open at once")


def memory_section(url: str, folder: Path) -> str:
    """The table of memory per waiting session."""
    few, many = WAITING_SESSIONS
    at_few, at_many = (waiting_bytes(url, sessions, folder) for sessions in WAITING_SESSIONS)
    row = [f"{at_few / 2**20:.1f}", f"{at_many / 2**20:.1f}", f"{(at_many - at_few) / (many - few):.0f}"]
    head = [f"MiB with {few} waiting sessions", f"MiB with {many:,}", "bytes per session"]
    return report.table(head, [row])


def main() -> None:
    """Measures and prints the section; `--brief` measures just enough to see that it works."""
    effort = BRIEF if "--brief" in sys.argv else Effort()
    with servers.folders() as (folder, root):
        lab = Lab(folder)
        (root / PATH.lstrip("/")).write_bytes(bytes(1024))
        with servers.running("trimtab-httpd", folder / "server", root, PATH) as server:
            url = server.url + PATH
            mix = mix_costs(server, lab, effort)
            closed = closed_pairs(url, effort)
            opened = climb_all(url, effort, folder / "open.log")
            sections = [
                cost_section(mix, closed, opened),
                closed_section(closed),
                climb_section(opened),
                punctuality_section(url, effort),
                memory_section(url, folder),
            ]
    print("## What the load generator can offer\n")
    print(
        "One generator process on one CPU, trimtab-httpd with one worker on another, a 1 KB file or the "
        "SPECweb99-like mix. Ratios are taken within a round. Median (range).\n"
    )
    print(
        "CPU time of a request, user and system, of the whole process: of the mix in the open loop, at "
        f"{MIX_RPS:,} requests a second, {effort.mix_rounds} rounds of {effort.seconds} s; of the 1 KB file "
        "in the runs of the two tables below, each generator at the highest rate that it "
        "sustains. On the loopback the kernel receives a segment in the context of the process that sends "
        "it: the server's accepting and receiving are in the generator's figures, and the generator's "
        "receiving in the server's.\n"
    )
    print(sections[0] + "\n")
    print(
        f"Closed loop: {CONNECTIONS} connections, {effort.closed_rounds} rounds of {effort.seconds} s, in "
        "random order. In requests a second a ratio above 1 is better than wrk, in CPU time one below.\n"
    )
    print(sections[1] + "\n")
    print(
        f"Open loop: sessions of {SESSION_REQUESTS} requests; the highest rate, in steps of "
        f"{(effort.step - 1) * 100:.0f} %, that is offered and replied to within "
        f"{(1 - SUSTAINED) * 100:g} %, {effort.climbs} climbs of {effort.seconds} s a rate.\n"
    )
    print(sections[2] + "\n")
    print(f"Punctuality of trimtab-load's open loop, {effort.seconds} s per rate.\n")
    print(sections[3] + "\n")
    print("Memory of one worker process while sessions think, without the kernel's for their sockets.\n")
    print(sections[4])


if __name__ == "__main__":
    main()
