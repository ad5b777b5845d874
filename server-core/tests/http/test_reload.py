"""SIGHUP: a new configuration is taken up without losing a connection, or says why not."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

NOT_TAKEN_UP = "the configuration is not taken up, everything stays as it was"

# How each architecture is asked for more than one of what it has.
ARCHITECTURES: dict[str, dict[str, object]] = {
    "sped": {},
    "symped": {"workers": 2},
    "n-copy": {"copies": 2, "reuseport": "on", "copy_of": "sped"},
    "amped": {},
    "co-amped": {"workers": 2},
    "smped": {"workers": 2},
    "mp": {"workers": 8},
    "mt": {"workers": 8},
    "pipeline": {},
    "knot": {},
    "nm": {"workers": 2},
    "uring": {"workers": 2},
}


def rewrite(server: Any, **changes: object) -> None:
    """Give knobs of the server's file other values; None: none at all."""
    lines = server.configuration.read_text().splitlines()
    kept = [line for line in lines if line.split(" = ")[0] not in changes]
    added = [f"{name} = {value}" for name, value in changes.items() if value is not None]
    server.configuration.write_text("\n".join([*kept, *added, ""]))


def hang_up(server: Any) -> None:
    """Have the server read its file again."""
    os.kill(server.process.pid, signal.SIGHUP)


def await_reloads(server: Any, count: int, await_state: Callable[..., Any]) -> None:
    """Await that a new configuration has been taken up for the `count`th time."""
    await_state(lambda: server.log().count("ready: ") == 1 + count)


def open_descriptors(server: Any) -> int:
    """Count those of the master."""
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


def ask_once(address: tuple[str, int]) -> bytes:
    """Return the body of a reply on a connection of its own."""
    with socket.create_connection(address, timeout=60) as client:
        client.sendall(b"GET /file HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
        received = b""
        while more := client.recv(65536):
            received += more
    return received.partition(b"\r\n\r\n")[2]


def come_and_go(address: tuple[str, int], over: threading.Event, bodies: list[bytes]) -> None:
    """Ask on a connection of its own, again and again; add what came, or what went wrong, to `bodies`."""
    while not over.is_set():
        try:
            bodies.append(ask_once(address))
        except OSError as error:
            bodies.append(repr(error).encode())


SYS_PIDFD_GETFD = 438


def listener_options(server: Any) -> tuple[int, bytes, int]:
    """Return what is set of the server's listener: send buffer, send timeout, backlog."""
    process = os.pidfd_open(server.process.pid)
    try:
        for link in Path(f"/proc/{server.process.pid}/fd").iterdir():
            if not str(link.readlink()).startswith("socket:"):
                continue
            fd = ctypes.CDLL(None, use_errno=True).syscall(SYS_PIDFD_GETFD, process, int(link.name), 0)
            if fd < 0:
                pytest.skip(f"this kernel does not let us look: {os.strerror(ctypes.get_errno())}")
            with socket.socket(fileno=fd) as found:
                if found.family != socket.AF_INET or not found.getsockopt(
                    socket.SOL_SOCKET, socket.SO_ACCEPTCONN
                ):
                    continue
                info = found.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
                return (
                    found.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
                    found.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, 16),
                    struct.unpack_from("=I", info, 28)[0],  # tcpi_sacked: of a listener its backlog
                )
    finally:
        os.close(process)
    pytest.fail("it does not listen")


def test_refused_reload_leaves_the_listeners_as_they_are(
    start: Callable[..., Any], await_state: Callable[..., Any], tmp_path: Path
) -> None:
    """Who goes on serving by them has the backlog, the buffer and the timeout of the old configuration."""
    server = start(sndbuf=65536, backlog=100, request_timeout=20)
    before = listener_options(server)
    assert before[2] == 100
    log = tmp_path / "access"
    changes = {"sndbuf": 131072, "backlog": 50, "request_timeout": 3, "access_log": log}
    with socket.create_server(("127.0.0.1", 0)) as taken:
        own, other = (f"127.0.0.1:{port}" for port in (server.address[1], taken.getsockname()[1]))
        rewrite(server, listen=f"{own}, {other}", **changes)
        hang_up(server)
        await_state(lambda: NOT_TAKEN_UP in server.log())
    assert listener_options(server) == before
    assert not log.exists()
    rewrite(server, listen=own)
    hang_up(server)
    await_reloads(server, 1, await_state)
    buffer, timeout, backlog = listener_options(server)
    assert (buffer, backlog) == (2 * before[0], 50)
    assert timeout != before[1]


