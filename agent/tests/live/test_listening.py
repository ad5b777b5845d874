"""Listening sockets of processes, as the kernel lists them."""

import os
import socket

import pytest
from trimtab_agent.live.listening import Listener, inode_of, listeners_of, take


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_socket_of_a_process_is_found_with_its_address(family):
    """And no more when it is closed."""
    host = "127.0.0.1" if family == socket.AF_INET else "::1"
    with socket.create_server((host, 0), family=family) as server:
        expected = Listener(host, server.getsockname()[1], server.fileno())
        assert expected in listeners_of(os.getpid())
        assert inode_of(os.getpid(), expected) == os.fstat(server.fileno()).st_ino
    assert expected not in listeners_of(os.getpid())


def test_socket_with_several_descriptors_is_one():
    """h2o makes one for each of its threads."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        other = os.dup(server.fileno())
        try:
            found = [each for each in listeners_of(os.getpid()) if each.port == server.getsockname()[1]]
        finally:
            os.close(other)
        assert [listener.descriptor for listener in found] == [min(server.fileno(), other)]


def test_connected_socket_is_no_listener():
    """Both ends of a connection are left out."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        descriptors = {listener.descriptor for listener in listeners_of(os.getpid())}
        assert client.fileno() not in descriptors
        assert server.fileno() in descriptors


def test_taken_descriptor_is_the_same_socket():
    """Under another number."""
    with socket.create_server(("127.0.0.1", 0)) as server, take(os.getpid(), server.fileno()) as taken:
        assert taken.getsockname() == server.getsockname()
        assert taken.fileno() != server.fileno()


def test_descriptor_that_there_is_not_cannot_be_taken():
    """The kernel says so."""
    with pytest.raises(OSError, match="Bad file descriptor"):
        take(os.getpid(), 1_000_000)


@pytest.mark.parametrize(("host", "expected"), [("127.0.0.1", "127.0.0.1:80"), ("::1", "[::1]:80")])
def test_address_is_written_as_people_do(host, expected):
    """With brackets where it has colons."""
    assert Listener(host, 80, 3).address == expected
