"""What must hold in every architecture with every way of sending, and needs a server of its own.

Time limits, connection limits, the stop, and the death of a process. (The list of architectures comes from
the program, as in test_every_mode.py.)
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

FRESH_S = 0.5  # how long who has just connected may take to ask (RECYCLE_IDLE_NS of recycle.h)


def test_idle_and_slow_clients_are_cut_off(
    start: Callable[..., Any], timed_architecture: dict[str, str], limit_s: float
) -> None:
    """One idles, one never asks, one sends half a head: each goes, the slow one with 408."""
    server = start(**timed_architecture, keepalive_timeout=limit_s, request_timeout=limit_s)
    server.write("file", b"contents")
    idle, silent, slow = (server.connect() for _ in range(3))
    assert idle.get("/file").body == b"contents"
    slow.send(b"GET /file HTTP/1.1\r\nHo")
    assert slow.reply().status == 408
    assert idle.is_closed_by_server()
    assert silent.is_closed_by_server()
    assert slow.is_closed_by_server()
    server.await_total(connections_timed_out=3, connections_open=0, replies_408=1)


def test_client_that_takes_nothing_is_dropped(
    start: Callable[..., Any], timed_architecture: dict[str, str], limit_s: float
) -> None:
    """A reply without progress for request_timeout is given up, and the server goes on."""
    server = start(**timed_architecture, request_timeout=limit_s, sndbuf=16384)
    os.truncate(server.write("big", b""), 20_000_000)
    server.write("file", b"contents")
    stalled = server.connect(receive_buffer=4096)
    stalled.ask("/big")
    server.await_total(connections_timed_out=1, connections_open=0)
    server.command("set request_timeout 60")
    assert server.connect().get("/file").body == b"contents"


@pytest.mark.parametrize("sndbuf", [pytest.param("16384", marks=pytest.mark.live), "4194304"])
def test_readers_that_stall_or_drip_leave_their_places_to_others(
    start: Callable[..., Any],
    await_state: Callable[..., Any],
    architecture_once: dict[str, str],
    limit_s: float,
    sndbuf: str,
) -> None:
    """Also where the kernel holds more of the reply than a turn sends; who is next is served as they go.

    A blocking sendfile cannot tell who takes little from who takes enough, so there all of them stall.
    """
    architecture = architecture_once
    name, drips = architecture["architecture"], architecture.get("sendfile") != "blocking"
    workers = {"workers": 4} if name in {"mp", "mt"} else {}
    limits = {"request_timeout": limit_s, "min_bytes_per_s": 1 << 30, "max_connections": 4, "sndbuf": sndbuf}
    server = start(**{**architecture, **workers, **limits})
    server.write("big", bytes(16 << 20))
    server.write("file", b"contents")
    slow = [server.connect(receive_buffer=4096) for _ in range(4)]
    for reader in slow:
        reader.ask("/big")
    fifth = server.connect()
    fifth.ask("/file")

    def all_are_gone() -> bool:
        for reader in slow[:2] if drips else []:
            with contextlib.suppress(OSError):
                reader.socket.recv(100)
        return server.total()["connections_timed_out"] == 4

    await_state(all_are_gone, "all four are cut off")
    assert fifth.reply().body == b"contents"


def test_clients_beyond_max_connections_wait_and_are_served(
    start: Callable[..., Any], architecture: dict[str, str]
) -> None:
    """Nobody is accepted and closed again: who waits is served when another has left."""
    server = start(**{**architecture, "max_connections": 4})
    server.write("file", b"contents")
    clients = []
    for _ in range(12):  # each asks before the next one comes, to whom it would give way
        clients.append(server.connect())
        clients[-1].ask("/file", "Connection: close")
    for client in clients:
        assert client.reply().body == b"contents"
    server.await_total(connections_accepted=12, connections_open=0, replies_200=12)


def test_client_whose_download_has_just_ended_is_not_the_one_that_gives_way(
    start: Callable[..., Any], await_state: Callable[..., Any], architecture_once: dict[str, str]
) -> None:
    """It has been idle since the end of its reply, and not since it asked for it."""
    if architecture_once["sendfile"] == "blocking":
        pytest.skip("a download holds the one worker that there is")
    alone = {name: 1 for name in ("workers", "copies") if name in architecture_once}
    server = start(**{**architecture_once, **alone, "max_connections": 2, "sndbuf": 16384})
    server.write("file", b"contents")
    large = os.urandom(4_000_000)
    server.write("large", large)
    busy = server.connect(receive_buffer=65536)
    busy.ask("/large")
    server.await_total(requests=1)
    idle = server.connect()
    assert idle.get("/file").body == b"contents"
    uptime_s = server.command("show info")["uptime_s"]
    await_state(lambda: server.command("show info")["uptime_s"] > uptime_s + 1.5 * FRESH_S)
    assert busy.reply().body == large
    third = server.connect()
    assert third.get("/file").body == b"contents"
    assert busy.get("/file").body == b"contents"
    assert idle.is_closed_by_server()


def test_graceful_shutdown_finishes_the_reply_under_way(
    start: Callable[..., Any],
    architecture: dict[str, str],
    unless_stalled: Callable[[float, Callable[[], None]], None],
) -> None:
    """A client that is being served gets all its bytes, an idle one is closed, and the server ends."""

    def stop_while_serving() -> None:
        server = start(**architecture, sndbuf=16384)
        contents = os.urandom(2_000_000)
        server.write("big", contents)
        idle = server.connect()
        assert idle.get("/big", method="HEAD").status == 200
        busy = server.connect(receive_buffer=65536)
        busy.ask("/big")
        server.await_total(connections_open=2, requests=2)
        assert server.command("shutdown graceful") == {"shutdown": "graceful"}
        assert busy.reply().body == contents
        assert busy.is_closed_by_server()
        assert idle.is_closed_by_server()
        assert server.process.wait(60) == 0

    unless_stalled(2, stop_while_serving)


@pytest.mark.live
def test_first_request_that_comes_just_after_the_stop_is_answered(
    start: Callable[..., Any], architecture: dict[str, str]
) -> None:
    """Who has just connected is about to ask; only those are closed at once that have had a reply."""
    server = start(**architecture)
    server.write("file", b"contents")
    idle = server.connect()
    assert idle.get("/file").status == 200
    connected_s = time.monotonic()
    fresh = server.connect()
    server.await_total(connections_accepted=2)
    server.process.send_signal(signal.SIGTERM)
    assert idle.is_closed_by_server()
    fresh.ask("/file")
    if time.monotonic() > connected_s + FRESH_S:
        pytest.skip("this machine was too slow to ask in time")
    reply = fresh.reply()
    assert (reply.status, reply.body, reply.headers["connection"]) == (200, b"contents", "close")
    assert server.process.wait(30) == 0


def test_killed_process_is_replaced(
    start: Callable[..., Any], architecture: dict[str, str], await_state: Callable[..., Any]
) -> None:
    """Whichever process dies, clients are served again, and the counters know of it."""
    server = start(**architecture)
    server.write("file", b"contents")
    assert server.connect().get("/file").body == b"contents"
    for pid in server.worker_pids():
        os.kill(pid, signal.SIGKILL)
    await_state(lambda: server.command("show info")["worker_restarts"] == len(server.worker_pids()))
    connection = server.connect()
    assert connection.get("/file").body == b"contents"
    server.await_total(connections_open=1, connections_closed_by_server=1)


def test_download_that_is_taken_at_once_is_sent_in_turns(
    start: Callable[..., Any], architecture: dict[str, str]
) -> None:
    """However fast a client reads, the server looks at others after each couple of MiB."""
    if architecture["sendfile"] == "blocking":
        pytest.skip("a blocking call is to last to the end")
    server = start(**architecture)
    size = 32 << 20
    os.truncate(server.write("large", b""), size)
    client = server.connect()
    client.ask("/large")
    received = len(client.socket.recv(1000))
    sink = bytearray(1 << 20)
    while received < size:  # what is thrown away unseen makes room as soon as it comes
        received += client.socket.recv_into(sink, len(sink), socket.MSG_TRUNC)
    total = server.total()
    passes = total["event_calls"] + total["queue_items"]
    if architecture["architecture"] == "pipeline":  # a writer looks into its queue between calls, unseen
        passes += total["sendfile_calls"] + total["write_calls"]
    assert total["bytes_sent"] / passes <= 2 << 20


def test_file_cut_short_while_it_is_sent_ends_its_reply_before_the_announced_length(
    start: Callable[..., Any], architecture: dict[str, str], await_state: Callable[..., Any]
) -> None:
    """What arrives is the file up to where it was cut, and what was on its way behind that.

    sendfile hands the socket the kernel's own pages: what was on its way behind the cut in the same piece of
    memory has become zeros. Who copies sends none.
    """
    server = start(**architecture, sndbuf=16384, cache_mb=1)
    length, cut = 3_000_000, 1000
    path = server.write("large", b"x" * length)
    connection = server.connect(receive_buffer=4096)
    connection.ask("/large")
    if architecture["sendfile"] == "blocking":  # nm tells what it has sent when the whole reply is out
        assert connection.socket.recv(1, socket.MSG_PEEK)
    else:  # more than the page that is cut
        await_state(lambda: server.total()["bytes_sent"] > 5000)
    os.truncate(path, cut)
    received = connection.stream.read()
    head, _, body = received.partition(b"\r\n\r\n")
    assert f"content-length: {length}".encode() in head.lower()
    assert len(body) < length
    copies = architecture["architecture"] == "uring" or architecture["sendfile"] == "off"
    zeros = 0 if copies else body.count(0)
    behind = len(body) - min(len(body), cut) - zeros
    assert body == b"x" * min(len(body), cut) + b"\0" * zeros + b"x" * behind
    await_state(lambda: "/large became shorter while it was being sent" in server.log())


def test_idle_connections_give_way_when_all_places_are_taken(
    start: Callable[..., Any], architecture: dict[str, str]
) -> None:
    """Clients that keep connections open and ask for nothing do not keep others out."""
    if architecture["sendfile"] != "nonblocking":
        pytest.skip("how replies are sent does not matter")
    server = start(**architecture, max_connections=4, keepalive_timeout=3600, request_timeout=3600)
    server.write("file", b"contents")
    for number in range(7):
        client = server.connect()
        if number != 2:  # which never asks
            assert client.get("/file").body == b"contents"
    if architecture["architecture"] != "co-amped":  # which takes whatever is handed over
        assert server.total()["connections_open"] <= 4
    assert server.total()["connections_timed_out"] == 0


def test_client_that_takes_its_reply_too_slowly_is_cut_off(
    start: Callable[..., Any], timed_architecture: dict[str, str], limit_s: float
) -> None:
    """It makes progress all the time, and not enough of it."""
    if timed_architecture["sendfile"] == "blocking":
        pytest.skip("a blocking call ends only when nothing moves for as long")
    server = start(**timed_architecture, request_timeout=limit_s, min_bytes_per_s=1 << 30, sndbuf=16384)
    os.truncate(server.write("large", b""), 1 << 32)
    client = server.connect(receive_buffer=4096)
    client.ask("/large")
    with contextlib.suppress(ConnectionResetError):
        while client.socket.recv(1000):
            pass
    server.await_total(connections_open=0, connections_timed_out=1)


def test_body_that_comes_too_slowly_yields_408_and_a_slow_one_is_read(
    start: Callable[..., Any],
    timed_architecture: dict[str, str],
    limit_s: float,
    await_state: Callable[..., Any],
) -> None:
    """A body may take longer than request_timeout as long as it keeps up with min_bytes_per_s."""
    if timed_architecture["sendfile"] != "nonblocking":
        pytest.skip("how replies are sent does not matter")
    # A client that a busy machine holds up for two seconds still sends its share of each period.
    server = start(**timed_architecture, request_timeout=limit_s, min_bytes_per_s=100)
    server.write("file", b"contents")
    pieces, piece = 60, b"x" * 150
    clients = []
    for length in (pieces * len(piece), 1 << 20):
        clients.append(server.connect())
        clients[-1].socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        clients[-1].ask("/file", f"Content-Length: {length}")
    steady, slow = clients
    slow.send(b"x")
    uptime_s = server.command("show info")["uptime_s"]
    for number in range(pieces):
        steady.send(piece)
        until_s = uptime_s + limit_s / 30 * number
        await_state(lambda until_s=until_s: server.command("show info")["uptime_s"] > until_s)
    assert steady.reply().body == b"contents"
    assert slow.reply().status == 408
    server.await_total(connections_timed_out=1)


@pytest.mark.parametrize("name", ["sped", "mp", "mt", "pipeline", "knot", "nm", "uring"])
def test_connection_that_has_been_idle_longest_gives_way(start: Callable[..., Any], name: str) -> None:
    """Not the oldest one, which has asked again, nor those that are being served."""
    server = start(architecture=name, max_connections=4, keepalive_timeout=3600)
    server.write("file", b"contents")
    again, longest, served, later = (server.connect() for _ in range(4))
    for client in (again, longest, served, later, again):
        assert client.get("/file").body == b"contents"
    served.send(b"GET /fi")
    assert server.connect().get("/file").body == b"contents"
    assert longest.is_closed_by_server()
    server.await_total(connections_open=4, connections_closed_by_server=1)
    served.send(b"le HTTP/1.1\r\nHost: t\r\n\r\n")
    for client in (again, later, served):
        assert client is served or client.get("/file").body == b"contents"
    assert served.reply().body == b"contents"


def tasks(pid: int) -> list[Path]:
    """Return where the kernel tells of each thread of a process."""
    return list(Path(f"/proc/{pid}/task").glob("*/status"))


@pytest.mark.parametrize("name", ["sped", "knot", "nm", "uring"])
def test_who_has_asked_while_the_server_was_held_up_does_not_give_way(
    start: Callable[..., Any], await_state: Callable[..., Any], name: str
) -> None:
    """What has come is looked at before it is said who has been idle."""
    workers = {} if name == "sped" else {"workers": 1}
    server = start(architecture=name, max_connections=1, keepalive_timeout=3600, **workers)
    server.write("file", b"contents")
    client = server.connect()
    assert client.get("/file").body == b"contents"
    uptime_s = server.command("show info")["uptime_s"]
    await_state(lambda: server.command("show info")["uptime_s"] > uptime_s + 0.7)
    (pid,) = server.worker_pids()
    os.kill(pid, signal.SIGSTOP)
    await_state(lambda: all("\nState:\tT" in task.read_text() for task in tasks(pid)))
    waiting = server.connect()
    waiting.ask("/file")
    client.ask("/file")
    os.kill(pid, signal.SIGCONT)
    assert client.reply().body == b"contents"
    assert waiting.reply().body == b"contents"


@pytest.mark.parametrize("name", ["symped", "shared-symped", "co-amped", "uring"])
def test_who_came_while_one_worker_was_held_up_is_served_by_whoever_has_places(
    start: Callable[..., Any], await_state: Callable[..., Any], stopped: Callable[[int], None], name: str
) -> None:
    """The other worker finds them all at once, and takes no more than it has places for: the rest would wait
    there for ever.
    """
    server = start(architecture=name, workers=2, max_connections=400, backlog=1000, sndbuf=16384)
    server.write("big", bytes(1 << 20))
    first, held = server.worker_pids()[:2]
    for pid in (first, held):
        stopped(pid)
        await_state(lambda pid=pid: all("\nState:\tT" in task.read_text() for task in tasks(pid)))
    clients = [server.connect(receive_buffer=4096) for _ in range(300)]
    for client in clients:
        client.ask("/big")
    os.kill(first, signal.SIGCONT)
    await_state(lambda: server.total()["requests"] >= 150)
    os.kill(held, signal.SIGCONT)
    server.await_total(requests=300, connections_open=300)


@pytest.mark.parametrize(
    "name",
    ["smped", "knot", "nm"]
    + [pytest.param(name, marks=pytest.mark.live) for name in ("symped", "pipeline", "uring")],
)
def test_download_gets_through_though_the_server_is_stopped_again_and_again(
    start: Callable[..., Any], await_state: Callable[..., Any], name: str
) -> None:
    """A call that is cut short by a stop has not filled the socket: who waited then would wait for ever."""
    server = start(architecture=name, workers=2, sndbuf=65536)
    body = os.urandom(32 << 20)
    server.write("large", body)
    pids = server.worker_pids()
    client = server.connect()
    with ThreadPoolExecutor(1) as pool:
        reply = pool.submit(client.get, "/large")
        while not reply.done():
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            await_state(lambda: all("\nState:\tT" in task.read_text() for pid in pids for task in tasks(pid)))
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
        assert reply.result().body == body


def page_faults(stat: Path) -> int:
    """Return the minor faults of a process or a thread (proc_pid_stat(5)); of one that has just ended, 0."""
    try:
        return int(stat.read_text().rpartition(")")[2].split()[7])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def faults_of_ended_threads(pid: int) -> int:
    """Return how many page faults threads of a process had that are no more; each begins with some."""
    threads = Path(f"/proc/{pid}/task").glob("*/stat")
    return page_faults(Path(f"/proc/{pid}/stat")) - sum(page_faults(thread) for thread in threads)


@pytest.mark.parametrize("name", ["sped", "amped", "co-amped", "knot", "nm", "uring"])
def test_who_never_waits_leaves_closing_a_large_deleted_file_to_a_thread(
    start: Callable[..., Any], await_state: Callable[..., Any], name: str
) -> None:
    """Freeing its blocks takes long; the thread ends with it. A sped does it itself."""
    server = start(architecture=name)
    large = server.write("large", os.urandom(8 << 20))
    client = server.connect()
    assert len(client.get("/large").body) == 8 << 20
    before = sum(faults_of_ended_threads(pid) for pid in server.worker_pids())
    large.unlink()
    await_state(lambda: client.get("/large").status == 404)
    if name == "sped":
        assert sum(faults_of_ended_threads(pid) for pid in server.worker_pids()) == 0
    else:
        await_state(lambda: sum(faults_of_ended_threads(pid) for pid in server.worker_pids()) > before)
