"""Black-box tests of trimtab-httpd: the real program, on a free port, over a root of its own.

TRIMTAB_HTTPD names another binary to test, such as one built with sanitizers; what a sanitizer reports fails
the test during which the server ran.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BUILT = Path(__file__).parents[2] / "build" / "httpd" / "trimtab-httpd"
BINARY = os.environ.get("TRIMTAB_HTTPD", str(BUILT))
TIMEOUT_S = 60.0
DEFAULT_EVENTS = "epoll-et"


def ask_for_architectures() -> list[dict[str, Any]]:
    """What the binary says it can do: each architecture with the modes that it allows."""
    finished = subprocess.run([BINARY, "-V", "--json"], capture_output=True, check=True, timeout=TIMEOUT_S)
    architectures: list[dict[str, Any]] = json.loads(finished.stdout)["architectures"]
    return architectures


def knobs_of(architecture: dict[str, Any], mode: dict[str, str]) -> dict[str, str]:
    """The configuration of a mode: two of whatever the architecture multiplies.

    Where a worker is a connection the default stays, which is more.
    """
    knobs = {"architecture": architecture["name"], **mode}
    knobs |= {name: "2" for name in ("workers", "helpers", "copies") if name in architecture["knobs"]}
    if "copies" in architecture["knobs"]:
        knobs["reuseport"] = "on"  # each copy needs a listener, and there is one address
    if architecture["workers_default"] > 1:
        del knobs["workers"]
    if mode["events"] == "select":
        knobs["max_connections"] = "400"  # the descriptors that it can watch are few
    return {name: value for name, value in knobs.items() if name in {*architecture["knobs"], "architecture"}}


ARCHITECTURES = ask_for_architectures()


def gate(is_in_it: bool) -> list[pytest.MarkDecorator]:
    """The marks of a parameter: what is not in the gate is tested with everything else that takes long."""
    return [] if is_in_it else [pytest.mark.live]


def takes_its_turn(architecture: dict[str, Any], mode: dict[str, str]) -> bool:
    """Whether a mode is in the gate: each event mechanism of an architecture with one way of sending.

    The ways take turns. An architecture with a single mechanism has all of them.
    """
    mechanisms, ways = (list(dict.fromkeys(each[key] for each in architecture["modes"])) for key in mode)
    turn = mechanisms.index(mode["events"]) - ways.index(mode["sendfile"])
    return len(mechanisms) == 1 or turn % len(ways) == 0


EVERY_MODE = [
    pytest.param(
        knobs_of(architecture, mode),
        id="-".join((architecture["name"], *mode.values())),
        marks=gate(takes_its_turn(architecture, mode)),
    )
    for architecture in ARCHITECTURES
    for mode in architecture["modes"]
]

# Those whose ways of sending are most unlike each other have all of them in the gate, the others the first.
ALL_WAYS_IN_THE_GATE = {"symped", "mt", "pipeline", "knot"}
# The pipeline once more, with its sizes left to its controllers and a wait that nobody has.
EVERY_MODE += [
    pytest.param(
        {
            **knobs_of(architecture, mode),
            "readers": "2",
            "stage_threads": "adaptive",
            "stage_batch": "adaptive",
            "admission_p90_ms": "60000",
        },
        id=f"pipeline-adaptive-{mode['sendfile']}",
        marks=gate(mode["sendfile"] == "nonblocking"),
    )
    for architecture in ARCHITECTURES
    for mode in architecture["modes"]
    if architecture["name"] == "pipeline"
]

# Each architecture with each way of sending, at its default events.
EVERY_ARCHITECTURE = [
    pytest.param(
        knobs_of(architecture, mode),
        id=f"{architecture['name']}-{mode['sendfile']}",
        marks=gate(architecture["name"] in ALL_WAYS_IN_THE_GATE or mode["sendfile"] == "nonblocking"),
    )
    for architecture in ARCHITECTURES
    for mode in architecture["modes"]
    if mode["events"] == DEFAULT_EVENTS
]

# The same, of which each architecture is in the gate once: for what waits for a while.
EVERY_ARCHITECTURE_ONCE = [
    pytest.param(*each.values, id=each.id, marks=gate(each.id.endswith("-nonblocking")))
    for each in EVERY_ARCHITECTURE
]

# The same, of which one is in the gate: for time limits, which have to be waited for.
TIMED_ARCHITECTURE = [
    pytest.param(*each.values, id=each.id, marks=gate(each.id == "symped-nonblocking"))
    for each in EVERY_ARCHITECTURE
]

# What does not depend on the architecture is tested with one.
SENDFILE = [
    pytest.param({"architecture": "symped", "sendfile": mode["sendfile"]}, id=mode["sendfile"])
    for architecture in ARCHITECTURES
    for mode in architecture["modes"]
    if architecture["name"] == "symped" and mode["events"] == DEFAULT_EVENTS
]
TIMED_SENDFILE = [
    pytest.param(*each.values, id=each.id, marks=gate(each.id == "nonblocking")) for each in SENDFILE
]


def eventually(predicate: Callable[[], Any], what: str | Callable[[], str] = "") -> Any:
    """Await a state: return the first true value of the predicate. `what` may be made when it has failed."""
    deadline = time.monotonic() + TIMEOUT_S
    while not (value := predicate()):
        if time.monotonic() > deadline:
            pytest.fail(f"never came true: {(what() if callable(what) else what) or predicate}")
        time.sleep(0.01)
    return value


@dataclass(frozen=True)
class Reply:
    """A reply as it came over the wire; header names in small letters."""

    status: int
    headers: dict[str, str]
    body: bytes
    raw_head: bytes


class Connection:
    """One client connection, speaking raw bytes."""

    def __init__(self, address: tuple[str, int], receive_buffer: int = 0) -> None:
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.socket = socket.socket(family)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(TIMEOUT_S)
        self.socket.connect(address)
        self.stream = self.socket.makefile("rb")

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.socket.sendall(data)

    def ask(self, target: str, *headers: str, method: str = "GET", version: str = "1.1") -> None:
        """Send a request with Host and the given headers."""
        lines = [f"{method} {target} HTTP/{version}", "Host: test", *headers, "", ""]
        self.send("\r\n".join(lines).encode())

    def reply(self, method: str = "GET") -> Reply:
        """Read one reply."""
        line = self.stream.readline()
        if not line:
            pytest.fail("the server closed the connection instead of replying")
        version, status, _reason = line.decode().split(" ", 2)
        assert version == "HTTP/1.1"
        headers: dict[str, str] = {}
        raw_head = line
        while True:
            line = self.stream.readline()
            raw_head += line
            if line == b"\r\n":
                break
            name, value = line.decode().rstrip("\r\n").split(": ", 1)
            assert name.lower() not in headers
            headers[name.lower()] = value
        bodiless = method == "HEAD" or status == "304"
        length = 0 if bodiless else int(headers["content-length"])
        body = self.stream.read(length)
        assert len(body) == length
        return Reply(int(status), headers, body, raw_head)

    def get(self, target: str, *headers: str, method: str = "GET", version: str = "1.1") -> Reply:
        """Ask and read the reply."""
        self.ask(target, *headers, method=method, version=version)
        return self.reply(method)

    def is_closed_by_server(self) -> bool:
        """Await the next byte or the end of the stream; say whether it is the end."""
        return self.stream.read(1) == b""

    def close(self) -> None:
        """Close both ways."""
        self.stream.close()
        self.socket.close()


class StatsClient:
    """A client of the stats socket."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(TIMEOUT_S)
        directory = os.open(
            path.parent, os.O_PATH | os.O_DIRECTORY
        )  # the path may be too long for an address
        try:
            self.socket.connect(f"/proc/self/fd/{directory}/{path.name}")
        except OSError:
            self.socket.close()
            raise
        finally:
            os.close(directory)
        self.stream = self.socket.makefile("rb")

    def command(self, line: str) -> Any:
        """Send one command and return its document."""
        self.socket.sendall(line.encode() + b"\n")
        return json.loads(self.stream.readline())

    def close(self) -> None:
        """Disconnect."""
        self.stream.close()
        self.socket.close()


