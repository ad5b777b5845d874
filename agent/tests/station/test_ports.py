"""A port that is held for a server: nobody else gets it, and the server does."""

import socket

import pytest
from trimtab_agent.errors import HostError
from trimtab_agent.station.server.ports import ADDRESS, HeldPorts


def test_held_port_is_given_to_nobody_else():
    """Neither to whoever asks the kernel for a free one nor to whoever wants this one."""
    with HeldPorts() as ports, HeldPorts() as others:
        taken = {ports.take() for _ in range(20)}
        assert len(taken) == 20
        assert taken.isdisjoint({others.take() for _ in range(200)})
        with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
            stranger.bind((ADDRESS, min(taken)))


def test_server_listens_at_a_held_port_and_goes_on_when_it_is_let_go():
    """With SO_REUSEADDR, as servers do."""
    ports = HeldPorts()
    port = ports.take()
    with socket.create_server((ADDRESS, port)) as server:  # sets SO_REUSEADDR
        ports.let_go()
        with socket.create_connection((ADDRESS, port), timeout=30) as client:
            served, _ = server.accept()
            with served:
                assert served.getpeername() == client.getsockname()


def test_address_that_is_not_of_this_machine_is_named():
    """In one sentence, with the kernel's reason."""
    with HeldPorts() as ports, pytest.raises(HostError, match=r"no free TCP port on 192\.0\.2\.1: "):
        ports.take("192.0.2.1")
