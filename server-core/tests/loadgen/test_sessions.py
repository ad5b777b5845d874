"""Session logs at work: order, pauses, size classes, and the connections that they go over."""

import queue
import socket
import sys
from itertools import pairwise

import pytest

TCP_INFO_SEND_WINDOW = 228
TCP_INFO_BYTES = 232
"""Where tcp_info of linux/tcp.h has the window that the peer announces (tcpi_snd_wnd), and its end."""


def always_replies(connection):
    """Ten bytes for every request."""
    while True:
        connection.read_request()
        connection.reply()


def replies_with_length_in_target(connection):
    """As many bytes as the target says: /123."""
    while True:
        connection.reply(int(connection.read_request().target.lstrip("/")))


def run_log(load, server, log, sessions_per_s, sessions, mean_length):
    """Runs `sessions` sessions of the log."""
    return load(
        server.url,
        "--sessions",
        log,
        "--rate",
        str(sessions_per_s * mean_length),
        "--duration",
        str((sessions - 0.5) / sessions_per_s),
    ).result


def by_connection(server):
    """The requests of each connection, connections in the order in which they were accepted."""
    connections = {}
    for request in server.requests:
        connections.setdefault(request.connection, []).append(request)
    return [connections[number] for number in sorted(connections)]


def test_sessions_are_used_in_file_order_and_wrap_round(load, serve, write_log):
    """Five sessions of a log of two are the first, the second, the first, the second, the first."""
    server = serve(always_replies)
    run_log(load, server, write_log("/a\n/b\n\n/c\n"), 10, 5, 1.5)
    asked = [[request.target for request in requests] for requests in by_connection(server)]
    assert asked == [["/a", "/b"], ["/c"], ["/a", "/b"], ["/c"], ["/a", "/b"]]


def test_think_time_separates_requests(load, serve, write_log):
    """The next request comes no sooner than the think time after the reply; without one, at once."""
    server = serve(always_replies)
    run_log(load, server, write_log("/a think=0.3\n/b\n/c think=0.2\n/d\n"), 40, 8, 4)
    for requests in by_connection(server):
        gaps = [after.received_s - before.received_s for before, after in pairwise(requests)]
        assert gaps[0] >= 0.3
        assert gaps[2] >= 0.2


@pytest.mark.parametrize(("how", "expected"), [("fin", "end of stream"), ("reset", "reset")])
def test_session_ends_as_asked(load, serve, how, expected):
    """The server sees the end of the stream, or a reset with `--close reset`."""
    ends = queue.Queue()

    def script(connection):
        connection.read_request()
        connection.reply()
        try:
            ends.put("end of stream" if connection.socket.recv(1) == b"" else "more")
        except ConnectionResetError:
            ends.put("reset")

    server = serve(script)
    ran = load(server.url, "--rate", "20", "--duration", "0.28", "--close", how)
    assert ran.result["sessions"]["completed"] == 6
    assert [ends.get(timeout=60) for _ in range(6)] == [expected] * 6


def test_burst_goes_one_request_at_a_time(load, serve, write_log):
    """Nothing is pipelined: while a reply is outstanding, the next request is not sent."""
    early = []

    def script(connection):
        while True:
            connection.read_request()
            connection.server.over.wait(0.02)
            early.append(connection.has_unread_bytes())
            connection.reply()

    server = serve(script)
    run_log(load, server, write_log("/a\n\t/b\n  /c\n"), 40, 8, 3)
    assert early == [False] * 24
    assert [request.target for request in by_connection(server)[0]] == ["/a", "/b", "/c"]


def test_requests_name_host_and_generator(load, serve, write_log):
    """HTTP/1.1 wants the Host field; User-Agent says who it is."""
    server = serve(always_replies)
    run_log(load, server, write_log("/a?b=c\n"), 10, 1, 1)
    [request] = server.requests
    assert request.target == "/a?b=c"
    assert server.url.removeprefix("http://") == request.fields["Host"]
    assert request.fields["User-Agent"].startswith("trimtab-load/")


def test_head_expects_no_body(load, serve, write_log):
    """A reply to HEAD announces the length and has no body; the next request follows on the connection."""

    def script(connection):
        while True:
            request = connection.read_request()
            if request.method == "HEAD":
                connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n")
            else:
                connection.reply(500)

    server = serve(script)
    result = run_log(load, server, write_log("/a method=HEAD size=500\n/a size=500\n"), 20, 5, 2)
    assert result["requests"]["replied"] == 10
    assert [r.method for requests in by_connection(server) for r in requests] == ["HEAD", "GET"] * 5


def test_up_to_64_sizes_are_classes_of_their_own(load, serve, write_log):
    """Sizes that the log names are counted one by one."""
    server = serve(replies_with_length_in_target)
    log = write_log("".join(f"/{size} size={size}\n" for size in range(100, 164)))
    result = run_log(load, server, log, 10, 2, 64)
    assert list(range(100, 164)) == [c["size_bytes"] for c in result["size_classes"]]
    assert [c["replied"] for c in result["size_classes"]] == [2] * 64


