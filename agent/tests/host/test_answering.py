"""Who answers at the addresses behind a server, and who does not."""

import socket
import threading

import pytest
from trimtab_agent.host import answering
from trimtab_agent.host.answering import troubles, unresolved
from trimtab_tuner.targets.behind import Upstream


@pytest.fixture(autouse=True)
def names(monkeypatch):
    """Of all names only `known` is known, and nothing is too late on a machine that stalls."""
    look_up = socket.getaddrinfo

    def named(host, port, **more):
        if host == "known":
            host = "127.0.0.1"
        elif not host[0].isdigit():
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return look_up(host, port, **more)

    monkeypatch.setattr(answering.socket, "getaddrinfo", named)
    monkeypatch.setattr(answering, "LOOK_UP_LIMIT_S", 60.0)
    monkeypatch.setattr(answering, "CONNECT_LIMIT_S", 60.0)


def at(*addresses):
    """Upstreams at these addresses."""
    return [Upstream("proxy_pass", each, 0, 0) for each in addresses]


def test_whoever_answers_is_in_no_trouble(tmp_path):
    """At a port, by its name too, and at a socket in the file system."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as local,
    ):
        local.bind(str(tmp_path / "s"))
        local.listen()
        port = server.getsockname()[1]
        assert troubles(at(f"127.0.0.1:{port}", f"known:{port}", f"unix:{tmp_path}/s")) == {}


def test_whoever_does_not_answer_is_named_with_why(tmp_path):
    """Nobody listens, no socket, no such name, no such port."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # nobody else gets it, and nobody listens
        closed = f"127.0.0.1:{bound.getsockname()[1]}"
        assert troubles(at(closed, f"unix:{tmp_path}/none", "app:80", "127.0.0.1:x")) == {
            closed: "nobody listens there",
            f"unix:{tmp_path}/none": "there is no such socket",
            "app:80": "its name does not resolve here",
            "127.0.0.1:x": "its name does not resolve here",
        }


def test_names_that_are_not_known_are_told_from_those_that_are():
    """Whether anybody answers there or not."""
    assert unresolved(at("app:80", "known:1", "127.0.0.1:1", "unix:/none")) == {"app:80"}


def test_thousands_of_addresses_are_asked_by_a_few_threads(monkeypatch):
    """Each is answered for."""
    monkeypatch.setattr(answering, "AT_ONCE", 4)
    threads = set()

    def ask(address):
        threads.add(threading.current_thread())
        return "unknown" if address.startswith("app") else ""

    names = [f"app{number}:80" for number in range(300)]
    assert answering._asked([*names, "10.0.0.1:80"], ask) == dict.fromkeys(names, "unknown")
    assert len(threads) <= 4


def test_addresses_without_a_name_are_asked_first(monkeypatch):
    """A name server that is silent delays none of them."""
    monkeypatch.setattr(answering, "AT_ONCE", 1)
    asked = []
    answering._asked(["app:80", "10.0.0.1:80", "web:80", "[::1]:80", "unix:/none"], asked.append)
    assert set(asked[:3]) == {"10.0.0.1:80", "[::1]:80", "unix:/none"}
    assert set(asked[3:]) == {"app:80", "web:80"}


def test_a_look_up_that_hangs_is_not_waited_for(monkeypatch):
    """Its name counts as one that is not known."""
    monkeypatch.setattr(answering, "LOOK_UP_LIMIT_S", 0.2)
    over = threading.Event()

    def ask(_):
        over.wait(60)
        return ""

    try:
        said = answering._asked(["silent:80"], ask)
    finally:
        over.set()
    assert said == {"silent:80": answering.UNRESOLVED}