def skip_unless_it_runs(name: str, binary: str) -> None:
    """Skip the test where the kernel lacks what the architecture needs."""
    said = json.loads(subprocess.run([binary, "-V", "--json"], capture_output=True, check=True).stdout)
    if not next(row["modes"] for row in said["architectures"] if row["name"] == name):
        pytest.skip(f"{name} cannot run on this kernel")


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_no_client_notices_a_reload(
    start: Callable[..., Any], await_state: Callable[..., Any], name: str, binary: str
) -> None:
    """Neither those that connect all the time nor those that stay connected are reset or left waiting."""
    skip_unless_it_runs(name, binary)
    server = start(architecture=name, **ARCHITECTURES[name])
    server.write("file", b"contents")
    over = threading.Event()
    visits: list[bytes] = []
    failures: list[bytes] = []
    asked_by_who_stays = 0

    def stay() -> None:
        nonlocal asked_by_who_stays
        client = None
        while not over.is_set():
            try:
                client = client or socket.create_connection(server.address, timeout=60)
                client.sendall(b"GET /file HTTP/1.1\r\nHost: t\r\n\r\n")
                received = client.recv(65536)
                while not received.endswith(b"contents"):
                    if not (more := client.recv(65536)):
                        break
                    received += more
            except OSError as error:
                received = repr(error).encode()
            asked_by_who_stays += 1
            if not received.endswith(b"contents"):
                failures.append(received)
            if client and (b"Connection: close" in received or not received.endswith(b"contents")):
                client.close()
                client = None
        if client:
            client.close()

    def await_requests() -> None:
        """Await that all have asked a few times more."""
        wanted = len(visits) + 6, asked_by_who_stays + 6
        await_state(lambda: len(visits) >= wanted[0] and asked_by_who_stays >= wanted[1])

    clients = [threading.Thread(target=come_and_go, args=(server.address, over, visits)) for _ in range(2)]
    clients.append(threading.Thread(target=stay))
    for client in clients:
        client.start()
    for count in range(1, 6):
        await_requests()
        rewrite(server, backlog=1000 + count)
        hang_up(server)
        await_reloads(server, count, await_state)
    await_requests()
    over.set()
    for client in clients:
        client.join()
    assert failures == []
    assert set(visits) == {b"contents"}
    assert server.command("show config")["backlog"] == 1005


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_old_workers_that_have_no_connection_lose_none_that_is_on_its_way_to_them(
    start: Callable[..., Any], await_state: Callable[..., Any], name: str, binary: str
) -> None:
    """Where nobody stays connected, they may end at any moment: also while somebody is being accepted."""
    skip_unless_it_runs(name, binary)
    server = start(architecture=name, **ARCHITECTURES[name])
    server.write("file", b"contents")
    over = threading.Event()
    visits: list[bytes] = []
    clients = [threading.Thread(target=come_and_go, args=(server.address, over, visits)) for _ in range(2)]
    for client in clients:
        client.start()
    for count in range(1, 16):
        wanted = len(visits) + 3
        await_state(lambda wanted=wanted: len(visits) >= wanted)
        hang_up(server)
        await_reloads(server, count, await_state)
    over.set()
    for client in clients:
        client.join()
    assert set(visits) == {b"contents"}


