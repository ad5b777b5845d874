"""Black-box tests of trimtab-httpd: the real program, on a free port, over a root of its own.

TRIMTAB_HTTPD names another binary to test, such as one built with sanitizers; what a sanitizer reports fails
the test during which the server ran.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .clients import Reply, eventually, parts_of
from .modes import (
    BINARY,
    BUILT,
    EVERY_ARCHITECTURE,
    EVERY_ARCHITECTURE_ONCE,
    EVERY_MODE,
    SENDFILE,
    TIMED_ARCHITECTURE,
    TIMED_SENDFILE,
)
from .running_server import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


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
