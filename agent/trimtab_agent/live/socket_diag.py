"""TCP sockets of this network namespace, asked of the kernel one kind at a time (sock_diag(7), as ss does).

/proc/net/tcp lists all of them, and for that goes through the whole table of connections: 10 ms and more,
which is too much for something that is asked several times a second.
"""

import os
import socket
import struct
from collections.abc import Collection, Iterator

# linux/netlink.h, linux/sock_diag.h, linux/inet_diag.h, net/tcp_states.h
SOCK_DIAG = 4  # the protocol of the netlink socket
BY_FAMILY = 20
REQUEST, DUMP = 0x01, 0x300
ERROR, DONE = 2, 3
ESTABLISHED, LISTEN = 1 << 1, 1 << 10
HEADER = struct.Struct("=IHHII")
# Family, protocol, which states; then the port of this side, as the network writes it, and what matches all.
WANTED = struct.Struct("=BBxxI2s46x")
# Behind what names the socket and its timer: connections that wait if it listens, and the inode.
FOUND = struct.Struct("=4x48x4xI8xI")
ANSWER_BYTES = 1 << 16


def accept_queues() -> dict[int, int]:
    """How many connections wait to be accepted at each listening socket, by inode; raises OSError."""
    return dict(_sockets(LISTEN, 0))


def connections_at(ports: Collection[int]) -> int:
    """How many connections are open at these ports, whoever has them; raises OSError."""
    return sum(1 for port in ports for _ in _sockets(ESTABLISHED, port))


def open_connections(ports: Collection[int]) -> set[int]:
    """The inodes of the connections that are open at these ports; raises OSError."""
    return {inode for port in ports for inode, _ in _sockets(ESTABLISHED, port)}


def _sockets(states: int, port: int) -> Iterator[tuple[int, int]]:
    """The sockets in these states: inode, and connections that wait; 0 stands for every port."""
    for family in (socket.AF_INET, socket.AF_INET6):
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, SOCK_DIAG) as kernel:
            wanted = WANTED.pack(family, socket.IPPROTO_TCP, states, port.to_bytes(2, "big"))
            kernel.send(HEADER.pack(HEADER.size + len(wanted), BY_FAMILY, REQUEST | DUMP, 0, 0) + wanted)
            for kind, message in _answers(kernel):
                if kind == DONE:
                    break
                if kind == ERROR:
                    number = -int(struct.unpack_from("=i", message)[0])
                    raise OSError(number, os.strerror(number))
                waiting, inode = FOUND.unpack_from(message)
                yield inode, waiting


def _answers(kernel: socket.socket) -> Iterator[tuple[int, bytes]]:
    """The kernel's messages: of which kind each is, and what it says."""
    while True:
        data = kernel.recv(ANSWER_BYTES)
        while data:
            length, kind, *_ = HEADER.unpack_from(data)
            yield kind, data[HEADER.size : length]
            data = data[length + -length % 4 :]
