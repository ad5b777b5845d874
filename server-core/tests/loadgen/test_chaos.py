"""Everything at once: a server that misbehaves at random, clients of every kind, several processes.

`load` checks of each result that every offered request is in exactly one cell; nothing more is asked here
than that, and that the generator itself never fails.
"""

import random

import pytest
from trimtab_tuner.workloads.content import file_content

from .conftest import patiently

SIZES = (0, 1, 500, 20_000)


def good_reply(connection, request, extra=""):
    """What the request asks for, or 304 if it is conditional."""
    if "If-None-Match" in request.fields:
        connection.send(b"HTTP/1.1 304 Not Modified\r\n\r\n")
        return
    body = file_content(request.target, int(request.target.rpartition("/")[2]))
    head = f'HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nETag: "{len(body)}"\r\n{extra}\r\n'
    connection.send(head.encode() + (b"" if request.method == "HEAD" else body))


def announced_close(connection, request):
    """A good reply, and the end of the connection."""
    good_reply(connection, request, "Connection: close\r\n")
    connection.socket.close()


def late(connection, request):
    """A good reply after a while."""
    connection.server.over.wait(0.2)
    good_reply(connection, request)


def wrong_content(connection, request):
    """The length is right."""
    size = int(request.target.rpartition("/")[2])
    connection.reply(0 if request.method == "HEAD" else size, extra="X: y\r\n")


def wrong_length(connection, _request):
    """Seven bytes, whatever was asked for."""
    connection.reply(7)


def busy(connection, _request):
    """503 in two pieces."""
    connection.send(b"HTTP/1.1 503 Service Unava")
    connection.server.over.wait(0.02)
    connection.send(b"ilable\r\nContent-Length: 0\r\n\r\n")


def reset_within_head(connection, _request):
    """Half a head, then RST."""
    connection.send(b"HTTP/1.1 200 OK\r\nConte")
    connection.reset()


def half_a_body(connection, _request):
    """And then the end."""
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + bytes(500))
    connection.socket.close()


def garbage(connection, _request):
    """No HTTP."""
    connection.send(b"\x00\xff" * 100)


def silence(connection, _request):
    """Until the test is over."""
    connection.stall()


BEHAVIOURS = (
    *[good_reply] * 12,
    announced_close,
    late,
    wrong_content,
    wrong_length,
    busy,
    reset_within_head,
    half_a_body,
    garbage,
    silence,
)


def misbehaves(connection):
    """A behaviour at random for each request."""
    dice = random.Random(connection.number)
    while True:
        request = connection.read_request()
        dice.choice(BEHAVIOURS)(connection, request)


@pytest.fixture
def log(write_log):
    """Sessions of one to eight requests of both methods, with bursts and pauses."""
    dice = random.Random(1)
    lines = []
    for _ in range(50):
        for position in range(dice.randint(1, 8)):
            size = dice.choice(SIZES)
            method = dice.choice(("GET", "GET", "GET", "HEAD"))
            indent = dice.choice(("", " ")) if position else ""
            lines.append(f"{indent}/f/{size} size={size} method={method} think={dice.choice((0, 0, 0.05))}")
        lines.append("")
    return write_log("\n".join(lines))


@pytest.mark.parametrize("processes", ["1", "3"])
@pytest.mark.parametrize("connection", ["keep-alive", "close"])
@pytest.mark.parametrize("mode", ["open", "closed"])
def test_every_request_is_accounted_for(load, serve, log, mode, connection, processes):
    """In both loops, with one process and with three, connections kept or not."""
    amount = ("--rate", "300") if mode == "open" else ("--connections", "12")

    def happened(result):
        """How much of everything that can happen to a request."""
        requests = result["requests"]
        timed_out = requests["timed_out_before_read"] + requests["timed_out_after_read"]
        return requests["replied"], requests["failed"], timed_out, result["replies"]["verified"]

    def run(duration_s):
        return load(
            serve(misbehaves).url,
            *amount,
            *("--duration", str(2 * duration_s), "--timeout", "0.7", "--connect-timeout", "60"),
            *("--sessions", log, "--processes", processes),
            *("--connection", connection, "--verify", "all", "--conditional-share", "0.5"),
            *("--slow-share", "0.3", "--slow-pace", "100000", "--close", "reset"),
            mode=mode,
        ).result

    assert 0 not in happened(patiently(run, lambda result: 0 not in happened(result)))
