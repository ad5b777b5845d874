"""Limits: of connections, of descriptors, of time."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


def test_clients_beyond_max_connections_wait_and_are_served_when_others_leave(
    start: Callable[..., Any], mode: dict[str, str]
) -> None:
    """At its limit the server neither accepts nor refuses: whoever waits gets in as places become free."""
    server = start(**mode, max_connections=2)
    server.write("file", b"contents")
    first, second = server.connect(), server.connect()
    server.begin_requests(first, second)
    third, fourth = server.connect(), server.connect()
    for connection in (third, fourth):
        connection.ask("/file")
    server.await_total(connections_open=2, connections_accepted=2, requests=0)
    first.close()
    second.close()
    assert third.reply().body == b"contents"
    assert fourth.reply().body == b"contents"
    server.await_total(connections_open=2, connections_accepted=4)


@pytest.mark.parametrize("max_connections", [4, 6])
def test_all_clients_of_four_full_workers_are_served_eventually(
    start: Callable[..., Any], max_connections: int
) -> None:
    """No wake-up is lost between workers that are full and workers that are free."""
    server = start(workers=4, max_connections=max_connections, accept_limit=1)
    server.write("file", b"contents")

    with ThreadPoolExecutor(16) as pool:
        visits = list(pool.map(lambda _number: server.visit("/file", 3), range(400)))
    assert [bodies for bodies, _ in visits] == [[b"contents"] * 3] * 400
    connections = sum(connections for _, connections in visits)
    server.await_total(connections_open=0, connections_accepted=connections, requests=1200)


@pytest.mark.parametrize(
    "knobs",
    [
        *({"architecture": name} for name in ("symped", "shared-symped", "nm", "co-amped", "smped", "uring")),
        *(
            pytest.param({"architecture": "symped", "events": events}, marks=pytest.mark.live)
            for events in ("epoll", "io_uring", "poll")
        ),
    ],
    ids=lambda knobs: "-".join(knobs.values()),
)
def test_place_that_becomes_free_is_taken_by_the_next_client(
    start: Callable[..., Any],
    await_state: Callable[..., Any],
    request: pytest.FixtureRequest,
    knobs: dict[str, str],
) -> None:
    """Whichever worker it is free in, and whichever the kernel tells: who has no place passes the client on.

    By the time that a connection is closed all workers are full and listen for who might have them recycle;
    none does, while another one has a place.
    """
    rounds = 10 if request.node.get_closest_marker("live") else 6  # each of which waits
    server = start(**knobs, workers=2, max_connections=8, keepalive_timeout=3600)
    server.write("file", b"contents")
    clients = [server.connect() for _ in range(8)]
    for client in clients:
        assert client.get("/file").body == b"contents"
    for number in range(rounds):
        uptime_s = server.command("show info")["uptime_s"]
        await_state(lambda uptime_s=uptime_s: server.command("show info")["uptime_s"] > uptime_s + 0.75)
        clients.pop(number % len(clients)).close()
        server.await_total(connections_open=7)
        clients.append(server.connect())
        assert clients[-1].get("/file").body == b"contents"
    server.await_total(connections_open=8, connections_closed_by_server=0)


def test_accept_limit_divides_a_burst_into_phases(start: Callable[..., Any], mode: dict[str, str]) -> None:
    """With a limit of one, each accept phase takes one connection and none is forgotten."""
    server = start(**mode, accept_limit=1)
    server.write("file", b"contents")
    connections = [server.connect() for _ in range(20)]
    for connection in connections:
        assert connection.get("/file").status == 200
    total = server.total()
    assert total["connections_accepted"] == 20
    assert total["accept_phases"] >= 20
    assert total["accept_calls"] == total["accept_phases"]


def test_accept_limit_auto_accepts_a_burst_whole_when_there_is_nothing_else_to_do(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """Clients that came while the worker slept enter in one phase; the accept queue's length is known."""
    server = start(accept_limit="auto", max_connections=100)
    server.write("file", b"contents")
    (pid,) = server.worker_pids()
    os.kill(pid, signal.SIGSTOP)
    clients = [server.connect() for _ in range(40)]
    os.kill(pid, signal.SIGCONT)
    server.await_total(connections_accepted=40)
    assert server.total()["accept_phases"] <= 3
    for client in clients:
        assert client.get("/file").body == b"contents"
    assert server.command("set accept_limit 5") == {"knob": "accept_limit", "value": 5}
    assert server.command("set accept_limit auto") == {"knob": "accept_limit", "value": "auto"}


