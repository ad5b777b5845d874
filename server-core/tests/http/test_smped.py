"""A scheduler that hands connections to a pool of event loops."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


def workers(server: Any) -> list[dict[str, Any]]:
    """Return the rows of the pool."""
    return [row for row in server.command("show stats")["workers"] if row["role"] == "worker"]


def scheduler(server: Any) -> dict[str, Any]:
    """Return the row of the scheduler."""
    (row,) = [row for row in server.command("show stats")["workers"] if row["role"] == "scheduler"]
    return row


def test_scheduler_accepts_and_divides_connections_evenly_over_the_pool(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """Half of the processes are in the pool at first; the others get nothing."""
    server = start(architecture="smped", workers=4)
    server.write("file", b"contents")
    connections = [server.connect() for _ in range(6)]  # which ask for nothing yet, so the pool stays
    await_state(lambda: [row["connections_open"] for row in workers(server)] == [3, 3, 0, 0])
    await_state(lambda: scheduler(server)["connections_forwarded"] == 6)
    row = scheduler(server)
    assert (row["connections_accepted"], row["pool_size"]) == (6, 2)
    assert [row["connections_accepted"] for row in workers(server)] == [0, 0, 0, 0]
    for connection in connections:
        assert connection.get("/file").body == b"contents"


@pytest.mark.live
def test_pool_grows_while_throughput_does(start: Callable[..., Any], await_state: Callable[..., Any]) -> None:
    """The first second with load is more than the one without, so the next process is tried."""
    server = start(architecture="smped", workers=4)
    server.write("file", b"contents")
    stop = threading.Event()

    def client() -> None:
        connection = server.connect()
        while not stop.is_set():
            connection.get("/file")

    thread = threading.Thread(target=client)
    thread.start()
    try:
        await_state(lambda: scheduler(server)["pool_size"] > 2)
    finally:
        stop.set()
        thread.join()


def test_killed_scheduler_and_killed_worker_are_replaced(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """Connections of the others are not touched, and max_connections still counts them."""
    server = start(architecture="smped", workers=2, max_connections=2)
    server.write("file", b"contents")
    first, second = server.connect(), server.connect()
    assert first.get("/file").body == b"contents"
    assert second.get("/file").body == b"contents"
    os.kill(scheduler(server)["pid"], signal.SIGKILL)
    await_state(lambda: server.command("show info")["worker_restarts"] == 1)
    assert first.get("/file").body == b"contents"
    server.begin_requests(first, second)
    third = server.connect()
    third.ask("/file")
    server.await_total(connections_accepted=2, connections_open=2, requests=3)
    for row in workers(server):
        if row["connections_open"]:
            os.kill(row["pid"], signal.SIGKILL)
    with contextlib.suppress(ConnectionResetError):  # if it had not read on
        assert first.is_closed_by_server()
    assert third.reply().body == b"contents"


def test_connections_on_their_way_to_the_pool_are_served_though_the_server_is_told_to_stop(
    start: Callable[..., Any], stopped: Callable[[int], None], await_state: Callable[..., Any]
) -> None:
    """What the scheduler has accepted is served, though nobody has looked into the channel yet."""
    server = start(architecture="smped", workers=2)
    server.write("file", b"contents")
    pids = [row["pid"] for row in workers(server)]
    for pid in pids:
        stopped(pid)
    clients = [server.connect() for _ in range(4)]
    for client in clients:
        client.ask("/file")
    await_state(lambda: scheduler(server)["connections_forwarded"] == len(clients))
    server.command("shutdown graceful")
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    for client in clients:
        assert client.reply().body == b"contents"
    assert server.process.wait(30) == 0
