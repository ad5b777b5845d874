"""The uring architecture: what its rings and queues add to what all architectures do."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LARGE = bytes(range(256)) * 16384  # 4 MiB: more than the buffers of a socket that nobody reads from


@pytest.fixture(autouse=True)
def _kernel_can_do_it(binary: str) -> None:
    """Skips where the kernel lacks what the architecture needs: then it offers no mode."""
    known = json.loads(subprocess.run([binary, "-V", "--json"], capture_output=True, check=True).stdout)
    (uring,) = (one for one in known["architectures"] if one["name"] == "uring")
    if not uring["modes"]:
        pytest.skip("this kernel lacks what uring needs")


def test_a_flood_of_requests_behind_a_blocked_reply_is_answered_in_order(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """More requests than are kept behind a reply: receiving pauses, and goes on when they are served."""
    server = start(architecture="uring", workers=1)
    server.write("large", LARGE)
    for number in range(10):
        server.write(f"{number}", b"%d" % number)
    connection = server.connect(receive_buffer=4096)
    connection.ask("/large")
    count = 20_000  # requests of 30 bytes each
    flood = b"".join(b"GET /%d HTTP/1.1\r\nHost: t\r\n\r\n" % (number % 10) for number in range(count))
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(connection.send, flood)
        await_state(lambda: server.total()["requests"] >= 1)
        assert connection.reply().body == LARGE
        for number in range(count):
            assert connection.reply().body == b"%d" % (number % 10)
        sent.result()
    server.await_total(requests=count + 1, replies_200=count + 1, connections_open=1)


def test_file_that_is_not_in_memory_is_read_by_a_thread_of_the_kernel(
    start: Callable[..., Any], await_state: Callable[..., Any], evict: Callable[[Path], None]
) -> None:
    """Every byte arrives, small or large, and the ring has not waited for the disk."""
    server = start(architecture="uring", workers=1)
    names = (f"file{number}" for number in itertools.count())

    def thread_was_asked(contents: bytes) -> bool:
        """The kernel may keep pages that somebody else has in hand, so try another file."""
        before = server.total()["helper_requests"]
        name = next(names)
        evict(server.write(name, contents))
        assert server.connect().get(f"/{name}").body == contents
        return bool(server.total()["helper_requests"] > before)

    await_state(lambda: thread_was_asked(b"small"))
    await_state(lambda: thread_was_asked(LARGE + b"more than is looked at as a whole"))


def test_file_in_memory_is_sent_by_the_ring_itself(start: Callable[..., Any]) -> None:
    """No thread of the kernel is asked for what is there."""
    server = start(architecture="uring", workers=1)
    server.write("small", b"small")
    server.write("large", 2 * LARGE)
    connection = server.connect()
    for _ in range(3):
        assert connection.get("/small").body == b"small"
        assert connection.get("/large").body == 2 * LARGE
    assert server.total()["helper_requests"] == 0


def test_names_that_the_kernel_does_not_know_are_looked_up_by_its_threads(start: Callable[..., Any]) -> None:
    """Files that are there, files that are not, and files compressed beside them, several at once."""
    server = start(architecture="uring", workers=1, precompressed="on")
    connection = server.connect()
    for number in range(5):
        server.write(f"directory/{number}.txt", b"contents")  # whose names are known then
        connection.ask(f"/{uuid4()}/{number}")
        connection.ask(f"/directory/{number}.txt")
    for _ in range(5):
        assert connection.reply().status == 404
        assert connection.reply().body == b"contents"
    server.await_total(requests=10, replies_404=5, replies_200=5)
    # One for each directory that is not there, and three that may lie beside each file.
    assert server.total()["helper_requests"] >= 5 + 5 * 3


def test_a_client_that_leaves_while_its_file_is_looked_up_is_forgotten(start: Callable[..., Any]) -> None:
    """What the kernel is asked for outlives the connection, and finds nobody."""
    server = start(architecture="uring", workers=1)
    for _ in range(100):
        connection = server.connect()
        connection.ask(f"/{uuid4()}")
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()  # by a reset
    server.await_total(connections_open=0)
    assert server.connect().get(f"/{uuid4()}").status == 404


def test_a_file_that_shrinks_while_its_bytes_wait_sends_no_nuls(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """Behind the end that it has then its last page is zeros; nobody gets them."""
    server = start(architecture="uring", workers=1, sndbuf=16384)
    large = server.write("large", b"x" * len(LARGE))
    connection = server.connect(receive_buffer=4096)
    connection.ask("/large")
    seen = []

    def waits() -> bool:
        """The peer takes no more, and the server has nothing to do but to say so."""
        seen.append(server.total()["bytes_sent"])
        return len(seen) > 100 and 0 < seen[-100] == seen[-1]

    await_state(waits)
    os.truncate(large, seen[-1] + 100)  # which is in the page that comes next, or else nothing is zeros
    received = b""
    with contextlib.suppress(ConnectionError):
        while piece := connection.socket.recv(65536):
            received += piece
    body = received.partition(b"\r\n\r\n")[2]
    assert body == b"x" * len(body)
    await_state(lambda: "/large became shorter while it was being sent" in server.log())


@pytest.mark.parametrize("max_connections", [3, 150])
@pytest.mark.parametrize("accept_limit", [1, "inf"])
def test_more_clients_than_places_are_all_served(
    start: Callable[..., Any], max_connections: int, accept_limit: int | str
) -> None:
    """Accepting by multishot request, one by one when places become few, and again: nobody is lost."""
    server = start(
        architecture="uring", workers=1, max_connections=max_connections, accept_limit=accept_limit
    )
    server.write("file", b"contents")

    waiting = []
    for _ in range(200):  # each asks before the next one comes, to whom it would give way
        waiting.append(server.connect())
        waiting[-1].ask("/file")
    for connection in waiting:
        assert connection.reply().body == b"contents"
        connection.close()
    with ThreadPoolExecutor(16) as pool:
        visits = list(pool.map(lambda _number: server.visit("/file"), range(100)))
    assert [bodies for bodies, _ in visits] == [[b"contents"]] * 100
    connections = 200 + sum(connections for _, connections in visits)
    server.await_total(connections_open=0, connections_accepted=connections, requests=300)


def test_a_connection_closed_under_a_reply_leaves_nothing_for_the_next_one(start: Callable[..., Any]) -> None:
    """Sockets are closed in the order of the ring: no reply goes to who gets the number next."""
    server = start(architecture="uring", workers=1)
    server.write("large", LARGE)
    server.write("file", b"contents")
    for _ in range(50):
        gone = server.connect()
        gone.ask("/large")
        gone.close()
        connection = server.connect()
        assert connection.get("/file").body == b"contents"
        connection.close()
    server.await_total(connections_open=0, connections_accepted=100)


@pytest.mark.parametrize("sendfile", ["blocking", "off"])
def test_another_way_of_sending_is_refused(refusal: Callable[..., str], sendfile: str) -> None:
    """It sends from the page cache and waits for no client, so there is nothing to choose."""
    said = refusal("architecture=uring", f"sendfile={sendfile}")
    assert f"sendfile = {sendfile}: expected nonblocking: " in said
