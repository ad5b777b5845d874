"""Servers that do as a script says, and a way to run trimtab-load against them.

Every result that `load` returns has been checked for the generator's equations: each offered request is in
exactly one cell, in total and by size class, and so is each session.
"""

import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from getpass import getuser
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

PROGRAM = os.environ.get(
    "TRIMTAB_LOAD", str(Path(__file__).parents[2] / "build" / "loadgen" / "trimtab-load")
)
PATIENCE = ("--timeout", "60")
"""Given before what a test asks for: a machine that stands still for a while makes nothing time out."""

TEN_SESSIONS_OF_THREE = ("--rate", "60", "--duration", "0.5", "--session-requests", "3")

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")
NGINX_FILE = """
daemon off; user {user}; pid "{home}/nginx.pid"; error_log stderr crit;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path "{home}/body"; proxy_temp_path "{home}/proxy"; fastcgi_temp_path "{home}/fastcgi";
    uwsgi_temp_path "{home}/uwsgi"; scgi_temp_path "{home}/scgi";
    server {{ listen 127.0.0.1:{port} {protocols}; {settings} root "{home}"; }}
}}
"""

REQUEST_CELLS = ("replied", "timed_out_before_read", "timed_out_after_read", "failed", "abandoned")
SESSION_CELLS = ("completed", "timed_out_connect", "timed_out", "failed", "interrupted")


def cells(result: dict[str, Any]) -> dict[str, int]:
    """The cells of the requests that are not zero."""
    return {name: n for name, n in result["requests"].items() if n and name != "offered"}


@dataclass(frozen=True)
class Request:
    """A request as the server read it."""

    method: str
    target: str
    fields: dict[str, str]
    peer: str
    connection: int
    received_s: float
    """On the monotonic clock."""


class Closed(Exception):
    """The client has closed the connection."""


class Connection:
    """The server's end of one connection, for scripts."""

    def __init__(self, server: "ScriptedServer", connected: socket.socket, peer: str, number: int) -> None:
        self.server = server
        self.socket = connected
        self.peer = peer
        self.number = number

    def read_request(self) -> Request:
        """Reads one request without a body; raises Closed at the end of the stream."""
        text = b""
        while not text.endswith(b"\r\n\r\n"):
            byte = self.socket.recv(1)
            if not byte:
                raise Closed
            text += byte
        first, *lines = text.decode("ascii").rstrip().split("\r\n")
        method, target, _ = first.split(" ")
        fields = dict(line.split(": ", 1) for line in lines)
        request = Request(method, target, fields, self.peer, self.number, monotonic())
        self.server.requests.append(request)
        return request

    def read_bytes(self, count: int) -> bytes:
        """Reads exactly so many bytes; raises Closed at the end of the stream."""
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise Closed
            data += part
        return data

    def has_unread_bytes(self) -> bool:
        """Whether the client has already sent something more."""
        return bool(select.select([self.socket], [], [], 0)[0])

    def send(self, data: bytes) -> None:
        """Sends all of it."""
        self.socket.sendall(data)

    def reply(self, length: int = 10, status: str = "200 OK", extra: str = "") -> None:
        """Sends a whole reply with a body of `length` bytes; `extra` are further header lines."""
        self.send(f"HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{extra}\r\n".encode() + bytes(length))

    def stall(self) -> None:
        """Does nothing until the test is over."""
        self.server.over.wait()

    def reset(self) -> None:
        """Closes with RST instead of FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


Script = Callable[[Connection], None]


class ScriptedServer:
    """Listens on a free port of 127.0.0.1 and runs the script once for each connection, in a thread."""

    def __init__(self, script: Script | None, backlog: int = 1024) -> None:
        self.requests: list[Request] = []
        self.over = threading.Event()
        self._script = script
        self._threads: list[threading.Thread] = []
        self._open: list[socket.socket] = []
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(backlog)
        self.url = "http://{}:{}".format(*self._listener.getsockname())
        self._accepting = threading.Thread(target=self._accept)
        if script is not None:
            self._accepting.start()

    def _accept(self) -> None:
        while True:
            try:
                connected, (peer, _) = self._listener.accept()
            except OSError:
                return
            self._open.append(connected)
            connection = Connection(self, connected, peer, len(self._threads))
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: Connection) -> None:
        try:
            assert self._script is not None
            self._script(connection)
        except (Closed, OSError):
            pass
        finally:
            connection.socket.close()

    def stop_listening(self) -> None:
        """Refuses all connections from now on."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def close(self) -> None:
        """Ends all stalls and waits for the scripts."""
        self.over.set()
        if self._listener.fileno() >= 0:
            self.stop_listening()
        if self._script is not None:
            self._accepting.join()
        for connected in self._open:
            try:
                connected.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        for thread in self._threads:
            thread.join()


@pytest.fixture
def serve() -> Iterator[Callable[..., ScriptedServer]]:
    """Starts scripted servers; `None` as the script is a server that never accepts."""
    servers = []

    def start(script: Script | None, backlog: int = 1024) -> ScriptedServer:
        servers.append(ScriptedServer(script, backlog))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def start_nginx(tmp_path: Path) -> Iterator[Callable[..., int]]:
    """Starts nginx servers that serve tmp_path, with these words behind the port and further settings.

    Returns the port. A server takes over a socket that listens already, so nobody has to wait for it.
    """
    if NGINX is None:
        pytest.skip("nginx is not installed")
    running: list[subprocess.Popen[bytes]] = []

    def start(protocols: str, settings: str) -> int:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = int(listener.getsockname()[1])
            file = tmp_path / f"nginx{port}.conf"
            about = {"home": tmp_path, "user": getuser(), "port": port}
            file.write_text(NGINX_FILE.format(**about, protocols=protocols, settings=settings))
            running.append(
                subprocess.Popen(
                    [NGINX, "-e", "stderr", "-p", tmp_path, "-c", file],
                    pass_fds=[listener.fileno()],
                    env={"NGINX": f"{listener.fileno()};"},
                )
            )
        return port

    yield start
    for server in running:
        server.terminate()
    for server in running:
        server.wait()