class Server:
    """A running trimtab-httpd."""

    def __init__(
        self,
        directory: Path,
        knobs: dict[str, object],
        launch: Callable[..., Any] = subprocess.Popen,
        sections: str = "",
    ) -> None:
        self.root = Path(str(knobs.get("root", directory / "root")))
        self.root.mkdir(exist_ok=True)
        self.log_path = directory / "log"
        settings = {
            "root": self.root,
            "listen": "127.0.0.1:0",
            "stats_socket": directory / "stats",
            "keepalive_timeout": 120,  # a client that stands still for a while is not to be cut off for it
            "request_timeout": 120,
            **knobs,
        }
        self.stats_path = Path(str(settings["stats_socket"]))
        self.configuration = directory / "server.ini"
        lines = [f"{name} = {value}" for name, value in settings.items()]
        self.configuration.write_text("\n".join(["[server]", *lines, sections]))
        with self.log_path.open("wb") as log:
            self.process = launch([BINARY, "-c", self.configuration], stderr=log)
        self.open_clients: list[Connection | StatsClient] = []
        self.stats_client: StatsClient | None = None
        eventually(self._is_ready, "the server is ready")
        host, port = self.command("show info")["listen"][0].rsplit(":", 1)
        self.address = (host.strip("[]"), int(port))

    def _is_ready(self) -> bool:
        if self.process.poll() is not None:
            pytest.fail(f"the server ended: {self.log()}")
        with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
            self.stats_client = self.connect_stats()
            return True
        return False

    def log(self) -> str:
        """Return what the server has written to stderr."""
        return self.log_path.read_text()

    def write(self, name: str, contents: bytes) -> Path:
        """Make a file below the root."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents)
        return path

    def connect(self, receive_buffer: int = 0) -> Connection:
        """Open a connection, which is closed with the server at the latest."""
        connection = Connection(self.address, receive_buffer)
        self.open_clients.append(connection)
        return connection

    def begin_requests(self, *connections: Connection) -> None:
        """Send the beginning of a request, and await that it has been read: who is idle would give way."""
        for connection in connections:
            connection.send(b"GET /fi")
        ports = {connection.socket.getsockname()[1] for connection in connections}

        def are_read() -> bool:
            for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
                _, local, remote, _, queues, *_ = line.split()
                ends = {int(end.rpartition(":")[2], 16) for end in (local, remote)}
                if self.address[1] in ends and ends & ports and int(queues.replace(":", ""), 16):
                    return False  # on its way still, or not read
            return True

        eventually(are_read, "the server has read what was sent")

    def visit(self, target: str, times: int = 1) -> tuple[list[bytes], int]:
        """Ask so often; return the bodies, and how many connections that took.

        A client that stands still for half a second while others wait gives way to them, and comes again.
        """
        bodies: list[bytes] = []
        connection = self.connect()
        connections = 1
        while len(bodies) < times:
            try:
                bodies.append(connection.get(target).body)
            except (ConnectionError, pytest.fail.Exception):
                connection.close()
                connection = self.connect()
                connections += 1
        connection.close()
        return bodies, connections

    def connect_stats(self) -> StatsClient:
        """Open another connection to the stats socket."""
        client = StatsClient(self.stats_path)
        self.open_clients.append(client)
        return client

    def command(self, line: str) -> Any:
        """Carry out a command of the stats socket."""
        assert self.stats_client is not None
        return self.stats_client.command(line)

    def total(self) -> dict[str, Any]:
        """Return the metrics in total."""
        return self.command("show stats")["total"]

    def await_total(self, **expected: int) -> None:
        """Await that the named metrics have the given values."""

        seen: dict[str, Any] = {}

        def reached() -> bool:
            total = self.total()
            seen.update({name: total[name] for name in expected})
            return seen == expected

        eventually(reached, lambda: f"{expected}, but {seen}")

    def worker_pids(self) -> list[int]:
        """Return the process ids of the workers."""
        return [worker["pid"] for worker in self.command("show info")["workers"]]

    def disconnect_clients(self) -> None:
        """Close all connections that tests opened."""
        for client in self.open_clients:
            if client is not self.stats_client:
                client.close()
        self.open_clients = [self.stats_client] if self.stats_client else []

    def stop(self) -> None:
        """End the server if it still runs, and fail if it complained about itself."""
        self.disconnect_clients()
        if self.stats_client:
            self.stats_client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(TIMEOUT_S) in {0, -signal.SIGKILL}, self.log()
        assert "Sanitizer" not in self.log(), self.log()
        assert "runtime error" not in self.log(), self.log()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Return a function that starts a server with the given knobs; it is stopped after the test.

    `launch` stands in for Popen where the program is not to be started as it is; `sections` are those of its
    file behind [server].
    """
    servers: list[Server] = []

    def start_server(
        launch: Callable[..., Any] = subprocess.Popen, sections: str = "", **knobs: object
    ) -> Server:
        directory = tmp_path / f"server{len(servers)}"
        directory.mkdir()
        servers.append(Server(directory, knobs, launch, sections))
        return servers[-1]

    yield start_server
    for server in servers:
        server.stop()


