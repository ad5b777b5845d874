"""The client of the stats socket, where the server is another one."""

import os
import socket
from threading import Thread

import pytest
from trimtab_agent.station.server.stats_socket import StatsSocket, StatsSocketError


def test_a_socket_may_lie_deeper_than_an_address_reaches(tmp_path, monkeypatch):
    """unix(7) allows 107 bytes; a directory of data may lie deeper."""
    deep = tmp_path / ("directory-" * 12)
    deep.mkdir()
    monkeypatch.chdir(deep)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("stats.sock")
        listener.listen()
        answering = Thread(target=_answer, args=(listener,))
        answering.start()
        with StatsSocket(deep / "stats.sock") as stats:
            assert stats.ask("show info") == {"pid": os.getpid()}
        answering.join()


@pytest.mark.parametrize("path", ["stats.sock", "missing/stats.sock"])
def test_where_nobody_listens_is_said_with_the_path(tmp_path, path):
    """Whether the socket is missing or its directory."""
    with pytest.raises(StatsSocketError, match=f"stats socket {tmp_path / path}: No such file or directory"):
        StatsSocket(tmp_path / path)


def _answer(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection, connection.makefile("rb") as lines:
        assert lines.readline() == b"show info\n"
        connection.sendall(b'{"pid": %d}\n' % os.getpid())