def test_accept_limit_auto_wants_an_architecture_with_turns(start: Callable[..., Any]) -> None:
    """Where nothing is balanced it is refused, also while the server runs."""
    server = start(architecture="pipeline")
    answer = server.command("set accept_limit auto")
    assert answer["error"]["code"] == "bad-value"
    assert "architecture pipeline has no turns to balance" in answer["error"]["message"]


def test_set_max_connections_lets_waiting_clients_in(start: Callable[..., Any], mode: dict[str, str]) -> None:
    """A full worker that sleeps learns of its larger share."""
    server = start(**mode, max_connections=1)
    server.write("file", b"contents")
    first = server.connect()
    assert first.get("/file").status == 200
    server.begin_requests(first)
    second = server.connect()
    second.ask("/file")
    server.await_total(connections_open=1, connections_accepted=1)
    assert server.command("set max_connections 2") == {"knob": "max_connections", "value": 2}
    assert second.reply().status == 200


def test_set_sendfile_takes_effect_on_open_connections(start: Callable[..., Any]) -> None:
    """The next reply on the same connection is sent the new way, in both directions of change."""
    server = start(sndbuf=16384)
    body = os.urandom(2_000_000)
    server.write("big", body)
    connection = server.connect(receive_buffer=4096)
    assert connection.get("/big").body == body
    for sendfile in ("blocking", "nonblocking", "off"):
        server.await_total(replies_200=1)  # counted once the last call has returned
        server.command(f"set sendfile {sendfile}")
        server.command("clear counters")
        assert connection.get("/big").body == body
        server.await_total(replies_200=1)
        total = server.total()
        assert (total["sendfile_calls"] == 1) == (sendfile == "blocking")
        assert (total["write_calls"] > 1) == (sendfile == "off")


def test_server_out_of_descriptors_recovers(
    start: Callable[..., Any], mode: dict[str, str], await_state: Callable[..., Any]
) -> None:
    """When accept fails for want of descriptors, clients wait; they are served once there are some again."""
    server = start(**mode)
    server.write("file", b"contents")
    assert server.connect().get("/file").status == 200
    (pid,) = server.worker_pids()
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    descriptors = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (descriptors, before[1]))
    waiting = [server.connect() for _ in range(10)]
    for connection in waiting:
        connection.ask("/file")
    await_state(
        lambda: "cannot accept connections (trying again every 100 ms): Too many open files" in server.log()
    )
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    for connection in waiting:
        assert connection.reply().status in {200, 503}
        assert connection.get("/file").body == b"contents"


