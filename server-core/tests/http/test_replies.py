"""What a client gets: bytes, heads and statuses, in every architecture and with every way of sending."""

from __future__ import annotations

import os
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = [0, 1, 1023, 65536, 3_000_001]


@pytest.mark.parametrize("size", SIZES)
def test_file_arrives_byte_for_byte(server: Any, size: int) -> None:
    """The body is the file, whatever its size."""
    contents = os.urandom(size)
    server.write("file", contents)
    reply = server.connect().get("/file")
    assert reply.status == 200
    assert reply.body == contents
    assert reply.headers["content-length"] == str(size)


def test_head_of_a_reply_is_complete(server: Any) -> None:
    """Date in the form of HTTP, media type, length, server."""
    server.write("a.html", b"<p>")
    headers = server.connect().get("/a.html").headers
    assert headers["content-type"] == "text/html"
    assert headers["server"] == "trimtab-httpd"
    assert headers["accept-ranges"] == "bytes"
    assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", headers["date"])
    assert "connection" not in headers


def test_connection_persists_over_many_requests(server: Any) -> None:
    """One connection carries requests of every kind until the client closes it."""
    server.write("file", b"contents")
    connection = server.connect()
    for _ in range(20):
        assert connection.get("/file").body == b"contents"
        assert connection.get("/missing").status == 404
        assert connection.get("/file", method="HEAD").headers["content-length"] == "8"
        assert connection.get("/file", method="DELETE").status == 405
    server.await_total(connections_accepted=1, requests=80)


def test_pipelined_requests_are_answered_in_order(server: Any) -> None:
    """Requests sent without waiting yield their replies one after the other."""
    bodies = [os.urandom(1000 * i) for i in range(60)]
    for i, body in enumerate(bodies):
        server.write(str(i), body)
    connection = server.connect()
    for i in range(len(bodies)):
        connection.ask(f"/{i}")
    for body in bodies:
        assert connection.reply().body == body


def test_flood_of_pipelined_requests_is_answered_completely(server: Any) -> None:
    """More requests than any buffer holds, sent by a client that reads at the same time."""
    count = 20_000
    server.write("f", b"x")
    connection = server.connect()
    flood = threading.Thread(target=connection.send, args=(b"GET /f HTTP/1.1\r\nHost: t\r\n\r\n" * count,))
    flood.start()
    for _ in range(count):
        assert connection.reply().body == b"x"
    flood.join()
    server.await_total(requests=count, replies_200=count)


def test_request_that_comes_byte_by_byte_is_served(server: Any) -> None:
    """It does not matter how a request is cut into packets."""
    server.write("file", b"contents")
    connection = server.connect()
    connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in b"GET /file HTTP/1.1\r\nHost: test\r\n\r\n" * 2:
        connection.send(bytes([byte]))
    assert connection.reply().body == b"contents"
    assert connection.reply().body == b"contents"


def test_slow_reader_gets_the_whole_file(start: Callable[..., Any], mode: dict[str, str]) -> None:
    """A client with a tiny window is served to the last byte, while others are served too."""
    server = start(**mode, sndbuf=16384, request_timeout=60)
    contents = os.urandom(2_000_000)
    server.write("big", contents)
    slow = server.connect(receive_buffer=4096)
    slow.ask("/big")
    assert slow.reply().body == contents
    server.await_total(replies_200=1)  # counted once the last call has returned
    total = server.total()
    if mode["sendfile"] == "blocking":
        assert total["sendfile_calls"] == 1
    else:
        assert total["write_partial" if mode["sendfile"] == "off" else "sendfile_partial"] > 1


def test_client_that_has_ended_its_side_gets_its_reply(server: Any) -> None:
    """A half-closed connection is answered, then closed."""
    server.write("file", b"contents")
    connection = server.connect()
    connection.ask("/file")
    connection.socket.shutdown(socket.SHUT_WR)
    assert connection.reply().body == b"contents"
    assert connection.is_closed_by_server()
    server.await_total(connections_closed_by_client=1, connections_open=0)


def test_http_1_0_closes_unless_asked_to_stay(server: Any) -> None:
    """HTTP/1.0 closes by default; keep-alive is confirmed."""
    server.write("file", b"contents")
    connection = server.connect()
    kept = connection.get("/file", "Connection: keep-alive", version="1.0")
    assert kept.headers["connection"] == "keep-alive"
    closed = connection.get("/file", version="1.0")
    assert closed.headers["connection"] == "close"
    assert connection.is_closed_by_server()


