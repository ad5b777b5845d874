"""What the benchmarks of live tuning share: a server that carries the load of a public, and episodes beside
it.

All servers run on CPU 0, the public on CPU 1: sessions of `specweb99`, each on a connection, whose replies
are compared byte by byte. The public runs all the time, and its progress and result are read at the end.
Everything is measured in counts and ratios.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trimtab_agent.base_file import BaseFile, read_base
from trimtab_agent.live.observation import Observer
from trimtab_agent.live.production import production_observer
from trimtab_agent.live.running import RunningServer, running_servers
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.file_set import FileSet
from trimtab_agent.station.processes.programs import find_installed
from trimtab_agent.station.server.ports import HeldPorts
from trimtab_agent.stopping import StopSignal
from trimtab_agent.workloads.choice import make_workload
from trimtab_tuner.live.observed import Observed
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.parameters import parameters

SERVER_CPU, PUBLIC_CPU = 0, 1
PERIOD_S = 0.5
KEPT = Path(__file__).resolve().parents[2] / ".build" / "live-tuning.json"
FILES = {
    "nginx": """worker_processes 1;
user root;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
    access_log {folder}/access.log;
    sendfile on;
    keepalive_timeout 65;
    {further}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location = /counts {{ stub_status; access_log off; }}
        root {root};
    }}
}}
""",
    "core": """[server]
listen = 127.0.0.1:{port}
root = {root}
stats_socket = {folder}/stats.sock
max_connections = 8192
backlog = 4096
{further}
""",
}


@dataclass
class Public:
    """Who asks the server for something; `result` is what the generator said at its end."""

    process: subprocess.Popen[str]
    output: Path

    def end(self) -> dict[str, Any]:
        """Waits for its end."""
        self.process.wait()
        result: dict[str, Any] = json.loads(self.output.read_text().splitlines()[-1])
        return result


@dataclass
class Lab:
    """A server that carries traffic, and where its files are."""

    folder: Path
    root: Path
    sessions: Path
    server: RunningServer
    _publics: list[Public] = field(default_factory=list)

    @property
    def base(self) -> BaseFile:
        """Its file as it is now."""
        if self.server.file is None:
            raise RuntimeError("it was started with a file")
        return read_base(self.server.target, self.server.file)

    def public(self, rate_rps: float, duration_s: float, *options: str, path: str = "") -> Public:
        """Begins to ask for what its sessions do, or for one file of any content at that `path`.

        `options` are further ones of trimtab-load.
        """
        output = self.folder / f"public-{len(self._publics)}"
        url = f"http://{self.server.listeners[0].address}/{path}"
        command = (
            *(str(AgentSettings().load_path), "open", "--url", url),
            *("--rate", str(rate_rps), "--duration", str(duration_s), "--timeout", "30"),
            *("--cpus", str(PUBLIC_CPU), "--arrivals", "poisson", *options),
        )
        if not path:
            command += ("--verify", "all")
            if "--sessions" not in command and "--connection" not in command:
                command += ("--sessions", str(self.sessions))
        with output.open("w") as written:
            self._publics.append(Public(subprocess.Popen(command, stdout=written, text=True), output))
        return self._publics[-1]

    @contextmanager
    def observed(self) -> Iterator[Observer]:
        """Production, observed."""
        observer, _ = production_observer(self.server, 1.0)
        with observer:
            yield observer

    def close(self) -> None:
        """Ends who still asks."""
        for each in self._publics:
            if each.process.poll() is None:
                each.process.kill()
                each.process.wait()


@contextmanager
def lab(
    directories: int = 2, time_scale: float = 0.05, *, kind: str = "nginx", further: str = ""
) -> Iterator[Lab]:
    """Until the end of the block; needs root, and two CPUs. `kind` is nginx or core; `further` lines of its
    file are for the server as a whole.
    """
    if os.geteuid():
        sys.exit("only root may share the ports of any server")
    os.sched_setaffinity(0, {PUBLIC_CPU})
    workload = make_workload(parameters(WORKLOADS["specweb99"].sized(directories), time_scale))
    folder = Path(tempfile.mkdtemp(prefix="trimtab-bench-", dir="/dev/shm"))
    folder.chmod(0o755)
    with ExitStack() as opened:
        opened.callback(shutil.rmtree, folder, ignore_errors=True)
        files = FileSet(folder / "sets", workload)
        files.prepare(lambda _done, _total: None, StopSignal())
        server = opened.enter_context(_running(kind, folder, files.root, further))
        made = Lab(folder, files.root, files.sessions, server)
        opened.callback(made.close)
        yield made


@contextmanager
def _running(kind: str, folder: Path, root: Path, further: str) -> Iterator[RunningServer]:
    file = folder / f"{kind}.conf"
    ports = HeldPorts()
    file.write_text(FILES[kind].format(folder=folder, root=root, port=ports.take(), further=further))
    command: tuple[str, ...] = (str(AgentSettings().httpd_path), "-c", str(file))
    if kind == "nginx":
        command = (str(find_installed("nginx")), "-c", str(file), "-e", "stderr", "-g", "daemon off;")
    process = subprocess.Popen(("taskset", "-c", str(SERVER_CPU), *command), process_group=0)
    try:
        deadline = time.monotonic() + 10
        while not (
            found := [each for each in running_servers() if each.pid == process.pid and each.listeners]
        ):
            if time.monotonic() > deadline:
                sys.exit(f"{kind} does not listen")
            time.sleep(0.05)
        yield found[0]
    finally:
        ports.let_go()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class Ticking:
    """Waits for each period, and reads production; `each` is called before every reading."""

    def __init__(self, observer: Observer, each: Callable[[int], None] = lambda _: None) -> None:
        self._observer, self._each = observer, each
        self._next_s = time.monotonic()
        self.periods = 0

    def __call__(self) -> Observed:
        """The next period."""
        self._next_s = max(self._next_s + PERIOD_S, time.monotonic())
        time.sleep(max(0.0, self._next_s - time.monotonic()))
        self.periods += 1
        self._each(self.periods)
        return self._observer.read()


def failed(result: dict[str, Any]) -> int:
    """Requests of a public that were not answered with what the file holds, or not in time."""
    requests = result["requests"]
    return int(requests["failed"] + requests["timed_out_before_read"] + requests["timed_out_after_read"])


class Kept:
    """What was measured already: a start that was ended goes on at the next."""

    def __init__(self, name: str) -> None:
        self._name = name

    def all(self) -> list[dict[str, Any]]:
        """In the order in which they were measured."""
        return self._read().get(self._name, [])

    def add(self, measured: dict[str, Any]) -> None:
        """One more."""
        everything = self._read()
        everything.setdefault(self._name, []).append(measured)
        part = KEPT.with_suffix(".part")
        KEPT.parent.mkdir(exist_ok=True)
        part.write_text(json.dumps(everything))
        part.replace(KEPT)

    @staticmethod
    def _read() -> dict[str, list[dict[str, Any]]]:
        try:
            found: dict[str, list[dict[str, Any]]] = json.loads(KEPT.read_text())
        except FileNotFoundError:
            return {}
        return found


def bounded(most: Sequence[Any] | range, kept: Kept, until_s: float) -> Iterator[int]:
    """The numbers that have not been measured yet, for as long as the time is not over."""
    for number in range(len(kept.all()), len(most)):
        if time.monotonic() > until_s:
            return
        yield number