def test_reply_under_way_and_idle_connection_are_finished_by_the_old_worker(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """The next reply on the idle one says that it is the last; then the old worker ends."""
    server = start(sndbuf=16384)
    contents = os.urandom(4_000_000)
    server.write("big", contents)
    server.write("file", b"contents")
    slow, idle = server.connect(receive_buffer=65536), server.connect()
    slow.ask("/big")
    assert idle.get("/file").body == b"contents"
    server.await_total(connections_open=2, requests=2)
    (old,) = server.worker_pids()
    rewrite(server, workers=2)
    hang_up(server)
    await_reloads(server, 1, await_state)
    assert len(server.worker_pids()) == 2
    assert old not in server.worker_pids()
    assert ask_once(server.address) == b"contents"  # by whichever took it from the queue
    assert slow.reply().body == contents
    slow.close()
    last = idle.get("/file")
    assert (last.body, last.headers["connection"]) == (b"contents", "close")
    await_state(lambda: not Path(f"/proc/{old}").exists())
    assert "connection" not in server.connect().get("/file").headers


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"workers": 0}, "workers = 0: expected an integer from 1 to 1024"),
        ({"wrokers": 2}, "unknown key wrokers"),
        ({"root": "/none"}, "root = /none: expected a directory: No such file or directory"),
        ({"events": "select", "max_connections": 400, "root": "/none"}, "root = /none: expected a directory"),
        ({"accept_limit": 0}, "accept_limit = 0: expected an integer from 1 to 1000000, or inf, or auto"),
        ({"workers": 2, "max_connections": 1}, "expected at least one for each of the 2 workers"),
        ({"max_connections": 1000000}, "max_connections = 1000000: 1000000 connections a worker do not fit"),
        ({"access_log": "/none/log"}, "cannot open the access log /none/log: No such file or directory"),
        ({"listen": "192.0.2.1:80"}, "cannot listen at 192.0.2.1:80: Cannot assign requested address"),
        ({"stats_socket": "/none/other"}, "stats_socket = /none/other: changes with a restart only"),
        (
            {"workers": 2, "reuseport": "on"},
            "the number of sockets at an address changes with a restart only",
        ),
        ({"architecture": "shared-symped"}, "takes up a new configuration with a restart only"),
    ],
)
def test_configuration_that_cannot_be_taken_up_changes_nothing(
    start: Callable[..., Any],
    await_state: Callable[..., Any],
    open_files: Callable[[int], list[Path]],
    changes: dict[str, object],
    sentence: str,
) -> None:
    """The log says why, and nothing of it stays open; a good one is taken up afterwards."""
    server = start()
    server.write("file", b"contents")
    before, pids = server.command("show config"), server.worker_pids()
    limit = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    good = server.configuration.read_text()
    connection = server.connect()
    assert connection.get("/file").body == b"contents"
    files = sorted(open_files(server.process.pid))
    rewrite(server, **changes)
    hang_up(server)
    await_state(lambda: NOT_TAKEN_UP in server.log())
    assert sentence in server.log()
    assert (server.command("show config"), server.worker_pids()) == (before, pids)
    await_state(lambda: resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE) == limit)
    await_state(lambda: sorted(open_files(server.process.pid)) == files)
    assert "connection" not in connection.get("/file").headers
    server.configuration.write_text(good)
    hang_up(server)
    await_reloads(server, 1, await_state)
    assert server.connect().get("/file").body == b"contents"


