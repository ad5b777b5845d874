"""What one trimtab-load process can do, beside wrk and httperf, and how punctual it is.

All generators are pinned to one CPU and ask trimtab-httpd on another for a 1 KB file. Three tables:

Closed loop: 64 connections, rounds in which wrk and trimtab-load alternate in random order. Requests a
second, and CPU time of the generator a request, which says what a core could do for a server that is fast
enough.

Highest sustainable rate of the open loop: each generator climbs a ladder of rates. A rate is sustained when
at least 99.5 % of the requests that were asked for were made and replied to in time, and, for trimtab-load,
when it did not call itself the limit. The climb ends with the second rate in a row that is not.

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

CONNECTIONS = 64
SESSION_REQUESTS = 100
LOWEST_RPS = 2_000
HIGHEST_RPS = 200_000
SUSTAINED = 0.995

RATES_RPS = [100, 1_000, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000, 70_000, 80_000]

WAITING_SESSIONS = (10, 10_000)
ARRIVING_S = 5.0

PATH = "/1k.bin"


@dataclass(frozen=True)
class Effort:
    """How often and how long is measured; the ladder of the climbs has steps of the factor `step`."""

    closed_rounds: int = 7
    climbs: int = 3
    step: float = 1.15
    seconds: int = 3


BRIEF = Effort(closed_rounds=1, climbs=1, step=2.0, seconds=1)
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


def drive(*command: str) -> Drive:
    """Runs a generator on its CPU to its end."""
    pinned = ["setpriv", "--pdeathsig", "KILL", "--", "taskset", "-c", str(servers.CLIENT_CPU), *command]
    child = subprocess.Popen(pinned, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
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


def closed_section(url: str, effort: Effort) -> str:
    """The table of the closed loop."""
    measured: dict[str, list[tuple[float, float]]] = {"trimtab-load": [], "wrk": []}
    sides: list[tuple[str, Callable[[str, int], tuple[float, float]]]] = [
        ("trimtab-load", closed_ours),
        ("wrk", closed_wrk),
    ]
    for _ in range(effort.closed_rounds):
        random.shuffle(sides)
        for name, run in sides:
            measured[name].append(run(url, effort.seconds))
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


def open_ours(url: str, rate_rps: float, seconds: int) -> dict[str, Any]:
    """One run of the open loop."""
    return drive(
        str(servers.LOAD),
        *("open", f"--url={url}", f"--rate={rate_rps:g}", f"--duration={seconds}", "--timeout=5"),
        *(f"--session-requests={SESSION_REQUESTS}", "--close=reset"),
    ).result()


def sustained_ours(url: str, rate_rps: float, seconds: int) -> bool:
    """Whether trimtab-load sustains the rate."""
    result = open_ours(url, rate_rps, seconds)
    replied = float(result["requests"]["replied"]) / (rate_rps * seconds)
    return replied >= SUSTAINED and bool(result["health"]["verdict"] == "ok")


def sustained_httperf(url: str, rate_rps: float, seconds: int) -> bool:
    """Whether httperf does: its test must not last longer than the load was to."""
    host, path = url.removeprefix("http://").split("/", 1)
    name, port = host.split(":")
    sessions_per_s = rate_rps / SESSION_REQUESTS
    sessions = round(sessions_per_s * seconds)
    done = drive(
        *("httperf", "--hog", f"--server={name}", f"--port={port}", f"--uri=/{path}", "--timeout=5"),
        *(f"--rate={sessions_per_s:.6f}", f"--num-conns={sessions}", f"--num-calls={SESSION_REQUESTS}"),
    )
    replies, took_s = done.number(r"replies (\d+) test-duration"), done.number(r"test-duration ([\d.]+) s")
    # The last session begins one interval before the end and takes its time; that is not falling behind.
    allowed_s = seconds / SUSTAINED + SESSION_REQUESTS * 200e-6
    return replies / (sessions * SESSION_REQUESTS) >= SUSTAINED and took_s <= allowed_s


def climb(url: str, sustained: Callable[[str, float, int], bool], effort: Effort) -> float:
    """The highest rate of the ladder that is sustained; 0 if none is."""
    best_rps, rate_rps, failed = 0.0, float(LOWEST_RPS), 0
    while failed < 2 and rate_rps <= HIGHEST_RPS:
        if sustained(url, rate_rps, effort.seconds):
            best_rps, failed = rate_rps, 0
        else:
            failed += 1
        rate_rps *= effort.step
    return best_rps


def climb_section(url: str, effort: Effort) -> str:
    """The table of highest sustainable rates."""
    best: dict[str, list[float]] = {"trimtab-load": [], "httperf": []}
    sides = [("trimtab-load", sustained_ours), ("httperf", sustained_httperf)]
    for _ in range(effort.climbs):
        random.shuffle(sides)
        for name, sustained in sides:
            best[name].append(climb(url, sustained, effort))
    rows = [[name, report.spread(rates, 0)] for name, rates in best.items()]
    ratios = [
        a / b if b else float("inf") for a, b in zip(best["trimtab-load"], best["httperf"], strict=True)
    ]
    rows.append(["trimtab-load / httperf", report.spread(ratios)])
    return report.table(["open loop", "highest sustainable requests/s"], rows)


def punctuality_section(url: str, effort: Effort) -> str:
    """The table of offered rates and lateness."""
    rows = []
    for rate_rps in RATES_RPS:
        result = open_ours(url, rate_rps, effort.seconds)
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
        (root / PATH.lstrip("/")).write_bytes(bytes(1024))
        with servers.running("trimtab-httpd", folder / "server", root, PATH) as server:
            url = server.url + PATH
            sections = [
                closed_section(url, effort),
                climb_section(url, effort),
                punctuality_section(url, effort),
                memory_section(url, folder),
            ]
    print("## What the load generator can offer\n")
    print(
        "One generator process on one CPU, trimtab-httpd with one worker on another, a 1 KB file. Ratios are "
        "taken within a round. Median (range).\n"
    )
    print(
        f"Closed loop: {CONNECTIONS} connections, {effort.closed_rounds} rounds of {effort.seconds} s, in "
        "random order. In requests a second a ratio above 1 is better than wrk, in CPU time one below.\n"
    )
    print(sections[0] + "\n")
    print(
        f"Open loop: sessions of {SESSION_REQUESTS} requests; the highest rate, in steps of "
        f"{(effort.step - 1) * 100:.0f} %, that is offered and replied to within "
        f"{(1 - SUSTAINED) * 100:g} %, {effort.climbs} climbs of {effort.seconds} s a rate.\n"
    )
    print(sections[1] + "\n")
    print(f"Punctuality of trimtab-load's open loop, {effort.seconds} s per rate.\n")
    print(sections[2] + "\n")
    print("Memory of one worker process while sessions think, without the kernel's for their sockets.\n")
    print(sections[3])


if __name__ == "__main__":
    main()
