"""trimtab-upstream through its socket: times, lengths, the line of those that wait, and what it counts."""

import http.client
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

import pytest

PROGRAM = os.environ.get(
    "TRIMTAB_UPSTREAM", str(Path(__file__).parents[2] / "build" / "upstream" / "trimtab-upstream")
)


@pytest.fixture
def port() -> Iterator[int]:
    """Where an upstream listens that works on two requests at a time."""
    # Bound until the upstream listens there, which SO_REUSEADDR allows: the kernel gives it to nobody else.
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    number = held.getsockname()[1]
    process = subprocess.Popen((PROGRAM, "--listen", f"127.0.0.1:{number}", "--concurrency", "2"))
    try:
        for _ in range(12_000):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", number)) == 0:
                    break
            sleep(0.005)
        yield number
    finally:
        held.close()
        process.terminate()
        process.wait()


def ask(connection: http.client.HTTPConnection, target: str, method: str = "GET") -> tuple[int, bytes]:
    """Status and body of the reply."""
    connection.request(method, target)
    reply = connection.getresponse()
    return reply.status, reply.read()


def ask_once(port: int, target: str) -> bytes:
    """The body of the reply, on a connection of its own."""
    with closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
        return ask(connection, target)[1]


def status(port: int) -> dict[str, int]:
    """What the upstream has counted."""
    counted: dict[str, int] = json.loads(ask_once(port, "/status"))
    return counted


def test_replies_have_the_length_and_take_the_time_that_was_asked_for(port: int) -> None:
    """On one persistent connection, from nothing to a megabyte."""
    with closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
        for size in (0, 1, 4096, 1_000_000):
            assert ask(connection, f"/dynamic/drawn?size={size}") == (200, b"u" * size)
        begun_s = monotonic()
        assert ask(connection, "/dynamic/drawn?size=10&us=50000")[0] == 200
        assert monotonic() - begun_s >= 0.05
        assert ask(connection, "/dynamic/drawn?size=10", "HEAD") == (200, b"")
    counted = status(port)
    assert counted["done"] == counted["requests"] == 6
    assert counted["service_us"] == 50_000
    assert counted["connections_accepted"] == 3  # that of the fixture, too


@pytest.mark.live
def test_more_requests_than_places_wait_in_line(port: int) -> None:
    """Two places, five requests at once: three wait, and the last is done after three times."""
    begun_s = monotonic()
    ends_s: list[float] = []

    def one() -> None:
        ask_once(port, "/dynamic/drawn?size=1&us=100000")
        ends_s.append(monotonic() - begun_s)

    threads = [Thread(target=one) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(ends_s) >= 0.3
    counted = status(port)
    assert counted["waited"] == 3
    assert counted["queue_length_max"] == 3
    assert counted["wait_us"] >= 2 * 100_000 + 200_000 - 3 * 50_000  # less what they came later
    assert counted["queued"] == counted["in_service"] == 0


def test_pipelined_requests_are_answered_one_after_the_other(port: int) -> None:
    """Also when the first still has to wait for its time."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        line = "GET /dynamic/drawn?size={}&us={} HTTP/1.1\r\nHost: a\r\n\r\n"
        client.sendall((line.format(3, 20000) + line.format(5, 0)).encode())
        client.shutdown(socket.SHUT_WR)
        text = b"".join(iter(lambda: client.recv(65536), b""))
    assert text.count(b"HTTP/1.1 200 OK") == 2
    assert b"\r\n\r\nuuuHTTP/1.1" in text
    assert text.endswith(b"\r\n\r\nuuuuu")


@pytest.mark.parametrize(
    ("request_text", "code"),
    [
        (b"GET /other HTTP/1.1\r\nHost: a\r\n\r\n", b"404"),
        (b"POST /dynamic/drawn?size=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\n\n", b"400"),
        (b"GET /dynamic/drawn?size=1 HTTP/1.0\r\n\r\n", b"200"),
    ],
)
def test_what_it_does_not_know_is_refused(port: int, request_text: bytes, code: bytes) -> None:
    """An HTTP/1.0 request ends its connection; another path or method is an error."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(request_text)
        client.shutdown(socket.SHUT_WR)
        text = b"".join(iter(lambda: client.recv(65536), b""))
    assert text.split(b" ")[1] == code


def test_an_overlong_head_ends_the_connection(port: int) -> None:
    """Nobody waits for the rest of it, and the next connection is served."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 8192)
        with suppress(ConnectionResetError):
            assert client.recv(100) == b""
    assert status(port)["requests"] == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--listen", "here"), "--listen here: expected an IPv4 address and a port"),
        (("--listen", "127.0.0.1:1", "--concurrency", "-1"), "expected an integer from 0 to 1,000,000"),
        ((), "usage: trimtab-upstream"),
    ],
)
def test_wrong_options_are_refused_in_a_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    """With exit code 2."""
    ended = subprocess.run((PROGRAM, *arguments), capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert sentence in ended.stderr


def test_a_port_in_use_is_said(port: int) -> None:
    """With exit code 1 and the kernel's reason."""
    ended = subprocess.run(
        (PROGRAM, "--listen", f"127.0.0.1:{port}"), capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "Address already in use" in ended.stderr
