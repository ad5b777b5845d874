"""The closed loop: so many connections, each of which asks again as soon as it has its reply."""

import socket
from itertools import pairwise

import pytest

from .conftest import patiently


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

    def run(duration_s):
        server = serve(always_replies)
        arguments = ("--connections", "3", "--duration", str(duration_s))
        return server, load(server.url, *arguments, mode="closed").result

    server, result = patiently(run, lambda ran: len(ran[0].requests) > 30)
    assert result["mode"] == "closed"
    assert result["connections"] == 3
    assert result["sessions"]["offered"] == result["sessions"]["completed"] == 3
    assert len(server.requests) == result["requests"]["offered"] == result["requests"]["replied"]
    assert len(requests_by_connection(server)) == 3
    assert min(requests_by_connection(server).values()) > 1
    assert result["health"]["most_open"] == 3
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

    def run(duration_s):
        arguments = ("--connections", "2", "--duration", str(duration_s))
        result = load(serve(script).url, *arguments, mode="closed").result
        assert result["requests"]["replied"] <= 2 * (duration_s / 0.05 + 1)
        return result["requests"]["replied"]

    assert patiently(run, lambda replied: replied >= 2) >= 2
    assert not any(early)


def test_session_requests_bounds_the_requests_of_a_connection(load, serve):
    """With four requests a session, every connection has four, but for those cut off by the end."""

    def run(duration_s):
        server = serve(always_replies)
        arguments = ("--connections", "2", "--duration", str(duration_s), "--session-requests", "4")
        return server, load(server.url, *arguments, mode="closed").result

    server, result = patiently(run, lambda ran: ran[1]["sessions"]["offered"] > 2)
    assert result["sessions"]["offered"] > 2
    counts = list(requests_by_connection(server).values())
    assert counts.count(4) >= len(counts) - 2
    assert max(counts) == 4
    assert result["requests"]["offered"] == result["requests"]["replied"] == sum(counts)


def test_session_log_is_followed_without_think_times(load, serve, write_log):
    """The sessions of the log take turns; a closed loop does not think."""
    log = write_log("/a think=60\n/b\n\n/c\n")

    def run(duration_s):
        server = serve(always_replies)
        arguments = ("--connections", "1", "--duration", str(duration_s), "--sessions", log)
        return server, load(server.url, *arguments, mode="closed").result

    server, result = patiently(run, lambda ran: len(ran[0].requests) >= 6)
    targets = [request.target for request in server.requests]
    assert targets[:6] == ["/a", "/b", "/c", "/a", "/b", "/c"]
    assert result["requests"]["replied"] == len(targets)


def test_timeout_is_that_of_each_request(load, serve):
    """A reply begins the time anew; what never comes is given up, though the run was over long before."""

    def script(connection):
        for _ in range(3):
            connection.read_request()
            connection.reply()
        connection.stall()

    def run(duration_s):
        arguments = ("--connections", "2", "--duration", str(duration_s), "--timeout", str(duration_s + 4))
        return load(serve(script).url, *arguments, mode="closed").result

    result = patiently(run, lambda result: result["requests"]["replied"] >= 6)
    assert result["requests"]["replied"] == 6
    assert result["requests"]["timed_out_after_read"] == result["sessions"]["timed_out"] == 2
    assert result["requests"]["abandoned"] == 0


def test_absent_server_is_not_asked_as_fast_as_the_cpu_can(load):
    """Each of two connections is tried again after 10 ms: some hundred attempts in 0.5 s, not thousands."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))

        def run(duration_s):
            url = "http://{}:{}".format(*reserved.getsockname())
            result = load(url, "--connections", "2", "--duration", str(duration_s), mode="closed").result
            assert result["sessions"]["failed"] <= 200 * duration_s + 10
            return result

        result = patiently(run, lambda result: result["sessions"]["failed"] >= 2)
    assert result["sessions"]["failed"] >= 2
    assert result["failures"] == {"connect-refused": result["requests"]["failed"]}


def test_server_that_resets_each_connection_is_asked_again(load, serve):
    """A reset costs its request; the next session begins on a new connection."""

    def script(connection):
        connection.read_request()
        connection.reply()
        connection.read_request()
        connection.reset()

    def run(duration_s):
        arguments = ("--connections", "2", "--duration", str(duration_s))
        return load(serve(script).url, *arguments, mode="closed").result

    result = patiently(run, lambda result: result["requests"]["failed"] >= 2)
    assert result["failures"] == {"reset": result["requests"]["failed"]}
    assert result["requests"]["failed"] == result["sessions"]["failed"] >= 2
    assert 0 <= result["requests"]["replied"] - result["sessions"]["failed"] <= 2


def test_connection_for_each_request(load, serve):
    """`--connection close` says so in the request, and takes a new connection for the next."""

    def run(duration_s):
        server = serve(always_replies)
        arguments = ("--connections", "2", "--duration", str(duration_s), "--connection", "close")
        return server, load(server.url, *arguments, mode="closed").result

    server, result = patiently(run, lambda ran: ran[1]["requests"]["replied"] > 20)
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

    def run(duration_s):
        server = serve(always_replies)
        arguments = ("--connections", "7", "--duration", str(duration_s), "--processes", processes)
        return server, load(server.url, *arguments, mode="closed").result

    server, result = patiently(run, lambda ran: ran[1]["sessions"]["completed"] >= 7)
    assert result["processes"] == int(processes)
    assert len(requests_by_connection(server)) == result["sessions"]["completed"] == 7
    assert result["requests"]["replied"] == len(server.requests)


def test_processes_share_the_arrivals(load, serve, write_log):
    """Three processes offer the sessions of one clock, in the order of the log, each of them once."""
    log = write_log("".join(f"/{number}\n\n" for number in range(60)))

    def run(duration_s):
        server = serve(always_replies)
        arguments = ("--rate", str(59.5 / duration_s), "--duration", str(duration_s), "--processes", "3")
        result = load(server.url, *arguments, "--sessions", log).result
        assert result["sessions"]["offered"] == result["sessions"]["completed"] == 60
        assert sorted(int(request.target[1:]) for request in server.requests) == list(range(60))
        moments = sorted(request.received_s for request in server.requests)
        assert all(after >= before for before, after in pairwise(moments))
        return (moments[-1] - moments[0]) / duration_s

    assert patiently(run, lambda share: share > 0.7) > 0.7
