"""Two servers beside production: they serve the same, get their shares, and leave nothing behind."""

import os
import signal
import socket
import stat
import sys
import urllib.request
from pathlib import Path

import psutil
import pytest
from trimtab_agent.errors import HostError
from trimtab_agent.live import arms as beside
from trimtab_agent.live import in_memory, steering
from trimtab_agent.live.access_log import AccessLog
from trimtab_agent.live.arms import baseline_and_canary
from trimtab_agent.live.listening import listeners_of, take
from trimtab_agent.live.restoring import Note, put_back_left_behind
from trimtab_tuner.targets.log_formats import FORMATS
from waiting import until

pytestmark = [pytest.mark.live, pytest.mark.kernel]

CANARY = {
    "nginx": {"sendfile": "off"},
    "lighttpd": {"server.max-connections": 300},
    "h2o": {"max-connections": 300},
    "apache": {"KeepAliveTimeout": 3},
    "core": {"sendfile": "off"},
}
SERVERS = pytest.mark.parametrize("name", CANARY)


@pytest.fixture
def begin(tmp_path):
    """Starts the arms beside a server, its canary with one knob changed."""

    def start(server, name):
        values = {**server.seen.target.space().default(), **CANARY[name]}
        return baseline_and_canary(server.seen, server.base, values, CANARY[name], tmp_path / "notes")

    return start


def asked(server, times):
    """The page is served so many times, each on a connection of its own."""
    for _ in range(times):
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/page", timeout=10) as reply:
            assert reply.read() == server.page


def sockets_on(port):
    """How many sockets listen on that port."""
    listening = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A" for line in listening)


def is_as_before(server, tmp_path):
    """Production alone listens, without the option; no note is left."""
    seen = server.seen
    with take(seen.pid, seen.listeners[0].descriptor) as taken:
        option = taken.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT)
    return (sockets_on(server.port), option, list((tmp_path / "notes").iterdir())) == (1, 0, [])


@SERVERS
def test_arms_serve_what_production_serves_and_leave_it_as_it_was(name, production, begin, tmp_path):
    """With all connections theirs, with none of them, and when they have gone."""
    migrate = steering.MIGRATE.read_text()
    server = production(name)
    text = server.file.read_text()
    with begin(server, name) as arms:
        assert sockets_on(server.port) == 3
        asked(server, 20)
        arms.weigh(0.5)
        asked(server, 60)
        assert arms.ended() == ""
    assert is_as_before(server, tmp_path)
    asked(server, 20)
    assert not any(psutil.pid_exists(pid) for pid in arms.pids)
    assert not any(arm.configuration.exists() for arm in arms.files)
    assert (steering.MIGRATE.read_text(), server.file.read_text()) == (migrate, text)


@pytest.mark.parametrize("name", FORMATS)
def test_shares_are_what_was_asked_for_and_the_arms_log_what_they_serve(name, production, begin):
    """A quarter each; production has the rest."""
    server = production(name)
    with begin(server, name) as arms:
        logs = [AccessLog(Path(arm.place.access_log), FORMATS[name]) for arm in arms.files]
        arms.weigh(0.25)
        asked(server, 400)
        counts = [0, 0]

        def every_line_is_there():
            for number, log in enumerate(logs):
                replies = log.read()
                counts[number] += replies.statuses.success
                assert replies.aborted == replies.statuses.server_error == 0
            return min(counts) > 60

        until(every_line_is_there)
        assert max(counts) < 140
        for log in logs:
            log.close()


def test_canary_that_accepts_all_that_waits_does_not_block(production, tmp_path):
    """Its workers share the socket, and accept until there is nobody left."""
    server = production("nginx")
    values = {**server.seen.target.space().default(), "multi_accept": "on", "worker_processes": 2}
    with baseline_and_canary(
        server.seen, server.base, values, ["multi_accept", "worker_processes"], tmp_path / "n"
    ) as arms:
        arms.weigh(0.5)
        asked(server, 100)


@SERVERS
def test_arm_that_dies_ends_the_episode_with_no_request_lost(name, production, begin, tmp_path):
    """Even before anybody has looked."""
    server = production(name)
    arms = begin(server, name)
    arms.weigh(0.4)
    asked(server, 20)
    os.kill(arms.pids[1], signal.SIGKILL)
    until(lambda: arms.ended())
    asked(server, 40)
    arms.close()
    assert is_as_before(server, tmp_path)
    arms.wait()


