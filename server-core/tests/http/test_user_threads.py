"""The architectures with user-level threads: what these add to what all architectures do."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

LARGE = bytes(range(256)) * 16384  # 4 MiB: more than the buffers of a socket that nobody reads from
MEDIUM = bytes(9000)  # a smaller one may come to lie in memory with its head, and then needs no job


@pytest.fixture(params=["knot", "nm"])
def architecture(request: pytest.FixtureRequest) -> str:
    """Each of them."""
    name: str = request.param
    return name


def test_a_thousand_connections_have_a_thread_each(start: Callable[..., Any], architecture: str) -> None:
    """Threads sleep between requests and find their connection again; new ones take over old threads."""
    server = start(architecture=architecture, max_connections=1000)
    server.write("file", b"contents")
    for turn in range(1, 3):
        connections = [server.connect() for _ in range(500)]
        for _ in range(2):
            for connection in connections:
                connection.ask("/file")
            for connection in connections:
                assert connection.reply().body == b"contents"
        server.await_total(connections_open=500, requests=turn * 1000)
        for connection in connections:
            connection.close()
        server.await_total(connections_open=0)
    assert server.total()["user_switches"] >= 2000


@pytest.mark.parametrize("sendfile", ["nonblocking", "blocking", "off"])
def test_large_and_small_replies_mix_without_loss(
    start: Callable[..., Any], architecture: str, sendfile: str
) -> None:
    """Many clients, replies that fit the socket and replies that do not: every byte is right."""
    server = start(architecture=architecture, sendfile=sendfile, workers=3)
    server.write("small", b"contents")
    server.write("large", LARGE)

    def client(number: int) -> bool:
        connection = server.connect(receive_buffer=65536)
        right = True
        for turn in range(4):
            name, body = ("small", b"contents") if (number + turn) % 2 else ("large", LARGE)
            right = right and connection.get(f"/{name}").body == body
        connection.close()
        return right

    with ThreadPoolExecutor(12) as pool:
        assert all(pool.map(client, range(36)))
    server.await_total(connections_open=0, requests=144, replies_200=144)


def test_knot_leaves_sending_to_its_workers(start: Callable[..., Any]) -> None:
    """What may wait for a disk is a job for a kernel thread, and each job is counted."""
    server = start(architecture="knot", workers=2)
    server.write("file", MEDIUM)
    connection = server.connect()
    for _ in range(20):
        assert connection.get("/file").body == MEDIUM
    server.await_total(helper_requests=20, queue_length=0)
    rows = server.command("show stats")["workers"]
    assert [row["role"] for row in rows] == ["scheduler", "worker", "worker"]
    assert rows[0]["bytes_sent"] == 0
    assert sum(row["bytes_sent"] for row in rows[1:]) > 0


def test_knot_leaves_reading_to_its_workers(start: Callable[..., Any]) -> None:
    """Contents that are not in the cache are on a disk, perhaps; those that are there need no worker."""
    server = start(architecture="knot", workers=1, sendfile="off", cache_mb=1)
    server.write("file", MEDIUM)
    server.write("large", LARGE)  # does not fit the cache
    connection = server.connect()
    for _ in range(3):
        assert connection.get("/file").body == MEDIUM
        assert connection.get("/file", "Range: bytes=0-1,4-5").status == 206
    assert server.total()["helper_requests"] == 1  # for the first reply
    assert connection.get("/large").body == LARGE
    assert server.total()["helper_requests"] > 1


def test_files_whose_names_are_not_cached_are_opened_where_that_may_wait(
    start: Callable[..., Any], architecture: str
) -> None:
    """A name that the kernel has never seen is looked up by whoever may block; then the request is served."""
    server = start(architecture=architecture)
    server.write("directory/file", MEDIUM)
    connection = server.connect()
    for number in range(5):
        assert connection.get(f"/{uuid4()}").status == 404
        assert connection.get("/directory/file").body == MEDIUM
        connection.ask(f"/{uuid4()}/{number}")
        connection.ask("/directory/file")
        assert connection.reply().status == 404
        assert connection.reply().body == MEDIUM
    server.await_total(requests=20, replies_404=10, replies_200=10)
    if architecture == "knot":  # which counts them: ten openings beside ten replies with a file
        assert server.total()["helper_requests"] >= 20


def test_names_of_compressed_files_are_looked_up_where_that_may_wait(start: Callable[..., Any]) -> None:
    """Each of the three is a job of its own for knot's workers; the reply is one too."""
    server = start(architecture="knot", precompressed="on")
    server.write("file.txt", MEDIUM)
    assert server.connect().get("/file.txt").body == MEDIUM
    server.await_total(helper_requests=4)


