"""Replicas of a real server while the mix of its traffic changes: does the policy find out what serves it
better, and how soon does it follow?

nginx with one worker serves files, and hands other requests on to a program of Python. The public asks as
fast as it is answered: for files alone, then for four pages of the program in ten requests, and so on, a
phase each (MIXES). Two things are measured.

    What is better   for each mix by itself, with replicas and without by turns, in pairs
    The policy       `trimtab live replicas` on phases of so many minutes: what it says, when, and for how
                     much of the last minute of a phase replicas were on

The server, the program and the public share all CPUs but for what the machine has more than two of.

    python agent/bench/live_replicas.py SECONDS MINUTES

measures for so long, or until there are enough rounds (TRIMTAB_ROUNDS, 2), with phases of so many minutes
(6: a mix that is not known is found out in five at most). What has been measured is kept, by the minutes.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

from live_lab import FILE_BYTES, LOGGED_S, Cpus, Kept, Lab, arguments, bounded, lab, section
from trimtab_agent.errors import HostError
from trimtab_agent.live.replicas import adapt_replicas
from trimtab_agent.station.server.ports import HeldPorts
from trimtab_agent.stopping import StopSignal
from trimtab_tuner.certainty.statistics import Gain, paired_gain
from trimtab_tuner.live.replicas_policy import ReplicasPolicy, Second
from trimtab_tuner.targets.backends.python_servers import UVICORN

ROUNDS = int(os.environ.get("TRIMTAB_ROUNDS", "2"))
MINUTES = 6.0
TURNS, BLOCK_S, WASHOUT_S = 8, 8, 4
CONNECTIONS = 32
FILES, PAGES = "files alone", "four pages in ten"
DYNAMIC = {FILES: 0, PAGES: 4}
PHASES = (FILES, PAGES, FILES, PAGES)
# All but one are the server's where there are more than two.
COUNT = len(os.sched_getaffinity(0))
CPUS = Cpus(server=tuple(range(COUNT if COUNT == 2 else COUNT - 1)), public=COUNT - 1)
SITE = """location /dynamic/ {
            proxy_pass http://pages;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
        }"""


def main() -> None:
    """Measures for as long as it may, and prints the sections."""
    until_s, minutes = arguments(MINUTES)
    truth, policy = Kept("replicas: by turns"), Kept(f"replicas: policy, {minutes:g} min")
    for number in bounded(range(ROUNDS), truth, until_s - 4 * TURNS * (BLOCK_S + WASHOUT_S) - 30):
        with server_with_pages() as made:
            truth.add({mix: by_turns(made, mix, random.Random(number)) for mix in DYNAMIC})
    for number in bounded(range(ROUNDS), policy, until_s - 60 * minutes * len(PHASES) - 30):
        with server_with_pages() as made:
            policy.add({"phases": adapted(made, minutes, number)})
    show(truth.all(), [each["phases"] for each in policy.all()], minutes)


@contextmanager
def server_with_pages() -> Iterator[Lab]:
    """An nginx that serves files and hands requests on to a program, until the end of the block."""
    ports = HeldPorts()
    with TemporaryDirectory() as folder:
        port = ports.take()
        Path(folder, "application.py").write_text(UVICORN.script)
        command = (
            *("taskset", "-c", ",".join(map(str, CPUS.server)), sys.executable, "-m", "uvicorn"),
            *("application:asgi", "--app-dir", folder, "--port", str(port), "--log-level", "warning"),
            *("--workers", str(len(CPUS.server))),
        )
        program = subprocess.Popen(command, process_group=0)
        try:
            wait_until_it_listens(port)
            further = f"upstream pages {{ server 127.0.0.1:{port}; keepalive 32; }}"
            with lab(further=further, site=SITE, cpus=CPUS) as made:
                made.add_files()
                for mix, pages in DYNAMIC.items():
                    sessions_of(made, mix).write_text(session(pages))
                yield made
        finally:
            ports.let_go()
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()


def wait_until_it_listens(port: int) -> None:
    """Ends this program where it does not."""
    deadline = time.monotonic() + 30
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if time.monotonic() > deadline:
            sys.exit("the program behind nginx does not listen")
        time.sleep(0.1)


def sessions_of(made: Lab, mix: str) -> Path:
    """Where the sessions of that mix stand."""
    return made.folder / f"{mix.replace(' ', '-')}.sessions"


def session(pages: int) -> str:
    """Ten requests on a connection, so many of them for pages."""
    asked = [f"{UVICORN.path}?size={FILE_BYTES}"] * pages + ["/file"] * (10 - pages)
    random.Random(pages).shuffle(asked)
    return "".join(f"{path} size={FILE_BYTES}\n" for path in asked)


@contextmanager
def adapting(made: Lab, seed: int, tell: Callable[[Second, ReplicasPolicy], None]) -> Iterator[None]:
    """Replicas on the server of that lab, one for each further CPU, until the end of the block."""
    stop = StopSignal()
    raised: list[HostError] = []

    def carry_out(notes: Path) -> None:
        try:
            adapt_replicas(made.server, notes, stop, count=max(1, len(CPUS.server) - 1), seed=seed, tell=tell)
        except HostError as error:
            raised.append(error)

    with TemporaryDirectory() as notes:
        thread = threading.Thread(target=carry_out, args=(Path(notes),))
        thread.start()
        try:
            yield
        finally:
            stop.request()
            thread.join()
    if raised:
        raise raised[0]


def by_turns(made: Lab, mix: str, chance: random.Random) -> dict[str, list[float]]:
    """Requests answered a second with replicas and without, turn by turn."""
    rates: dict[str, list[float]] = {"with": [], "without": []}
    seconds: list[Second] = []
    wanted = ["without"]
    made.asked_at_most(CONNECTIONS, 2 * TURNS * (BLOCK_S + WASHOUT_S) + 30, sessions_of(made, mix))
    time.sleep(LOGGED_S)
    told = mock.patch.object(ReplicasPolicy, "told", side_effect=lambda _: wanted[0] == "with")
    with told, adapting(made, 0, lambda second, _: seconds.append(second)):
        for _ in range(TURNS):
            for side in chance.sample(list(rates), 2):
                wanted[0] = side
                time.sleep(WASHOUT_S)
                seconds.clear()
                time.sleep(BLOCK_S)
                rates[side].append(sum(second.requests for second in seconds) / max(len(seconds), 1))
    made.close()
    return rates


def adapted(made: Lab, minutes: float, seed: int) -> list[dict[str, Any]]:
    """The phases of the policy: when it said what, and for which share of the end replicas were on."""
    phases: list[dict[str, Any]] = []
    on: list[tuple[float, bool]] = []
    said: list[tuple[float, str]] = [(0.0, "")]

    def tell(_: Second, policy: ReplicasPolicy) -> None:
        now_s = time.monotonic()
        on.append((now_s, policy.on))
        if policy.said != said[-1][1]:
            said.append((now_s, policy.said))

    public = made.asked_at_most(CONNECTIONS, 60 * minutes + 10, sessions_of(made, PHASES[0]))
    time.sleep(LOGGED_S)
    with adapting(made, seed, tell):
        for mix in PHASES:
            began_s = time.monotonic()
            if phases:
                public.process.terminate()
                public.process.wait()
                public = made.asked_at_most(CONNECTIONS, 60 * minutes + 10, sessions_of(made, mix))
            time.sleep(60 * minutes)
            end_s = time.monotonic() - min(60.0, 30 * minutes)
            last = [was for at_s, was in on if at_s > end_s]
            here = [(round(at_s - began_s, 1), what) for at_s, what in said if at_s > began_s]
            phases.append({"mix": mix, "on": sum(last) / max(len(last), 1), "said": here})
    return phases


def show(
    truth: Sequence[dict[str, dict[str, list[float]]]], rounds: Sequence[list[dict[str, Any]]], minutes: float
) -> None:
    """The sections of what there is."""
    turns = []
    for mix in DYNAMIC if truth else ():
        pairs = [each[mix] for each in truth]
        sides = ([rate for pair in pairs for rate in pair[side]] for side in ("without", "with"))
        gain = paired_gain(*sides)
        turns.append((mix, str(gain.blocks if gain else 0), in_cell(gain)))
    about = (
        f"nginx with one worker on {len(CPUS.server)} CPUs, {CONNECTIONS} connections that ask as fast as "
        f"they are answered, {FILE_BYTES >> 10} KiB each; with replicas and without in random order "
        "(`agent/bench/live_replicas.py`)."
    )
    of_turns = ("the public asks for", "turns", "requests/s with replicas, against without")
    print(section("Replicas, by turns with none", about, of_turns, turns))
    about = f"`trimtab live replicas` on that server, while the mix changes every {minutes:g} minutes."
    of_phases = ("round, phase", "the public asks for", "it said", "replicas on at the end")
    phases = [
        (f"{number}, {place}", phase["mix"], in_words(phase["said"]), f"{phase['on']:.0%}")
        for number, each in enumerate(rounds, 1)
        for place, phase in enumerate(each, 1)
    ]
    print(f"\n{section('Replicas that follow the traffic', about, of_phases, phases, left=3)}")


def in_words(said: Sequence[tuple[float, str]]) -> str:
    """What the policy said in a phase, and when."""
    return "; ".join(f"after {at_s:.0f} s {what}" for at_s, what in said)


def in_cell(gain: Gain | None) -> str:
    """A ratio with its interval."""
    return "–" if gain is None else str(gain)


if __name__ == "__main__":
    main()
