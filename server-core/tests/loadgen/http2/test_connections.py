"""What happens to a connection of HTTP/2 takes all its streams, and loses none without need."""

import contextlib
import socket
import ssl
import subprocess
from typing import Any

import pytest
from h2.errors import ErrorCodes

from .conftest import BURSTS, ONE, Peer, cells


def test_leaving_server_loses_no_request(ask, serve_h2, write_log):
    """After GOAWAY what the server takes ends there, and the rest is asked on a new connection."""
    served: list[list[str]] = []

    def script(peer: Peer) -> None:
        first = len(served) == 0
        served.append([])
        peer.reply(peer.await_asked(1)[0])
        served[-1].append(peer.asked[0].path)
        if first:
            peer.await_asked(4)
            peer.h2.close_connection(last_stream_id=peer.asked[1].stream)
            peer.flush()
            head = [(":status", "200"), ("content-length", "10")]
            # The library sends nothing after GOAWAY; the frames are written by hand.
            encoded = peer.h2.encoder.encode(head)
            stream = peer.asked[1].stream.to_bytes(4, "big")
            peer.connection.send(len(encoded).to_bytes(3, "big") + b"\1\4" + stream + encoded)
            peer.connection.send((10).to_bytes(3, "big") + b"\0\1" + stream + bytes(10))
            served[-1].append(peer.asked[1].path)
            while peer.connection.socket.recv(65536):
                pass
            return
        done = 1
        while len(peer.await_asked(done + 1)) > done:
            peer.reply(peer.asked[done])
            served[-1].append(peer.asked[done].path)
            done += 1

    result = ask(serve_h2(script).url, *ONE, "--sessions", write_log(BURSTS))
    assert served[0] == ["/page", "/a"]
    assert sorted(served[1][:2]) == ["/b", "/c"]
    assert served[1][2:] == ["/next"]
    assert cells(result) == {"replied": 5}
    assert result["http2"]["goaways"] == 1
    assert result["http2"]["asked_again"] == 2
    assert result["sessions"]["reopened"] == 1
    assert result["sessions"]["completed"] == 1


def leaves_behind_the_first(peer: Peer) -> None:
    """Answers the first request, and takes leave when there is a second one."""
    peer.reply(peer.await_asked(1)[0])
    peer.await_asked(2)
    peer.h2.close_connection(last_stream_id=peer.asked[0].stream)
    peer.flush()
    while peer.connection.socket.recv(65536):
        pass


def test_session_on_its_way_to_another_connection_opens_no_further_one(ask, serve, serve_h2, write_log):
    """Where it goes nobody is accepted, and meanwhile the pause before its next request ends."""
    full = serve(None, backlog=0)
    addresses = [server.url.removeprefix("http://") for server in (serve_h2(leaves_behind_the_first), full)]
    host, port = addresses[1].split(":")
    with contextlib.ExitStack() as clients:
        for _ in range(3):  # more than its queue takes
            client = clients.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex((host, int(port)))
        destinations = ("--destination", ",".join(addresses), "--timeout", "4")
        log = write_log("/page size=10\n /a size=10 think=1\n /b size=10\n")
        result = ask(f"http://{addresses[0]}", *ONE, *destinations, "--sessions", log)
    assert cells(result) == {"replied": 1, "timed_out_before_read": 1, "abandoned": 1}
    assert result["sessions"]["reopened"] == 1


def leaves_in_anger(peer: Peer) -> None:
    """GOAWAY with an error."""
    peer.h2.close_connection(ErrorCodes.ENHANCE_YOUR_CALM)
    peer.flush()
    peer.connection.stall()


def closes(_peer: Peer) -> None:
    """Closes without a word."""


def breaks_the_protocol(peer: Peer) -> None:
    """A frame of data on the stream of the connection."""
    peer.connection.send(b"\0\0\1\0\0\0\0\0\0!")
    peer.connection.stall()


@pytest.mark.parametrize(
    ("misbehave", "reason"),
    [
        (leaves_in_anger, "goaway-ENHANCE_YOUR_CALM"),
        (closes, "closed-early"),
        (breaks_the_protocol, "http2-protocol"),
    ],
)
def test_failure_of_a_connection_takes_every_stream(ask, serve_h2, write_log, misbehave, reason):
    """The requests under way fail for that reason, and the rest of the session is abandoned."""

    def script(peer: Peer) -> None:
        peer.reply(peer.await_asked(1)[0])
        peer.await_asked(4)
        misbehave(peer)

    result = ask(serve_h2(script).url, *ONE, "--sessions", write_log(BURSTS))
    assert cells(result) == {"replied": 1, "failed": 3, "abandoned": 1}
    assert result["failures"] == {reason: 3}
    assert result["sessions"]["failed"] == 1


def test_server_of_http_1_is_told_apart(ask, serve):
    """What comes is no HTTP/2: a reply of HTTP/1."""

    def script(connection: Any) -> None:
        connection.socket.recv(1)
        connection.reply()
        connection.stall()

    assert ask(serve(script).url, *ONE)["failures"] == {"http2-protocol": 1}


def test_server_that_does_not_choose_http2_is_told_apart(ask, serve, tmp_path):
    """Over TLS, a server without ALPN."""
    files = ("-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "own.pem"))
    command = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    subprocess.run([*command, "-subj", "/CN=x", "-days", "1", *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "own.pem", tmp_path / "key.pem")

    def script(connection: Any) -> None:
        with context.wrap_socket(connection.socket, server_side=True) as secured:
            secured.recv(1)

    result = ask(serve(script).url.replace("http:", "https:"), *ONE)
    assert result["failures"] == {"no-http2": 1}
    assert result["tls"]["failed"] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("--http=2", "--connection=close"),
        ("--http=2", "--slow-share=0.5"),
        ("--streams=4",),
        ("--http=2", "--streams=0"),
    ],
)
def test_what_means_nothing_over_http2_is_refused(load, arguments):
    """A sentence names the option."""
    outcome = load("http://127.0.0.1:1", *ONE, *arguments, expect_status=2)
    assert arguments[-1].partition("=")[0] in outcome.stderr