@pytest.fixture(params=SENDFILE)
def mode(request: pytest.FixtureRequest) -> dict[str, str]:
    """Each way of sending files, in the default architecture."""
    knobs: dict[str, str] = request.param
    return knobs


@pytest.fixture(params=EVERY_ARCHITECTURE)
def architecture(request: pytest.FixtureRequest) -> dict[str, str]:
    """Each architecture with each way of sending files."""
    knobs: dict[str, str] = request.param
    return knobs


@pytest.fixture(params=EVERY_MODE)
def every_mode(request: pytest.FixtureRequest) -> dict[str, str]:
    """Each architecture, way of sending and event mechanism, for tests that start servers of their own."""
    knobs: dict[str, str] = request.param
    return knobs


@pytest.fixture(params=EVERY_ARCHITECTURE_ONCE)
def architecture_once(request: pytest.FixtureRequest) -> dict[str, str]:
    """Each architecture with each way of sending files, for tests that wait for something each time."""
    knobs: dict[str, str] = request.param
    return knobs


@pytest.fixture(params=TIMED_ARCHITECTURE)
def timed_architecture(request: pytest.FixtureRequest) -> dict[str, str]:
    """Each architecture with each way of sending files, for tests that wait for a time limit."""
    knobs: dict[str, str] = request.param
    return knobs


