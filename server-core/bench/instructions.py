"""What a request costs the server, told without a clock: instructions in user mode, and system calls.

valgrind (callgrind) counts the instructions of the process that serves, strace the system calls. Each figure
is the difference between two runs, of which one has three times as many requests: start and end do not count.
So it is nearly the same in every round, whatever else the machine does, and a change of a few instructions
shows. What the kernel does for a request, which is most of it, is not in the instructions.

    instructions.py [--httpd PROGRAM …] [--work WORK …] [ARCHITECTURE …]

All connections ask, then all are read from, and so on; with one connection each request has a turn of the
event loop for itself.
"""

from __future__ import annotations

import argparse
import re
import socket
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psutil
import report
import servers
from browser import BROWSER
from trimtab_agent.station.server.ports import ADDRESS, HeldPorts

START_S = 60
SETTLED_S = 2.1
"""What has changed within two seconds is not kept in memory."""

SELDOM = 0.005
"""Calls for each request that are not worth telling."""


@dataclass(frozen=True)
class Work:
    """So many connections, each of which asks for a file of that size so often, with more header lines."""

    size_bytes: int
    connections: int
    requests: int
    header: str = ""


WORKS = {
    "1 KB on one connection": Work(1024, 1, 400),
    "1 KB on 64": Work(1024, 64, 40),
    "1 KB on 64, a browser's header": Work(1024, 64, 40, BROWSER),
    "64 KB on 8": Work(65536, 8, 100),
}


def ask_and_read(clients: list[socket.socket], request: bytes, size_bytes: int) -> None:
    """One request on each connection, and its reply; raises RuntimeError at another reply than that."""
    for client in clients:
        client.sendall(request)
    for client in clients:
        got = b""
        while b"\r\n\r\n" not in got and (piece := client.recv(65536)):
            got += piece
        if not got.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError(f"the server said {got[:100]!r}")
        left = size_bytes - len(got.partition(b"\r\n\r\n")[2])
        while left > 0 and (piece := client.recv(min(left, 1 << 20))):
            left -= len(piece)
        if left != 0:
            raise RuntimeError(f"{left} bytes of a reply did not come")


def connected(port: int) -> socket.socket:
    """A connection to the server, which may have to start first."""
    deadline_s = time.monotonic() + START_S
    while True:
        try:
            return socket.create_connection((ADDRESS, port))
        except ConnectionRefusedError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.05)


def callgrind_totals(folder: Path) -> dict[str, int]:
    """The instructions of the process that has executed most: the one that serves."""
    found = (
        re.search(r"^(?:totals|summary): (\d+)", file.read_text(), re.MULTILINE)
        for file in folder.glob("callgrind.*")
    )
    return {"instructions": max(int(one[1]) for one in found if one)}


def strace_totals(folder: Path) -> dict[str, int]:
    """The calls of all processes, by name; that of the line with the sum is left out."""
    lines = (folder / "strace").read_text().splitlines()
    rows = [line.split() for line in lines if re.match(r"\s*\d+\.\d+\s", line)]
    return {row[-1]: int(row[3]) for row in rows if row[-1] != "total"}


def counted(by: str, httpd: str, architecture: str, work: Work, requests: int) -> dict[str, int]:
    """What valgrind or strace counts while so many requests are made on each connection."""
    with servers.folders() as (folder, root), HeldPorts() as ports, ExitStack() as opened:
        (root / "f.bin").write_bytes(bytes(work.size_bytes))
        time.sleep(SETTLED_S)
        port = ports.take()
        command = servers.core_with(architecture=architecture, workers=1, max_connections=200)(
            folder, root, port
        )
        counter = {
            "valgrind": [
                "--tool=callgrind",
                f"--log-file={folder}/valgrind.%p",
                f"--callgrind-out-file={folder}/callgrind.%p",
            ],
            "strace": ["-f", "-c", "-o", f"{folder}/strace"],
        }[by]
        child = psutil.Popen([by, *counter, httpd, *command[1:]])
        try:
            clients = [opened.enter_context(connected(port)) for _ in range(work.connections)]
            request = f"GET /f.bin HTTP/1.1\r\nHost: bench\r\n{work.header}\r\n".encode()
            for _ in range(requests):
                ask_and_read(clients, request, work.size_bytes)
        finally:
            opened.close()
            # valgrind is the server, strace has it for a child.
            for server in [child] if by == "valgrind" else child.children():
                server.terminate()
            child.wait(START_S)
        return callgrind_totals(folder) if by == "valgrind" else strace_totals(folder)


def per_request(by: str, httpd: str, architecture: str, work: Work) -> dict[str, float]:
    """The difference between a short and a long run, for each request that the long one has more."""
    short = counted(by, httpd, architecture, work, work.requests)
    long = counted(by, httpd, architecture, work, 3 * work.requests)
    more = 2 * work.requests * work.connections
    return {name: (long[name] - short.get(name, 0)) / more for name in long}


def main() -> None:
    """Counts and prints a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--httpd", action="append", help="a program, instead of that of server-core/build")
    parser.add_argument("--work", action="append", choices=WORKS)
    parser.add_argument("architectures", nargs="*", default=["sped", "uring"])
    options = parser.parse_args()
    rows = []
    for architecture in options.architectures:
        for name in options.work or WORKS:
            for httpd in options.httpd or [str(servers.HTTPD)]:
                instructions = per_request("valgrind", httpd, architecture, WORKS[name])["instructions"]
                calls = per_request("strace", httpd, architecture, WORKS[name])
                told = ", ".join(f"{call} {count:.2f}" for call, count in calls.items() if count >= SELDOM)
                rows.append([architecture, name, httpd, f"{instructions:,.0f}", told])
    print(report.table(["architecture", "work", "program", "instructions", "system calls"], rows))


if __name__ == "__main__":
    main()