@pytest.mark.parametrize("name", ["symped", "knot"])
def test_clients_get_the_descriptors_of_cached_files_when_more_of_them_are_allowed(
    start: Callable[..., Any], name: str
) -> None:
    """The cache was made for what was left beside fewer; nobody waits while there is a file to be closed."""

    def launch(command: list[object], **streams: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(["prlimit", "--nofile=200:200", *map(str, command)], **streams)

    server = start(launch, architecture=name, workers=1, max_connections=20)
    connection = server.connect()
    for number in range(110):
        server.write(f"file{number}", b"contents")
        assert connection.get(f"/file{number}").body == b"contents"
    assert server.command("set max_connections 100") == {"knob": "max_connections", "value": 100}
    clients = [server.connect() for _ in range(99)]
    for client in clients:
        assert client.get("/file109").body == b"contents"
    server.await_total(connections_open=100)
    assert server.total()["cache_evictions"] >= 20
    assert "cannot accept" not in server.log()


def test_idle_connection_is_closed_without_a_word(start: Callable[..., Any], mode: dict[str, str]) -> None:
    """After keepalive_timeout the server hangs up, and counts it."""
    server = start(**mode, keepalive_timeout=0.2)
    server.write("file", b"contents")
    connection = server.connect()
    assert connection.get("/file").status == 200
    assert connection.is_closed_by_server()
    server.await_total(connections_timed_out=1, connections_open=0)


def test_connection_that_never_asks_is_closed(start: Callable[..., Any], mode: dict[str, str]) -> None:
    """Whoever connects and says nothing is cut off after request_timeout."""
    server = start(**mode, request_timeout=0.2)
    assert server.connect().is_closed_by_server()
    server.await_total(connections_timed_out=1)


def test_slow_request_head_yields_408(
    start: Callable[..., Any], timed_mode: dict[str, str], limit_s: float
) -> None:
    """Sending a head byte by byte does not extend its time."""
    server = start(**timed_mode, request_timeout=limit_s)
    connection = server.connect()
    stop = threading.Event()

    def drip() -> None:
        connection.send(b"GET / HTTP/1.1\r\nX: ")
        while not stop.wait(0.05):
            try:
                connection.send(b"x")
            except OSError:
                return

    dripping = threading.Thread(target=drip)
    dripping.start()
    reply = connection.reply()
    stop.set()
    dripping.join()
    assert reply.status == 408
    assert reply.headers["connection"] == "close"
    server.await_total(connections_timed_out=1, replies_408=1, connections_open=0)


def test_client_that_takes_nothing_is_dropped(
    start: Callable[..., Any], timed_mode: dict[str, str], limit_s: float
) -> None:
    """A reply without progress for request_timeout is given up, and the worker serves others again."""
    server = start(**timed_mode, request_timeout=limit_s, sndbuf=16384)
    os.truncate(server.write("big", b""), 20_000_000)
    server.write("file", b"contents")
    stalled = server.connect(receive_buffer=4096)
    stalled.ask("/big")
    server.await_total(connections_timed_out=1, connections_open=0)
    server.command("set request_timeout 60")
    assert server.connect().get("/file").body == b"contents"


def test_request_that_came_while_the_worker_was_held_up_is_not_taken_for_idleness(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """A blocking sendfile outlasts the idle time of another connection, whose request waits: it is served."""
    server = start(sendfile="blocking", sndbuf=16384, keepalive_timeout=3, request_timeout=60)
    big = os.urandom(2_000_000)
    server.write("big", big)
    server.write("file", b"contents")
    other = server.connect()
    slow = server.connect(receive_buffer=4096)
    assert other.get("/file").status == 200
    slow.ask("/big")
    server.await_total(requests=2)
    other.ask("/file")
    uptime_s = server.command("show info")["uptime_s"]
    await_state(lambda: server.command("show info")["uptime_s"] > uptime_s + 3.5)
    assert slow.reply().body == big
    assert other.reply().body == b"contents"


def test_request_that_comes_as_the_idle_time_ends_has_a_time_of_its_own_for_a_long_reply(
    start: Callable[..., Any],
    await_state: Callable[..., Any],
    timed_architecture: dict[str, str],
    limit_s: float,
) -> None:
    """A worker that stood still meanwhile sees that the time is over before it sees the request.

    The reply is longer than the socket takes at once, and gets out whole none the less.
    """
    settings = {"keepalive_timeout": limit_s, "request_timeout": 60, "min_bytes_per_s": 25000}
    server = start(**timed_architecture, **settings, sndbuf=16384)
    contents = os.urandom(3_000_000)
    server.write("big", contents)
    server.write("file", b"contents")
    client = server.connect(receive_buffer=4096)
    assert client.get("/file").body == b"contents"
    server.await_total(replies_200=1)
    pids = set(server.worker_pids())
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    over_s = time.monotonic() + limit_s + 0.5
    await_state(lambda: time.monotonic() > over_s)
    client.ask("/big")
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    assert client.reply().body == contents


def test_set_request_timeout_applies_to_new_connections(
    start: Callable[..., Any], mode: dict[str, str]
) -> None:
    """The live value replaces the configured one."""
    server = start(**mode, request_timeout=3600)
    server.command("set request_timeout 0.2")
    assert server.connect().is_closed_by_server()
    server.await_total(connections_timed_out=1)


def test_cache_smaller_than_the_file_set_serves_every_file(
    start: Callable[..., Any], mode: dict[str, str]
) -> None:
    """Entries are evicted and files opened again, and nobody notices."""
    server = start(**mode, cache_entries=3)
    bodies = {f"/{i}": os.urandom(100 + i) for i in range(10)}
    for target, body in bodies.items():
        server.write(target[1:], body)
    connection = server.connect()
    for _ in range(3):
        for target, body in bodies.items():
            assert connection.get(target).body == body
    server.await_total(cache_misses=30, cache_evictions=27, cache_hits=0)
