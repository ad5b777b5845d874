"""What fails on a stream of HTTP/2 is that request's own."""

import threading
from typing import Any

import pytest
from h2.errors import ErrorCodes
from trimtab_tuner.workloads.content import file_content

from .conftest import BURSTS, ONE, Asked, Peer, cells


def resets(peer: Peer, asked: Asked) -> None:
    """Breaks the stream off within the body."""
    peer.h2.send_headers(asked.stream, [(":status", "200"), ("content-length", "10")])
    peer.h2.send_data(asked.stream, b"123")
    peer.h2.reset_stream(asked.stream, ErrorCodes.INTERNAL_ERROR)
    peer.flush()


def refuses(peer: Peer, asked: Asked) -> None:
    """Takes no stream."""
    peer.h2.reset_stream(asked.stream, ErrorCodes.REFUSED_STREAM)
    peer.flush()


def ends_early(peer: Peer, asked: Asked) -> None:
    """Ends the stream three bytes too soon."""
    peer.reply(asked, b"1234567", announced=10)


def sends_too_much(peer: Peer, asked: Asked) -> None:
    """Sends more than it announces."""
    peer.reply(asked, b"1234567890123", announced=10)


def another_length(peer: Peer, asked: Asked) -> None:
    """Announces and sends another length than the log expects."""
    peer.reply(asked, b"123456")


def an_error(peer: Peer, asked: Asked) -> None:
    """Answers with an error."""
    peer.h2.send_headers(asked.stream, [(":status", "503"), ("content-length", "0")], end_stream=True)
    peer.flush()


def no_status(peer: Peer, asked: Asked) -> None:
    """Sends a head that is none."""
    peer.h2.send_headers(asked.stream, [("content-length", "10")], end_stream=True)
    peer.flush()


@pytest.mark.parametrize(
    ("misbehave", "reason"),
    [
        (resets, "rst-stream-INTERNAL_ERROR"),
        (refuses, "rst-stream-REFUSED_STREAM"),
        (ends_early, "closed-early"),
        (sends_too_much, "unexpected-data"),
        (another_length, "wrong-length"),
        (an_error, "status-503"),
        (no_status, "malformed-head"),
    ],
)
def test_failure_of_a_stream_is_its_own(ask, serve, write_log, misbehave, reason):
    """The request fails for that reason, and the session goes on over the same connection."""

    def script(connection: Any) -> None:
        peer = Peer(connection)
        peer.h2.config.validate_outbound_headers = False
        for number in range(3):
            asked = peer.await_asked(number + 1)[number]
            (misbehave if number == 1 else Peer.reply)(peer, asked)
        peer.until_end()

    log = write_log("/a size=10\n/b size=10\n/c size=10\n")
    result = ask(serve(script).url, *ONE, "--sessions", log)
    assert cells(result) == {"replied": 2, "failed": 1}
    assert result["failures"] == {reason: 1}
    assert result["sessions"]["failed"] == 1
    assert result["sessions"]["reopened"] == 0


def test_wrong_contents_are_found_on_their_stream(ask, serve_h2, write_log):
    """Of two replies at once, cut into frames that alternate, the one with a wrong byte is found."""
    contents = {path: file_content(path, 5000) for path in ("/a", "/b")}
    contents["/b"] = contents["/b"][:4321] + b"!" + contents["/b"][4322:]

    def script(peer: Peer) -> None:
        peer.reply(peer.await_asked(1)[0])
        peer.await_asked(3)
        for asked in peer.asked[1:]:
            peer.h2.send_headers(asked.stream, [(":status", "200"), ("content-length", "5000")])
        for begin in range(0, 5000, 1000):
            for asked in peer.asked[1:]:
                part = contents[asked.path][begin : begin + 1000]
                peer.h2.send_data(asked.stream, part, end_stream=begin == 4000)
        peer.flush()
        peer.until_end()

    log = write_log("/page method=HEAD\n /a size=5000\n /b size=5000\n")
    result = ask(serve_h2(script).url, *ONE, "--sessions", log, "--verify=all")
    assert result["failures"] == {"unexpected-data": 1, "wrong-content": 1}  # a body after HEAD is one, too
    assert cells(result) == {"replied": 1, "failed": 2}


def test_session_timeout_takes_every_stream(ask, serve_h2, write_log):
    """Each request under way is counted as timed out, and the next burst as abandoned."""

    def script(peer: Peer) -> None:
        peer.reply(peer.await_asked(1)[0])
        peer.await_asked(4)
        peer.reply(peer.asked[1])
        peer.connection.stall()

    log = write_log(BURSTS)
    result = ask(serve_h2(script).url, *ONE[:-1], "5", "--sessions", log)
    assert cells(result) == {"replied": 2, "timed_out_after_read": 2, "abandoned": 1}
    assert result["sessions"]["timed_out"] == 1


def test_server_that_answers_nobody_has_read_nothing(ask, serve_h2):
    """Its settings alone, which it sends without having read, do not count as an answer."""
    result = ask(serve_h2(lambda peer: peer.connection.stall()).url, *ONE[:-1], "0.3")
    assert cells(result) == {"timed_out_before_read": 1}


@pytest.mark.live
def test_closed_loop_gives_up_a_stream_alone(ask, serve_h2):
    """A request that is never answered times out and is cancelled; others of the connection go on."""
    cancelled: list[int] = []
    ended = threading.Event()

    def script(peer: Peer) -> None:
        done = 1  # the second request stays without a reply
        peer.reply(peer.await_asked(1)[0])
        peer.await_asked(2)
        while len(peer.await_asked(done + 2)) > done + 1:
            peer.reply(peer.asked[done + 1])
            done += 1
        cancelled.extend(peer.reset)
        ended.set()

    result = ask(
        serve_h2(script).url,
        *("--connections=1", "--streams=3", "--duration=2", "--timeout=1.5"),
        mode="closed",
    )
    assert result["requests"]["timed_out_after_read"] == 1
    assert result["requests"]["replied"] == result["requests"]["offered"] - 1 > 10
    assert ended.wait(30)
    assert len(cancelled) == 1
    assert result["sessions"]["timed_out"] == 1  # a session with a request that did
