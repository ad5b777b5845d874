"""What it costs to observe a server: how many requests nginx answers in a second with its ordinary log, when
that log is read, when it writes a log for Trimtab, and when that one is read too.

The servers run beside each other, one worker each on one CPU; one at a time is asked, as fast as it can
answer, and they take turns. Whoever observes has to share the server's CPU.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from trimtab_agent.live.access_log import AccessLog
from trimtab_agent.live.listening import inode_of
from trimtab_agent.live.observation import Observer
from trimtab_agent.live.production import production_observer
from trimtab_agent.live.running import RunningServer, running_servers
from trimtab_tuner.targets.log_formats import FORMATS

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "server-core" / "bench"))
import report
import servers

ROUNDS = 9
ROUND_S = 4
PERIOD_S = 0.5
SLOW_S = 1.0

ORDINARY, ORDINARY_READ = "its ordinary log", "its ordinary log, read as production's"
OURS, OURS_READ = "a log for Trimtab, not read", "a log for Trimtab, read as an arm's"
Observe = Callable[[RunningServer], Observer]


def nginx_logging(settings: str) -> servers.Command:
    """nginx as in the other benchmarks, with a log."""

    def command(folder: Path, root: Path, port: int) -> list[str]:
        words = servers.nginx_with()(folder, root, port)
        file = folder / "nginx.conf"
        file.write_text(file.read_text().replace("access_log off;", settings))
        return words

    return command


def requests_of(server: servers.Server) -> int:
    """One round of wrk: how many requests were answered."""
    command = ["taskset", "-c", str(servers.CLIENT_CPU), "wrk", "-t1", "-c64", f"-d{ROUND_S}s"]
    said = subprocess.run([*command, f"{server.url}/1k.bin"], capture_output=True, text=True, check=True)
    found = re.search(r"(\d+) requests in", said.stdout)
    if not found:
        raise RuntimeError(f"wrk said nothing of requests:\n{said.stdout}")
    return int(found[1])


@contextmanager
def observed(server: servers.Server, observe: Observe) -> Iterator[None]:
    """The server is observed, period by period."""
    (found,) = (each for each in running_servers() if each.answers_to(server.url.rpartition(":")[2]))
    done = threading.Event()

    def read() -> None:
        with observe(found) as observer:
            while not done.wait(PERIOD_S):
                observer.read()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        done.set()
        reader.join()


def as_arm(log: Path) -> Observe:
    """How an arm with that log is observed."""
    return lambda server: Observer(
        server.pid,
        AccessLog(log, FORMATS["nginx"]),
        [inode_of(server.pid, listener) for listener in server.listeners],
        SLOW_S,
    )


def as_production(server: RunningServer) -> Observer:
    """How production is observed."""
    return production_observer(server, SLOW_S)[0]


def measure(memory: Path) -> dict[str, list[int]]:
    """Requests answered in each round, by how; `memory` is for the logs for Trimtab."""
    ours = {name: memory / f"{number}.log" for number, name in enumerate((OURS, OURS_READ))}
    settings = dict.fromkeys((ORDINARY, ORDINARY_READ), "access_log access.log;")
    settings |= {name: FORMATS["nginx"].settings.replace("PATH", str(log)) for name, log in ours.items()}
    observe: dict[str, Observe] = {ORDINARY_READ: as_production, OURS_READ: as_arm(ours[OURS_READ])}
    answered: dict[str, list[int]] = {name: [] for name in settings}
    with servers.folders() as (folder, root), ExitStack() as running:
        (root / "1k.bin").write_bytes(bytes(1024))
        started = {
            name: running.enter_context(
                servers.running("nginx", folder / str(number), root, "/1k.bin", nginx_logging(text))
            )
            for number, (name, text) in enumerate(settings.items())
        }
        for server in started.values():
            requests_of(server)
        for number in range(ROUNDS):
            names = list(started)
            for name in names[number % len(names) :] + names[: number % len(names)]:
                with observed(started[name], observe[name]) if name in observe else ExitStack():
                    answered[name].append(requests_of(started[name]))
    return answered


def main() -> None:
    """Measures, and prints the section."""
    os.sched_setaffinity(0, {servers.SERVER_CPU})
    memory = Path(tempfile.mkdtemp(dir="/dev/shm"))
    memory.chmod(0o755)
    try:
        answered = measure(memory)
    finally:
        shutil.rmtree(memory)
    ordinary_rps = report.spread([count / ROUND_S for count in answered[ORDINARY]], 0)
    print("## Observing a server\n")
    print(
        f"Requests for a 1 KB file that nginx answers in {ROUND_S} s, to those that it answers with its "
        f"ordinary log ({ordinary_rps} a second); {ROUNDS} rounds in turns, {1 / PERIOD_S:.0f} readings a "
        "second on the server's own CPU (`agent/bench/observing_cost.py`). Wanted: 0.99 at least.\n"
    )
    rows = [
        [name, report.spread([b / a for a, b in zip(answered[ORDINARY], counts, strict=True)], 3)]
        for name, counts in answered.items()
        if name != ORDINARY
    ]
    print(report.table(["nginx with", "ratio"], rows))


if __name__ == "__main__":
    main()
