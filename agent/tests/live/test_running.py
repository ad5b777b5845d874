"""Running servers are found with what there is to know about them, and nothing is touched."""

import os
import socket
from pathlib import Path

import pytest
from trimtab_agent.live import running
from trimtab_agent.live.listening import Listener
from trimtab_agent.live.running import RunningServer, running_servers
from trimtab_agent.station.server.target_server import TargetServer
from trimtab_agent.stopping import StopSignal
from trimtab_tuner.targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_server_that_runs_is_found_with_its_file_and_where_it_listens(name, server_order):
    """Each kind, as it really runs; and not any more when it has ended."""
    order = server_order(name)
    with TargetServer(order, StopSignal()) as server:
        (found,) = (each for each in running_servers() if each.answers_to(str(server.port)))
        assert found.target.name == name
        assert found.file == order.directory / f"{order.name}.conf"
        assert found.processes == len([pid for pid in server.pids if _program(pid) == _program(found.pid)])
        assert (found.unit, found.obstacles) == ("", ())
    assert not any(each.answers_to(str(server.port)) for each in running_servers())


def _program(pid):
    return Path(f"/proc/{pid}/exe").readlink()


def server(**changes):
    """A server that was found."""
    known = {
        "target": TARGETS["nginx"],
        "pid": 812,
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
