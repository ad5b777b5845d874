"""Replicas of a real server, switched on and off beside it."""

import signal
import socket
import threading
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from asking import Asked, asking
from live_sessions import Attach
from trimtab_agent.errors import HostError
from trimtab_agent.live import own_file
from trimtab_agent.live.file_switching import SwitchedFile, digest_of
from trimtab_agent.live.listening import take
from trimtab_agent.live.replicas import adapt_replicas
from trimtab_agent.live.restoring import Process
from trimtab_agent.stopping import StopSignal
from trimtab_tuner.live.replicas_policy import ReplicasPolicy
from waiting import until

pytestmark = [pytest.mark.live, pytest.mark.kernel]


def sockets_on(port):
    """How many sockets listen on that port."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(line[3] == "0A" and line[1].endswith(f":{port:04X}") for line in lines)


def is_as_before(server, notes):
    """It listens alone, without the option; nothing is noted."""
    seen = server.seen
    with take(seen.pid, seen.listeners[0].descriptor) as taken:
        option = taken.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT)
    return (sockets_on(server.port), option, list(notes.glob("*"))) == (1, 0, [])


class Adapting:
    """The policy at work in a thread; what it says is set by the test."""

    def __init__(self, server, notes, monkeypatch, count):
        self.on, self.seconds, self.raised, self.stop = False, [], [], StopSignal()
        monkeypatch.setattr(ReplicasPolicy, "told", lambda *_: self.on)
        self._thread = threading.Thread(target=self._run, args=(server.seen, notes, count))
        self._thread.start()

    def _run(self, server, notes, count):
        def tell(second, _):
            self.seconds.append(second)

        try:
            adapt_replicas(server, notes, self.stop, count=count, seed=1, tell=tell, period_s=0.1)
        except HostError as error:
            self.raised.append(str(error))

    def end(self):
        """Asks for the end and awaits it."""
        self.stop.request()
        self._thread.join()


@pytest.fixture
def adapting(production, tmp_path, monkeypatch):
    """Starts it on a server of that kind; ends it with the test."""
    started = []

    def start(name, count=1):
        server = production(name)
        until(lambda: Asked(server.port, server.page).once() == "")  # else its log would tell nothing
        if name == "lighttpd":
            until(lambda: (server.file.parent / "access.log").stat().st_size)
        started.append(Adapting(server, tmp_path / "notes", monkeypatch, count))
        return server, started[-1]

    yield start
    for each in started:
        each.end()


@pytest.mark.parametrize(("name", "count"), [("nginx", 2), ("lighttpd", 1), ("core", 1)])
def test_replicas_serve_when_they_are_on_and_nobody_is_lost_when_they_go(name, count, adapting, tmp_path):
    """On, off, and on again; the requests of all are counted."""
    server, made = adapting(name, count)
    with asking(server.port, server.page) as asked:
        for on in (True, False, True):
            made.on = on
            until(lambda on=on: sockets_on(server.port) == (1 + count if on else 1))
            answered, seconds = asked.answered, len(made.seconds)
            until(lambda answered=answered: asked.answered > answered + 200)
            if name != "lighttpd":  # its production's log comes in blocks of lines
                until(lambda seconds=seconds: sum(s.requests for s in made.seconds[seconds:]) > 150)
        made.end()
        assert (asked.failures, made.raised) == ([], [])
        assert is_as_before(server, tmp_path / "notes")


def test_replicas_have_the_file_as_an_administrator_has_made_it(adapting, tmp_path):
    """They go, and come back with that; no request is lost by it."""
    server, made = adapting("nginx")
    made.on = True

    def texts():
        found = []
        for file in Path("/run").glob("trimtab-live-*/replica 1/nginx.conf"):
            with suppress(OSError):  # it has just gone
                found.append(file.read_text())
        return found

    with asking(server.port, server.page) as asked:
        until(lambda: any("worker_connections 500" in text for text in texts()))
        until(lambda: sockets_on(server.port) == 2)
        changed = server.file.with_name("changed.conf")
        changed.write_text(server.file.read_text().replace("connections 500", "connections 600"))
        changed.replace(server.file)
        until(lambda: ["worker_connections 600" in text for text in texts()] == [True])
        until(lambda: sockets_on(server.port) == 2)
        answered = asked.answered
        until(lambda: asked.answered > answered + 200)
        made.end()
        assert (asked.failures, made.raised) == ([], [])
    assert is_as_before(server, tmp_path / "notes")


def replicas_of(server):
    """The processes of servers beside it, as far as they have come."""
    found = []
    for each in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if each.name() == "nginx" and server.process.pid not in (each.pid, each.ppid()):
                found.append(each)
    return found


def has_workers(process):
    """Whether that is a server: one that checks a file has ended soon."""
    with suppress(psutil.NoSuchProcess):
        return bool(process.children())
    return False


def test_replica_that_dies_ends_it_with_production_alone_again(adapting, tmp_path):
    """No request is lost by it."""
    server, made = adapting("nginx")
    made.on = True
    with asking(server.port, server.page) as asked:
        until(lambda: any(map(has_workers, replicas_of(server))))
        arms = replicas_of(server)
        answered = asked.answered
        until(lambda: asked.answered > answered + 50)
        asked.end()
        for each in arms:
            each.kill()
        until(lambda: made.raised)
        assert "replica 1 has ended by itself" in made.raised[0]
    assert is_as_before(server, tmp_path / "notes")


def test_server_that_tells_of_no_requests_has_no_replicas(production, tmp_path):
    """There is nothing to decide by."""
    server = production("nginx", lambda text: text.replace("access_log ", "access_log off; # "))
    with pytest.raises(HostError, match="writes no access log"):
        adapt_replicas(
            server.seen, tmp_path / "n", StopSignal(), count=1, seed=1, tell=lambda *_: None, period_s=0.1
        )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_command_leaves_the_server_alone_on_its_port_however_it_ends(production, settings, number):
    """A line for each second."""
    server = production("nginx")
    assert Asked(server.port, server.page).once() == ""
    command = Attach(settings, "live", "replicas", str(server.process.pid), "--json")
    command.wait_for_line('"replicas": 0')
    command.process.send_signal(number)
    code, said = command.finish()
    command.process.stdout.close()
    assert code == (-number if number == signal.SIGKILL else 0), said
    until(lambda: is_as_before(server, settings.var / "live"))


def test_command_puts_back_what_a_killed_session_has_left(production, settings, tmp_path):
    """A promoted file: nobody has to know which command was killed."""
    server, file, notes = production("nginx"), tmp_path / "other.conf", settings.var / "live"
    assert Asked(server.port, server.page).once() == ""
    file.write_text("own\n")
    backup, gone = own_file.name_beside(file), Process(2**22, 1)
    own_file.keep_as(backup, file)
    file.write_text("promoted\n")
    notes.mkdir(parents=True)
    SwitchedFile(
        agent=gone,
        production=gone,
        boot_id="another",
        file=str(file),
        backup=str(backup),
        reload_signal=signal.SIGHUP,
        check_command=("true",),
        own=digest_of("own\n"),
        ours=(digest_of("promoted\n"),),
    ).write(notes / "1-2.file.json")
    command = Attach(settings, "live", "replicas", str(server.process.pid), "--json")
    command.wait_for_line('"replicas": 0')
    assert (file.read_text(), list(notes.iterdir())) == ("own\n", [])
    command.process.send_signal(signal.SIGINT)
    command.finish()
    command.process.stdout.close()
