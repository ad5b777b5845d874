"""Event loops with helper processes (amped), several that hand connections over (co-amped)."""

from __future__ import annotations

import itertools
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def rows(server: Any, role: str) -> list[dict[str, Any]]:
    """Return the rows of counters with a role."""
    return [row for row in server.command("show stats")["workers"] if row["role"] == role]


def test_file_in_memory_needs_no_helper(start: Callable[..., Any]) -> None:
    """Names and pages are looked for where they are, in the kernel's caches."""
    server = start(architecture="amped", helpers=2)
    server.write("file", b"contents")
    connection = server.connect()
    for _ in range(3):
        assert connection.get("/file").body == b"contents"
    assert server.total()["helper_requests"] == 0


def test_pages_that_are_not_in_memory_are_fetched_by_helpers(
    start: Callable[..., Any], await_state: Callable[..., Any], evict: Callable[[Path], None]
) -> None:
    """Every byte arrives, and the helpers did what the event loop asked for."""
    server = start(architecture="amped", helpers=2)
    contents = os.urandom(1_500_000)
    names = (f"big{number}" for number in itertools.count())

    def helpers_were_asked() -> bool:
        """The kernel may keep pages that somebody else has in hand, so try another file."""
        name = next(names)
        evict(server.write(name, contents))
        assert server.connect().get(f"/{name}").body == contents
        return bool(server.total()["helper_requests"])

    await_state(helpers_were_asked)
    # A helper counts before it answers, and does once what it is given twice while it starts.
    assert sum(row["queue_items"] for row in rows(server, "helper")) == server.total()["helper_requests"]


def test_names_of_compressed_files_are_looked_up_by_helpers(start: Callable[..., Any]) -> None:
    """Whether a file lies compressed beside the one asked for stands in a directory, on the disk."""
    server = start(architecture="amped", helpers=1, precompressed="on")
    server.write("file.txt", b"contents")
    connection = server.connect()
    assert connection.get("/file.txt").body == b"contents"
    assert server.total()["helper_requests"] == 3  # br, zstd, gzip: names that nobody has looked up


def test_event_loop_serves_others_while_a_helper_works(
    start: Callable[..., Any], stopped: Callable[[int], None]
) -> None:
    """The one that waits for a name gets its reply when the helper goes on."""
    server = start(architecture="amped", helpers=1)
    server.write("file", b"contents")
    other = server.connect()
    assert other.get("/file").body == b"contents"
    (helper,) = rows(server, "helper")
    stopped(helper["pid"])
    waiting = [server.connect() for _ in range(3)]
    for number, connection in enumerate(waiting):
        connection.ask(f"/not-looked-up-before-{number}")
    server.await_total(helper_requests=3, queue_length=2)
    assert other.get("/file").body == b"contents"
    os.kill(helper["pid"], signal.SIGCONT)
    for connection in waiting:
        assert connection.reply().status == 404
    server.await_total(helper_requests=3, queue_length=0, queue_length_max=2, replies_404=3)


def test_job_of_a_killed_helper_is_done_by_its_replacement(
    start: Callable[..., Any], stopped: Callable[[int], None], await_state: Callable[..., Any]
) -> None:
    """The client waits a little longer and notices nothing else."""
    server = start(architecture="amped", helpers=1)
    (helper,) = rows(server, "helper")
    stopped(helper["pid"])
    waiting = server.connect()
    waiting.ask("/not-looked-up-before", "Connection: close")
    server.await_total(helper_requests=1)
    os.kill(helper["pid"], signal.SIGKILL)
    assert waiting.reply().status == 404
    assert server.command("show info")["worker_restarts"] == 1


def test_connection_whose_helper_does_not_answer_is_timed_out(
    start: Callable[..., Any], stopped: Callable[[int], None]
) -> None:
    """Nobody waits longer than request_timeout."""
    server = start(architecture="amped", helpers=1, request_timeout=0.3)
    stopped(rows(server, "helper")[0]["pid"])
    waiting = server.connect()
    waiting.ask("/not-looked-up-before")
    assert waiting.is_closed_by_server()
    server.await_total(connections_timed_out=1, connections_open=0)


