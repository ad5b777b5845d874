"""What must hold in every architecture, with every way of sending and every event mechanism.

The list comes from the program itself (`trimtab-httpd -V --json`), so a new architecture is tested by being
there. The tests of a mode share one server; what needs a server of its own is in test_every_architecture.py.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
from typing import Any

import pytest

SIZES = [0, 1, 1023, 65536, 1_000_003]


def test_files_arrive_byte_for_byte(every_server: Any) -> None:
    """Bodies of all sizes, and heads without them, over one connection."""
    connection = every_server.connect()
    for size in SIZES:
        contents = os.urandom(size)
        every_server.write(f"bytes{size}", contents)
        reply = connection.get(f"/bytes{size}")
        assert (reply.status, reply.headers["content-length"]) == (200, str(size))
        assert reply.body == contents
        head = connection.get(f"/bytes{size}", method="HEAD")
        assert (head.status, head.headers["content-length"]) == (200, str(size))


def test_pipelined_requests_are_answered_in_order(every_server: Any) -> None:
    """Small and large replies, and errors among them, one after the other."""
    bodies = [os.urandom(500 * i) for i in range(40)]
    for i, body in enumerate(bodies):
        every_server.write(f"pipeline{i}", body)
    connection = every_server.connect()
    connection.send(
        b"".join(
            b"GET /pipeline%d HTTP/1.1\r\nHost: t\r\n\r\nGET /none%d HTTP/1.1\r\nHost: t\r\n\r\n" % (i, i)
            for i in range(len(bodies))
        )
    )
    for body in bodies:
        assert connection.reply().body == body
        assert connection.reply().status == 404


def test_conditions_and_ranges_are_obeyed(every_server: Any, parts: Any) -> None:
    """Not modified, failed precondition, one range, several, none that exists; all on one connection."""
    contents = os.urandom(100_000)
    every_server.write("ranges", contents)
    connection = every_server.connect()
    etag = connection.get("/ranges").headers["etag"]
    assert connection.get("/ranges", f"If-None-Match: {etag}").status == 304
    assert connection.get("/ranges", 'If-Match: "other"').status == 412
    part = connection.get("/ranges", "Range: bytes=70000-79999", f"If-Range: {etag}")
    assert (part.status, part.headers["content-range"]) == (206, "bytes 70000-79999/100000")
    assert part.body == contents[70000:80000]
    several = connection.get("/ranges", "Range: bytes=90000-,10-19,-1")
    assert several.status == 206
    assert [body for _range, body in parts(several)] == [contents[10:20], contents[90000:]]
    assert connection.get("/ranges", "Range: bytes=100000-").status == 416
    assert connection.get("/ranges").body == contents
    every_server.await_total(requests=7, replies_200=2, replies_206=2, replies_304=1, replies_412=1)


def test_request_that_comes_in_pieces_is_served(every_server: Any) -> None:
    """It does not matter how a request is cut into packets."""
    every_server.write("pieces", b"contents")
    connection = every_server.connect()
    connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for piece in (b"G", b"ET /pie", b"ces HTTP/1.1\r", b"\nHost: t\r\n\r", b"\nGET /pieces HTTP/1.1\r\nHo"):
        connection.send(piece)
    assert connection.reply().body == b"contents"
    connection.send(b"st: t\r\n\r\n")
    assert connection.reply().body == b"contents"


def test_connections_that_overlap_get_their_own_files(every_server: Any) -> None:
    """All ask before any reads, several times over."""
    bodies = [os.urandom(30_000 + i) for i in range(24)]
    for i, body in enumerate(bodies):
        every_server.write(f"overlap{i}", body)
    connections = [every_server.connect() for _ in bodies]
    for turn in range(3):
        for i, connection in enumerate(connections):
            connection.ask(f"/overlap{(i + turn) % len(bodies)}")
        for i, connection in enumerate(connections):
            assert connection.reply().body == bodies[(i + turn) % len(bodies)]


def test_slow_reader_gets_the_whole_file(every_server: Any) -> None:
    """A client with a small window is served to the last byte, and can ask again on the same connection."""
    contents = os.urandom(3_000_000)
    every_server.write("slow", contents)
    connection = every_server.connect(receive_buffer=4096)
    connection.ask("/slow")
    connection.ask("/slow", "Connection: close")
    assert connection.reply().body == contents
    assert connection.reply().body == contents
    assert connection.is_closed_by_server()


def test_client_that_vanishes_harms_nobody(every_server: Any) -> None:
    """Connections reset in the middle of a reply are counted and forgotten; others are served."""
    every_server.write("vanish", bytes(5_000_000))
    every_server.write("vanish-small", b"contents")
    for _ in range(3):
        connection = every_server.connect(receive_buffer=4096)
        connection.ask("/vanish")
        assert connection.stream.read(1) == b"H"
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    assert every_server.connect().get("/vanish-small").body == b"contents"
    every_server.await_total(connections_open=1, connections_closed_by_client=3, requests_aborted=3)


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\nHost: t\n\n", 400),
        (b"GET / HTTP/2.0\r\nHost: t\r\n\r\n", 505),
        (b"GET / HTTP/1.1\r\nHost: t\r\nContent-Length: 1048577\r\n\r\nabc", 413),
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: t\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: t\r\n" + b"X: y\r\n" * 200 + b"\r\n", 431),
    ],
    ids=["no-host", "bare-lf", "version", "body", "long-target", "many-headers"],
)
def test_faulty_request_is_refused_and_the_connection_closed(
    every_server: Any, request_head: bytes, status: int
) -> None:
    """What cannot be trusted any more ends with its reply."""
    connection = every_server.connect()
    connection.send(request_head)
    reply = connection.reply()
    assert reply.status == status
    assert reply.headers["connection"] == "close"
    assert connection.is_closed_by_server()


BODIES = {
    "length": b"Content-Length: 300000\r\n\r\n" + b"x" * 300_000,
    "chunks": b"Transfer-Encoding: chunked\r\n\r\n" + b"7d0;a=b\r\n" + b"y" * 2000 + b"\r\n0\r\nT: v\r\n\r\n",
}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("piece", [1 << 20, 1000, 1])
def test_body_of_a_get_is_read_and_ignored(every_server: Any, method: str, body: str, piece: int) -> None:
    """However it is cut, the reply is that to the head, and the next request begins where the body ends."""
    every_server.write("bodied", b"contents")
    connection = every_server.connect()
    connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sent = b"%s /bodied HTTP/1.1\r\nHost: t\r\n%s" % (method.encode(), BODIES[body])
    if piece == 1:
        sent = sent.replace(b"300000", b"30").replace(b"x" * 300_000, b"x" * 30)
        sent = sent.replace(b"7d0", b"00014").replace(b"y" * 2000, b"y" * 20)
    sent += b"GET /bodied HTTP/1.1\r\nHost: t\r\n\r\n"
    for start in range(0, len(sent), piece):
        connection.send(sent[start : start + piece])
    assert connection.reply(method).status == 200
    assert connection.reply().body == b"contents"
    every_server.await_total(requests=2, connections_open=1)


def test_bytes_behind_the_last_request_do_not_destroy_its_reply(every_server: Any) -> None:
    """The server reads on until the client has the reply (RFC 9112 §9.6), instead of resetting."""
    contents = os.urandom(4_000_000)
    every_server.write("last", contents)
    connection = every_server.connect(receive_buffer=4096)
    connection.ask("/last", "Connection: close")
    assert connection.stream.peek(1)
    connection.send(b"x" * 20_000)
    assert connection.reply().body == contents
    assert connection.is_closed_by_server()


def test_file_that_was_shrunk_in_place_is_not_made_up_with_zeros(every_server: Any) -> None:
    """What arrives, if anything, is of the file."""
    path = every_server.write("shrunk", b"x" * 3000)
    connection = every_server.connect()
    assert connection.get("/shrunk").body == b"x" * 3000
    os.truncate(path, 1000)
    connection.ask("/shrunk")
    head = b""
    while (line := connection.stream.readline()) not in {b"", b"\r\n"}:
        head += line
    if head:
        length = int(head.lower().partition(b"content-length: ")[2].split()[0])
        assert connection.stream.read(length).strip(b"x") == b""


def test_half_closed_connection_gets_its_reply(every_server: Any) -> None:
    """A client that has ended its side is answered, then the connection is closed."""
    contents = os.urandom(300_000)
    every_server.write("half", contents)
    connection = every_server.connect()
    connection.ask("/half")
    connection.socket.shutdown(socket.SHUT_WR)
    assert connection.reply().body == contents
    assert connection.is_closed_by_server()


def test_statistics_are_exactly_what_the_client_saw(every_server: Any) -> None:
    """Requests, replies by status, bytes and connections add up over all processes, threads and stages."""
    contents = os.urandom(200_000)
    every_server.write("count", contents)
    received = 0
    for _ in range(5):
        connection = every_server.connect()
        for target, method in [("/count", "GET"), ("/count", "HEAD"), ("/count-none", "GET")] * 2:
            connection.ask(target, method=method)
            reply = connection.reply(method)
            received += len(reply.raw_head) + len(reply.body)
        connection.close()
    every_server.await_total(
        connections_open=0,
        connections_accepted=5,
        connections_closed_by_client=5,
        connections_closed_by_server=0,
        connections_timed_out=0,
        requests=30,
        replies_200=20,
        replies_404=10,
        bytes_sent=received,
    )
    total = every_server.total()
    assert total["service_time_us"]["count"] == 30
    assert total["cache_hits"] + total["cache_misses"] == 30
    stats = every_server.command("show stats")
    for metric in ("requests", "connections_accepted", "bytes_sent", "replies_200"):
        assert sum(row[metric] for row in stats["workers"]) == total[metric]


def test_what_is_no_regular_file_is_refused_without_waiting_for_it(every_server: Any) -> None:
    """A FIFO that nobody writes to holds nobody up, and neither does a socket or a device."""
    fifo, bound, device = (every_server.root / name for name in ("fifo", "sock", "null"))
    statuses = {fifo: 403, bound: 404}
    with socket.socket(socket.AF_UNIX) as unix:
        os.mkfifo(fifo)
        unix.bind(str(bound))
        with contextlib.suppress(PermissionError):  # only a privileged user makes devices
            os.mknod(device, stat.S_IFCHR | 0o644, os.makedev(1, 3))
            statuses[device] = 403
        connection = every_server.connect()
        for path, status in statuses.items():
            assert connection.get(f"/{path.name}").status == status
