"""Starts trimtab-httpd and its peers side by side for the benchmarks.

Each server gets one worker on one CPU, a private port on 127.0.0.1, its own folder, no access log,
sendfile, and the settings its documentation advises for static files on persistent connections.
All of them serve the same root. Whatever is started is ended when the `with` block is left.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
from trimtab_agent.station.server.ports import HeldPorts

CORE = Path(__file__).resolve().parents[1]
HTTPD = CORE / "build" / "httpd" / "trimtab-httpd"
LOAD = CORE / "build" / "loadgen" / "trimtab-load"
DO_NOTHING = CORE / "build" / "bench" / "do-nothing"
DO_NOTHING_CLIENT = CORE / "build" / "bench" / "do-nothing-client"

Command = Callable[[Path, Path, int], list[str]]
"""Writes a configuration into a folder, for a root and a port, and gives the command that runs it."""

SERVER_CPU, CLIENT_CPU = sorted(os.sched_getaffinity(0))[:2]
"""The two CPUs of every benchmark: one serves, the other asks."""

MAX_CONNECTIONS = 12_000
"""What every server is allowed to hold open: the 10,000 of the memory benchmark and some room.

lighttpd takes half its descriptors at most, so 10,000 here.
"""


def cpu_s(processes: list[psutil.Process]) -> float:
    """CPU time spent so far by these processes, in user and kernel mode, in seconds."""
    return sum(t.user + t.system for t in (p.cpu_times() for p in processes))


@dataclass(frozen=True)
class Server:
    """A running server: its name, URL and the processes it consists of."""

    name: str
    url: str
    main: psutil.Process

    def processes(self) -> list[psutil.Process]:
        """The main process and all its descendants, as of now."""
        return [self.main, *self.main.children(recursive=True)]

    def cpu_s(self) -> float:
        """CPU time spent so far by all processes of the server, in seconds."""
        return cpu_s(self.processes())

    def resident_bytes(self) -> int:
        """Resident memory of all processes, pages they share counted once (PSS of smaps_rollup)."""
        total_kb = 0
        for process in self.processes():
            rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
            total_kb += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
        return total_kb * 1024


def core_with(**knobs: object) -> Command:
    """trimtab-httpd with these knobs besides those that every server of the benchmarks gets."""

    def command(folder: Path, root: Path, port: int) -> list[str]:
        values = {
            "root": root,
            "listen": f"127.0.0.1:{port}",
            "max_connections": MAX_CONNECTIONS,
            "backlog": 4096,
            "keepalive_timeout": 600,
            **knobs,
        }
        lines = "".join(f"{name} = {value}\n" for name, value in values.items())
        (folder / "httpd.ini").write_text(f"[server]\n{lines}")
        return [str(HTTPD), "-c", str(folder / "httpd.ini")]

    return command


def do_nothing(body_bytes: int) -> Command:
    """The server that answers every read with a fixed buffer; see do_nothing.c."""

    def command(_folder: Path, _root: Path, port: int) -> list[str]:
        return [str(DO_NOTHING), str(port), str(body_bytes)]

    return command


def nginx_with(workers: int = 1, connections: int = MAX_CONNECTIONS, site: str = "") -> Command:
    """nginx with so many workers, each of which may hold so many connections open.

    `site` is what else stands in its server.
    """

    def command(folder: Path, root: Path, port: int) -> list[str]:
        (folder / "nginx.conf").write_text(
            f"""daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes {workers};
worker_rlimit_nofile 20000;
events {{ worker_connections {connections + 100}; multi_accept on; }}
http {{
  access_log off; sendfile on; tcp_nopush on; open_file_cache max=30000 inactive=600s;
  keepalive_timeout 600s; keepalive_requests 1000000000;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{ listen 127.0.0.1:{port} backlog=4096; root {root}; {site} }}
}}
"""
        )
        return ["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder), "-e", str(folder / "error.log")]

    return command


def lighttpd_with(workers: int = 0) -> Command:
    """lighttpd with so many workers, 0 for a single process; each may hold 10,000 connections at most."""

    def command(folder: Path, root: Path, port: int) -> list[str]:
        (folder / "lighttpd.conf").write_text(
            f"""server.document-root = "{root}"