def test_arm_that_dies_is_known_to_whoever_gives_it_a_share(production, begin, tmp_path):
    """And to whoever asks afterwards: it is not the keeper that failed."""
    server = production("nginx")
    arms = begin(server, "nginx")
    os.kill(arms.pids[1], signal.SIGKILL)
    with pytest.raises(HostError, match="the canary has ended by itself"):
        until(lambda: arms.weigh(0.4))
    assert arms.ended() == "the canary has ended by itself"
    assert arms.close() == []
    assert is_as_before(server, tmp_path)
    arms.wait()
    assert not arms.files[0].configuration.exists()


@SERVERS
def test_keeper_puts_everything_back_when_the_agent_dies(name, production, begin, tmp_path):
    """Its socket ends without a word, as the kernel ends it for a killed process."""
    server = production(name)
    arms = begin(server, name)
    arms.weigh(0.4)
    arms._socket.close()  # what a kill does
    until(lambda: is_as_before(server, tmp_path))
    asked(server, 40)
    arms.wait()


@SERVERS
def test_agent_puts_everything_back_when_the_keeper_is_killed(name, production, begin, tmp_path):
    """And the arms, which the keeper has started, end as well."""
    server = production(name)
    arms = begin(server, name)
    arms.weigh(0.4)
    arms._keeper.kill()
    with pytest.raises(HostError, match="the keeper of the episode has ended"):
        until(lambda: arms.ended())
    asked(server, 40)
    assert arms.close() == []
    assert is_as_before(server, tmp_path)
    until(lambda: not any(psutil.pid_exists(pid) for pid in arms.pids))
    asked(server, 40)
    arms.wait()


def test_next_trimtab_puts_back_what_killed_ones_have_left(production, begin, tmp_path):
    """Both the agent and its keeper were killed; a keeper that lives is left alone."""
    server = production("nginx")
    arms = begin(server, "nginx")
    notes = tmp_path / "notes"
    put_back_left_behind(notes)
    assert sockets_on(server.port) == 3
    arms._keeper.kill()
    arms._keeper.wait()
    arms._socket.close()
    assert put_back_left_behind(notes) == []
    assert is_as_before(server, tmp_path)


def test_setting_that_an_administrator_has_changed_meanwhile_stays(production, begin):
    """What is there is not what we have set."""
    server = production("nginx")
    before = steering.MIGRATE.read_text()
    steering.MIGRATE.write_text("0")
    try:
        arms = begin(server, "nginx")
        assert steering.MIGRATE.read_text().strip() == "1"
        note = Note.read(arms._note)
        steering.MIGRATE.write_text("0")
        steering.MIGRATE.write_text("1")
        arms.close()
        assert (note.touched.migrate_before, steering.MIGRATE.read_text().strip()) == ("0", "0")
        arms.wait()
    finally:
        steering.MIGRATE.write_text(before)


def test_file_that_the_server_does_not_accept_is_refused_before_anything_is_touched(production, tmp_path):
    """With the server's own sentence."""
    server = production("nginx")
    values = {**server.seen.target.space().default(), "worker_processes": "no number"}
    with pytest.raises(HostError, match=r"nginx does not accept .*canary/nginx.conf: .*worker_processes"):
        baseline_and_canary(server.seen, server.base, values, ["worker_processes"], tmp_path / "notes")
    assert sockets_on(server.port) == 1
    assert not (tmp_path / "notes").exists()


def places():
    """What lies where arms have their files."""
    return {path for place in in_memory.PLACES for path in place.glob("trimtab-live-*")}


def test_files_that_do_not_fit_are_told_before_anything_is_touched(production, begin, full_disk, tmp_path):
    """The memory that they lie in is full: that is nobody's fault, and can be tried again."""
    server = production("nginx")
    there = places()
    with full_disk(), pytest.raises(HostError, match=r"cannot be made in .*: File too large"):
        begin(server, "nginx")
    assert (places(), sockets_on(server.port), (tmp_path / "notes").exists()) == (there, 1, False)


@SERVERS
def test_what_arms_tell_of_errors_does_not_pile_up(name, production, begin):
    """It lies in memory; they go on to tell."""
    server = production(name)
    with begin(server, name) as arms:
        logs = [arm.configuration.with_name(log) for arm in arms.files for log in beside.ERRORS]
        for log in logs:
            with log.open("ab") as appended:
                appended.write(b"x" * (beside.KEPT_BYTES + 1))
        arms.tidy()
        assert max(log.stat().st_size for log in logs) < beside.KEPT_BYTES
        arms.weigh(0.4)
        asked(server, 20)
        arms.tidy()


def test_arms_that_fill_the_memory_are_told(production, begin, monkeypatch):
    """Others need it: nothing is begun there either."""
    server = production("nginx")
    with begin(server, "nginx") as arms:
        arms.tidy()
        monkeypatch.setattr(in_memory, "LEAST_FREE_BYTES", 1 << 60)
        with pytest.raises(HostError, match=r"is about to be full \(.* MB are free\): expected"):
            arms.tidy()
    with pytest.raises(HostError, match="left: expected a place in memory"):
        begin(server, "nginx")


