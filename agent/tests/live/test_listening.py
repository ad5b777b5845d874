"""Listening sockets of processes, as the kernel lists them."""

import os
import socket

import pytest
from trimtab_agent.live.listening import Listener, inode_of, is_there, listeners_of, take


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


def test_descriptor_of_a_file_is_not_taken_and_nothing_is_left_open(tmp_path):
    """A server may have opened one under the number of a socket that it has closed."""
    with (tmp_path / "log").open("w") as file:
        before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - descriptors, not files
        with pytest.raises(OSError, match=r"[Nn]on-socket"):
            take(os.getpid(), file.fileno())
        assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_listener_is_there_until_its_descriptor_is_closed_or_somebody_elses():
    """Whoever puts something back leaves the other socket alone."""
    server = socket.create_server(("127.0.0.1", 0))
    listener = Listener("127.0.0.1", server.getsockname()[1], server.fileno())
    assert is_there(os.getpid(), listener)
    with socket.create_server(("127.0.0.1", 0)) as other:
        os.dup2(other.fileno(), server.fileno())
        assert not is_there(os.getpid(), listener)
    server.close()
    assert not is_there(os.getpid(), listener)


@pytest.mark.parametrize(("host", "expected"), [("127.0.0.1", "127.0.0.1:80"), ("::1", "[::1]:80")])
def test_address_is_written_as_people_do(host, expected):
    """With brackets where it has colons."""
    assert Listener(host, 80, 3).address == expected