server.bind = "127.0.0.1"
server.port = {port}
server.errorlog = "{folder}/error.log"
server.max-worker = {workers}
server.max-connections = {MAX_CONNECTIONS}
server.max-fds = 20000
server.listen-backlog = 4096
server.event-handler = "linux-sysepoll"
server.network-backend = "sendfile"
server.stat-cache-engine = "simple"
server.max-keep-alive-requests = 1000000000
server.max-keep-alive-idle = 600
"""
        )
        return ["lighttpd", "-D", "-f", str(folder / "lighttpd.conf")]

    return command


def h2o_with(threads: int = 1, connections: int = MAX_CONNECTIONS) -> Command:
    """h2o with so many threads and so many connections over all of them."""

    def command(folder: Path, root: Path, port: int) -> list[str]:
        # h2o changes to `user` when it is started by root, and insists on a name.
        user = "user: nobody\n" if os.getuid() == 0 else ""
        (folder / "h2o.yaml").write_text(
            f"""{user}num-threads: {threads}
max-connections: {connections}
http1-request-timeout: 600
pid-file: {folder}/h2o.pid
error-log: {folder}/error.log
listen: {{host: 127.0.0.1, port: {port}}}
hosts: {{default: {{paths: {{/: {{file.dir: {root}}}}}}}}}
"""
        )
        return ["h2o", "-c", str(folder / "h2o.yaml")]

    return command


PEERS: dict[str, Command] = {"nginx": nginx_with(), "lighttpd": lighttpd_with(), "h2o": h2o_with()}
"""The others, each with its best known static-file settings."""

COMMANDS: dict[str, Command] = {"trimtab-httpd": core_with(architecture="symped", workers=1), **PEERS}
"""The servers as they are compared where one of ours is enough."""


def versions() -> dict[str, str]:
    """The version each server states of itself, by name."""
    asked = {
        "trimtab-httpd": [str(HTTPD), "-V"],
        "nginx": ["nginx", "-v"],
        "lighttpd": ["lighttpd", "-v"],
        "h2o": ["h2o", "-v"],
    }
    said = {}
    for name, command in asked.items():
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said[name] = (done.stdout + done.stderr).strip().splitlines()[0]
    return said


@contextlib.contextmanager
def folders() -> Iterator[tuple[Path, Path]]:
    """A folder for what servers write, and in it an empty root; gone when the block is left."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        folder.chmod(0o755)  # nginx and h2o drop root and then read here
        root = folder / "root"
        root.mkdir()
        yield folder, root


@contextlib.contextmanager
def running(
    name: str, folder: Path, root: Path, probe_path: str, command: Command | None = None
) -> Iterator[Server]:
    """Runs one server pinned to SERVER_CPU until the block is left; `command` if not that of COMMANDS.

    `probe_path` is asked for until it is answered, so the block begins with a server that serves.
    Raises RuntimeError with the server's own words when it ends instead.
    """
    folder.mkdir(parents=True)
    folder.chmod(0o777)  # nginx and h2o drop root and then write here
    with HeldPorts() as ports, (folder / "output.log").open("w+b") as output:
        port = ports.take()
        child = subprocess.Popen(
            [
                "taskset",
                "-c",
                str(SERVER_CPU),
                "setpriv",
                "--pdeathsig",
                "KILL",
                "--",
                *(command or COMMANDS[name])(folder, root, port),
            ],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # lighttpd with workers ends its whole process group, not ours
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _await_answer(name, child, url + probe_path, Path(output.name))
            ports.let_go()
            yield Server(name, url, psutil.Process(child.pid))
        finally:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(timeout=10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def _await_answer(name: str, child: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline_s = time.monotonic() + 10
    while True:
        if child.poll() is not None:
            raise RuntimeError(f"{name} ended with status {child.returncode}: {log.read_text()[-500:]}")
        try:
            urllib.request.urlopen(url, timeout=1).read()  # noqa: S310 - our own http URL
        except OSError as problem:
            if time.monotonic() > deadline_s:
                raise RuntimeError(f"{name} did not answer {url} within 10 s: {problem}") from problem
            time.sleep(0.01)
        else:
            return
