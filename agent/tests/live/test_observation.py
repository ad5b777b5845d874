"""Real servers are observed: each tells of its replies in its own way, and is as it was when that breaks."""

import os
import signal
import socket
from contextlib import contextmanager

import pytest
from observing import HUGE_BYTES, LARGE_BYTES, SMALL_BYTES, ask, observe_until, serving
from trimtab_agent.live import observation
from trimtab_agent.live.access_log import AccessLog
from trimtab_agent.live.core_stats import CoreStats
from trimtab_agent.live.listening import inode_of, listeners_of
from trimtab_agent.live.observation import ObservationLost, Observer
from trimtab_tuner.live.observed import Replies, Statuses
from trimtab_tuner.targets.log_formats import FORMATS
from waiting import until

SLOW_S = 10.0


@pytest.fixture
def observed_server(server_order):
    """Starts a server that is observed."""

    @contextmanager
    def start(name):
        settings = "" if name == "core" else FORMATS[name].settings
        with serving(server_order(name), settings) as (server, log):
            pid = server.pids[0]
            inodes = {inode_of(pid, each) for each in listeners_of(pid) if each.port == server.port}
            source = CoreStats(server.stats_socket) if name == "core" else AccessLog(log, FORMATS[name])
            with Observer(pid, source, inodes, SLOW_S) as observer:
                yield server, observer

    return start


@pytest.mark.parametrize("name", [*(pytest.param(name, marks=pytest.mark.live) for name in FORMATS), "core"])
def test_replies_of_a_real_server_are_observed_as_they_were(name, observed_server):
    """How many, of which size and status, how many were aborted; and the CPU time that they took."""
    with observed_server(name) as (server, observer):
        for _ in range(20):
            ask(server.port, "/small")
        for _ in range(3):
            ask(server.port, "/missing")
        ask(server.port, "/large")
        ask(server.port, "/huge", until_the_end=False)
        seen = observe_until(observer, lambda seen: seen.arm.requests >= 24 and seen.arm.errors)
    assert seen.replies.statuses == Statuses(success=21, client_error=3)
    assert (seen.arm.requests, seen.replies.aborted, seen.arm.errors, seen.arm.slow) == (24, 1, 1, 0)
    counts = [served.requests for served in seen.arm.served]
    assert counts[:6] == ([24, 0, 0, 0, 0, 0] if name == "core" else [23, 0, 0, 0, 0, 1])
    assert sum(counts) == 24  # none was a later one on its connection
    assert 20 * SMALL_BYTES + LARGE_BYTES < seen.replies.bytes_sent < HUGE_BYTES
    assert seen.replies.service_times.replies == 24
    assert seen.replies.connections_accepted == (None if name == "h2o" else 25)
    assert seen.arm.cpu_s > 0
    assert seen.arm.waiting == 0


def test_what_was_before_the_observation_does_not_count(observed_server):
    """Nor is it told again."""
    with observed_server("core") as (server, observer):
        ask(server.port, "/small")
        assert observe_until(observer, lambda seen: seen.arm.requests).arm.requests == 1
        source = CoreStats(server.stats_socket)
        with Observer(server.pids[0], source, (), SLOW_S) as later:
            assert later.read().replies == Replies(
                connections_accepted=0, connections_open=observer.read().replies.connections_open, dynamic=0
            )


def test_connections_that_wait_for_a_server_that_hangs_are_seen(observed_server):
    """It accepts none of them."""
    with observed_server("core") as (server, observer):
        stopped = server.pids
        for pid in stopped[1:]:
            os.kill(pid, signal.SIGSTOP)
        waiting = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(7)]
        # The last word of a handshake may still be on its way.
        until(lambda: observer.read().arm.waiting == 7)
        for pid in stopped[1:]:
            os.kill(pid, signal.SIGCONT)
        for connection in waiting:
            connection.close()


def test_connections_that_wait_are_seen_at_sockets_that_a_server_has_opened_anew():
    """As after a reload with another address."""
    with socket.create_server(("127.0.0.1", 0)) as before:
        sockets = {os.fstat(before.fileno()).st_ino}
        observer = Observer(os.getpid(), Silent(tells_requests=False), sockets, SLOW_S)
    with (
        observer,
        socket.create_server(("127.0.0.1", 0)) as later,
        socket.create_connection(later.getsockname()),
    ):
        until(lambda: observer.read().arm.waiting == 1)


@pytest.mark.parametrize("name", [pytest.param("nginx", marks=pytest.mark.live), "core"])
def test_server_that_has_ended_is_lost(name, observed_server):
    """Its last lines are not taken for a period."""
    with observed_server(name) as (server, observer):
        server.stop()
        with pytest.raises(ObservationLost, match="has ended"):
            observer.read()


class Silent:
    """A source that tells of nothing."""

    def __init__(self, *, tells_requests):
        self.tells_requests = tells_requests
        self.closed = False

    def read(self):
        """Nothing."""
        return Replies()

    def close(self):
        """Remembers it."""
        self.closed = True


@pytest.fixture
def at_once(monkeypatch):
    """Nobody may be silent and busy, for however short."""
    monkeypatch.setattr(observation, "SILENT_S", 0.0)
    monkeypatch.setattr(observation, "BUSY_SHARE", 0.0)


@pytest.mark.usefixtures("at_once")
def test_server_that_is_busy_and_tells_of_nothing_is_lost():
    """Its log goes elsewhere."""
    with Observer(os.getpid(), Silent(tells_requests=True), (), SLOW_S) as observer:
        sum(range(1_000_000))
        with pytest.raises(ObservationLost, match="told of no reply"):
            observer.read()


@pytest.mark.usefixtures("at_once")
def test_server_that_never_tells_of_requests_may_be_busy():
    """There is only its CPU time to go by."""
    with Observer(os.getpid(), Silent(tells_requests=False), (), SLOW_S) as observer:
        sum(range(1_000_000))
        assert observer.read().arm.cpu_s > 0


def test_process_that_there_is_not_cannot_be_observed():
    """And its source is given back."""
    source = Silent(tells_requests=True)
    with pytest.raises(ObservationLost, match="process 4194305 cannot be observed"):
        Observer(4_194_305, source, (), SLOW_S)
    assert source.closed
