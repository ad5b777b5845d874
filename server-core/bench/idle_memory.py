"""Resident memory per idle persistent connection, at 10,000 connections, of the server and its peers.

Each connection asks for the 1 KB file once and then stays open. The growth of the server's
resident memory (PSS over its processes) is divided by the connections. What the kernel holds for a
socket is the same for every server and is not in it.
"""

from __future__ import annotations

import resource
import socket
from urllib.parse import urlsplit

import report
import servers

CONNECTIONS = 10_000
FIRST = 10  # open before the first reading, so that what a server sets up once is not counted as growth


def open_connections(server: servers.Server, count: int) -> list[socket.socket]:
    """Opens `count` connections, each of which has received one whole reply."""
    address = urlsplit(server.url)
    opened = []
    for number in range(count):
        # From several addresses, so that ports do not run out when servers are measured in turn.
        connection = socket.create_connection(
            (address.hostname, address.port), 5, (f"127.0.0.{2 + number % 4}", 0)
        )
        connection.sendall(b"GET /1k.bin HTTP/1.1\r\nHost: bench\r\n\r\n")
        head, body = b"", b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(4096)
        head, body = head.split(b"\r\n\r\n", 1)
        while len(body) < 1024:
            body += connection.recv(4096)
        opened.append(connection)
    return opened


def main() -> None:
    """Measures every server in turn and prints the section."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    rows = []
    with servers.folders() as (folder, root):
        (root / "1k.bin").write_bytes(bytes(1024))
        for name in servers.COMMANDS:
            with servers.running(name, folder / name, root, "/1k.bin") as server:
                first = open_connections(server, FIRST)
                before_bytes = server.resident_bytes()
                opened = open_connections(server, CONNECTIONS - FIRST)
                after_bytes = server.resident_bytes()
                for connection in [*first, *opened]:
                    connection.close()
            per_connection_bytes = (after_bytes - before_bytes) / (CONNECTIONS - FIRST)
            rows.append(
                [
                    name,
                    f"{before_bytes / 2**20:.1f}",
                    f"{after_bytes / 2**20:.1f}",
                    f"{per_connection_bytes:.0f}",
                ]
            )
    print("## Memory per idle connection\n")
    print(
        f"{CONNECTIONS:,} persistent connections, each after one request; resident memory (PSS) of all "
        "processes.\n"
    )
    print(
        report.table(
            ["server", f"MiB at {FIRST} connections", f"MiB at {CONNECTIONS:,}", "bytes per connection"], rows
        )
    )


if __name__ == "__main__":
    main()
