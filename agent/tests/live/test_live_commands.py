"""`trimtab live attach` and the commands beside it, in processes of their own, on a real server."""

import json
import signal
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest
from asking import asking
from live_sessions import Attach
from trimtab_agent.live import steering
from trimtab_agent.live.listening import take
from trimtab_agent.runtime import open_repository
from trimtab_db.records import LiveDecisionKind, LiveState
from waiting import until

pytestmark = [pytest.mark.live, pytest.mark.kernel]


class Live:
    """Commands about a server, and what is recorded of its first session."""

    def __init__(self, server, asked, settings, repository, started):
        self.server, self.asked, self.repository = server, asked, repository
        self._settings, self._started = settings, started
        self.migrate = steering.MIGRATE.read_text()

    def start(self, *arguments):
        """A command that goes on."""
        self._started.append(Attach(self._settings, "live", *arguments))
        return self._started[-1]

    def attach(self, mode="advise"):
        """Attached: the process that has the session."""
        command = self.start("attach", str(self.server.process.pid), "--mode", mode)
        command.wait_for_line("Live session 1.")
        return command

    def told(self, *arguments):
        """A command that ends: its exit code, and what it prints in one line."""
        code, output = self.start(*arguments).finish()
        return code, " ".join(output.split())

    @property
    def session(self):
        """The record."""
        return self.repository.live_session(1)

    def until_trying(self):
        """An episode has begun, and its arms get connections."""
        until(lambda: self.session.share > 0)

    def is_as_before(self):
        """Production alone listens, and without the option."""
        seen = self.server.seen
        with take(seen.pid, seen.listeners[0].descriptor) as taken:
            option = taken.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT)
        listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        port = f":{self.server.port:04X}"
        sockets = sum(line[3] == "0A" and line[1].endswith(port) for line in listening)
        return (option, sockets, steering.MIGRATE.read_text()) == (0, 1, self.migrate)


@pytest.fixture
def live(production, settings):
    """A server that is asked all the time; commands that still run at the end of the test are killed."""
    started = []
    with ExitStack() as opened:
        repository = opened.enter_context(open_repository(settings))
        server = production("core")
        asked = opened.enter_context(asking(server.port, server.page))
        until(lambda: asked.answered > 20)
        yield Live(server, asked, settings, repository, started)
    for command in started:
        command.process.kill()
        command.process.wait()
        command.process.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_attach_and_gives_everything_back(live, number):
    """In the middle of an episode, with exit code 0 and no request lost."""
    command = live.attach("canary")
    live.until_trying()
    assert not live.is_as_before()
    command.process.send_signal(number)
    code, output = command.finish()
    assert (code, live.is_as_before()) == (0, True), output
    assert (live.session.state, live.session.sentence) == (LiveState.ENDED, "Trimtab has ended it")
    assert live.asked.failures == []


def test_status_tells_the_session_to_people_and_machines_and_detach_ends_it(live):
    """From other processes than the one that has it."""
    assert live.told("status") == (0, "Live tuning is attached to no server.")
    command = live.attach()
    until(lambda: live.session.sentence.startswith("would try "))
    code, output = live.told("status")
    assert code == 0
    assert f"Live session 1: core, process {live.server.process.pid}, mode advise; would try " in output
    (told,) = json.loads(live.told("status", "--json")[1])
    assert [decision["kind"] for decision in told["decisions"]] == ["attached", "observed", "proposal"]
    assert live.told("detach") == (0, "Live session 1 has ended; production has all connections.")
    code, output = command.finish()
    assert (code, "detached: a person has detached it" in output) == (0, True), output
    assert json.loads(live.told("status", "--json")[1]) == []


@pytest.mark.parametrize("request_", ["promote", "reject"])
def test_person_is_asked_for_nothing_when_no_session_waits(live, request_):
    """Neither without a session nor with one that does something else."""
    code, output = live.told(request_)
    assert (code, "attached to 0 servers" in output) == (2, True), output
    live.attach()
    until(lambda: live.session.sentence.startswith("would try "))
    code, output = live.told(request_)
    assert (code, "live session 1 waits for nobody now" in output) == (2, True), output


@pytest.mark.parametrize("named", [(), ("1",)])
def test_detach_ends_the_record_of_a_session_that_was_killed(live, named):
    """With what its keeper has put back already."""
    command = live.attach("canary")
    live.until_trying()
    command.process.kill()
    command.process.wait()
    until(live.is_as_before)
    assert live.told("status") == (0, "Live tuning is attached to no server.")
    assert live.told("detach", *named) == (0, "Live session 1 has ended; production has all connections.")
    assert (live.session.state, live.session.share) == (LiveState.ENDED, 0.0)
    last = live.repository.live_decisions(1)[-1]
    assert last.kind is LiveDecisionKind.TROUBLE
    assert f"its process {command.process.pid} has been killed" in last.sentence
    assert live.asked.failures == []


def test_next_session_ends_the_record_of_one_that_was_killed(live):
    """The server can be attached to at once."""
    command = live.attach()
    command.process.kill()
    command.process.wait()
    live.start("attach", str(live.server.process.pid)).wait_for_line("Live session 2.")
    assert live.session.state is LiveState.ENDED
    assert live.repository.live_session(2).ended_at is None