def start_two(start: Callable[..., Any], **knobs: object) -> Any:
    """Start two event loops that accept one connection each."""
    server = start(architecture="co-amped", workers=2, helpers=1, max_connections=2, **knobs)
    server.write("mine", b"first")
    server.write("yours", b"second")
    return server


def test_connection_goes_to_the_process_that_served_the_url_before(start: Callable[..., Any]) -> None:
    """Both connections end up with the owner of the file, who opened it once."""
    server = start_two(start)
    first, second = server.connect(), server.connect()
    assert first.get("/mine").body == b"first"
    for _ in range(3):
        assert second.get("/mine").body == b"first"
    # The one that handed it over may note so after the other one has replied.
    server.await_total(connections_forwarded=1, cache_misses=1, requests=4, connections_open=2)
    assert sorted(row["connections_open"] for row in rows(server, "worker")) == [0, 2]


def test_pipelined_requests_travel_with_their_connection(start: Callable[..., Any]) -> None:
    """Requests of different owners, all sent at once, are answered in order and none twice."""
    server = start_two(start)
    first, second = server.connect(), server.connect()
    assert first.get("/mine").body == b"first"
    assert second.get("/yours").body == b"second"
    request = b"GET /%s HTTP/1.1\r\nHost: t\r\n\r\n"
    for connection in (first, second):
        connection.send((request % b"mine" + request % b"yours") * 20 + b"GET /mine HT")
    for connection in (first, second):
        for _ in range(20):
            assert connection.reply().body == b"first"
            assert connection.reply().body == b"second"
        connection.send(b"TP/1.1\r\nHost: t\r\n\r\n")
        assert connection.reply().body == b"first"
    server.await_total(requests=84, replies_200=84, connections_accepted=2, connections_open=2)
    assert server.total()["connections_forwarded"] > 0


def test_owner_with_more_connections_than_the_bias_gets_no_more(start: Callable[..., Any]) -> None:
    """The third connection would make it three to none."""
    server = start_two(start, forward_bias=1)
    first, second = server.connect(), server.connect()
    assert first.get("/mine").body == b"first"
    assert second.get("/mine").body == b"first"
    server.await_total(connections_forwarded=1)
    third = server.connect()
    assert third.get("/mine").body == b"first"
    server.await_total(connections_forwarded=1, requests=3)


def test_connection_handed_to_a_killed_process_is_served_by_its_replacement(
    start: Callable[..., Any], stopped: Callable[[int], None]
) -> None:
    """What was in the channel is not lost."""
    server = start_two(start)
    first, second = server.connect(), server.connect()
    assert first.get("/mine").body == b"first"
    (owner,) = [row["pid"] for row in rows(server, "worker") if row["requests"] == 1]
    stopped(owner)
    second.ask("/mine")
    server.await_total(connections_forwarded=1)
    os.kill(owner, signal.SIGKILL)
    assert second.reply().body == b"first"


def test_connection_on_its_way_to_another_process_is_served_though_the_server_is_told_to_stop(
    start: Callable[..., Any], stopped: Callable[[int], None]
) -> None:
    """No process ends before it has looked at what was handed to it."""
    server = start_two(start)
    first, second = server.connect(), server.connect()
    assert first.get("/mine").body == b"first"
    (owner,) = [row["pid"] for row in rows(server, "worker") if row["requests"] == 1]
    stopped(owner)
    second.ask("/mine")
    server.await_total(connections_forwarded=1)
    server.command("shutdown graceful")
    os.kill(owner, signal.SIGCONT)
    assert second.reply().body == b"first"
    assert server.process.wait(30) == 0


def test_bias_is_a_number_or_inf(refusal: Callable[..., str]) -> None:
    """Words of other knobs are refused."""
    said = refusal("architecture=co-amped", "forward_bias=auto")
    assert "forward_bias = auto: expected an integer from 1 to 1000000, or inf\n" in said


@pytest.mark.parametrize("architecture", ["amped", "co-amped"])
def test_an_application_cache_is_refused(refusal: Callable[..., str], architecture: str) -> None:
    """The helpers are asked for what the kernel's cache lacks; of a cache in the server nobody could tell."""
    said = refusal(f"architecture={architecture}", "sendfile=off")
    assert "sendfile = off: expected nonblocking or blocking: " in said
