"""Copies of other architectures: each with listeners, caches and a CPU of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

TWO_ADDRESSES = "127.0.0.1:0,127.0.0.2:0"
COPIED = ["sped", "symped", "shared-symped", "mp", "mt", "pipeline", "uring", "knot", "nm"]


@pytest.fixture(autouse=True)
def skip_what_the_kernel_lacks(request: pytest.FixtureRequest, binary: str) -> None:
    """An architecture without a mode needs another kernel."""
    said = subprocess.run([binary, "-V", "--json"], capture_output=True, check=True, timeout=30)
    modes = {row["name"]: row["modes"] for row in json.loads(said.stdout)["architectures"]}
    copy_of = getattr(request.node, "callspec", None) and request.node.callspec.params.get("copy_of")
    if copy_of and not modes[copy_of]:
        pytest.skip(f"{copy_of} cannot run on this kernel")


def connect_to(server: Any, copy: int) -> Any:
    """Open a connection to the address that belongs to a copy."""
    host, port = server.command("show info")["listen"][copy].rsplit(":", 1)
    server.address = (host, int(port))
    return server.connect()


def rows_of_copy(server: Any, copy: int) -> list[dict[str, Any]]:
    """Return the rows of counters of one of two copies."""
    rows: list[dict[str, Any]] = server.command("show stats")["workers"]
    return rows[copy::2]


@pytest.mark.parametrize("copy_of", COPIED)
def test_each_copy_serves_its_own_address_from_its_own_cache(
    start: Callable[..., Any], await_state: Callable[..., Any], copy_of: str
) -> None:
    """What is asked of one copy is counted there, and both have to open the file."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    affinity = ",".join(map(str, cpus))
    server = start(architecture="n-copy", copies=2, copy_of=copy_of, listen=TWO_ADDRESSES, affinity=affinity)
    server.write("file", b"contents")
    for copy, requests in ((0, 2), (1, 3)):
        connection = connect_to(server, copy)
        for _ in range(requests):
            assert connection.get("/file").body == b"contents"
        rows = rows_of_copy(server, copy)
        assert sum(row["requests"] for row in rows) == requests
        assert sum(row["cache_misses"] for row in rows) == 1
        for row in rows:
            await_state(lambda: os.sched_getaffinity(row["pid"]) == {cpus[copy % len(cpus)]})  # noqa: B023
    server.await_total(requests=5, replies_200=5, connections_accepted=2)


def test_jobs_of_user_threads_are_counted_in_their_copy(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """The queue to the kernel threads of a copy, and the one back, have rows of that copy."""
    server = start(architecture="n-copy", copies=2, copy_of="knot", workers=2, listen=TWO_ADDRESSES)
    contents = bytes(9000)  # a smaller file may come to lie in memory with its head, and then needs no job
    server.write("file", contents)
    for copy, requests in ((0, 2), (1, 5)):
        connection = connect_to(server, copy)
        for _ in range(requests):
            assert connection.get("/file").body == contents

        def is_counted(copy: int = copy, requests: int = requests) -> bool:
            scheduler, first, _second = rows_of_copy(server, copy)
            jobs: int = scheduler["helper_requests"]
            return jobs == first["queue_items"] == scheduler["queue_items"] and jobs >= requests

        await_state(is_counted)  # the last job comes back after its reply has reached the client
        assert rows_of_copy(server, copy)[2]["queue_items"] == 0


def test_max_connections_is_divided_among_the_copies(start: Callable[..., Any]) -> None:
    """A copy that has its share lets the next client wait, although the other copy has room."""
    server = start(architecture="n-copy", copies=2, max_connections=4, listen=TWO_ADDRESSES, copy_of="sped")
    server.write("file", b"contents")
    first, second = connect_to(server, 0), connect_to(server, 0)
    for connection in (first, second):
        assert connection.get("/file").body == b"contents"
    server.begin_requests(first, second)
    third = connect_to(server, 0)
    third.ask("/file")
    assert connect_to(server, 1).get("/file").body == b"contents"
    server.await_total(connections_open=3, requests=3)
    first.close()
    assert third.reply().body == b"contents"


def test_copies_balance_accepting_where_what_is_copied_does(start: Callable[..., Any]) -> None:
    """From the start on, and when it is set."""
    server = start(architecture="n-copy", copies=2, copy_of="sped", listen=TWO_ADDRESSES, accept_limit="auto")
    server.write("file", b"contents")
    assert connect_to(server, 1).get("/file").body == b"contents"
    assert server.command("set accept_limit 5") == {"knob": "accept_limit", "value": 5}
    assert server.command("set accept_limit auto") == {"knob": "accept_limit", "value": "auto"}
    assert connect_to(server, 0).get("/file").body == b"contents"


@pytest.mark.parametrize("copy_of", COPIED)
def test_copy_whose_process_was_killed_serves_again(
    start: Callable[..., Any], await_state: Callable[..., Any], copy_of: str
) -> None:
    """The replacement belongs to the same copy."""
    server = start(architecture="n-copy", copies=2, copy_of=copy_of, listen=TWO_ADDRESSES)
    server.write("file", b"contents")
    lost = connect_to(server, 1)
    assert lost.get("/file").status == 200
    os.kill(rows_of_copy(server, 1)[0]["pid"], signal.SIGKILL)
    assert lost.is_closed_by_server()
    await_state(lambda: server.command("show info")["worker_restarts"] == 1)
    assert connect_to(server, 1).get("/file").body == b"contents"
    assert sum(row["requests"] for row in rows_of_copy(server, 1)) == 2
    assert sum(row["requests"] for row in rows_of_copy(server, 0)) == 0


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (["copies=2"], "expected an address for each of the copies, or reuseport = on"),
        (["copy_of=sped", "workers=4"], "workers = 4: a copy of sped knows no such knob: expected 1"),
        (["copy_of=mp", "events=epoll"], "a copy of mp knows no such knob"),
        (["copy_of=n-copy"], "copy_of = n-copy: expected one of sped, symped"),
        (["copy_of=knot", "accept_limit=auto"], "architecture knot has no turns to balance"),
    ],
)
def test_impossible_copies_are_refused(
    refusal: Callable[..., str], settings: list[str], sentence: str
) -> None:
    """The sentence names the knob and what would do."""
    assert sentence in refusal("architecture=n-copy", *settings)
