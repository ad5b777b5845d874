"""Faults in the middle of a session, of production, disks or clocks: production answers, and is as it was."""

import os
import signal
import socket
import subprocess
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from live_sessions import ENDLESS, shortened, touched_of
from trimtab_agent.errors import HostError, RunConflict
from trimtab_agent.live import observation, proposing, recalling, service, telling
from trimtab_agent.live import session as sessions
from trimtab_agent.live.direct import Line
from trimtab_agent.live.service import AttachSpec
from trimtab_agent.runtime import machine_lock
from trimtab_agent.station.server.ports import HeldPorts
from trimtab_db.errors import DatabaseFullError
from trimtab_db.records import LiveDecisionKind, LiveRequest, LiveState
from trimtab_db.repository import live_tuning
from trimtab_tuner.live.guards import Shown
from waiting import until

pytestmark = [pytest.mark.live, pytest.mark.kernel]

KINDS = LiveDecisionKind


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """What takes minutes takes seconds, and an episode has no end of its own."""
    shortened(monkeypatch, ENDLESS)


def is_alone(live):
    """Whether production alone listens, without the option."""
    now = touched_of(live)
    return (now["option"], now["listening"]) == (0, 1)


@pytest.mark.parametrize("mode", ["advise", "canary"])
def test_production_that_answers_what_it_has_begun_before_it_ends_is_waited_for(mode, attached):
    """As a unit restarts nginx with a download under way: it listens no more, and lives on for a while."""
    live = attached("nginx", mode)
    if mode == "canary":
        until(lambda: live.record.share > 0)
    else:
        live.until_told("would try ")
    before = live.server.process
    try:
        with Line(live.server.seen.listeners[0])._connected(10.0) as held:
            held.sendall(b"GET /page HTTP/1.1\r\n")
            before.send_signal(signal.SIGQUIT)
            live.until_told(f"process {before.pid} listens no more: waiting for it to be restarted")
            live.server.start()
            live.server.until_listening()
            live.until_decided(KINDS.CONTEXT)
        before.wait()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(before.pid, signal.SIGKILL)
        before.wait()
    now = live.server.process.pid
    sentence = live.decision(KINDS.CONTEXT).sentence
    assert sentence == f"process {before.pid} listens no more and runs again as process {now}: observing anew"
    assert live.record.pid == now
    until(lambda: live.kinds.count(KINDS.PROPOSAL) == 2)
    live.ask(LiveRequest.DETACH)
    live.until_ended()
    assert is_alone(live)


def test_production_that_stops_to_listen_on_a_port_in_an_episode_has_the_others_back(attached, caplog):
    """Its file looks as it did, so that the sockets alone say so; nothing of it resists to be put back."""
    with HeldPorts() as ports:
        port = ports.take()
        second = f"listen 127.0.0.1:{port};"
        live = attached(
            "nginx", "canary", edit=lambda text: text.replace("listen 127", f"{second} listen 127")
        )
    until(lambda: live.record.share > 0)
    file = live.server.file
    was, new = file.stat(), file.with_name("new")
    new.write_text(file.read_text().replace(second, "#" * (len(second) - 1) + "\n"))
    os.utime(new, ns=(was.st_atime_ns, was.st_mtime_ns))
    new.replace(file)
    live.server.process.send_signal(signal.SIGHUP)
    live.until_decided(KINDS.CONTEXT)
    sentence = f"process {live.server.process.pid} listens on other sockets than before: observing anew"
    assert live.decision(KINDS.CONTEXT).sentence == sentence
    until(lambda: live.kinds.count(KINDS.BEGAN) == 2)
    until(lambda: live.record.share > 0)
    live.ask(LiveRequest.DETACH)
    live.until_ended()
    assert is_alone(live)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=10)
    assert [each.message for each in caplog.records if "cannot" in each.message] == []
    assert live.asked.failures == []


