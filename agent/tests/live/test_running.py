"""Running servers are found with what there is to know about them, and nothing is touched."""

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from trimtab_agent.live import running
from trimtab_agent.live.listening import Listener
from trimtab_agent.live.running import RunningServer, running_servers
from trimtab_agent.station.server.target_server import TargetServer
from trimtab_agent.stopping import StopSignal
from trimtab_tuner.targets import TARGETS

SETTLED_AFTER_S = 30.0


def processes_of(server):
    """The processes of a server that run its own program."""
    programs = {}
    for pid in server.pids:
        with suppress(OSError):  # it has ended meanwhile
            programs[pid] = Path(f"/proc/{pid}/exe").readlink()
    return programs


def at_port(port):
    """The running servers that listen there."""
    return [each for each in running_servers() if each.answers_to(str(port))]


def found_when_settled(server):
    """What is found of a server when no process of it comes or goes; Apache's do for a while."""
    deadline = time.monotonic() + SETTLED_AFTER_S
    while True:
        before = processes_of(server)
        (found,) = at_port(server.port)
        own = [pid for pid, program in before.items() if program == before.get(found.pid)]
        settled = processes_of(server) == before and found.processes == len(own)
        if settled or time.monotonic() > deadline:
            return found, len(own)
        time.sleep(0.1)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "core" else pytest.mark.live)
        for name in TARGETS
        if TARGETS[name].protocol == "http"
    ],
)
def test_server_that_runs_is_found_with_its_file_and_where_it_listens(name, server_order):
    """Each kind, as it really runs; and not any more when it has ended."""
    order = server_order(name)
    with TargetServer(order, StopSignal()) as server:
        found, processes = found_when_settled(server)
        assert found.target.name == name
        assert found.answers_to(str(server.port))
        assert found.file == order.directory / f"{order.name}.conf"
        assert found.processes == processes
        assert (found.unit, found.obstacles) == ("", ())
    assert found.pid not in [each.pid for each in at_port(server.port)]


@pytest.mark.live
def test_server_behind_its_starter_is_known_by_it(production):
    """It has the sockets, and takes up a changed file; without it nobody does."""
    found = production("h2o").seen
    assert "h2o" in found.program.name
    assert found.listeners
    assert (found.obstacles, found.no_reload) == ((), "")


def test_server_of_a_trial_is_not_one_of_production(server_order, production):
    """It is known by the guard above it; what somebody else has started is listed."""
    own = production("core")
    with TargetServer(server_order("core"), StopSignal()) as server:
        listed = {each.pid for each in running.production_servers()}
        assert at_port(server.port)
        assert (own.process.pid in listed, listed.isdisjoint(server.pids)) == (True, True)


@pytest.mark.live
def test_server_without_its_starter_cannot_be_reloaded(server_order):
    """A signal would end it."""
    with TargetServer(server_order("h2o"), StopSignal()) as server:
        (found,) = at_port(server.port)
        assert found.obstacles == ()
        assert "without its starter (start_server)" in found.no_reload


@pytest.mark.live
def test_server_with_capabilities_that_trimtab_lacks_is_listed_with_the_one_to_give(production, settings):
    """As in a container that was not given it."""
    server = production("nginx")
    listed = subprocess.run(
        [
            *("setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace"),
            *(sys.executable, "-c", "from trimtab_agent.terminal.main import main; main()"),
            *("live", "servers", "nginx", "--json"),
        ],
        env={**os.environ, "TRIMTAB_VAR": str(settings.var)},
        capture_output=True,
        check=True,
    )
    (found,) = (each for each in json.loads(listed.stdout) if each["pid"] == server.process.pid)
    assert "SYS_PTRACE" in found["obstacles"][0]
    assert (found["file"], found["addresses"]) == (None, [])


def server(**changes):
    """A server that was found."""
    known = {
        "target": TARGETS["nginx"],
        "pid": 812,
        "program": Path("/usr/sbin/nginx"),
        "processes": 3,
        "user": "root",
        "listeners": (Listener("192.0.2.1", 80, 6),),
        "file": Path("/etc/nginx/nginx.conf"),
        "unit": "nginx.service",
        "obstacles": (),
    }
    return RunningServer(**{**known, **changes})


@pytest.mark.parametrize("word", ["nginx", "nginx.service", "812", "80"])
def test_server_answers_to_its_name_unit_pid_and_port(word):
    """What a person may know of it."""
    assert server().answers_to(word)


@pytest.mark.parametrize("word", ["", "apache", "8", "8120", "service"])
def test_server_does_not_answer_to_anything_else(word):
    """Nor to a part of it."""
    assert not server().answers_to(word)


def test_server_without_a_unit_does_not_answer_to_an_empty_name():
    """It has no unit of that name."""
    assert not server(unit="").answers_to("")


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("nginx", ["nginx: master process nginx -c {}/a.conf -g daemon off;"]),
        ("lighttpd", ["/usr/sbin/lighttpd", "-D", "-f", "a.conf"]),
        ("apache", ["apache2", "-c", "ServerName x", "-f", "{}/a.conf"]),
        ("core", ["trimtab-httpd", "-c", "{}/a.conf"]),
    ],
)
def test_file_is_the_one_that_the_command_line_names(name, command, tmp_path):
    """A relative one from where the server works; not known where there is none."""
    command = [word.format(tmp_path) for word in command]
    assert running._file(TARGETS[name], command, tmp_path) is None
    (tmp_path / "a.conf").touch()
    assert running._file(TARGETS[name], command, tmp_path) == tmp_path / "a.conf"


def test_workers_with_sockets_of_their_own_are_an_obstacle():
    """Production would be several members of the group."""
    with (
        socket.create_server(("127.0.0.1", 0), reuse_port=True) as one,
        socket.create_server(one.getsockname(), reuse_port=True) as other,
    ):
        port = one.getsockname()[1]
        listeners = [Listener("127.0.0.1", port, each.fileno()) for each in (one, other)]
        (sentence,) = running._obstacles(os.getpid(), listeners)
    assert f"127.0.0.1:{port}: its workers have 2 sockets of their own" in sentence


def test_server_without_a_port_has_nothing_to_share():
    """It may listen on a socket of the file system."""
    assert list(running._obstacles(os.getpid(), ())) == ["It listens on no TCP port."]


def test_socket_that_is_gone_is_an_obstacle():
    """In the kernel's words."""
    (sentence,) = running._obstacles(os.getpid(), [Listener("127.0.0.1", 1, 1_000_000)])
    assert "Bad file descriptor" in sentence
