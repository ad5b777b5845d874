"""The pipeline architecture: what its stages, queues and quotas add to what all architectures do."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

CPUS = sorted(os.sched_getaffinity(0))
LARGE = bytes(range(256)) * 16384  # 4 MiB: more than the buffers of a socket that nobody reads from


def rows(server: Any, role: str) -> list[dict[str, Any]]:
    """The rows of counters of one stage."""
    return [row for row in server.command("show stats")["workers"] if row["role"] == role]


def serve_many(server: Any, clients: int, requests: int) -> None:
    """Has many clients at once fetch a small and a large file; checks every byte."""
    server.write("small", b"contents")
    server.write("large", LARGE[:300_000])

    def client(_number: int) -> bool:
        connection = server.connect()
        right = True
        for number in range(requests):
            name, body = ("small", b"contents") if number % 2 else ("large", LARGE[:300_000])
            right = right and connection.get(f"/{name}").body == body
        connection.close()
        return right

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(client, range(clients)))
    server.await_total(
        connections_open=0, connections_accepted=clients, requests=clients * requests, queue_length=0
    )


@pytest.mark.parametrize("sendfile", ["nonblocking", "blocking"])
@pytest.mark.parametrize("cache_lock", ["mutex", "rw"])
def test_stages_divided_over_cpus_lose_no_request(
    start: Callable[..., Any], sendfile: str, cache_lock: str
) -> None:
    """Readers, writers and queues for each CPU, one cache for all: everything is answered, and adds up."""
    affinity = ",".join(str(cpu) for cpu in (CPUS * 2)[:2])
    server = start(
        architecture="pipeline",
        sendfile=sendfile,
        cache_lock=cache_lock,
        affinity=affinity,
        readers=2,
        workers=5,
        poll_delay_us=200,
    )
    serve_many(server, clients=60, requests=6)
    assert len(rows(server, "reader")) == 4
    assert len(rows(server, "writer")) == 5
    for role in ("read-poller", "write-poller", "acceptor"):
        assert len(rows(server, role)) == 1
    assert sum(row["requests"] > 0 for row in rows(server, "reader")) > 1
    assert sum(row["bytes_sent"] > 0 for row in rows(server, "writer")) > 1


def test_each_stage_counts_what_goes_through_its_queue(start: Callable[..., Any]) -> None:
    """A socket and a returned reply reach Read for each exchange, beside events; one reply reaches Write."""
    server = start(architecture="pipeline")
    server.write("file", b"contents")
    for _ in range(10):
        connection = server.connect()
        assert connection.get("/file").body == b"contents"
        connection.close()
    server.await_total(connections_open=0, queue_length=0)
    (reader,), (writer,) = rows(server, "reader"), rows(server, "writer")
    assert writer["queue_items"] == 10
    assert reader["queue_items"] >= 20
    assert writer["bytes_sent"] > 0
    assert reader["bytes_sent"] == 0
    assert reader["cache_hits"] == 9


def test_a_listener_that_is_full_takes_no_place_from_another(start: Callable[..., Any]) -> None:
    """Each acceptor has its own share of max_connections."""
    server = start(architecture="pipeline", listen="127.0.0.1:0,127.0.0.1:0", max_connections=2)
    server.write("file", b"contents")
    first_port, second_port = (int(text.rsplit(":", 1)[1]) for text in server.command("show info")["listen"])
    server.address = ("127.0.0.1", first_port)
    first = server.connect()
    assert first.get("/file").status == 200
    server.begin_requests(first)
    waiting = server.connect()
    waiting.ask("/file")
    server.address = ("127.0.0.1", second_port)
    second = server.connect()
    assert second.get("/file").status == 200
    server.await_total(connections_open=2, connections_accepted=2)
    first.close()
    assert waiting.reply().body == b"contents"
    assert second.get("/file").status == 200


def test_a_held_writer_holds_neither_reading_nor_other_writers(start: Callable[..., Any]) -> None:
    """A client that does not read keeps one writer in sendfile; the other one serves everybody else."""
    server = start(architecture="pipeline", sendfile="blocking", workers=2)
    server.write("large", LARGE)
    server.write("small", b"contents")
    slow = server.connect(receive_buffer=4096)
    slow.ask("/large")
    server.await_total(requests=1)
    for _ in range(20):
        other = server.connect()
        assert other.get("/small").body == b"contents"
        other.close()
    assert slow.reply().body == LARGE


def test_reading_goes_on_while_all_writers_are_held(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """Asymmetric threads: with its only writer held the server still accepts, reads and queues replies."""
    server = start(architecture="pipeline", sendfile="blocking", workers=1)
    server.write("large", LARGE)
    server.write("small", b"contents")
    slow = server.connect(receive_buffer=4096)
    slow.ask("/large")
    server.await_total(requests=1)
    others = [server.connect() for _ in range(10)]
    for other in others:
        other.ask("/small")
    server.await_total(requests=11, connections_open=11)
    await_state(lambda: rows(server, "writer")[0]["queue_length"] == 10)
    assert slow.reply().body == LARGE
    for other in others:
        assert other.reply().body == b"contents"


def test_max_connections_below_the_number_of_listeners_is_refused(refusal: Callable[..., str]) -> None:
    """Each acceptor needs a place to give away."""
    said = refusal("architecture=pipeline", "listen=127.0.0.1:1,127.0.0.1:2,127.0.0.1:3", "max_connections=2")
    assert "expected at least one for each of the 3 listeners" in said
