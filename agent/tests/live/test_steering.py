"""A port of a real server is shared by weight, and nobody's connection is lost."""

import collections
import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from trimtab_agent.errors import HostError
from trimtab_agent.live import steering
from trimtab_agent.live.listening import listeners_of, take
from trimtab_agent.live.steering import SharedPort
from trimtab_agent.station.server.target_server import TargetServer
from trimtab_agent.stopping import StopSignal
from trimtab_tuner.targets import TARGETS

ASKED = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
OTHER = "import socket, sys; held = socket.create_server(('127.0.0.1', int(sys.argv[1])), reuse_port=True); "
OTHER += "print(flush=True); sys.stdin.read()"
OURS = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nours"


def served_by(port):
    """Who answers one new connection: `ours`, or anybody else."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        return answer_of(connection)


def answer_of(connection):
    """Who answers on a connection."""
    connection.sendall(ASKED)
    said = b""
    while part := connection.recv(65536):
        said += part
    assert said.startswith(b"HTTP/1.1 "), said
    return "ours" if said.endswith(b"ours") else "production"


@contextmanager
def answering(listener):
    """A server of ours on a socket, which answers until it is told to stop."""
    stop = threading.Event()
    listener.settimeout(0.05)

    def serve():
        while not stop.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            with connection:
                connection.settimeout(60)
                connection.recv(4096)
                connection.sendall(OURS)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def listener_on(pids, port):
    """The process that holds the socket on that port, and which it is."""
    return next((pid, found) for pid in pids for found in listeners_of(pid) if found.port == port)


@pytest.mark.kernel
@pytest.mark.usefixtures("migrating")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "core" else pytest.mark.live)
        for name in TARGETS
        if TARGETS[name].protocol == "http"
    ],
)
def test_connections_of_a_running_server_are_shared_by_weight_and_none_is_lost(name, server_order):
    """From joining to leaving, with every kind of web server."""
    with TargetServer(server_order(name), StopSignal()) as server:
        shared = SharedPort(*listener_on(server.pids, server.port))
        ours = shared.open()
        assert {served_by(server.port) for _ in range(40)} == {"production"}
        with answering(ours):
            shared.weigh((0.5,))
            seen = collections.Counter(served_by(server.port) for _ in range(200))
            assert 57 < seen["ours"] < 143  # six standard deviations
            shared.weigh((0.0,))
            assert {served_by(server.port) for _ in range(40)} == {"production"}
            shared.weigh((1.0,))
            assert {served_by(server.port) for _ in range(40)} == {"ours"}
        # Nobody accepts ours any more: what waits there goes to production when it closes.
        waiting = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(20)]
        ours.close()
        assert [answer_of(connection) for connection in waiting] == ["production"] * 20
        for connection in waiting:
            connection.close()
        # A filter that is left behind names a socket that there is no more.
        assert {served_by(server.port) for _ in range(40)} == {"production"}
        shared.leave()
        pid, listener = listener_on(server.pids, server.port)
        with take(pid, listener.descriptor) as left:
            assert left.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT) == 0
        assert {served_by(server.port) for _ in range(10)} == {"production"}


@pytest.mark.kernel
@pytest.mark.usefixtures("migrating")
def test_two_servers_of_ours_have_each_their_share():
    """And production has the rest."""
    # Room for all of them, however they fall: the kernel drops what finds none.
    with socket.create_server(("127.0.0.1", 0), backlog=400) as production:
        port = production.getsockname()[1]
        shared = SharedPort(os.getpid(), listener_on([os.getpid()], port)[1])
        with shared.open() as first, shared.open() as second:
            shared.weigh((0.25, 0.5))
            clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(400)]
            counts = [waiting_in(each) for each in (production, first, second)]
            for client in clients:
                client.close()
        shared.leave()
    assert sum(counts) == 400
    # Six standard deviations: drawn by the kernel, so that no seed can be given.
    assert 48 < counts[0] < 152
    assert 48 < counts[1] < 152
    assert 140 < counts[2] < 260


def waiting_in(listener):
    """How many connections a socket has to accept; they are accepted."""
    listener.setblocking(False)
    count = 0
    while True:
        try:
            listener.accept()[0].close()
        except BlockingIOError:
            return count
        count += 1


@pytest.mark.kernel
@pytest.mark.usefixtures("migrating")
def test_port_that_has_several_sockets_is_refused_and_left_as_it_is():
    """Which of them is production's is not known."""
    with (
        socket.create_server(("127.0.0.1", 0), reuse_port=True) as one,
        socket.create_server(one.getsockname(), reuse_port=True),
    ):
        listener = listener_on([os.getpid()], one.getsockname()[1])[1]
        with pytest.raises(HostError, match="has 2 sockets on it"):
            SharedPort(os.getpid(), listener)
        assert one.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT) == 1


@pytest.mark.kernel
@pytest.mark.usefixtures("migrating")
def test_port_that_others_share_already_is_refused():
    """The filter would send connections to their sockets."""
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as production:
        port = production.getsockname()[1]
        other = subprocess.Popen(
            (sys.executable, "-c", OTHER, str(port)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        with other:
            other.stdout.readline()
            listener = listener_on([os.getpid()], port)[1]
            with pytest.raises(HostError, match=f"others listen there too; expected process {os.getpid()}"):
                SharedPort(os.getpid(), listener)
            other.stdin.close()


@pytest.mark.kernel
def test_production_that_has_ended_is_not_kept_listening(migrating, server_order):
    """Who connects is refused at once, and nothing is left to put back."""
    with TargetServer(server_order("core"), StopSignal()) as server:
        port = server.port
        shared = SharedPort(*listener_on(server.pids, port))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=60)
    with pytest.raises(HostError, match="cannot share"):
        shared.leave()


@pytest.mark.kernel
def test_filter_that_somebody_else_took_away_does_not_keep_the_option(migrating):
    """What is left is put back."""
    with socket.create_server(("127.0.0.1", 0)) as production:
        shared = SharedPort(os.getpid(), listener_on([os.getpid()], production.getsockname()[1])[1])
        production.setsockopt(socket.SOL_SOCKET, steering.SO_DETACH_REUSEPORT_BPF, 0)
        shared.leave()
        assert production.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT) == 0


def test_port_that_nobody_has_shared_yet_is_nothing_to_leave():
    """As where sharing it was refused: what comes after it is put back all the same."""
    with socket.create_server(("127.0.0.1", 0)) as production:
        listener = listener_on([os.getpid()], production.getsockname()[1])[1]
        steering.leave(os.getpid(), listener, 0)
        assert production.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT) == 0


def test_port_is_not_shared_where_waiting_connections_would_be_reset(monkeypatch, tmp_path):
    """And its socket is left alone."""
    setting = tmp_path / "tcp_migrate_req"
    setting.write_text("0\n")
    monkeypatch.setattr(steering, "MIGRATE", setting)
    with socket.create_server(("127.0.0.1", 0)) as production:
        listener = listener_on([os.getpid()], production.getsockname()[1])[1]
        with pytest.raises(HostError, match="tcp_migrate_req is 0"):
            SharedPort(os.getpid(), listener)
        assert production.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT) == 0


def test_kernel_without_the_setting_cannot_migrate(monkeypatch):
    """Before Linux 5.14."""
    monkeypatch.setattr(steering, "MIGRATE", Path("/proc/sys/net/ipv4/there-is-no-such-setting"))
    assert not steering.can_migrate()