def test_person_who_detaches_is_told_so_while_a_server_answers_what_it_has_begun(attached):
    """Production has all new connections by then."""
    live = attached("nginx", "canary")
    until(lambda: live.record.share > 0)
    with Line(live.server.seen.listeners[0], 1)._connected(10.0) as held:
        held.sendall(b"GET /page HTTP/1.1\r\n")
        live.ask(LiveRequest.DETACH)
        live.until_told("a person detaches it: production gets all new connections")
        until(lambda: is_alone(live))
    live.until_ended()
    assert live.record.sentence == "a person has detached it"
    assert live.asked.failures == []


def test_full_disk_of_the_database_ends_an_episode_with_production_as_it_was(attached, monkeypatch):
    """Its end is recorded, once, when there is room again."""
    monkeypatch.setattr(sessions, "RECORD_EVERY_S", 0.05)
    live = attached("core", "canary")
    until(lambda: live.record.share > 0)
    update, refused = live.repository.update_live_session, []
    full = [True]

    def written(*arguments, **changes):
        if full:
            refused.append(changes)
            raise DatabaseFullError("the disk is full")
        return update(*arguments, **changes)

    monkeypatch.setattr(live.repository, "update_live_session", written)
    until(lambda: len(refused) > 3)
    assert is_alone(live)
    full.clear()
    live.until_ended()
    assert live.record.sentence == "the disk is full"
    assert live.kinds.count(KINDS.TROUBLE) == 1
    assert live.asked.failures == []


@pytest.fixture
def small_disk(tmp_path):
    """A disk with room for what is logged until the test fills it."""
    directory = tmp_path / "small"
    directory.mkdir()
    mount = ("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", directory)
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    yield directory
    subprocess.run(("umount", "--lazy", directory), check=True)


def test_log_of_production_that_ends_on_a_full_disk_ends_the_episode(small_disk, attached, monkeypatch):
    """Production answers on, and nobody knows what: it has all connections again."""
    monkeypatch.setattr(observation, "SILENT_S", 1.0)
    monkeypatch.setattr(observation, "BUSY_SHARE", 0.0)
    log = small_disk / "access.log"
    live = attached("nginx", "canary", edit=lambda text: text.replace("access_log ", f"access_log {log}; #"))
    until(lambda: live.record.share > 0)
    with suppress(OSError), (small_disk / "other").open("wb", buffering=0) as other:
        while True:
            other.write(b"x" * 4096)
    live.until_ended()
    assert "told of no reply" in live.record.sentence
    assert is_alone(live)
    assert live.asked.failures == []


