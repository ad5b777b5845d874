"""Bodies without a Content-Length: in chunks, or as long as the connection lasts."""

import socket

import pytest
from trimtab_tuner.workloads.content import file_content

from .conftest import TEN_SESSIONS_OF_THREE, cells

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
TARGET = "/a%20file"
SIZES = (1, 8, 1000, 16_384, 100_001)
"""Less than what is received at once, and more."""


def in_chunks(body, size, extension=b"", trailers=b""):
    """The body in chunks of `size` bytes."""
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    framed = b"".join(b"%x%b\r\n%b\r\n" % (len(each), extension, each) for each in chunks)
    return framed + b"0" + extension + b"\r\n" + trailers + b"\r\n"


def serves_in_chunks(size, **framing):
    """The generated file of each target, as long as its query says, in chunks of `size` bytes."""

    def script(connection):
        while True:
            target, _, length = connection.read_request().target.partition("?")
            body = file_content(target, int(length))
            connection.send(CHUNKED + b"\r\n" + in_chunks(body, size, **framing))

    return script


def ask_for_sizes(load, server, write_log, *arguments):
    """Two sessions that ask for a file of each size, and want it to be as it should."""
    log = write_log("".join(f"{TARGET}?{size} size={size}\n" for size in SIZES))
    rate = ("--rate", str(len(SIZES) * 20), "--duration", "0.1")
    return load(server.url, "--sessions", log, *rate, "--verify", "all", *arguments).result


@pytest.mark.parametrize("size", [7, 1000, 8000, 65_536])
@pytest.mark.parametrize("mode", ["open", "closed"])
def test_contents_of_chunks_are_what_counts(load, serve, write_log, size, mode):
    """Their length and their bytes are compared, not their framing, and the connection is kept."""
    server = serve(serves_in_chunks(size))
    log = write_log("".join(f"{TARGET}?{each} size={each}\n" for each in SIZES))
    how = (
        ("--rate", "100", "--duration", "0.1")
        if mode == "open"
        else ("--connections", "2", "--duration", "1")
    )
    result = load(server.url, "--sessions", log, *how, "--verify", "all", mode=mode).result
    assert result["failures"] == {}
    replied = result["requests"]["replied"]
    assert replied >= 2 * len(SIZES)
    assert result["replies"]["verified"] == replied
    assert result["sessions"]["reopened"] == 0
    assert {each["size_bytes"] for each in result["size_classes"]} == set(SIZES)


def test_extensions_and_trailers_are_read_over(load, serve, write_log):
    """Recipients ignore those that they do not know (RFC 9112, section 7.1.1)."""
    framing = {"extension": b' ; a="b"', "trailers": b"X-Sum: 1\r\nContent-Length: 3\r\n"}
    result = ask_for_sizes(load, serve(serves_in_chunks(500, **framing)), write_log)
    assert cells(result) == {"replied": 2 * len(SIZES)}
    assert result["replies"]["verified"] == 2 * len(SIZES)


def test_goodput_counts_heads_and_contents(load, serve):
    """What chunks take beside that is received, and no good."""
    result = load(serve(serves_in_chunks(10)).url + "/x?95", *TEN_SESSIONS_OF_THREE).result
    assert cells(result) == {"replied": 30}
    head = len(CHUNKED) + 2
    whole = head + len(in_chunks(bytes(95), 10))
    assert result["bytes_received"] == 30 * whole
    assert result["window"]["bytes"] == result["window"]["replies"] * (head + 95)
    assert [each["size_bytes"] for each in result["size_classes"]] == [95]  # nobody has said it before


def test_chunks_in_single_bytes_are_put_together(load, serve):
    """They may be cut anywhere."""
    body = in_chunks(b"abc", 2, b";x", b"T: v\r\n")

    def script(connection):
        connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(3):
            connection.read_request()
            for byte in CHUNKED + b"\r\n" + body:
                connection.send(bytes([byte]))

    result = load(serve(script).url, *TEN_SESSIONS_OF_THREE).result
    assert cells(result) == {"replied": 30}