@pytest.fixture(params=TIMED_SENDFILE)
def timed_mode(request: pytest.FixtureRequest) -> dict[str, str]:
    """Each way of sending files, in the default architecture, for tests that wait for a time limit."""
    knobs: dict[str, str] = request.param
    return knobs


@pytest.fixture
def limit_s(request: pytest.FixtureRequest) -> float:
    """A time limit for clients: in the gate one that a machine which stands still does not exceed."""
    return 0.4 if request.node.get_closest_marker("live") else 3.0


@pytest.fixture
def server(start: Callable[..., Server], mode: dict[str, str]) -> Server:
    """Return a running server for each way of sending."""
    return start(**mode)


@pytest.fixture(scope="module", params=EVERY_MODE)
def long_lived(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server in each architecture, way of sending and event mechanism, for all tests of a module."""
    server = Server(tmp_path_factory.mktemp("server"), request.param)
    yield server
    server.stop()


@pytest.fixture
def every_server(long_lived: Server) -> Iterator[Server]:
    """The long-lived server, without connections and with its counters at zero.

    Files that other tests wrote are there still: each test names its own differently.
    """
    long_lived.await_total(connections_open=0)
    assert long_lived.command("clear counters") == {"cleared": True}
    yield long_lived
    long_lived.disconnect_clients()


def parts_of(reply: Reply) -> list[tuple[str, bytes]]:
    """Take a multipart/byteranges body apart: the Content-Range and the bytes of each part."""
    boundary = b"--" + reply.headers["content-type"].partition("boundary=")[2].encode()
    first, *parts, last = reply.body.split(boundary)
    assert (first, last) == (b"", b"--\r\n")
    found = []
    for part in parts:
        head, _, body = part.partition(b"\r\n\r\n")
        lines = dict(line.split(": ", 1) for line in head.decode().strip().split("\r\n"))
        assert set(lines) == {"Content-Type", "Content-Range"}
        assert body.endswith(b"\r\n")
        found.append((lines["Content-Range"], body[:-2]))
    return found


@pytest.fixture
def parts() -> Callable[[Reply], list[tuple[str, bytes]]]:
    """Return the function that takes a multipart body apart."""
    return parts_of


def forget_pages(path: Path) -> None:
    """Have the kernel forget the pages of a file, unless somebody has them in hand."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@pytest.fixture
def evict(tmp_path: Path) -> Callable[[Path], None]:
    """Return the function that evicts a file from memory; skips where the file system keeps its pages."""
    probe = tmp_path / "probe"
    probe.write_bytes(bytes(100_000))
    for _ in range(20):
        forget_pages(probe)
        with probe.open("rb") as file, contextlib.suppress(OSError):
            try:
                os.preadv(file.fileno(), [bytearray(1)], 0, os.RWF_NOWAIT)
            except BlockingIOError:
                return forget_pages
    pytest.skip("this file system keeps its pages")


@pytest.fixture
def binary() -> str:
    """Return the path of the program under test."""
    return BINARY


@pytest.fixture
def binary_as_released() -> Path:
    """Return the path of the program without a sanitizer, whichever is under test."""
    if not BUILT.exists():
        pytest.skip("it has not been built")
    return BUILT


@pytest.fixture
def refusal(start: Callable[..., Server], binary: str) -> Callable[..., str]:
    """Return a function that checks a good configuration with such settings, and gives what refuses it."""
    configuration = start().configuration

    def check(*settings: str) -> str:
        arguments = [part for setting in settings for part in ("--set", setting)]
        command = [binary, "-t", "-c", configuration, *arguments]
        checked = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
        assert checked.returncode == 2, checked.stderr
        return checked.stderr

    return check


@pytest.fixture
def open_files() -> Callable[[int], list[Path]]:
    """Return the function that tells what a process has open; nothing, if it has ended."""

    def targets(pid: int) -> list[Path]:
        found = []
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for link in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # closed meanwhile
                    found.append(link.readlink())
        return found

    return targets


@pytest.fixture
def unless_stalled() -> Callable[[float, Callable[[], None]], None]:
    """Return the function that makes an attempt, and makes it again if it failed after a fixed time limit.

    The server kills what has not ended so long after the stop: a machine that stood still in between has
    shown nothing. Whatever fails earlier has failed.
    """

    def attempt(limit_s: float, act: Callable[[], None]) -> None:
        for _ in range(4):
            begun_s = time.monotonic()
            try:
                return act()
            except (OSError, AssertionError, pytest.fail.Exception):
                if time.monotonic() - begun_s < limit_s:
                    raise
        return act()

    return attempt


@pytest.fixture
def await_state() -> Callable[..., Any]:
    """Return the function that awaits a state."""
    return eventually


@pytest.fixture
def stopped() -> Iterator[Callable[[int], None]]:
    """Return a function that stops a process for the length of the test."""
    pids: list[int] = []

    def stop(pid: int) -> None:
        os.kill(pid, signal.SIGSTOP)
        pids.append(pid)

    yield stop
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