@pytest.fixture
def wall(monkeypatch):
    """The clock on the wall, which the test sets by so much."""
    set_by = [timedelta()]
    seconds = time.time

    class Wall(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + set_by[0]

    for module in (sessions, proposing, recalling, telling):
        monkeypatch.setattr(module, "datetime", Wall)
    monkeypatch.setattr(live_tuning, "now", lambda: Wall.now(UTC))
    monkeypatch.setattr(time, "time", lambda: seconds() + set_by[0].total_seconds())
    return set_by


STEPS = pytest.mark.parametrize("step", [timedelta(days=2), timedelta(days=-2)], ids=["forward", "back"])


@STEPS
def test_clock_that_is_set_in_an_episode_ends_nothing(step, attached, monkeypatch, wall):
    """Nor does it stop what is shown of it."""
    monkeypatch.setattr(telling, "SAMPLE_EVERY_S", {LiveState.EPISODE: 0.0})
    live = attached("core", "canary")
    until(lambda: live.record.share > 0)
    decided = live.kinds
    last = live.repository.last_live_samples(live.id, 1)[0].at
    wall[0] = step
    until(lambda: len(live.repository.live_samples(live.id, last, 100)) > 5)
    assert (live.kinds, live.record.state) == (decided, LiveState.EPISODE)
    latest_first = [sample.at for sample in live.repository.last_live_samples(live.id, 100)]
    assert latest_first == sorted(set(latest_first), reverse=True)
    live.ask(LiveRequest.DETACH)
    live.until_ended()
    assert is_alone(live)
    assert live.asked.failures == []


@STEPS
@pytest.mark.usefixtures("improving")
def test_clock_that_is_set_after_a_promotion_neither_ends_nor_prolongs_the_watch(
    step, attached, monkeypatch, wall
):
    """It is over when it has seen enough of production."""
    monkeypatch.setattr("trimtab_tuner.live.watch.WATCH_S", 1e6)
    live = attached("core", "auto")
    live.until_state(LiveState.WATCHING)
    wall[0] = step
    seen = live.record.seen_at
    until(lambda: live.record.seen_at != seen)
    assert live.record.state is LiveState.WATCHING
    monkeypatch.setattr("trimtab_tuner.live.watch.WATCH_S", 0.5)
    live.until_decided(KINDS.KEPT)


@pytest.mark.usefixtures("improving")
def test_no_tuning_run_begins_while_a_promotion_is_watched(attached, settings, monkeypatch):
    """Its load would be taken for harm that the promotion does."""
    monkeypatch.setattr("trimtab_tuner.live.watch.WATCH_S", 1e6)
    live = attached("core", "auto")
    live.until_state(LiveState.WATCHING)
    with pytest.raises(RunConflict):
        machine_lock(settings)
    live.ask(LiveRequest.DETACH)
    live.until_ended()
    machine_lock(settings).release()


@pytest.mark.usefixtures("improving")
def test_promotion_waits_until_a_tuning_run_has_ended(attached, settings):
    """A reload would disturb what that measures."""
    live = attached("core", "canary")
    before = live.server.file.read_bytes()
    live.until_state(LiveState.WAITING)
    with machine_lock(settings):
        live.ask(LiveRequest.PROMOTE)
        live.until_told("the promotion waits: another run is running on this machine")
        assert live.server.file.read_bytes() == before
    live.until_decided(KINDS.KEPT)
    assert live.asked.failures == []


@pytest.mark.usefixtures("improving")
def test_guard_that_production_breaks_after_a_promotion_puts_the_file_back(attached, monkeypatch):
    """It is a limit at any time, whoever breaks it."""
    failing = Shown(requests=1000, errors=100, latency_us={})
    monkeypatch.setattr(sessions, "shown", lambda *_: failing)
    live = attached("nginx", "auto", guards=("p99 <= 1us", "errors <= 1%"))
    before = live.server.file.read_bytes()
    live.until_decided(KINDS.UNDONE)
    assert live.decision(KINDS.UNDONE).sentence == (
        "put back: a guard does not hold: errors = 10.00% (100 of 1,000 requests): expected errors <= 1%"
    )
    assert live.server.file.read_bytes() == before


@pytest.mark.usefixtures("improving")
def test_guard_on_what_production_does_not_tell_is_not_held_against_a_promotion(attached):
    """The canary has told it."""
    live = attached("nginx", "auto", guards=("p99 <= 1us",))
    live.until_decided(KINDS.KEPT)


def test_session_that_cannot_begin_does_not_keep_others_away(attached, monkeypatch):
    """Its record has an end, and says why."""
    live = attached("core")
    live.ask(LiveRequest.DETACH)
    live.until_ended()
    spec = AttachSpec(server=str(live.server.process.pid))

    def begin(**_):
        raise HostError("it does not want to")

    with monkeypatch.context() as patch:
        patch.setattr(service, "Session", begin)
        with pytest.raises(HostError, match="it does not want to"):
            live.service.attach(spec)
    failed = live.repository.live_session(live.id + 1)
    assert (failed.state, failed.sentence) == (LiveState.ENDED, "not begun: it does not want to")
    assert live.service.attach(spec) == live.id + 2


def eventfds():
    """How many this process has open."""
    with os.scandir("/proc/self/fd") as descriptors:
        links = []
        for descriptor in descriptors:
            with suppress(FileNotFoundError):  # that of the list itself
                links.append(os.readlink(descriptor.path))  # noqa: PTH115 - not followed
    return links.count("anon_inode:[eventfd]")


def test_sessions_that_have_ended_hold_nothing_open(attached):
    """A daemon may see many of them."""
    live = attached("core")
    spec, opened = AttachSpec(server=str(live.server.process.pid)), eventfds()
    for number in range(live.id, live.id + 3):
        live.repository.ask_live_session(number, LiveRequest.DETACH)
        until(lambda number=number: live.service.wait(number, 0.1))
        assert live.service.attach(spec) == number + 1
    assert eventfds() == opened