def test_more_than_64_sizes_become_powers_of_two(load, serve, write_log):
    """The class of 128 holds 65 to 128, that of 256 the rest."""
    server = serve(replies_with_length_in_target)
    log = write_log("".join(f"/{size} size={size}\n" for size in range(100, 165)))
    result = run_log(load, server, log, 10, 2, 65)
    asked = {c["size_bytes"]: c["asked"] for c in result["size_classes"]}
    assert asked == {128: 2 * 29, 256: 2 * 36}


def test_unknown_size_is_taken_from_the_reply(load, serve, write_log):
    """Without size= a request that was answered counts for the length it got, any other for class 0."""

    def script(connection):
        connection.read_request()
        connection.reply(77)
        connection.read_request()

    result = run_log(load, serve(script), write_log("/a\n/b\n/c\n"), 20, 5, 3)
    classes = {c["size_bytes"]: c for c in result["size_classes"]}
    assert {0, 77} == set(classes)
    assert classes[77]["replied"] == 5
    assert (classes[0]["failed"], classes[0]["abandoned"]) == (5, 5)


@pytest.mark.parametrize("how", ["fin", "reset"])
def test_source_addresses_take_turns(load, serve, how):
    """Each connection comes from the next address of the list, also when sockets are used again."""
    server = serve(always_replies)
    sources = ("--source", "127.0.0.2,127.0.0.3", "--close", how)
    load(server.url, "--rate", "20", "--duration", "0.22", *sources)
    peers = [requests[0].peer for requests in by_connection(server)]
    assert peers == ["127.0.0.2", "127.0.0.3", "127.0.0.2", "127.0.0.3", "127.0.0.2"]


def test_loopback_has_eight_source_addresses_by_default(load, serve):
    """So that ports stay easy to find; without --source, a server on the loopback sees eight clients."""
    server = serve(always_replies)
    load(server.url, "--rate", "40", "--duration", "0.49")
    peers = [request.peer for request in server.requests]
    assert {f"127.0.0.{number}" for number in range(1, 9)} == set(peers)


def test_destination_addresses_take_turns(load, serve):
    """Connections go to the addresses of the option; requests still name the host of the URL."""
    servers = [serve(always_replies), serve(always_replies)]
    destinations = ",".join(server.url.removeprefix("http://") for server in servers)
    load("http://www.example.invalid/", "--rate", "20", "--duration", "0.28", "--destination", destinations)
    assert [len(server.requests) for server in servers] == [3, 3]
    assert {r.fields["Host"] for server in servers for r in server.requests} == {"www.example.invalid"}


def test_source_addresses_keep_to_their_destinations(load, serve):
    """With as many sources as destinations, each pair is a way of its own through the network."""
    servers = [serve(always_replies), serve(always_replies)]
    destinations = ",".join(server.url.removeprefix("http://") for server in servers)
    ways = ("--destination", destinations, "--source", "127.0.0.2,127.0.0.3", "--close", "reset")
    load("http://www.example.invalid/", "--rate", "40", "--duration", "0.24", *ways)
    peers = [[request.peer for request in server.requests] for server in servers]
    assert peers == [["127.0.0.2"] * 5, ["127.0.0.3"] * 5]


def test_every_session_announces_the_window_of_a_new_client(load, serve):
    """A buffer that has grown with a large reply is not handed on with the socket: the window would be larger
    than a new client's, and the server could send more at once.
    """
    windows_bytes = []

    def script(connection):
        connection.read_request()
        information = connection.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES)
        windows_bytes.append(int.from_bytes(information[TCP_INFO_SEND_WINDOW:TCP_INFO_BYTES], sys.byteorder))
        connection.reply(20_000_000)
        connection.read_request()

    source = ("--source", "127.0.0.1", "--close", "reset")
    ran = load(serve(script).url, "--rate", "10", "--duration", "0.48", *source)
    assert ran.result["sessions"]["completed"] == 5
    assert len(windows_bytes) == 5
    assert len(set(windows_bytes)) == 1


@pytest.mark.parametrize(
    ("log", "complaint"),
    [
        ("/a\nnonsense\n", ":2: nonsense: expected a URI that starts with /"),
        ("/a\n\n /b\n", ":3: the line starts with white space"),
        ("/a think=soon\n", ":1: think=soon: expected seconds from 0 to 4000"),
        ("", ": the session log holds no request"),
        ("# only this\n\n", ": the session log holds no request"),
    ],
)
def test_bad_log_is_refused_by_file_and_line(load, write_log, log, complaint):
    """Nothing is offered: one sentence, exit status 2."""
    path = write_log(log)
    outcome = load(
        "http://127.0.0.1:1", "--rate", "1", "--duration", "1", "--sessions", path, expect_status=2
    )
    assert outcome.stderr.startswith(f"trimtab-load: {path}{complaint}")
    assert outcome.stderr.count("\n") == 1
    assert outcome.stdout == ""
