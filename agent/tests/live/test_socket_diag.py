"""Sockets of this network namespace, as the kernel tells of them."""

import os
import socket
import struct

import pytest
from trimtab_agent.live import socket_diag
from trimtab_agent.live.socket_diag import accept_queues, connections_at
from waiting import until

FAMILIES = pytest.mark.parametrize(
    ("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
)


def inode(server):
    """By which the kernel tells of a socket."""
    return os.fstat(server.fileno()).st_ino


@FAMILIES
def test_connections_that_wait_are_told_of_each_listening_socket(family, host):
    """Those that were accepted do not wait; a socket that is closed is not told of."""
    with (
        socket.create_server((host, 0), family=family) as server,
        socket.create_server((host, 0), family=family) as other,
    ):
        clients = [socket.create_connection(server.getsockname()[:2]) for _ in range(3)]
        until(lambda: accept_queues()[inode(server)] == 3)  # the last word of a handshake may be on its way
        assert accept_queues()[inode(other)] == 0
        server.accept()[0].close()
        assert accept_queues()[inode(server)] == 2
        closed = inode(other)
        other.close()
        assert closed not in accept_queues()
        assert not {inode(client) for client in clients} & accept_queues().keys()
        for client in clients:
            client.close()


@FAMILIES
def test_open_connections_are_counted_at_their_port(family, host):
    """More than fit into one answer of the kernel; not those at others."""
    with (
        socket.create_server((host, 0), family=family, backlog=512) as server,
        socket.create_server((host, 0), family=family) as other,
    ):
        clients = [socket.create_connection(server.getsockname()[:2]) for _ in range(300)]
        clients.append(socket.create_connection(other.getsockname()[:2]))
        ports = [each.getsockname()[1] for each in (server, other)]
        until(lambda: [connections_at([port]) for port in ports] == [300, 1])
        assert connections_at(ports) == 301
        assert connections_at([]) == 0
        for client in clients:
            client.close()


def test_refusal_of_the_kernel_is_an_error(monkeypatch):
    """In its own words."""
    monkeypatch.setattr(socket_diag, "WANTED", struct.Struct("=BBxxI2s"))  # shorter than it has to be
    with pytest.raises(OSError, match="Invalid argument"):
        accept_queues()
