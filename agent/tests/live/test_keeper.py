"""The keeper of an episode where it cannot do what it is told: everything is as it was, and it says why."""

import os
import socket
from pathlib import Path

import pytest
from trimtab_agent.errors import HostError
from trimtab_agent.live import restoring, steering
from trimtab_agent.live.keeper import Keeper, Order
from trimtab_agent.live.listening import Listener
from trimtab_agent.live.restoring import Note, Process, Touched
from trimtab_agent.os_settings.journal import BOOT_ID


@pytest.fixture
def order(tmp_path):
    """To share a port of this process with nobody yet."""
    with socket.create_server(("127.0.0.1", 0)) as production:
        listener = Listener("127.0.0.1", production.getsockname()[1], production.fileno())
        yield Order(
            production=os.getpid(),
            listeners=(listener,),
            arms=(),
            note=str(tmp_path / "notes" / "episode.json"),
            directory=str(tmp_path / "arms"),
            drain_s=1.0,
        )
        assert production.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT) == 0
        assert not list(tmp_path.glob("notes/*"))


def test_kernel_without_the_setting_is_told_and_nothing_is_left(order, monkeypatch):
    """Before Linux 5.14: the port has been noted, and never been shared."""
    monkeypatch.setattr(steering, "MIGRATE", Path("/proc/sys/net/ipv4/there-is-no-such-setting"))
    with pytest.raises(HostError, match="tcp_migrate_req is 0: connections that wait would be reset"):
        Keeper(order)


def test_note_that_does_not_fit_is_told_and_nothing_is_left(order, full_disk):
    """Not even a part of it."""
    with full_disk(), pytest.raises(HostError, match=r"episode\.json cannot be written: File too large"):
        Keeper(order)


def test_socket_that_production_has_closed_is_nothing_to_put_back(tmp_path):
    """Nor is the one that has its number now: an administrator had it listen elsewhere."""
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as now:
        own = Process.of(os.getpid())
        gone = Listener("127.0.0.1", 1, now.fileno())
        touched = Touched(
            keeper=own,
            production=own,
            boot_id=BOOT_ID.read_text().strip(),
            directory=str(tmp_path / "arms"),
            ports=((gone, 0), (Listener("127.0.0.1", 2, 1_000_000), 0)),
        )
        note = Note(tmp_path / "episode.json", touched)
        (tmp_path / "episode.part").touch()  # as of a keeper that was killed while it wrote the note anew
        assert note.put_back() == []
        assert now.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT) == 1
    assert list(tmp_path.iterdir()) == []


def test_socket_of_a_server_that_was_about_to_start_is_waited_for(tmp_path, monkeypatch):
    """Its keeper was killed before it had noted it; the connections that wait there would be lost."""
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as production:
        its = socket.create_server(production.getsockname(), reuse_port=True)
        monkeypatch.setattr(restoring.time, "sleep", lambda _: its.close())  # it ends when it is waited for
        own = Process.of(os.getpid())
        touched = Touched(
            keeper=own,
            production=own,
            boot_id=BOOT_ID.read_text().strip(),
            directory=str(tmp_path / "arms"),
            ports=((Listener(*production.getsockname(), production.fileno()), 0),),
        )
        assert Note(tmp_path / "episode.json", touched).put_back() == []
        assert its.fileno() == -1
        assert production.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT) == 0
