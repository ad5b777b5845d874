"""The closed loop: so many connections, each of which asks again as soon as it has its reply."""

import socket
from itertools import pairwise

import pytest


def always_replies(connection):
    """Ten bytes for every request."""
    while True:
        connection.read_request()
        connection.reply()


def requests_by_connection(server):
    """How many requests each connection has made."""
    counts = {}
    for request in server.requests:
        counts[request.connection] = counts.get(request.connection, 0) + 1
    return counts


def test_connections_are_kept_and_asked_again(load, serve):
    """Three connections for the whole run; everything that was asked is replied to, none cut off."""
    server = serve(always_replies)
    result = load(server.url, "--connections", "3", "--duration", "0.5", mode="closed").result
    assert result["mode"] == "closed"
    assert result["connections"] == 3
    assert result["sessions"]["offered"] == result["sessions"]["completed"] == 3
    assert len(server.requests) == result["requests"]["offered"] == result["requests"]["replied"]
    assert len(requests_by_connection(server)) == 3
    assert min(requests_by_connection(server).values()) > 1
    assert result["latency_us"]["reply"]["count"] == result["requests"]["replied"]


def test_request_waits_for_the_reply_before(load, serve):
    """A closed loop: no more requests than connections are ever on their way."""
    early = []

    def script(connection):
        while True:
            connection.read_request()
            connection.server.over.wait(0.05)
            early.append(connection.has_unread_bytes())
            connection.reply()

    server = serve(script)
    result = load(server.url, "--connections", "2", "--duration", "0.5", mode="closed").result
    assert 2 <= result["requests"]["replied"] <= 2 * 11
    assert not any(early)


def test_session_requests_bounds_the_requests_of_a_connection(load, serve):
    """With four requests a session, every connection has four, but for those cut off by the end."""
    server = serve(always_replies)
    result = load(
        server.url, "--connections", "2", "--duration", "0.3", "--session-requests", "4", mode="closed"
    ).result
    assert result["sessions"]["offered"] > 2
    counts = list(requests_by_connection(server).values())
    assert counts.count(4) >= len(counts) - 2
    assert max(counts) == 4
    assert result["requests"]["offered"] == result["requests"]["replied"] == sum(counts)


def test_session_log_is_followed_without_think_times(load, serve, write_log):
    """The sessions of the log take turns; a closed loop does not think."""
    server = serve(always_replies)
    log = write_log("/a think=60\n/b\n\n/c\n")
    result = load(
        server.url, "--connections", "1", "--duration", "0.2", "--sessions", log, mode="closed"
    ).result
    targets = [request.target for request in server.requests]
    assert targets[:6] == ["/a", "/b", "/c", "/a", "/b", "/c"]
    assert result["requests"]["replied"] == len(targets)


def test_timeout_is_that_of_each_request(load, serve):
    """Replies after 0.3 s each never exceed a timeout of 5 s, though the connection lasts 7 s of timeouts."""

    def script(connection):
        for _ in range(3):
            connection.read_request()
            connection.reply()
        connection.stall()

    result = load(
        serve(script).url, *("--connections", "2", "--duration", "0.3", "--timeout", "0.5"), mode="closed"
    ).result
    assert result["requests"]["replied"] == 6
    assert result["requests"]["timed_out_after_read"] == result["sessions"]["timed_out"] == 2
    assert result["requests"]["abandoned"] == 0


def test_absent_server_is_not_asked_as_fast_as_the_cpu_can(load):
    """Each of two connections is tried again after 10 ms: some sixty attempts in 0.3 s, not thousands."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        result = load(
            "http://{}:{}".format(*reserved.getsockname()),
            *("--connections", "2", "--duration", "0.3"),
            mode="closed",
        ).result
    assert 2 <= result["sessions"]["failed"] <= 70
    assert result["failures"] == {"connect-refused": result["requests"]["failed"]}


def test_server_that_resets_each_connection_is_asked_again(load, serve):
    """A reset costs its request; the next session begins on a new connection."""

    def script(connection):
        connection.read_request()
        connection.reply()
        connection.read_request()
        connection.reset()

    result = load(serve(script).url, "--connections", "2", "--duration", "0.3", mode="closed").result
    assert result["failures"] == {"reset": result["requests"]["failed"]}
    assert result["requests"]["failed"] == result["sessions"]["failed"] >= 2
    assert 0 <= result["requests"]["replied"] - result["sessions"]["failed"] <= 2


def test_connection_for_each_request(load, serve):
    """`--connection close` says so in the request, and takes a new connection for the next."""
    server = serve(always_replies)
    result = load(
        server.url, *("--connections", "2", "--duration", "0.3", "--connection", "close"), mode="closed"
    ).result
    assert {request.fields["Connection"] for request in server.requests} == {"close"}
    assert set(requests_by_connection(server).values()) == {1}
    assert result["sessions"]["completed"] == 2
    assert result["sessions"]["reopened"] == result["requests"]["replied"] - 2 > 0


def test_http_1_0_keeps_the_connection_when_both_sides_say_so(load, serve):
    """The client asks for it, and a server that says nothing closes."""

    def script(connection):
        connection.read_request()
        connection.send(b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok")
        connection.read_request()
        connection.send(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok")

    server = serve(script)
    result = load(
        server.url, "--rate", "40", "--duration", "0.15", "--session-requests", "4", "--http", "1.0"
    ).result
    assert {request.fields["Connection"] for request in server.requests} == {"keep-alive"}
    assert set(requests_by_connection(server).values()) == {2}
    assert result["requests"]["replied"] == 8
    assert result["sessions"]["reopened"] == 2


@pytest.mark.parametrize("processes", ["1", "3"])
def test_processes_share_the_connections(load, serve, processes):
    """Seven connections in all, however many processes hold them."""
    server = serve(always_replies)
    result = load(
        server.url, "--connections", "7", "--duration", "0.3", "--processes", processes, mode="closed"
    ).result
    assert result["processes"] == int(processes)
    assert len(requests_by_connection(server)) == result["sessions"]["completed"] == 7
    assert result["requests"]["replied"] == len(server.requests)


def test_processes_share_the_arrivals(load, serve, write_log):
    """Three processes offer the sessions of one clock, in the order of the log, each of them once."""
    server = serve(always_replies)
    log = write_log("".join(f"/{number}\n\n" for number in range(60)))
    result = load(
        server.url, "--rate", "100", "--duration", "0.595", "--sessions", log, "--processes", "3"
    ).result
    assert result["sessions"]["offered"] == result["sessions"]["completed"] == 60
    assert sorted(int(request.target[1:]) for request in server.requests) == list(range(60))
    moments = sorted(request.received_s for request in server.requests)
    assert moments[-1] - moments[0] > 0.4
    assert all(after >= before for before, after in pairwise(moments))
