"""What the benchmarks of live tuning share: a server that carries the load of a public, and how what was
measured is kept and told.

All servers run on CPU 0, the public on CPU 1: sessions of `specweb99`, each on a connection, whose replies
are compared byte by byte; or one file, again and again. The public runs all the time, and its progress and
result are read at the end. Everything is measured in counts and ratios.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
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
from trimtab_trials.configuration import Configuration
from trimtab_tuner.live.observed import Observed
from trimtab_tuner.live.proposals import OF_PRODUCTION_ALONE, live_space
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext, space_of
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.parameters import parameters

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "server-core" / "bench"))
import report

PERIOD_S = 0.5
FILE_BYTES = 8 << 10
LOGGED_S = 3  # so long until the log of a server that has just begun tells of requests
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
        {site}
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


@dataclass(frozen=True)
class Asking:
    """What the public asks for, how often, and how often on a connection."""

    rate_rps: float
    path: str = "file"
    requests: int = 10


def shifts_of(usual: Asking) -> dict[str, Asking]:
    """The other kinds of traffic that it becomes."""
    return {
        "files eight times as large": replace(usual, path="large"),
        "a connection for each request": replace(usual, requests=1),
        "twice the rate": replace(usual, rate_rps=2 * usual.rate_rps),
    }


@dataclass(frozen=True)
class Cpus:
    """Where servers run, and where the public and this process do."""

    server: tuple[int, ...]
    public: int


ON_TWO = Cpus(server=(0,), public=1)


@dataclass
class Public:
    """Who asks the server for something; `result` is what the generator said at its end."""

    process: subprocess.Popen[str]
    output: Path

    def end(self) -> dict[str, Any]:
        """Waits for its end."""
        self.process.wait()
        return self._said()[-1]

    def replied(self) -> list[tuple[float, int]]:
        """After so many seconds, second by second, so many requests had been answered."""
        said = (each for each in self._said() if each["type"] == "progress")
        return [(each["elapsed_s"], each["requests_replied"]) for each in said]

    def _said(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.output.read_text().splitlines()]


@dataclass
class Lab:
    """A server that carries traffic, and where its files are; `plain` is its file without the values that it
    was given.
    """

    folder: Path
    root: Path
    sessions: Path
    server: RunningServer
    plain: str
    cpus: Cpus
    _publics: list[Public] = field(default_factory=list)

    @property
    def file(self) -> Path:
        """That it was started with."""
        if self.server.file is None:
            raise RuntimeError("it was started with a file")
        return self.server.file

    @property
    def base(self) -> BaseFile:
        """Its file as it is now."""
        return read_base(self.server.target, self.file)

    def public(self, rate_rps: float, duration_s: float, *options: str, path: str = "") -> Public:
        """Begins to ask for what its sessions do, or for one file of any content at that `path`.

        `options` are further ones of trimtab-load.
        """
        words: tuple[str, ...] = ("--rate", str(rate_rps), "--timeout", "30", "--arrivals", "poisson")
        words += options
        if not path:
            words += ("--verify", "all")
            if "--sessions" not in words and "--connection" not in words:
                words += ("--sessions", str(self.sessions))
        return self._begun("open", path, duration_s, words)

    def asked(self, asking: Asking, duration_s: float) -> Public:
        """Begins to ask so; the arrivals are the same each time."""
        requests = ("--session-requests", str(asking.requests))
        return self.public(asking.rate_rps, duration_s, *requests, path=asking.path)

    def asked_at_most(self, connections: int, duration_s: float, sessions: Path) -> Public:
        """Begins to ask for what those sessions do, as soon as each has its reply."""
        words = ("--connections", str(connections), "--sessions", str(sessions))
        return self._begun("closed", "", duration_s, words)

    def _begun(self, loop: str, path: str, duration_s: float, words: Sequence[str]) -> Public:
        output = self.folder / f"public-{len(self._publics)}"
        url = f"http://{self.server.listeners[0].address}/{path}"
        command = (
            *(str(AgentSettings().load_path), loop, "--url", url, "--duration", str(duration_s)),
            *("--cpus", str(self.cpus.public), *words),
        )
        with output.open("w") as written:
            self._publics.append(Public(subprocess.Popen(command, stdout=written, text=True), output))
        return self._publics[-1]

    def add_files(self) -> None:
        """What is asked for by path: a file, and one that is eight times as large."""
        for name, size in (("file", FILE_BYTES), ("large", 8 * FILE_BYTES)):
            (self.root / name).write_bytes(bytes(size))

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
    directories: int = 2,
    time_scale: float = 0.05,
    *,
    kind: str = "nginx",
    further: str = "",
    site: str = "",
    values: Configuration | None = None,
    cpus: Cpus = ON_TWO,
) -> Iterator[Lab]:
    """Until the end of the block; needs root, and two CPUs. `kind` is nginx or core; `further` lines of its
    file are for the server as a whole, those of `site` for nginx's site, and it has those `values` of knobs.
    """
    if os.geteuid():
        sys.exit("only root may share the ports of any server")
    os.sched_setaffinity(0, {cpus.public})
    workload = make_workload(parameters(WORKLOADS["specweb99"].sized(directories), time_scale))
    folder = Path(tempfile.mkdtemp(prefix="trimtab-bench-", dir="/dev/shm"))
    folder.chmod(0o755)
    with ExitStack() as opened:
        opened.callback(shutil.rmtree, folder, ignore_errors=True)
        files = FileSet(folder / "sets", workload)
        files.prepare(lambda _done, _total: None, StopSignal())
        ports = HeldPorts()
        opened.callback(ports.let_go)
        plain = FILES[kind].format(
            folder=folder, root=files.root, port=ports.take(), further=further, site=site
        )
        server = opened.enter_context(_running(kind, folder, with_values(kind, plain, values or {}), cpus))
        made = Lab(folder, files.root, files.sessions, server, plain, cpus)
        opened.callback(made.close)
        yield made


def with_values(kind: str, text: str, values: Configuration) -> str:
    """The file with those values, as far as live tuning may change them."""
    target = TARGETS[kind]
    own = own_values(target, text, 1)
    space = live_space(space_of(target, own, 1), own, OF_PRODUCTION_ALONE, {})
    knobs = [knob.name for knob in space.free if values.get(knob.name, own[knob.name]) != own[knob.name]]
    context = RenderContext(root="/", listen=(), server_cpus=(0,))
    return target.changed(text, {**own, **values}, knobs, context) if knobs else text


@contextmanager
def _running(kind: str, folder: Path, text: str, cpus: Cpus) -> Iterator[RunningServer]:
    file = folder / f"{kind}.conf"
    file.write_text(text)
    command: tuple[str, ...] = (str(AgentSettings().httpd_path), "-c", str(file))
    if kind == "nginx":
        command = (str(find_installed("nginx")), "-c", str(file), "-e", "stderr", "-g", "daemon off;")
    where = ",".join(map(str, cpus.server))
    process = subprocess.Popen(("taskset", "-c", where, *command), process_group=0)
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


def arguments(minutes: float) -> tuple[float, float]:
    """Until when it may be measured (monotonic), and how many minutes a session lasts: the arguments of the
    command, seconds and minutes. Without them it is for ever, and `minutes`.
    """
    words = sys.argv[1:]
    seconds = float(words[0]) if words else float("inf")
    return time.monotonic() + seconds, float(words[1]) if len(words) > 1 else minutes


def failed(result: Mapping[str, Any]) -> int:
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


def section(
    heading: str, about: str, heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1
) -> str:
    """A section of docs/lab/live-tuning.md: what is measured, and a table of what has been so far, in which
    the first `left` columns read left.
    """
    told = report.table(heads, rows, left) if rows else "Nothing of it has been measured yet."
    return f"## {heading}\n\n{about}\n\n{told}"


def bounded(most: Sequence[Any] | range, kept: Kept, until_s: float) -> Iterator[int]:
    """The numbers that have not been measured yet, for as long as the time is not over."""
    for number in range(len(kept.all()), len(most)):
        if time.monotonic() > until_s:
            return
        yield number
