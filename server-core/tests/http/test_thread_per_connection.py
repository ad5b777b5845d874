"""Architectures with a process (mp) or a kernel thread (mt) for each connection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


def thread_count(server: Any) -> int:
    """Return the number of kernel threads of the serving process."""
    (pid,) = {worker["pid"] for worker in server.command("show stats")["workers"]}
    return sum(1 for _ in Path(f"/proc/{pid}/task").iterdir())


@pytest.mark.parametrize("architecture", ["mp", "mt"])
def test_each_connection_has_a_worker_of_its_own(start: Callable[..., Any], architecture: str) -> None:
    """No worker holds two connections, and the client beyond the last one waits for a free worker."""
    server = start(architecture=architecture, workers=4)
    server.write("file", b"contents")
    connections = [server.connect() for _ in range(4)]
    for connection in connections:
        assert connection.get("/file").body == b"contents"
    workers = server.command("show stats")["workers"]
    assert [worker["connections_open"] for worker in workers] == [1, 1, 1, 1]
    waiting = server.connect()
    waiting.ask("/file")
    connections[0].close()
    assert waiting.reply().body == b"contents"


@pytest.mark.parametrize("architecture", ["mp", "mt"])
@pytest.mark.parametrize("sendfile", ["blocking", "nonblocking"])
def test_client_that_takes_nothing_holds_its_own_worker_only(
    start: Callable[..., Any], architecture: str, sendfile: str
) -> None:
    """A worker that waits for its client keeps nobody else waiting."""
    server = start(architecture=architecture, sendfile=sendfile, workers=2, sndbuf=16384)
    server.write("big", bytes(20_000_000))
    server.write("file", b"contents")
    greedy = server.connect(receive_buffer=4096)
    greedy.ask("/big")
    server.await_total(requests=1)
    other = server.connect()
    for _ in range(3):
        assert other.get("/file").body == b"contents"


def test_threads_on_demand_come_with_connections_and_go_when_idle(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """One free thread more than there are connections, beside the main thread; in the end one."""
    server = start(architecture="mt", workers=8, thread_pool="on-demand")
    server.write("file", b"contents")
    await_state(lambda: thread_count(server) == 2)
    connections = [server.connect() for _ in range(5)]
    for connection in connections:
        assert connection.get("/file").body == b"contents"
    await_state(lambda: thread_count(server) == 7)
    server.command("set keepalive_timeout 0.5")
    for connection in connections:
        connection.close()
    await_state(lambda: thread_count(server) == 2)
    assert server.connect().get("/file").body == b"contents"


def test_thread_on_demand_is_one_that_max_connections_admits(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """The free thread that has been left is beyond a limit that is set now: another one is started."""
    server = start(architecture="mt", workers=20, thread_pool="on-demand")
    server.write("file", b"contents")
    await_state(lambda: thread_count(server) == 2)
    connections = [server.connect() for _ in range(20)]
    for connection in connections:
        assert connection.get("/file").body == b"contents"
    server.begin_requests(connections[0])  # of the first thread
    server.command("set keepalive_timeout 0.5")
    for connection in connections[1:]:
        connection.close()
    await_state(lambda: thread_count(server) == 3)
    server.command("set max_connections 2")
    assert server.connect().get("/file").body == b"contents"


def test_fixed_threads_are_there_from_the_beginning(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """As many as `workers`, beside the main thread."""
    server = start(architecture="mt", workers=8)
    await_state(lambda: thread_count(server) == 9)


def test_threads_share_one_cache(start: Callable[..., Any]) -> None:
    """A file that one thread opened is a hit for all others."""
    server = start(architecture="mt", workers=4)
    server.write("file", b"contents")
    for connection in [server.connect() for _ in range(4)]:
        assert connection.get("/file").body == b"contents"
    total = server.total()
    assert (total["cache_misses"], total["cache_hits"]) == (1, 3)
