"""What clients see of live tuning: connections that fail while servers join, get shares, leave, and while a
candidate is promoted and undone.

A generator opens a new connection for every request, from beginning to end. Beside it, in rounds: two servers
join nginx on its port, are given 5, 15 and 50 % of the connections, and leave; then a candidate is put into
nginx's own file and taken back, with a reload each. For comparison the same number of plain reloads, with
nothing else. Counts, not times: TRIMTAB_CONNECTIONS says how many connections there are to be (100,000).
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from trimtab_agent.base_file import read_base
from trimtab_agent.live.arms import baseline_and_canary
from trimtab_agent.live.promotion import Promotion
from trimtab_agent.live.running import RunningServer, running_servers
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.processes.programs import find_installed
from trimtab_agent.station.server.ports import HeldPorts

CONNECTIONS = int(os.environ.get("TRIMTAB_CONNECTIONS", "100000"))
RATE_RPS = 1000
SHARES = (0.05, 0.15, 0.5)
STEP_S = 1.0
PAGE_BYTES = 4096
FILE = """worker_processes 2;
user root;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
    access_log {folder}/access.log;
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        root {folder}/www;
    }}
}}
"""


def main() -> None:
    """Prints the section; needs root."""
    if os.geteuid():
        sys.exit("only root may share the ports of any server")
    print("## What clients see\n")
    print(
        f"{RATE_RPS:,} new connections a second to nginx with two workers, each for one request "
        "(`agent/bench/live_changes.py`). Wanted: none fails.\n"
    )
    with tempfile.TemporaryDirectory() as name, running(Path(name)) as server:
        print("| while | rounds | connections | failed | how |")
        print("| --- | ---: | ---: | ---: | --- |")
        told = ("servers join, get shares and leave; a promotion and its undoing", lambda: one_round(server))
        for what, act in (told, ("plain reloads (HUP), two a round", lambda: two_reloads(server))):
            print_row(what, server, act)


@contextmanager
def running(folder: Path) -> Iterator[RunningServer]:
    """An nginx that serves one page, until the end of the block."""
    (folder / "www").mkdir()
    (folder / "www" / "page").write_bytes(os.urandom(PAGE_BYTES))
    ports, file = HeldPorts(), folder / "nginx.conf"
    port = ports.take()
    file.write_text(FILE.format(folder=folder, port=port))
    command = (str(find_installed("nginx")), "-c", str(file), "-e", "stderr", "-g", "daemon off;")
    process = subprocess.Popen(command)
    try:
        deadline = time.monotonic() + 10
        while not (
            found := [each for each in running_servers() if each.pid == process.pid and each.listeners]
        ):
            if time.monotonic() > deadline:
                sys.exit("nginx does not listen")
        yield found[0]
    finally:
        ports.let_go()
        process.terminate()
        process.wait()


def one_round(server: RunningServer) -> None:
    """Everything that live tuning does to a server."""
    if server.file is None:
        raise RuntimeError("nginx was started with a file")
    base = read_base(server.target, server.file)
    values = {**server.target.space().default(), **server.target.parse(base.expanded), "sendfile": "on"}
    with tempfile.TemporaryDirectory() as notes:
        with baseline_and_canary(server, base, values, ["sendfile"], Path(notes)) as arms:
            for share in SHARES:
                arms.weigh(share)
                time.sleep(STEP_S)
        promotion = Promotion(server, base, values, ["sendfile"], Path(notes))
        time.sleep(STEP_S)
        promotion.undo()
        time.sleep(STEP_S)


def two_reloads(server: RunningServer) -> None:
    """As many reloads as a promotion and its undoing take."""
    for _ in range(2):
        os.kill(server.pid, signal.SIGHUP)
        time.sleep(STEP_S)


def print_row(what: str, server: RunningServer, act: Callable[[], None]) -> None:
    """Rounds of `act` until the generator has opened its connections."""
    duration_s = CONNECTIONS / RATE_RPS
    command = (
        *(str(AgentSettings().load_path), "open", "--url", f"http://{server.listeners[0].address}/page"),
        *("--rate", str(RATE_RPS), "--duration", str(duration_s), "--timeout", "10", "--connection", "close"),
    )
    load = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    until, rounds = time.monotonic() + duration_s - 8 * STEP_S, 0
    while time.monotonic() < until:
        act()
        rounds += 1
    said, _ = load.communicate()
    result = json.loads(said.splitlines()[-1])
    opened, replied = result["requests"]["offered"], result["requests"]["replied"]
    how = ", ".join(f"{count} {kind}" for kind, count in result["failures"].items()) or "–"
    print(f"| {what} | {rounds} | {opened:,} | {opened - replied:,} | {how} |", flush=True)


if __name__ == "__main__":
    main()
