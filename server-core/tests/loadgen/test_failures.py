"""What misbehaving servers do to sessions, and in which cell of the result it is counted."""

import socket

import pytest

from .conftest import TEN_SESSIONS_OF_THREE, cells

# Where the timeout is waited for: long enough for what has to happen before, and no arrival comes too late.
TIMING_OUT = ("--timeout", "4", "--connect-timeout", "60")


def test_absent_server_yields_connect_refused(load):
    """Nobody listens: each session's first request fails, the others are abandoned, and there is a result."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        result = load("http://{}:{}".format(*reserved.getsockname()), *TEN_SESSIONS_OF_THREE).result
    assert cells(result) == {"failed": 10, "abandoned": 20}
    assert result["failures"] == {"connect-refused": 10}
    assert result["sessions"]["failed"] == 10
    assert result["goodput_mbps"] == 0


def test_full_accept_queue_yields_connect_timeouts(load, serve):
    """A server that never accepts: connects time out, which counts as not read by the server."""
    server = serve(None, backlog=0)
    result = load(server.url, *TEN_SESSIONS_OF_THREE, "--timeout", "4").result
    assert result["sessions"]["timed_out_connect"] >= 8  # the accept queue takes one or two
    assert result["sessions"]["timed_out_connect"] + result["sessions"]["timed_out"] == 10
    assert cells(result) == {"timed_out_before_read": 10, "abandoned": 20}


def stalls_before_reading(connection):
    """Accepts and never reads."""
    connection.stall()


def stalls_after_reading(connection):
    """Reads the request and never replies."""
    connection.read_request()
    connection.stall()


def stalls_after_first_reply(connection):
    """Never reads the second request."""
    connection.read_request()
    connection.reply()
    connection.stall()


def stalls_within_head(connection):
    """Sends a status line and no more."""
    connection.read_request()
    connection.send(b"HTTP/1.1 200 OK\r\n")
    connection.stall()


def stalls_after_half_a_body(connection):
    """Sends half of what it has announced."""
    connection.read_request()
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + bytes(50000))
    connection.stall()


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (stalls_before_reading, {"timed_out_before_read": 10, "abandoned": 20}),
        (stalls_after_reading, {"timed_out_before_read": 10, "abandoned": 20}),
        (stalls_after_first_reply, {"replied": 10, "timed_out_after_read": 10, "abandoned": 10}),
        (stalls_within_head, {"timed_out_after_read": 10, "abandoned": 20}),
        (stalls_after_half_a_body, {"timed_out_after_read": 10, "abandoned": 20}),
    ],
)
def test_stalled_server_yields_session_timeouts(load, serve, script, expected):
    """The session timeout hits the request at hand; a byte from the server shows that it was read."""
    result = load(serve(script).url, *TEN_SESSIONS_OF_THREE, *TIMING_OUT).result
    assert expected == cells(result)
    assert result["sessions"]["timed_out"] == 10
    assert result["failures"] == {}


def test_timeout_while_thinking_abandons_the_rest(load, serve, write_log):
    """No request is outstanding when the timeout comes, so none has timed out."""
    log = write_log("/a think=30\n/b\n/c\n")
    result = load(
        serve(always_replies).url, "--sessions", log, "--rate", "60", "--duration", ".5", *TIMING_OUT
    ).result
    assert cells(result) == {"replied": 10, "abandoned": 20}
    assert result["sessions"]["timed_out"] == 10


def always_replies(connection):
    """Ten bytes for every request."""
    while True:
        connection.read_request()
        connection.reply()


def resets_within_head(connection):
    """RST in the middle of a header line."""
    connection.read_request()
    connection.send(b"HTTP/1.1 200 OK\r\nContent-")
    connection.reset()


def closes_without_reply(connection):
    """FIN instead of a reply."""
    connection.read_request()


def closes_after_half_a_body(connection):
    """FIN in the middle of the body."""
    connection.read_request()
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + bytes(50000))


def sends_garbage(connection):
    """The beginning of another protocol."""
    connection.read_request()
    connection.send(b"\x16\x03\x01 this is not HTTP")
    connection.stall()


def sends_bare_line_feeds(connection):
    """LF where CR LF belongs."""
    connection.read_request()
    connection.send(b"HTTP/1.1 200 OK\nContent-Length: 0\n\r\n\r\n")
    connection.stall()


def sends_endless_head(connection):
    """A header line longer than any head may be."""
    connection.read_request()
    connection.send(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 20000)
    connection.stall()


def sends(reply):
    """Those bytes as the reply to the first request, and nothing more."""

    def script(connection):
        connection.read_request()
        connection.send(b"HTTP/1.1 200 OK\r\n" + reply)
        connection.stall()

    return script


CHUNKED = b"Transfer-Encoding: chunked\r\n"


def closes_within_a_chunk(connection):
    """FIN before the chunk is whole."""
    connection.read_request()
    connection.send(b"HTTP/1.1 200 OK\r\n" + CHUNKED + b"\r\n5\r\nabc")


def sends_more_than_announced(connection):
    """One byte too many."""
    connection.read_request()
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbody")
    connection.stall()


def sends_more_than_announced_behind_a_long_body(connection):
    """One byte too many, far from the head."""
    connection.read_request()
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + bytes(300001))
    connection.stall()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (resets_within_head, "reset"),
        (closes_without_reply, "closed-early"),
        (closes_after_half_a_body, "closed-early"),
        (sends_garbage, "malformed-head"),
        (sends_bare_line_feeds, "malformed-head"),
        (sends_endless_head, "head-too-long"),
        (sends(b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), "transfer-encoding"),
        (sends(CHUNKED + b"Content-Length: 5\r\n\r\n0\r\n\r\n"), "malformed-head"),
        (sends(CHUNKED + b"\r\nbody"), "malformed-chunk"),
        (sends(CHUNKED + b"\r\n3\r\nbody\r\n0\r\n\r\n"), "malformed-chunk"),
        (sends(CHUNKED + b"\r\n0\r\nT: " + b"t" * 20_000), "malformed-chunk"),
        (sends(CHUNKED + b"\r\n0\r\n\r\nmore"), "unexpected-data"),
        (closes_within_a_chunk, "closed-early"),
        (sends_more_than_announced, "unexpected-data"),
        (sends_more_than_announced_behind_a_long_body, "unexpected-data"),
    ],
)
def test_broken_reply_fails_with_its_reason(load, serve, script, reason):
    """The request fails with a named reason; what the session would still have asked is abandoned."""
    result = load(serve(script).url, *TEN_SESSIONS_OF_THREE).result
    assert cells(result) == {"failed": 10, "abandoned": 20}
    assert {reason: 10} == result["failures"]
    assert result["sessions"]["failed"] == 10


@pytest.mark.parametrize("piece", [1, 1000])
def test_replies_that_only_announce_another_are_passed_over(load, serve, piece):
    """What comes first with a status of 1xx is no reply (RFC 9110 §15.2), however it is cut into packets."""
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"

    def script(connection):
        connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            connection.read_request()
            sent = (
                b"HTTP/1.1 100 Continue\r\n\r\n" + early + b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"
            )
            for start in range(0, len(sent), piece):
                connection.send(sent[start : start + piece])

    result = load(serve(script).url, *TEN_SESSIONS_OF_THREE).result
    assert cells(result) == {"replied": 30}
    assert result["replies"]["by_status"] == {"200": 30}
    assert [each["size_bytes"] for each in result["size_classes"]] == [3]


def test_announced_close_is_followed_by_a_new_connection(load, serve):
    """`Connection: close` on a reply ends the connection and not the session."""

    def script(connection):
        connection.read_request()
        connection.reply(extra="Connection: close\r\n")

    server = serve(script)
    result = load(server.url, *TEN_SESSIONS_OF_THREE).result
    assert cells(result) == {"replied": 30}
    assert result["sessions"]["completed"] == 10
    assert result["sessions"]["reopened"] == 20
    assert len({request.connection for request in server.requests}) == 30


def test_server_that_goes_away_after_an_announced_close_fails_the_next_request(load, serve):
    """The new connection is refused: one request failed, the rest of the session is abandoned."""

    def script(connection):
        connection.read_request()
        connection.server.stop_listening()
        connection.reply(extra="Connection: close\r\n")

    result = load(serve(script).url, "--rate", "30", "--duration", "0.05", "--session-requests", "3").result
    assert cells(result) == {"replied": 1, "failed": 1, "abandoned": 1}
    assert result["failures"] == {"connect-refused": 1}


def test_connection_closed_while_thinking_fails_the_next_request(load, serve, write_log):
    """A server that closes an idle connection is noticed at once, not when the think time is over."""

    def script(connection):
        connection.read_request()
        connection.reply()

    log = write_log("/a think=30\n/b\n")
    result = load(serve(script).url, "--sessions", log, "--rate", "40", "--duration", "0.5").result
    assert cells(result) == {"replied": 10, "failed": 10}
    assert result["failures"] == {"closed-early": 10}
    assert result["elapsed_s"] < 30


def test_error_status_fails_the_request_and_the_session_goes_on(load, serve):
    """503 and then 200 on one connection: one request of two failed, nothing was abandoned."""

    def script(connection):
        connection.read_request()
        connection.reply(status="503 Service Unavailable")
        connection.read_request()
        connection.reply()

    result = load(serve(script).url, "--rate", "40", "--duration", "0.5", "--session-requests", "2").result
    assert cells(result) == {"replied": 10, "failed": 10}
    assert result["failures"] == {"status-503": 10}
    assert result["replies"]["by_status"] == {"200": 10, "503": 10}
    assert result["sessions"]["failed"] == 10


def test_wrong_length_fails_the_request_and_the_session_goes_on(load, serve, write_log):
    """A reply of another length than the log expects is read to its end and fails in its class."""
    log = write_log("/a size=11\n/b size=10\n")
    result = load(serve(always_replies).url, "--sessions", log, "--rate", "40", "--duration", "0.5").result
    assert cells(result) == {"replied": 10, "failed": 10}
    assert result["failures"] == {"wrong-length": 10}
    by_size = {c["size_bytes"]: (c["replied"], c["failed"]) for c in result["size_classes"]}
    assert by_size == {10: (10, 0), 11: (0, 10)}


def test_slow_replies_are_waited_for(load, serve):
    """Within the timeout, slowness is latency and nothing else."""

    def script(connection):
        while True:
            connection.read_request()
            connection.server.over.wait(0.1)
            connection.reply()

    result = load(serve(script).url, *TEN_SESSIONS_OF_THREE).result
    assert cells(result) == {"replied": 30}
    assert result["latency_us"]["first_byte"]["p50"] >= 100_000
    assert result["latency_us"]["reply"]["p50"] >= 100_000


def test_reply_in_single_bytes_is_put_together(load, serve):
    """A head may come in any number of pieces."""

    def script(connection):
        connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(3):
            connection.read_request()
            for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde":
                connection.send(bytes([byte]))

    result = load(serve(script).url, *TEN_SESSIONS_OF_THREE).result
    assert cells(result) == {"replied": 30}
    assert result["bytes_received"] == 30 * 43