def test_knot_reads_on_while_its_only_worker_is_held(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """A blocking send to a client that does not read holds the worker; requests are read and wait for it."""
    server = start(architecture="knot", sendfile="blocking", workers=1)
    server.write("large", LARGE)
    server.write("small", b"contents")
    slow = server.connect(receive_buffer=4096)
    slow.ask("/large")
    server.await_total(requests=1)
    others = [server.connect() for _ in range(10)]
    for other in others:
        other.ask("/small")
    server.await_total(requests=11, connections_open=11)
    await_state(lambda: server.command("show stats")["workers"][1]["queue_length"] == 10)
    assert slow.reply().body == LARGE
    for other in others:
        assert other.reply().body == b"contents"


def test_nm_gets_another_kernel_thread_when_its_only_one_is_blocked(start: Callable[..., Any]) -> None:
    """A send that blocks in the kernel holds one user thread; a fresh kernel thread runs all others."""
    server = start(architecture="nm", sendfile="blocking", workers=1)
    server.write("large", LARGE)
    server.write("small", b"contents")
    slow = [server.connect(receive_buffer=4096) for _ in range(3)]
    for connection in slow:
        connection.ask("/large")
        for _ in range(10):
            other = server.connect()
            assert other.get("/small").body == b"contents"
            other.close()
    assert server.total()["kernel_threads_added"] >= 1
    for connection in slow:
        assert connection.reply().body == LARGE
    server.await_total(connections_open=3, requests=33, replies_200=33)


@pytest.mark.parametrize("workers", [1, 8])
def test_nm_with_one_kernel_thread_or_one_for_each_user_thread(
    start: Callable[..., Any], workers: int
) -> None:
    """The models N:1 and 1:1 are the same server with other numbers."""
    server = start(architecture="nm", workers=workers, max_connections=8, cache_lock="mutex")
    server.write("file", b"contents")
    connections = [server.connect() for _ in range(8)]
    for _ in range(5):
        for connection in connections:
            assert connection.get("/file").body == b"contents"
    server.await_total(connections_open=8, requests=40)
    assert len(server.command("show stats")["workers"]) == workers


def switches_for_a_large_reply(server: Any) -> int:
    """How often user threads are switched to while a client takes a large reply bit by bit."""
    server.write("large", LARGE * 4)  # several times what the kernel lets a send buffer grow to
    connection = server.connect(receive_buffer=4096)
    assert connection.get("/large", method="HEAD").status == 200
    before: int = server.total()["user_switches"]
    connection.ask("/large")
    assert connection.reply().body == LARGE * 4
    server.await_total(replies_200=2)
    switches: int = server.total()["user_switches"] - before
    return switches


def test_nm_continues_large_transfers_without_switching(start: Callable[..., Any]) -> None:
    """With continuations the thread is woken for the request and for the end of its reply, not in between."""
    small_buffer = {"architecture": "nm", "sndbuf": 16384}  # so that the reply blocks many times
    by_scheduler = switches_for_a_large_reply(start(**small_buffer, large_transfer="continuation"))
    by_thread = switches_for_a_large_reply(start(**small_buffer, large_transfer="thread"))
    assert by_scheduler <= 3
    assert by_thread > by_scheduler


@pytest.mark.parametrize("sendfile", ["nonblocking", "off"])
@pytest.mark.live
def test_nm_leaves_what_is_not_in_memory_to_the_thread(
    start: Callable[..., Any],
    await_state: Callable[..., Any],
    evict: Callable[[Path], None],
    sendfile: str,
) -> None:
    """The scheduler, which the monitor cannot replace, sends no pages that it would have to wait for."""
    server = start(architecture="nm", workers=1, sndbuf=16384, sendfile=sendfile, cache_mb=1)

    def switches(number: int, is_in_memory: bool) -> int:
        """Count them for a reply whose file is in memory, or forgotten again and again."""
        server.await_total(connections_open=0)
        before = server.total()["user_switches"]
        large = server.write(f"{number}", LARGE)
        connection = server.connect(receive_buffer=4096)
        connection.ask(f"/{number}")
        while connection.stream.readline() != b"\r\n":
            continue
        for piece in range(0, len(LARGE), 65536):
            if not is_in_memory:
                evict(large)
            assert connection.stream.read(65536) == LARGE[piece : piece + 65536]
        server.await_total(replies_200=number)
        counted = int(server.total()["user_switches"] - before)
        connection.close()
        return counted

    usual = switches(1, is_in_memory=True)
    # The kernel may keep pages that somebody else has in hand, so other files are tried.
    assert any(switches(number, is_in_memory=False) > usual for number in range(2, 7))


def test_stacks_of_connections_that_were_slow_are_given_back(
    start: Callable[..., Any], architecture: str
) -> None:
    """A crowd that has been served and has left costs no memory any more."""
    server = start(architecture=architecture, max_connections=1000, sndbuf=16384, request_timeout=60)
    server.write("large", LARGE)
    (pid,) = server.worker_pids()
    if "libtsan" in Path(f"/proc/{pid}/maps").read_text():
        pytest.skip("the thread sanitizer keeps mappings of its own for each stack")
    before = mappings(pid)
    clients = [server.connect(receive_buffer=4096) for _ in range(500)]
    for client in clients:
        client.ask("/large")
    server.await_total(requests=500)
    for client in clients:
        client.close()
    server.await_total(connections_open=0)
    assert server.connect().get("/large").body == LARGE
    assert mappings(pid) < before + 300  # two for each stack


@pytest.mark.parametrize("sendfile", ["nonblocking", "off"])
def test_clients_that_are_half_closed_get_their_replies_and_keep_nobody_busy(
    start: Callable[..., Any], await_state: Callable[..., Any], architecture: str, sendfile: str
) -> None:
    """They send no more and read later: meanwhile there is nothing to do for them, and others are served."""
    server = start(architecture=architecture, sendfile=sendfile, workers=1, sndbuf=16384)
    server.write("large", LARGE)
    server.write("small", b"contents")
    clients = [server.connect(receive_buffer=4096) for _ in range(10)]
    for client in clients:
        client.ask("/large")
        client.socket.shutdown(socket.SHUT_WR)
    server.await_total(requests=10, connections_open=10)
    work = ("event_calls", "user_switches", "sendfile_calls", "write_calls", "helper_requests", "bytes_sent")
    seen = []

    def is_at_rest() -> bool:
        """Nothing has been done for them for a while in which the server was asked again and again."""
        total = server.total()
        seen.append([total[name] for name in work])
        return len(seen) > 20 and seen[-20] == seen[-1]

    await_state(is_at_rest)
    assert server.connect().get("/small").body == b"contents"
    for client in clients:
        assert client.reply().body == LARGE
        assert client.is_closed_by_server()


def mappings(pid: int) -> int:
    """How many pieces of memory a process has mapped."""
    return len(Path(f"/proc/{pid}/maps").read_text().splitlines())
