"""Streams of a session over HTTP/2: how many, in which order, and what is asked on them."""

import threading

import pytest

from .conftest import BURSTS, ONE, Asked, Peer, answering, cells


def test_burst_runs_at_once_behind_its_first_request(ask, serve_h2, write_log):
    """The first request of a burst goes alone, the others at once, and the next burst after all replies."""
    seen: list[list[str]] = []

    def script(peer: Peer) -> None:
        done = 0
        for count in (1, 3, 1):
            peer.await_asked(done + count)
            seen.append([asked.path for asked in peer.asked[done:]])
            for asked in reversed(peer.asked[done:]):  # replies need not keep the order of the requests
                peer.reply(asked)
            done += count
        peer.until_end()

    result = ask(serve_h2(script).url, *ONE, "--sessions", write_log(BURSTS))
    assert seen == [["/page"], ["/a", "/b", "/c"], ["/next"]]
    assert cells(result) == {"replied": 5}
    assert result["http2"] == {"streams": 5, "most_streams": 3, "reset": 0, "goaways": 0, "asked_again": 0}
    assert result["sessions"]["completed"] == 1


def test_no_more_streams_than_asked_for_are_under_way(ask, serve_h2, write_log):
    """With --streams=2 the third request of a burst waits for the reply to one of two."""
    seen: list[int] = []

    def script(peer: Peer) -> None:
        peer.reply(peer.await_asked(1)[0])
        peer.await_asked(3)
        seen.append(len(peer.asked))
        peer.reply(peer.asked[1])
        peer.await_asked(4)
        seen.append(len(peer.asked))
        for asked in peer.asked[2:]:
            peer.reply(asked)
        peer.reply(peer.await_asked(5)[4])
        peer.until_end()

    result = ask(serve_h2(script).url, *ONE, "--streams=2", "--sessions", write_log(BURSTS))
    assert seen == [3, 4]
    assert cells(result) == {"replied": 5}
    assert result["http2"]["most_streams"] == 2


def test_pauses_lie_between_requests_of_a_burst(ask, serve_h2, write_log):
    """A request follows the one before after its pause, not after its reply."""
    log = write_log("/page think=0.2\n /a think=0.2\n /b\n")
    result = ask(serve_h2(answering).url, *ONE, "--sessions", log)
    assert cells(result) == {"replied": 3}
    assert result["elapsed_s"] >= 0.4


def test_server_limits_streams(ask, serve_h2):
    """A server that allows three streams gets no more at once, and all requests in the end."""

    def script(peer: Peer) -> None:
        answering(peer)

    result = ask(serve_h2(script, limit=3).url, *ONE, "--session-requests=40")
    assert cells(result) == {"replied": 40}


@pytest.mark.live
def test_closed_loop_keeps_streams_busy(ask, serve_h2):
    """An endless session has as many requests under way as it is told, and ends with their replies."""
    result = ask(
        serve_h2(answering).url,
        *("--connections=2", "--streams=7", "--duration=0.3", "--timeout=5"),
        mode="closed",
    )
    assert result["http2"]["most_streams"] == 7
    assert cells(result) == {"replied": result["requests"]["offered"]}
    assert result["requests"]["offered"] > 14
    assert result["sessions"]["completed"] == 2


def test_methods_and_conditions(ask, serve_h2, write_log):
    """HEAD has no body, POST sends one, and a tag that was learnt is sent along."""
    asked: list[Asked] = []

    def script(peer: Peer) -> None:
        for number in range(4):
            request = peer.await_asked(number + 1)[number]
            asked.append(request)
            if "if-none-match" in request.fields:
                peer.h2.send_headers(request.stream, [(":status", "304")], end_stream=True)
                peer.flush()
            elif request.method == "HEAD":
                peer.h2.send_headers(
                    request.stream, [(":status", "200"), ("content-length", "10")], end_stream=True
                )
                peer.flush()
            else:
                peer.reply(request, etag='"tag"')
        peer.until_end()

    log = write_log("/a size=10\n/a size=10\n/h method=HEAD size=10\n/p method=POST contents='name=value'\n")
    result = ask(serve_h2(script).url, *ONE, "--sessions", log, "--conditional-share=1")
    assert [(request.method, request.path) for request in asked] == [
        ("GET", "/a"),
        ("GET", "/a"),
        ("HEAD", "/h"),
        ("POST", "/p"),
    ]
    assert asked[1].fields["if-none-match"] == '"tag"'
    assert cells(result) == {"replied": 4}
    assert result["replies"]["by_status"] == {"200": 3, "304": 1}


def test_client_takes_leave(ask, serve_h2):
    """Where connections end with FIN, the server is told before."""
    left = threading.Event()

    def script(peer: Peer) -> None:
        peer.reply(peer.await_asked(1)[0])
        peer.until_end()
        if peer.left:
            left.set()

    ask(serve_h2(script).url, *ONE)
    assert left.wait(30)