def test_keeper_that_cannot_be_started_is_told_and_leaves_nothing(production, begin, monkeypatch):
    """As where the machine has no process left."""
    server = production("nginx")
    there, opened = places(), len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - descriptors, not files
    monkeypatch.setattr(sys, "executable", "/no/such/program")
    with pytest.raises(HostError, match="the keeper of the episode cannot be started: No such file"):
        begin(server, "nginx")
    assert (places(), sockets_on(server.port)) == (there, 1)
    assert len(os.listdir("/proc/self/fd")) == opened  # noqa: PTH208


def test_server_that_cannot_be_run_twice_is_refused(production, begin):
    """Two servers would write one cache."""
    server = production("nginx")
    text = server.file.read_text().replace("sendfile on;", "proxy_cache_path /tmp/x keys_zone=a:1m;")
    server.file.write_text(text)
    with pytest.raises(HostError, match="two servers cannot share the directory of a cache"):
        begin(server, "nginx")


def test_production_that_has_ended_meanwhile_is_refused(production, begin, tmp_path):
    """With a sentence, and without a trace."""
    server = production("nginx")
    seen, base = server.seen, server.base
    server.process.terminate()
    server.process.wait()
    values = {**seen.target.space().default(), "sendfile": "off"}
    with pytest.raises(HostError, match="has ended"):
        baseline_and_canary(seen, base, values, ["sendfile"], tmp_path / "notes")


def test_arms_run_where_production_runs(production, begin):
    """Not where the agent does, which a daemon has pinned to the generator's CPUs."""
    server = production("core")
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(server.process.pid, {max(cpus)})
    os.sched_setaffinity(0, {min(cpus)})
    try:
        with begin(server, "core") as arms:
            until(lambda: os.sched_getaffinity(arms.pids[0]) == {max(cpus)})
    finally:
        os.sched_setaffinity(0, cpus)


def test_arms_take_signals_as_any_server_does(production, begin):
    """The keeper ignores some, and a program inherits what is ignored; lighttpd's log writer keeps it."""
    server = production("lighttpd")
    with begin(server, "lighttpd") as arms:
        until(lambda: psutil.Process(arms.pids[0]).children())
        processes = [psutil.Process(arms.pids[0]), *psutil.Process(arms.pids[0]).children()]
        ignored = [
            int(line.split()[1], 16)
            for process in processes
            for line in Path(f"/proc/{process.pid}/status").read_text().splitlines()
            if line.startswith("SigIgn:")
        ]
        asked_to_end = sum(1 << (n - 1) for n in (signal.SIGINT, signal.SIGTERM))
        assert not any(mask & asked_to_end for mask in ignored)


def test_listener_of_a_process_is_found_by_its_arm(production, begin):
    """The arms listen on the very address."""
    server = production("core")
    with begin(server, "core") as arms:
        until(lambda: any(listener.port == server.port for listener in listeners_of(arms.pids[0])))


def test_what_arms_are_started_with_is_read_by_nobody_else(production, begin):
    """Production's file may be kept from others, and so may what it includes."""
    server = production("nginx")
    with begin(server, "nginx") as arms:
        modes = [stat.S_IMODE(arm.configuration.stat().st_mode) for arm in arms.files]
    assert modes == [0o600, 0o600]


def test_connections_of_a_server_are_shared_by_one_trimtab_at_a_time(production, begin, tmp_path):
    """The filter of a second one would send the first one's connections elsewhere."""
    server = production("core")
    with begin(server, "core") as arms:
        there = set(arms.files[0].configuration.parents[2].glob("trimtab-live-*"))
        with pytest.raises(HostError, match=r"shares connections of process \d+ already"):
            begin(server, "core")
        assert set(arms.files[0].configuration.parents[2].glob("trimtab-live-*")) == there
        arms.weigh(0.4)
        asked(server, 40)
        assert arms.ended() == ""
        assert sockets_on(server.port) == 3
    assert is_as_before(server, tmp_path)


def test_connections_migrate_until_the_last_of_several_episodes_has_ended(production, begin):
    """Whoever ends first may not take it from the other."""
    one, other = production("core"), production("nginx")
    before = steering.MIGRATE.read_text()
    steering.MIGRATE.write_text("0")
    try:
        first = begin(one, "core")
        with begin(other, "nginx"):
            assert first.close() == []
            first.wait()
            assert steering.MIGRATE.read_text().strip() == "1"
        assert steering.MIGRATE.read_text().strip() == "0"
    finally:
        steering.MIGRATE.write_text(before)