@dataclass
class Outcome:
    """What a run of trimtab-load left behind."""

    status: int
    stdout: str
    stderr: str
    progress: list[dict[str, Any]] = field(default_factory=list)
    window: list[dict[str, Any]] = field(default_factory=list)
    result: dict[str, Any] = field(default_factory=dict)


def check_equations(result: dict[str, Any]) -> None:
    """Asserts that nothing that was offered is missing or counted twice."""
    requests, sessions = result["requests"], result["sessions"]
    assert requests["offered"] == sum(requests[cell] for cell in REQUEST_CELLS) + requests["dropped"]
    assert sessions["offered"] == sessions["started"] + sessions["dropped"]
    assert sessions["started"] == sum(sessions[cell] for cell in SESSION_CELLS)
    for size_class in result["size_classes"]:
        assert size_class["asked"] == sum(size_class[cell] for cell in REQUEST_CELLS)
    for cell in REQUEST_CELLS:
        assert requests[cell] == sum(size_class[cell] for size_class in result["size_classes"])
    assert requests["failed"] == sum(result["failures"].values())
    health = result["health"]
    dropped = [health[f"dropped_for_{reason}"] for reason in ("ports", "descriptors", "lateness")]
    assert sessions["dropped"] == sum(dropped)
    assert result["latency_us"]["reply"]["count"] == sum(n for _, n in result["histograms"]["reply"])


def read_outcome(status: int, stdout: str, stderr: str) -> Outcome:
    """Takes the output of a run with JSON lines apart, and checks it."""
    outcome = Outcome(status, stdout, stderr)
    documents = [json.loads(line) for line in stdout.splitlines()]
    if documents:
        *running, outcome.result = documents
        outcome.progress = [document for document in running if document["type"] == "progress"]
        outcome.window = [document for document in running if document["type"] == "window"]
        assert len(outcome.progress) + len(outcome.window) == len(running)
        assert outcome.result["type"] == "result"
        check_equations(outcome.result)
    return outcome


def read_until_progress(child: subprocess.Popen[str]) -> str:
    """What a running trimtab-load writes up to its first progress line that tells of a reply, or its end."""
    assert child.stdout is not None
    lines = ""
    while line := child.stdout.readline():
        lines += line
        document = json.loads(line)
        if document["type"] == "progress" and document["requests_replied"] > 0:
            break
    return lines


def patiently(run: Callable[[float], Any], is_enough: Callable[[Any], Any]) -> Any:
    """What a run of half a second returns; of a longer one, if the machine stood still for most of that.

    It says nothing of what the test then asserts: only whether there is enough to look at.
    """
    for duration_s in (0.5, 5, 50):
        outcome = run(duration_s)
        if is_enough(outcome):
            break
    return outcome


@pytest.fixture
def load() -> Callable[..., Outcome]:
    """Runs `trimtab-load open` (or another mode) on an URL with further arguments, to its end."""

    def run(url: str, *arguments: str, mode: str = "open", expect_status: int = 0, **options: Any) -> Outcome:
        command = [PROGRAM, mode, "--url", url, *PATIENCE, *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        done = subprocess.run(command, text=True, timeout=240, check=False, **(pipes | options))
        assert expect_status == done.returncode, done.stderr
        if "--text" in arguments:
            return Outcome(done.returncode, done.stdout, done.stderr)
        return read_outcome(done.returncode, done.stdout or "", done.stderr)

    return run


@pytest.fixture
def merge() -> Callable[..., Outcome]:
    """Runs `trimtab-load merge` on files."""

    def run(*files: Path, expect_status: int = 0) -> Outcome:
        command = [PROGRAM, "merge", *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert expect_status == done.returncode, done.stderr
        return read_outcome(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def begin() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Begins `trimtab-load open` on an URL; whatever still runs at the end of the test is killed."""
    begun = []

    def run(url: str, *arguments: str) -> subprocess.Popen[str]:
        command = [PROGRAM, "open", "--url", url, *PATIENCE, *arguments]
        begun.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return begun[-1]

    yield run
    for child in begun:
        child.kill()
        child.communicate()


@pytest.fixture
def interrupt() -> Callable[..., Outcome]:
    """Runs trimtab-load until its first progress line, then sends it a signal."""

    def run(number: signal.Signals, url: str, *arguments: str) -> Outcome:
        command = [PROGRAM, "open", "--url", url, *PATIENCE, *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            begun = read_until_progress(child)
            child.send_signal(number)
            stdout, stderr = child.communicate(timeout=60)
        return read_outcome(child.returncode, begun + stdout, stderr)

    return run


@pytest.fixture
def write_log(tmp_path: Path) -> Callable[[str], str]:
    """Writes a session log and returns its path."""

    def write(text: str) -> str:
        path = tmp_path / "sessions.log"
        path.write_text(text)
        return str(path)

    return write
