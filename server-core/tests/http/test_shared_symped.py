"""Processes that share descriptors and cache: one cache, and a death that leaves nothing behind."""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

LOCKS = ["mutex", "rw"]


def descriptors(server: Any) -> int:
    """Return how many descriptors the processes have, which is one table for all."""
    return sum(1 for _ in Path(f"/proc/{server.process.pid}/fd").iterdir())


@pytest.mark.parametrize("lock", LOCKS)
def test_file_opened_by_one_process_is_open_for_all(start: Callable[..., Any], lock: str) -> None:
    """Four processes serve the file, one has opened it."""
    server = start(architecture="shared-symped", workers=4, max_connections=4, cache_lock=lock)
    server.write("file", b"contents")
    for connection in [server.connect() for _ in range(4)]:
        assert connection.get("/file").body == b"contents"
    stats = server.command("show stats")
    assert [worker["requests"] for worker in stats["workers"]] == [1, 1, 1, 1]
    assert (stats["total"]["cache_misses"], stats["total"]["cache_hits"]) == (1, 3)


def test_connections_of_a_killed_process_are_closed(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """The kernel does not close what others share; clients learn of the end, and no descriptor is lost."""
    server = start(architecture="shared-symped", workers=2, max_connections=2, sndbuf=16384)
    server.write("big", bytes(5_000_000))
    first, second = server.connect(), server.connect()
    assert first.get("/big", method="HEAD").status == 200
    assert second.get("/big", method="HEAD").status == 200
    before = descriptors(server)
    workers = server.command("show stats")["workers"]
    first.ask("/big")  # its process sends when it dies
    server.await_total(requests=3)
    busy = next(
        new["pid"]
        for old, new in zip(workers, server.command("show stats")["workers"], strict=True)
        if new["requests"] > old["requests"]
    )
    os.kill(busy, signal.SIGKILL)
    while first.stream.read(65536):
        pass
    await_state(lambda: server.command("show info")["worker_restarts"] == 1)
    assert second.get("/big", method="HEAD").status == 200
    assert server.connect().get("/big", method="HEAD").status == 200
    server.await_total(connections_open=2)
    await_state(lambda: descriptors(server) == before)


@pytest.mark.parametrize("lock", LOCKS)
def test_processes_killed_with_the_lock_in_their_hands_stop_nobody(
    start: Callable[..., Any], await_state: Callable[..., Any], lock: str
) -> None:
    """Under a load that inserts and evicts all the time, any process may die at any moment."""
    server = start(architecture="shared-symped", workers=3, cache_lock=lock, cache_entries=4)
    bodies = {f"/file{i}": os.urandom(3000 + i) for i in range(16)}
    for name, body in bodies.items():
        server.write(name[1:], body)
    stop = threading.Event()
    wrong: list[str] = []

    def client(seed: int) -> None:
        choice = random.Random(seed)
        while not stop.is_set():
            try:
                connection = server.connect()
                for _ in range(20):
                    name = choice.choice(list(bodies))
                    connection.ask(name)
                    head = b""
                    while not head.endswith(b"\r\n\r\n"):
                        byte = connection.stream.read(1)
                        if not byte:
                            raise ConnectionResetError  # its process was killed
                        head += byte
                    body = connection.stream.read(len(bodies[name]))
                    if len(body) == len(bodies[name]) and body != bodies[name]:
                        wrong.append(name)
            except OSError:
                continue

    clients = [threading.Thread(target=client, args=(seed,)) for seed in range(4)]
    for thread in clients:
        thread.start()
    choice = random.Random(0)
    for death in range(1, 7):
        requests = server.total()["requests"]
        await_state(lambda: server.total()["requests"] > requests + 50)  # noqa: B023
        os.kill(choice.choice([pid for pid in server.worker_pids() if pid]), signal.SIGKILL)
        await_state(lambda: server.command("show info")["worker_restarts"] == death)  # noqa: B023
    stop.set()
    for thread in clients:
        thread.join()
    assert wrong == []
    connection = server.connect()
    for name, body in bodies.items():
        assert connection.get(name).body == body


def test_parts_have_listeners_and_cpus_of_their_own(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """With two copies, the second address belongs to the odd processes, which run on the second CPU."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    server = start(
        architecture="shared-symped",
        workers=4,
        copies=2,
        listen="127.0.0.1:0,127.0.0.2:0",
        affinity=",".join(map(str, cpus)),
    )
    server.write("file", b"contents")
    host, port = server.command("show info")["listen"][1].rsplit(":", 1)
    server.address = (host, int(port))
    for connection in [server.connect() for _ in range(6)]:
        assert connection.get("/file").body == b"contents"
    workers = server.command("show stats")["workers"]
    assert workers[0]["requests"] + workers[2]["requests"] == 0
    assert workers[1]["requests"] + workers[3]["requests"] == 6
    for number, worker in enumerate(workers):
        expected = {cpus[number % 2 % len(cpus)]}
        await_state(lambda: os.sched_getaffinity(worker["pid"]) == expected)  # noqa: B023


def test_full_part_makes_places_though_another_part_has_some(start: Callable[..., Any]) -> None:
    """Nobody of the other part can take who comes to the address of this one."""
    server = start(
        architecture="shared-symped",
        workers=2,
        copies=2,
        max_connections=2,
        listen="127.0.0.1:0,127.0.0.2:0",
    )
    server.write("file", b"contents")
    idle = server.connect()
    assert idle.get("/file").body == b"contents"
    assert server.connect().get("/file").body == b"contents"
    assert idle.is_closed_by_server()


def test_mechanisms_with_tables_by_descriptor_are_refused(refusal: Callable[..., str]) -> None:
    """The sentence says which ones are possible, and why."""
    assert "events = poll: expected epoll or epoll-et" in refusal("architecture=shared-symped", "events=poll")