def test_places_of_the_new_configuration_are_for_clients_that_wait(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """Who found all places taken is served when a reload has made another, and need not come again."""
    server = start(max_connections=1)
    server.write("file", b"contents")
    first = server.connect()
    server.begin_requests(first)
    second = server.connect()
    second.ask("/file")
    server.await_total(connections_open=1, connections_accepted=1)
    rewrite(server, max_connections=2, accept_limit=1)
    hang_up(server)
    await_reloads(server, 1, await_state)
    assert second.reply().body == b"contents"
    config = server.command("show config")
    assert (config["max_connections"], config["accept_limit"]) == (2, 1)


def test_root_that_is_a_link_is_followed_anew_by_a_reload_only(
    start: Callable[..., Any], await_state: Callable[..., Any], tmp_path: Path
) -> None:
    """Deployed by swapping the link: until the reload all serve the old place, also a worker that is new."""
    link = tmp_path / "current"
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    link.symlink_to("old")
    server = start(root=link)
    assert ask_once(server.address) == b"old"
    (tmp_path / "next").symlink_to("new")
    (tmp_path / "next").rename(link)
    assert ask_once(server.address) == b"old"
    (pid,) = server.worker_pids()
    os.kill(pid, signal.SIGKILL)
    await_state(lambda: server.command("show info")["worker_restarts"] == 1)
    assert ask_once(server.address) == b"old"
    hang_up(server)
    await_reloads(server, 1, await_state)
    assert ask_once(server.address) == b"new"


def test_addresses_come_and_go(start: Callable[..., Any], await_state: Callable[..., Any]) -> None:
    """One that is in both files keeps its socket, one that is not any more refuses clients."""
    server = start(listen="127.0.0.1:0,127.0.0.2:0")
    server.write("file", b"contents")
    first, second = (
        (host, int(port))
        for host, port in (each.rsplit(":", 1) for each in server.command("show info")["listen"])
    )
    rewrite(server, listen="127.0.0.3:0,127.0.0.1:0")
    hang_up(server)
    await_reloads(server, 1, await_state)
    host, port = server.command("show info")["listen"][0].rsplit(":", 1)
    assert server.command("show info")["listen"][1] == f"127.0.0.1:{first[1]}"
    assert ask_once((host, int(port))) == ask_once(first) == b"contents"

    def is_refused() -> bool:
        with socket.socket() as newcomer:
            return newcomer.connect_ex(second) == errno.ECONNREFUSED

    await_state(is_refused)


def test_architecture_may_change(start: Callable[..., Any], await_state: Callable[..., Any]) -> None:
    """Whatever the old workers were."""
    names = ["co-amped", "smped", "mt", "pipeline", "amped", "nm", "symped"]
    server = start(architecture="sped")
    server.write("file", b"contents")
    descriptors = open_descriptors(server)
    for count, name in enumerate(names, 1):
        rewrite(server, architecture=name)
        hang_up(server)
        await_reloads(server, count, await_state)
        assert ask_once(server.address) == b"contents"
        assert server.command("show info")["architecture"] == name
    await_state(lambda: open_descriptors(server) == descriptors)


def test_stop_soon_after_a_reload_ends_old_workers_too(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """Idle connections of old workers are closed as those of new ones are."""
    server = start()
    server.write("file", b"contents")
    idle = server.connect()
    assert idle.get("/file").body == b"contents"
    hang_up(server)
    await_reloads(server, 1, await_state)
    server.process.send_signal(signal.SIGTERM)
    assert idle.is_closed_by_server()
    assert server.process.wait(60) == 0


def test_no_line_of_the_log_is_lost_by_rotations_and_reloads(
    start: Callable[..., Any], await_state: Callable[..., Any], tmp_path: Path
) -> None:
    """SIGUSR1 and SIGHUP open the file anew; all files together have a line for each request."""
    log = tmp_path / "access.log"
    server = start(workers=2, access_log=log)
    server.write("file", b"contents")
    files = [log]
    for number in range(6):
        for _ in range(50):
            assert ask_once(server.address) == b"contents"
        moved = tmp_path / f"access.log.{number}"
        log.rename(moved)
        files.append(moved)
        os.kill(server.process.pid, (signal.SIGUSR1, signal.SIGHUP)[number % 2])
        await_state(log.exists)
    assert ask_once(server.address) == b"contents"
    server.stop()
    lines = "".join(file.read_text() for file in files).splitlines()
    assert len(lines) == 301
    assert all(
        re.fullmatch(r'127\.0\.0\.1 - - \[.*\] "GET /file HTTP/1\.1" 200 8 "-" "-"', line) for line in lines
    )