def test_connection_close_is_obeyed_and_announced(server: Any) -> None:
    """The reply says that the connection closes, it does, and later requests on it are ignored."""
    server.write("file", b"contents")
    connection = server.connect()
    request = b"GET /file HTTP/1.1\r\nHost: test\r\n"
    connection.send(request + b"Connection: close\r\n\r\n" + request + b"\r\n")
    reply = connection.reply()
    assert reply.headers["connection"] == "close"
    assert reply.body == b"contents"
    assert connection.is_closed_by_server()
    server.await_total(requests=1)


def test_body_that_awaits_leave_is_not_waited_for(server: Any) -> None:
    """The client gets its reply instead of `100 Continue`, and learns that its body will not be read."""
    server.write("file", b"contents")
    connection = server.connect()
    reply = connection.get("/file", "Expect: 100-continue", "Content-Length: 5")
    assert (reply.status, reply.headers["connection"]) == (200, "close")
    assert reply.body == b"contents"
    connection.socket.shutdown(socket.SHUT_WR)
    assert connection.is_closed_by_server()


def test_directory_is_served_by_its_index(server: Any) -> None:
    """A trailing slash means index.html; a directory without index is refused."""
    server.write("index.html", b"top")
    server.write("with/index.html", b"below")
    server.write("without/file", b"")
    connection = server.connect()
    assert connection.get("/").body == b"top"
    assert connection.get("/with/").body == b"below"
    assert connection.get("/without/").status == 403


def test_directory_without_slash_redirects_to_the_one_with_it(server: Any) -> None:
    """The location is the normalised path with the query, so it cannot lead to another host."""
    server.write("a dir/index.html", b"")
    connection = server.connect()
    reply = connection.get("//x/../a%20dir?q=1")
    assert reply.status == 301
    assert reply.headers["location"] == "/a%20dir/?q=1"
    query = "?" + "q" * 8000
    assert connection.get(f"/a%20dir{query}").headers["location"] == f"/a%20dir/{query}"


@pytest.mark.parametrize(
    "target",
    [
        "/../secret",
        "/%2e%2e/secret",
        "/..%2fsecret",
        "/a/../../secret",
        "/a/%2e%2e%2f%2e%2e/secret",
        "//etc/passwd",
        "/%2fetc%2fpasswd",
        "http://host/../secret",
    ],
)
def test_dot_dot_and_absolute_paths_yield_404(server: Any, target: str) -> None:
    """No spelling of a path leaves the root."""
    (server.root.parent / "secret").write_bytes(b"secret")
    (server.root / "a").mkdir()
    reply = server.connect().get(target)
    assert reply.status == 404
    assert b"secret" not in reply.body


@pytest.mark.parametrize("destination", ["../secret", "/etc/passwd", "..", "/"])
def test_link_out_of_the_root_yields_403(server: Any, destination: str) -> None:
    """A symbolic link to the outside is not followed, neither as a file nor on the way to one."""
    (server.root.parent / "secret").write_bytes(b"secret")
    (server.root / "link").symlink_to(destination)
    connection = server.connect()
    for target in ("/link", "/link/", "/link/secret"):
        assert connection.get(target).status in {403, 404}
    assert connection.get("/link").status == 403


def test_link_within_the_root_is_followed(server: Any) -> None:
    """Links that stay below the root are as good as files."""
    server.write("dir/file", b"contents")
    (server.root / "link").symlink_to("dir/file")
    assert server.connect().get("/link").body == b"contents"


REFUSED = {
    "bare-lf": (b"GET / HTTP/1.1\nHost: t\n\n", 400),
    "obs-fold": (b"GET / HTTP/1.1\r\nHost: t\r\nX: a\r\n b\r\n\r\n", 400),
    "no-host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "two-hosts": (b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
    "length-and-coding": (
        b"GET / HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        400,
    ),
    "long-body": (b"GET / HTTP/1.1\r\nHost: t\r\nContent-Length: 1048577\r\n\r\nhello", 413),
    "long-chunk": (b"GET / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n100001\r\n", 413),
    "chunk-size": (b"GET / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\n", 400),
    "long-line": (b"GET /" + b"a" * 8192 + b" HTTP/1.1\r\nHost: t\r\n\r\n", 414),
    "expectation": (b"GET / HTTP/1.1\r\nHost: t\r\nExpect: tea\r\n\r\n", 417),
    "long-headers": (b"GET / HTTP/1.1\r\nHost: t\r\nX: " + b"a" * 16384 + b"\r\n\r\n", 431),
    "many-headers": (b"GET / HTTP/1.1\r\nHost: t\r\n" + b"X: a\r\n" * 100 + b"\r\n", 431),
    "coding": (b"GET / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
    "version": (b"GET / HTTP/2.0\r\nHost: t\r\n\r\n", 505),
}


@pytest.mark.parametrize("what", REFUSED)
def test_faulty_request_is_refused_and_the_connection_closed(server: Any, what: str) -> None:
    """The client learns the reason, although it may still be sending when the server hangs up."""
    request, status = REFUSED[what]
    connection = server.connect()
    connection.send(request)
    reply = connection.reply()
    assert reply.status == status
    assert reply.headers["connection"] == "close"
    assert connection.is_closed_by_server()
    server.await_total(**{f"replies_{status}": 1, "requests": 1})


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("GET", "/%zz", 400),
        ("GET", "/a%00b", 400),
        ("GET", "/" + "a/" * 2100, 414),
        ("POST", "/", 405),
        ("OPTIONS", "*", 405),
        ("BREW", "/", 501),
    ],
)
def test_request_that_cannot_be_served_leaves_the_connection_open(
    server: Any, method: str, target: str, status: int
) -> None:
    """Its framing is sound, so the next request is answered."""
    server.write("file", b"contents")
    connection = server.connect()
    reply = connection.get(target, method=method)
    assert reply.status == status
    if status == 405:
        assert reply.headers["allow"] == "GET, HEAD"
    assert connection.get("/file").body == b"contents"


