"""How long small requests wait while large files are fetched: ours in every architecture, and nginx.

One CPU serves. On the other a process fetches a large sparse file over many connections at once, as fast as
it can, and another asks for a 1 KB file over a persistent connection, one request after the other with a
pause between. Told is how long its replies took, for every server in turn, in as many rounds as wished.

    beside_downloads.py [--downloads N] [--seconds S] [--rounds N] [--drip] [NAME …]

With --drip the downloads come from clients that read a byte a second, and each small request comes over a
connection of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import select
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import report
import servers

LARGE_BYTES = 3_000_000_000
PAUSE_S = 0.002
REQUEST = "GET /{} HTTP/1.1\r\nHost: bench\r\n\r\n"
LIMIT_S = 5.0  # a probe that is not answered by then counts as that long


@dataclass
class Figures:
    """One value a round, in ms."""

    p50_ms: list[float] = field(default_factory=list)
    p99_ms: list[float] = field(default_factory=list)
    worst_ms: list[float] = field(default_factory=list)


def connect(port: int, name: str, receive_bytes: int = 0) -> socket.socket:
    """A connection on which the file has been asked for."""
    client = socket.socket()
    if receive_bytes:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    client.settimeout(LIMIT_S)
    client.connect(("127.0.0.1", port))
    client.sendall(REQUEST.format(name).encode())
    return client


def download(port: int, count: int, drip: bool, ready: multiprocessing.synchronize.Event) -> None:
    """Fetches over `count` connections until it is killed; over and over, or a byte a second."""
    os.sched_setaffinity(0, {servers.CLIENT_CPU})
    if drip:
        clients = [connect(port, "large", 4096) for _ in range(count)]
        ready.set()
        while True:
            for client in clients:
                with contextlib.suppress(OSError):
                    client.recv(1, socket.MSG_DONTWAIT)
            time.sleep(1)
    poll = select.epoll()
    by_number: dict[int, socket.socket] = {}
    sink = bytearray(1 << 20)
    while True:
        while len(by_number) < count:
            client = connect(port, "large")
            by_number[client.fileno()] = client
            poll.register(client, select.EPOLLIN)
        ready.set()
        for fd, _events in poll.poll():
            # What is thrown away unseen costs the generator next to nothing.
            if by_number[fd].recv_into(sink, len(sink), socket.MSG_TRUNC | socket.MSG_DONTWAIT) == 0:
                by_number.pop(fd).close()


@contextlib.contextmanager
def downloading(port: int, count: int, drip: bool) -> Iterator[None]:
    """Runs the downloads until the block is left."""
    ready = multiprocessing.Event()
    child = multiprocessing.Process(target=download, args=(port, count, drip, ready), daemon=True)
    child.start()
    try:
        if not ready.wait(60):
            raise RuntimeError("the downloads did not begin within a minute")
        yield
    finally:
        child.kill()
        child.join()


def probe(port: int, seconds: float, fresh: bool) -> list[float]:
    """How long each small request took, in seconds; over one connection, or over a `fresh` one each."""
    taken_s = []
    end_s = time.monotonic() + seconds
    client = None
    while time.monotonic() < end_s:
        begun_s = time.perf_counter()
        try:
            if client is None or fresh:
                client = connect(port, "1k.bin")
            else:
                client.sendall(REQUEST.format("1k.bin").encode())
            received = b""
            while len(received.partition(b"\r\n\r\n")[2]) < 1024:
                received += client.recv(65536)
        except TimeoutError:
            client = None
        taken_s.append(time.perf_counter() - begun_s)
        if fresh and client:
            client.close()
        time.sleep(PAUSE_S)
    return sorted(taken_s)


def measure(
    command: servers.Command, place: Path, root: Path, options: argparse.Namespace, figures: Figures
) -> None:
    """One round of one server."""
    with servers.running("server", place, root, "/1k.bin", command) as server:
        port = int(server.url.rsplit(":", 1)[1])
        with downloading(port, options.downloads, options.drip):
            taken_s = probe(port, options.seconds, options.drip)
    figures.p50_ms.append(taken_s[len(taken_s) // 2] * 1e3)
    figures.p99_ms.append(taken_s[int(len(taken_s) * 0.99)] * 1e3)
    figures.worst_ms.append(taken_s[-1] * 1e3)


def architectures() -> list[str]:
    """What the server says it can do."""
    done = subprocess.run([servers.HTTPD, "-V", "--json"], capture_output=True, check=True)
    return [one["name"] for one in json.loads(done.stdout)["architectures"] if one["modes"]]


def commands(chosen: list[str]) -> dict[str, servers.Command]:
    """The servers to compare: those that were named, or all."""
    found = {"nginx": servers.nginx_with()}
    for name in architectures():
        knobs: dict[str, object] = {"architecture": name, "max_connections": 4000}
        if name == "n-copy":
            knobs["reuseport"] = "on"
        found[name] = servers.core_with(**knobs)
    return {name: command for name, command in found.items() if not chosen or name in chosen}


def main() -> None:
    """Measures, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--downloads", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--drip", action="store_true")
    options = parser.parse_args()
    compared = commands(options.names)
    results = {name: Figures() for name in compared}
    os.sched_setaffinity(0, {servers.CLIENT_CPU})
    with servers.folders() as (folder, root):
        (root / "1k.bin").write_bytes(bytes(1024))
        with (root / "large").open("wb") as file:
            file.truncate(LARGE_BYTES)
        for number in range(options.rounds):
            for name, command in compared.items():
                measure(command, folder / f"{name}-{number}", root, options, results[name])
    rows = [
        [name, *(report.spread(values) for values in (one.p50_ms, one.p99_ms, one.worst_ms))]
        for name, one in results.items()
    ]
    print(report.table(["server", "p50 (ms)", "p99 (ms)", "longest (ms)"], rows))


if __name__ == "__main__":
    main()
