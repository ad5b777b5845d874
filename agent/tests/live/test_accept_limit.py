"""The accept limit of a real trimtab-httpd, adapted for a while and given back."""

import json
import signal
import threading

import pytest
from asking import asking
from live_sessions import Attach
from trimtab_agent.errors import HostError
from trimtab_agent.live.accept_limit import adapt_accept_limit
from trimtab_agent.live.production import stats_socket_of
from trimtab_agent.station.server.stats_socket import StatsSocket
from trimtab_agent.stopping import StopSignal
from trimtab_tuner.live.accept_limit_policy import AcceptLimitPolicy
from waiting import until

pytestmark = pytest.mark.live

OWN = 16


def in_force(server):
    """The limit that a server has now."""
    with StatsSocket(stats_socket_of(server)) as stats:
        return stats.ask("show config")["accept_limit"]


def set_limit(server, value):
    """What an administrator does."""
    with StatsSocket(stats_socket_of(server)) as stats:
        stats.ask(f"set accept_limit {value}")


@pytest.fixture
def core(production):
    """A server that carries traffic, with a limit of its own."""
    server = production("core")
    set_limit(server.seen, OWN)
    return server


class Adapting:
    """The policy at work on a server, in a thread; it says a limit of 7 after the first second."""

    def __init__(self, server, notes):
        self.seconds, self.raised, self.stop = [], [], StopSignal()
        self._thread = threading.Thread(target=self._run, args=(server, notes))
        self._thread.start()

    def _run(self, server, notes):
        try:
            adapt_accept_limit(
                server,
                notes,
                self.stop,
                seed=1,
                tell=lambda second, limit: self.seconds.append((second, limit)),
                period_s=0.1,
            )
        except HostError as error:
            self.raised.append(str(error))

    def end(self):
        """Asks for the end and awaits it."""
        self.stop.request()
        self._thread.join()


@pytest.fixture
def adapting(core, tmp_path, monkeypatch):
    """Started, and ended with the test."""
    monkeypatch.setattr(AcceptLimitPolicy, "told", lambda *_: 7)
    made = Adapting(core.seen, tmp_path / "notes")
    yield made
    made.end()


def test_limit_is_what_the_policy_says_and_afterwards_the_own_one(core, adapting, tmp_path):
    """It begins without a limit, as it does not know the load yet."""
    until(lambda: in_force(core.seen) == 7)
    assert adapting.seconds[0][1] == "7"
    adapting.end()
    assert (in_force(core.seen), adapting.raised) == (OWN, [])
    assert list((tmp_path / "notes").iterdir()) == []


def test_policy_is_told_what_the_server_does(core, adapting):
    """Requests and the time that they take; with none, both are 0."""
    with asking(core.port, core.page):
        until(lambda: any(second.throughput_rps > 10 for second, _ in adapting.seconds))
    busy = [second for second, _ in adapting.seconds if second.throughput_rps > 10]
    assert all(0 < second.service_s < 5 for second in busy)


def test_what_an_administrator_sets_meanwhile_ends_it_and_stays(core, adapting, monkeypatch):
    """Nobody fights."""
    until(lambda: in_force(core.seen) == 7)
    set_limit(core.seen, 300)
    monkeypatch.setattr(AcceptLimitPolicy, "told", lambda *_: 8)
    until(lambda: adapting.raised)
    assert adapting.raised == ["accept_limit = 300 has been set by somebody else meanwhile, and stays"]
    assert in_force(core.seen) == 300


def test_another_server_has_no_such_limit(production, tmp_path):
    """The sentence says what was expected."""
    with pytest.raises(
        HostError, match=r"\(nginx\) cannot be told an accept_limit: expected a trimtab-httpd"
    ):
        adapt_accept_limit(production("nginx").seen, tmp_path, StopSignal(), seed=1, tell=print)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_command_leaves_the_own_limit_behind_however_it_ends(core, settings, number):
    """Killed, its keeper gives it back."""
    command = Attach(settings, "live", "accept-limit", str(core.port), "--json")
    line = command.wait_for_line("{")
    assert json.loads(line)["accept_limit"] == "inf"
    assert in_force(core.seen) == "inf"
    command.process.send_signal(number)
    code, _ = command.finish()
    command.process.stdout.close()
    assert code == (0 if number == signal.SIGINT else -signal.SIGKILL)
    until(lambda: in_force(core.seen) == OWN)