def test_long_body_that_is_refused_does_not_destroy_the_reply(server: Any) -> None:
    """The server discards what the client still sends, so its reply arrives instead of a reset."""
    connection = server.connect()
    connection.send(b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 300000\r\n\r\n" + b"x" * 300_000)
    assert connection.reply().status == 405
    assert connection.is_closed_by_server()


def test_replaced_file_is_served_anew(server: Any, await_state: Callable[..., Any]) -> None:
    """A file that was renamed into place is seen, while the old one is not mixed into it."""
    server.write("file", b"old")
    connection = server.connect()
    assert connection.get("/file").body == b"old"
    server.write("other", b"replaced").rename(server.root / "file")
    await_state(lambda: connection.get("/file").body == b"replaced")


def test_file_that_shrinks_while_it_is_sent_closes_the_connection(
    start: Callable[..., Any], mode: dict[str, str], await_state: Callable[..., Any]
) -> None:
    """Fewer bytes than announced arrive, all of them right, and the log says which file it was."""
    server = start(**mode, sndbuf=16384, cache_mb=1)  # which is too little to keep it in memory
    path = server.write("big", b"x" * 30_000_000)
    connection = server.connect(receive_buffer=4096)
    connection.ask("/big")
    await_state(lambda: server.total()["bytes_sent"] > 0)
    os.truncate(path, 1_000_000)
    received = connection.stream.read()
    assert received.endswith(b"x")
    assert len(received) < 30_000_000
    await_state(lambda: "/big became shorter while it was being sent" in server.log())


def test_small_replies_that_fit_the_socket_in_part_arrive_whole(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """They leave from where they lie in the cache; what the socket does not take of one waits as a copy."""
    server = start(architecture="sped", sndbuf=16384)
    bodies = [os.urandom(8000) for _ in range(5)]
    for number, body in enumerate(bodies):
        server.write(str(number), body)
    connection = server.connect(receive_buffer=4096)

    def are_kept() -> bool:
        """A file that has changed just now is not kept yet."""
        before = server.total()["contents_hits"]
        for number, body in enumerate(bodies):
            assert connection.get(f"/{number}").body == body
        return bool(server.total()["contents_hits"] == before + len(bodies))

    await_state(are_kept)
    for _ in range(20):
        for number in range(len(bodies)):
            connection.ask(f"/{number}")
    other = server.connect()
    for number, body in enumerate(bodies):
        assert other.get(f"/{number}").body == body
    for _ in range(20):
        for body in bodies:
            assert connection.reply().body == body


def test_many_clients_at_once_get_their_own_files(server: Any) -> None:
    """Clients that overlap do not get each other's bytes."""
    bodies = {f"/{i}": os.urandom(50_000 + i) for i in range(8)}
    for target, body in bodies.items():
        server.write(target[1:], body)

    def client(target: str) -> bool:
        connection = server.connect()
        return all(connection.get(target).body == bodies[target] for _ in range(30))

    with ThreadPoolExecutor(32) as pool:
        assert all(pool.map(client, list(bodies) * 4))


def test_ipv6_address_is_served(start: Callable[..., Any]) -> None:
    """Several addresses, of both families, lead to the same files."""
    server = start(listen="[::1]:0,127.0.0.1:0")
    server.write("file", b"contents")
    addresses = server.command("show info")["listen"]
    assert [address.rsplit(":", 1)[0] for address in addresses] == ["[::1]", "127.0.0.1"]
    assert server.connect().get("/file").body == b"contents"
    server.address = ("127.0.0.1", int(addresses[1].rsplit(":", 1)[1]))
    assert server.connect().get("/file").body == b"contents"