def test_slow_clients_read_chunks(load, serve):
    """At their pace, which leaves off anywhere."""
    result = load(
        serve(serves_in_chunks(100)).url + "/x?2000",
        *("--rate", "10", "--duration", "0.25", "--slow-share", "1", "--slow-pace", "20000"),
    ).result
    assert cells(result) == {"replied": 3}
    assert result["sessions"]["slow"] == 3


@pytest.mark.parametrize(
    ("make_wrong", "reason"),
    [
        (lambda body: body[:-1], "wrong-length"),
        (lambda body: body[:900] + bytes([body[900] ^ 1]) + body[901:], "wrong-content"),
    ],
)
def test_wrong_contents_of_chunks_fail_and_the_session_goes_on(load, serve, write_log, make_wrong, reason):
    """The reply was complete, so the connection is as good as before."""

    def script(connection):
        for _ in range(2):
            body = file_content(connection.read_request().target, 1000)
            connection.send(CHUNKED + b"\r\n" + in_chunks(make_wrong(body), 300))

    log = write_log("/x size=1000\n/y size=1000\n")
    result = load(
        serve(script).url, "--sessions", log, "--rate", "40", "--duration", "0.1", "--verify", "all"
    ).result
    assert result["failures"] == {reason: 4}
    assert result["replies"]["by_status"] == {"200": 4}
    assert result["sessions"]["reopened"] == 0


def test_unchanged_file_counts_with_the_size_that_its_chunks_had(load, serve):
    """The head with its tag has not told it."""

    def script(connection):
        while True:
            if "If-None-Match" in connection.read_request().fields:
                connection.send(b"HTTP/1.1 304 Not Modified\r\n\r\n")
            else:
                connection.send(CHUNKED + b'ETag: "v1"\r\n\r\n' + in_chunks(bytes(500), 100))

    conditional = ("--conditional-share", "1")
    result = load(
        serve(script).url, "--rate", "200", "--duration", "0.045", "--session-requests", "10", *conditional
    ).result
    assert result["replies"]["by_status"] == {"200": 1, "304": 9}
    assert [(each["size_bytes"], each["replied"]) for each in result["size_classes"]] == [(500, 10)]


def closes_with_each_reply(connection):
    """The generated file of the target, and the end of the stream behind it."""
    target, _, length = connection.read_request().target.partition("?")
    connection.send(b"HTTP/1.1 200 OK\r\n\r\n" + file_content(target, int(length)))


def test_body_may_end_with_the_connection(load, serve, write_log):
    """Where nothing says how long it is; the session goes on over another connection."""
    result = ask_for_sizes(load, serve(closes_with_each_reply), write_log)
    assert cells(result) == {"replied": 2 * len(SIZES)}
    assert result["replies"]["verified"] == 2 * len(SIZES)
    assert result["sessions"]["completed"] == 2
    assert result["sessions"]["reopened"] == 2 * (len(SIZES) - 1)


def test_body_that_nobody_looks_at_may_end_with_the_connection_too(load, serve):
    """Empty, or longer than what is received at once; also where connections end with RST."""
    for size in (0, 300_000):
        server = serve(closes_with_each_reply)
        result = load(f"{server.url}/x?{size}", *TEN_SESSIONS_OF_THREE, "--close", "reset").result
        assert cells(result) == {"replied": 30}
        assert [each["size_bytes"] for each in result["size_classes"]] == [size]


def test_body_that_ends_with_the_connection_has_a_length_too(load, serve, write_log):
    """One that the log does not expect fails."""
    log = write_log("/a?9 size=10\n/b?10 size=10\n")
    result = load(
        serve(closes_with_each_reply).url, "--sessions", log, "--rate", "40", "--duration", "0.1"
    ).result
    assert result["failures"] == {"wrong-length": 2}
    assert result["requests"]["replied"] == 2


def test_connection_that_stays_open_ends_no_body(load, serve):
    """Then the timeout does."""

    def script(connection):
        connection.read_request()
        connection.send(b"HTTP/1.1 200 OK\r\n\r\nbody")
        connection.stall()

    result = load(
        serve(script).url, *TEN_SESSIONS_OF_THREE, "--timeout", "2", "--connect-timeout", "60"
    ).result
    assert cells(result) == {"timed_out_after_read": 10, "abandoned": 20}
