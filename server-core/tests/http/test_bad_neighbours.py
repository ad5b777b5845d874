"""Clients that would harm others if they could: they are served or cut off, and nobody else notices.

One event loop serves all of them here, so whatever it did for too long would be seen by all.
"""

from __future__ import annotations

import contextlib
import os
import socket
import statistics
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

FLOOD = b"GET /f HTTP/1.1\r\nHost: t\r\n\r\n" * 1000


def test_endless_pipeline_does_not_starve_others(
    start: Callable[..., Any], await_state: Callable[..., Any], architecture_once: dict[str, str]
) -> None:
    """While one client never stops asking for what is answered at once, others are served."""
    one = {each: 1 for each in ("workers", "copies") if architecture_once.get(each) == "2"}
    server = start(**{**architecture_once, **one})
    server.write("other", b"contents")
    greedy = server.connect()
    stop = threading.Event()

    def ask_for_ever() -> None:
        with contextlib.suppress(OSError):
            while not stop.is_set():
                greedy.send(FLOOD.replace(b"/f", b"/none"))

    def read_for_ever() -> None:
        with contextlib.suppress(OSError, ValueError):
            while greedy.socket.recv(1 << 20):
                pass

    threads = [threading.Thread(target=function) for function in (ask_for_ever, read_for_ever)]
    for thread in threads:
        thread.start()
    try:
        await_state(lambda: server.total()["requests"] > 0)
        before, asked = server.total()["requests"], 0
        other = server.connect()

        def is_served_beside_the_flood() -> bool:
            nonlocal asked
            assert other.get("/other").body == b"contents"
            asked += 1
            return asked >= 20 and server.total()["requests"] > before + asked

        await_state(is_served_beside_the_flood)
    finally:
        stop.set()
        greedy.socket.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()


def test_client_that_asks_and_does_not_read_is_not_read_from_without_end(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """Its requests stay in the kernel once its replies block; it is cut off after request_timeout."""
    server = start(request_timeout=1, sndbuf=16384)
    server.write("f", bytes(10_000))
    greedy = server.connect(receive_buffer=4096)
    greedy.socket.settimeout(0.2)
    with contextlib.suppress(OSError):
        for _ in range(1000):
            greedy.send(FLOOD)
    server.await_total(connections_timed_out=1, connections_open=0)
    assert server.total()["requests"] < 1000
    server.command("set request_timeout 60")
    assert server.connect().get("/f").body == bytes(10_000)


def test_crowd_of_slow_clients_keeps_nobody_waiting(
    start: Callable[..., Any], architecture: dict[str, str]
) -> None:
    """Half heads, unread replies and silence, two hundred of them: one more client is served all the same."""
    if architecture["architecture"] in {"mp", "mt"} or architecture.get("copy_of") in {"mp", "mt"}:
        pytest.skip("a process or thread for each of them")
    if architecture["sendfile"] == "blocking":
        pytest.skip("a reply that nobody takes holds whoever sends it")
    server = start(
        **architecture, max_connections=1000, request_timeout=60, keepalive_timeout=60, sndbuf=16384
    )
    server.write("big", bytes(5_000_000))
    server.write("file", b"contents")
    slow_heads = [server.connect() for _ in range(70)]
    slow_readers = [server.connect(receive_buffer=4096) for _ in range(70)]
    silent = [server.connect() for _ in range(60)]
    for client in slow_heads:
        client.send(b"GET /file HTTP/1.1\r\nHost: ")
    for client in slow_readers:
        client.ask("/big")
    quick = server.connect()
    for _ in range(50):
        assert quick.get("/file").body == b"contents"
    server.await_total(connections_open=201, connections_timed_out=0)
    for client in slow_heads:
        client.send(b"t\r\n\r\n")
        assert client.reply().body == b"contents"
    for client in silent:
        assert client.get("/file").body == b"contents"


@pytest.fixture
def drip(start: Callable[..., Any], architecture_once: dict[str, str]) -> tuple[Any, Callable[[], None]]:
    """A server that sends to two thousand slow readers, and the function by which each takes some bytes more.

    Where each holds a process or a thread there are fewer. Copies with listeners of their own share the
    places half and half, and the kernel draws the listener of each client: one copy has places for all.
    """
    architecture = architecture_once
    if architecture["sendfile"] == "blocking":
        pytest.skip("a reply that nobody takes holds whoever sends it")
    readers = {"mp": 40, "mt": 400}.get(architecture["architecture"], 2000)
    workers = {"workers": readers + 1} if architecture["architecture"] in {"mp", "mt"} else {}
    server = start(**{**architecture, **workers, "max_connections": 2 * readers + 100, "sndbuf": 16384})
    server.write("big", bytes(1 << 20))
    server.write("file", b"contents")
    slow = [server.connect(receive_buffer=4096) for _ in range(readers)]
    for client in slow:
        client.ask("/big")
    server.await_total(requests=readers, connections_open=readers)

    def take_some() -> None:
        for client in slow:
            with contextlib.suppress(BlockingIOError):
                client.socket.recv(100, socket.MSG_DONTWAIT)

    return server, take_some


def test_two_thousand_slow_readers_do_not_keep_a_new_client_from_being_served(
    drip: tuple[Any, Callable[[], None]],
) -> None:
    """While each of them takes its reply bit by bit, whoever comes is answered; none of them is cut off."""
    server, take_some = drip
    for _ in range(10):
        take_some()
        quick = server.connect()
        assert quick.get("/file").body == b"contents"
        quick.close()
    assert server.total()["connections_timed_out"] == 0


@pytest.mark.live
def test_a_new_client_waits_less_than_50_ms_beside_two_thousand_slow_readers(
    drip: tuple[Any, Callable[[], None]],
) -> None:
    """The middle one of many, from its connect to its reply."""
    server, take_some = drip
    waits_s = []
    for _ in range(30):
        take_some()
        begun_s = time.monotonic()
        quick = server.connect()
        assert quick.get("/file").body == b"contents"
        waits_s.append(time.monotonic() - begun_s)
        quick.close()
    assert statistics.median(waits_s) < 0.05


def test_file_replaced_while_it_is_sent_arrives_as_it_was(
    start: Callable[..., Any], mode: dict[str, str], await_state: Callable[..., Any]
) -> None:
    """A reply is of one version; the next one is of the new one."""
    server = start(**mode, workers=2, sndbuf=16384)
    old, new = os.urandom(2_000_000), os.urandom(1_000_000)
    server.write("file", old)
    slow = server.connect(receive_buffer=4096)
    slow.ask("/file")
    await_state(lambda: server.total()["bytes_sent"] > 0)
    server.write("other", new).rename(server.root / "file")
    assert slow.reply().body == old
    other = server.connect()
    await_state(lambda: other.get("/file").body == new)


def test_clients_that_reset_at_every_moment_leave_nothing_open(server: Any) -> None:
    """Before asking, while asking, while being replied to: all are forgotten, no signal ends the worker."""
    server.write("big", bytes(3_000_000))
    pids = server.worker_pids()
    reset = (socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    for head in (b"", b"GET /bi", b"GET /big HTTP/1.1\r\nHost: t\r\n\r\n", FLOOD[:5000]) * 10:
        client = server.connect(receive_buffer=4096)
        client.send(head)
        client.socket.setsockopt(*reset)
        client.close()
    server.await_total(connections_open=0, connections_accepted=40)
    assert server.worker_pids() == pids
