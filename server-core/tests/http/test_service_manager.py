"""Under a service manager: it is told what the server does, and the sockets that it opened are used."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TIMEOUT_S = 30.0


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """The socket at which a service manager listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(TIMEOUT_S)
        yield manager


def message(manager: socket.socket) -> dict[str, str]:
    """The next thing that it is told."""
    return dict(line.split("=", 1) for line in manager.recv(4096).decode().splitlines())


def with_environment(changes: dict[str, str]) -> Callable[..., subprocess.Popen[bytes]]:
    """A launch with more in the environment."""
    return partial(subprocess.Popen, env={**os.environ, **changes})


def test_manager_is_told_of_start_reload_and_stop(start: Callable[..., Any], manager: socket.socket) -> None:
    """Each reload ends with READY again, taken up or not."""
    server = start(with_environment({"NOTIFY_SOCKET": manager.getsockname()}))
    ready = message(manager)
    assert ready["READY"] == "1"
    assert str(server.root) in ready["STATUS"]
    os.kill(server.process.pid, signal.SIGHUP)
    reloading = message(manager)
    assert reloading["RELOADING"] == "1"
    assert int(reloading["MONOTONIC_USEC"]) > 0
    assert message(manager)["READY"] == "1"
    server.configuration.write_text("nonsense\n")
    os.kill(server.process.pid, signal.SIGHUP)
    assert message(manager)["RELOADING"] == "1"
    refused = message(manager)
    assert (refused["READY"], "not taken up" in refused["STATUS"]) == ("1", True)
    server.stop()
    assert message(manager) == {"STOPPING": "1"}


def test_manager_may_have_an_abstract_name(start: Callable[..., Any]) -> None:
    """One that is in no directory, written with an @."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0trimtab-test-{os.getpid()}")
        manager.settimeout(TIMEOUT_S)
        start(with_environment({"NOTIFY_SOCKET": f"@trimtab-test-{os.getpid()}"}))
        assert message(manager)["READY"] == "1"


def listening(host: str = "127.0.0.1") -> socket.socket:
    """A socket as a service manager opens it: in blocking mode."""
    opened = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    opened.bind((host, 0))
    opened.listen(16)
    return opened


def passing(*sockets: socket.socket) -> Callable[..., subprocess.Popen[bytes]]:
    """A launch that passes sockets in from descriptor 3 on, as systemd does."""

    def launch(command: list[Any], **options: Any) -> subprocess.Popen[bytes]:
        # Away from where they are to be first: each is moved to its place by number.
        moved = [os.dup2(each.fileno(), 100 + place) for place, each in enumerate(sockets)]
        moves = " ".join(f"{3 + place}<&{number}" for place, number in enumerate(moved))
        script = f'exec {moves}; LISTEN_PID=$$ LISTEN_FDS={len(sockets)} exec "$0" "$@"'
        started = subprocess.Popen(["bash", "-c", script, *command], pass_fds=moved, **options)
        for number in moved:
            os.close(number)
        return started

    return launch


def ask(address: tuple[Any, ...]) -> bytes:
    """The reply to a request on a connection of its own."""
    with socket.create_connection(address[:2], timeout=TIMEOUT_S) as client:
        client.sendall(b"GET /file HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
        received = b""
        while more := client.recv(65536):
            received += more
    return received


def test_socket_that_was_passed_in_is_served(start: Callable[..., Any], architecture: dict[str, str]) -> None:
    """By whichever architecture; the port is the manager's."""
    if architecture.get("reuseport") == "on":
        pytest.skip("wants several sockets at one address")
    with listening() as opened:
        server = start(passing(opened), **architecture)
        assert server.address[1] == opened.getsockname()[1]
        server.write("file", b"contents")
        assert ask(opened.getsockname()).endswith(b"contents")


def test_clients_that_come_while_nobody_serves_are_served_by_the_next(start: Callable[..., Any]) -> None:
    """The socket goes on to listen when the server ends."""
    with listening() as opened:
        address = opened.getsockname()
        first = start(passing(opened), listen=f"127.0.0.1:{address[1]}")
        first.stop()
        with socket.create_connection(address, timeout=TIMEOUT_S) as waiting:
            waiting.sendall(b"GET /file HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
            second = start(passing(opened), root=first.root, listen=f"127.0.0.1:{address[1]}")
            second.write("file", b"contents")
            assert waiting.recv(65536).startswith(b"HTTP/1.1 ")


def test_reload_cannot_drop_a_socket(start: Callable[..., Any], await_state: Callable[..., Any]) -> None:
    """It is passed in for as long as the server lives, and clients would wait at it for ever."""
    with listening() as opened, listening() as other:
        address = opened.getsockname()
        both = f"127.0.0.1:{address[1]},127.0.0.1:{other.getsockname()[1]}"
        server = start(passing(opened, other), listen=both)
        server.write("file", b"contents")
        text = server.configuration.read_text()
        server.configuration.write_text(text.replace(f"127.0.0.1:{address[1]},", ""))
        os.kill(server.process.pid, signal.SIGHUP)
        await_state(lambda: "not taken up" in server.log())
        assert f"127.0.0.1:{address[1]} was passed in: expected that address in `listen`" in server.log()
        assert ask(address).endswith(b"contents")
        server.configuration.write_text(text)
        os.kill(server.process.pid, signal.SIGHUP)
        await_state(lambda: server.log().count("ready: ") == 2)
        assert ask(address).endswith(b"contents")


def test_each_socket_is_given_to_an_address_of_its_own(start: Callable[..., Any]) -> None:
    """Though any port would do for either."""
    with listening() as opened, listening() as other:
        server = start(passing(opened, other), listen="127.0.0.1:0,127.0.0.1:0")
        server.write("file", b"contents")
        for each in (opened, other):
            assert ask(each.getsockname()).endswith(b"contents")


def test_peer_at_a_socket_of_both_families_is_logged_by_its_own_address(
    start: Callable[..., Any], tmp_path: Path, await_state: Callable[..., Any]
) -> None:
    """As systemd opens one for ListenStream=80."""
    log = tmp_path / "access.log"
    with listening("::") as opened:
        start(passing(opened), listen="[::]:0", access_log=log)
        ask(("127.0.0.1", opened.getsockname()[1]))
        await_state(lambda: log.exists() and log.read_text())
    assert log.read_text().startswith("127.0.0.1 - - ")


@pytest.mark.parametrize("kind", ["unnamed", "datagram"])
def test_socket_that_cannot_be_served_is_refused(binary: str, tmp_path: Path, kind: str) -> None:
    """Clients would wait at it for ever."""
    opened = listening() if kind == "unnamed" else socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with opened:
        command = [binary, "--set", f"root={tmp_path}", "--set", "listen=127.0.0.1:1"]
        if kind == "unnamed":
            command[-1] = f"listen=127.0.0.9:{opened.getsockname()[1]}"
        process = passing(opened)(command, stderr=subprocess.PIPE)
        said = process.communicate(timeout=TIMEOUT_S)[1].decode()
    assert process.returncode == 1
    assert {
        "unnamed": "was passed in: expected that address in `listen`",
        "datagram": "descriptor 3, which was passed in: expected a TCP socket that listens",
    }[kind] in said


def test_sockets_for_another_process_are_left_alone(start: Callable[..., Any]) -> None:
    """LISTEN_PID says whose they are."""
    server = start(with_environment({"LISTEN_PID": "1", "LISTEN_FDS": "1"}))
    server.write("file", b"contents")
    assert server.connect().get("/file").body == b"contents"
