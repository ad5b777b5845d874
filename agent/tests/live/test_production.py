"""Production is observed by what it writes already, and is left as it is."""

import os
import re
import signal
import socket
import subprocess
from types import SimpleNamespace

import psutil
import pytest
from observing import LARGE_BYTES, ask, observe_until, serving
from trimtab_agent.live import production_log
from trimtab_agent.live.observation import ObservationLost
from trimtab_agent.live.production import NO_SIZES, NO_TIMES, NOTHING, production_observer
from trimtab_agent.live.production_log import SAMPLED_LINES, ProductionLog
from trimtab_agent.live.running import running_servers
from trimtab_tuner.live.observed import CLASSES, Statuses

SLOW_S = 10.0
SETTINGS = {
    "nginx": "access_log PATH;\n",
    "lighttpd": 'accesslog.filename = "PATH"\n',
    "apache": 'CustomLog PATH "%h %l %u %t \\"%r\\" %>s %b"\n',
    "h2o": "access-log: PATH\n",
}
LINE = b'192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] "GET /%d HTTP/1.1" 200 2000\n'


def found(server):
    """The server as it is found."""
    (running,) = (each for each in running_servers() if each.answers_to(str(server.port)))
    return running


@pytest.mark.live
@pytest.mark.parametrize("name", SETTINGS)
def test_production_is_observed_by_its_own_log(name, server_order):
    """Requests, sizes and statuses from now on; there are no service times in it."""
    with serving(server_order(name), SETTINGS[name]) as (server, log):
        log.write_bytes(LINE % 1)
        before = log.stat()
        observer, sentence = production_observer(found(server), SLOW_S)
        with observer:
            for _ in range(5):
                ask(server.port, "/small")
            ask(server.port, "/missing?a=b")
            ask(server.port, "/large")
            seen = observe_until(observer, lambda seen: seen.arm.requests >= 7)
        assert (log.stat().st_ino, log.stat().st_mode) == (before.st_ino, before.st_mode)
    assert sentence == NO_TIMES
    assert seen.replies.statuses == Statuses(success=6, client_error=1)
    assert [served.requests for served in seen.arm.served] == [6, 0, 0, 0, 0, 1, *[0] * (CLASSES - 6)]
    assert sum(served.service_s for served in seen.arm.served) == 0
    assert seen.replies.bytes_sent > LARGE_BYTES
    assert seen.replies.dynamic == 1
    assert seen.arm.cpu_s > 0


def test_core_in_production_is_observed_at_the_socket_that_its_file_names(server_order):
    """With service times."""
    with serving(server_order("core")) as (server, _):
        observer, sentence = production_observer(found(server), SLOW_S)
        with observer:
            ask(server.port, "/small")
            seen = observe_until(observer, lambda seen: seen.arm.requests)
    assert sentence == ""
    assert seen.replies.service_times.replies == 1


@pytest.mark.live
def test_production_that_writes_no_log_is_observed_by_its_cpu_time_and_connections(production):
    """And a sentence says so."""
    server = production("nginx", lambda text: re.sub(r"access_log [^;]*;", "access_log off;", text))
    observer, sentence = production_observer(server.seen, SLOW_S)
    with observer, socket.create_connection(("127.0.0.1", server.port)):
        ask(server.port, "/page")
        seen = observe_until(observer, lambda seen: seen.arm.cpu_s and seen.replies.connections_open == 1)
    assert sentence == NOTHING
    assert (seen.arm.requests, seen.arm.waiting) == (0, 0)


MODULE = "/usr/lib/apache2/modules/mod_status.so"
STATUS = {
    "nginx": ("location = /counts { stub_status; }", "access_log off;"),
    "apache": (
        f"LoadModule status_module {MODULE}\n<Location /counts>\nSetHandler server-status\n</Location>",
        "",
    ),
}


@pytest.mark.live
@pytest.mark.parametrize("name", STATUS)
@pytest.mark.parametrize("logs", [True, False])
def test_status_page_tells_requests_and_connections(name, logs, production):
    """Beside the log, or in its place; it is found in the file. Its own requests do not count."""
    page, no_log = STATUS[name]
    place = "root " if name == "nginx" else "DocumentRoot"

    def edit(text):
        if not logs:
            text = re.sub(r"access_log [^;]*;", no_log, re.sub("CustomLog.*", "", text))
        return text.replace(place, f"{page}\n{place}", 1)

    server = production(name, edit)
    ask(server.port, "/page")
    with socket.create_connection(("127.0.0.1", server.port)) as kept:
        kept.sendall(b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n")
        assert kept.recv(1)
        observer, sentence = production_observer(server.seen, SLOW_S)
        with observer:
            assert observer.tells_requests
            for _ in range(30):
                ask(server.port, "/page")
            seen = observe_until(
                observer, lambda seen: seen.arm.requests >= 30 and seen.replies.connections_open
            )
    assert 30 <= seen.arm.requests <= 31
    if name == "nginx":
        assert 30 <= seen.replies.connections_accepted <= 32
    assert sentence == (NO_TIMES if logs else NO_SIZES)


@pytest.mark.live
def test_log_is_followed_when_it_is_rotated(server_order, monkeypatch):
    """Renamed, with lines that still come to the old file; then the server opens a new one."""
    monkeypatch.setattr(production_log, "LOOK_AGAIN_S", 0.0)
    with serving(server_order("nginx"), SETTINGS["nginx"]) as (server, log):
        log.write_bytes(LINE % 1)
        observer, _ = production_observer(found(server), SLOW_S)
        with observer:
            ask(server.port, "/small")
            assert observe_until(observer, lambda seen: seen.arm.requests).arm.requests == 1
            log.rename(log.with_suffix(".1"))
            ask(server.port, "/small")
            assert observe_until(observer, lambda seen: seen.arm.requests).arm.requests == 1
            os.kill(server.pids[0], signal.SIGUSR1)
            observe_until(observer, lambda _: log.exists())
            ask(server.port, "/small")
            assert observe_until(observer, lambda seen: seen.arm.requests).arm.requests == 1


@pytest.fixture
def own(tmp_path):
    """A log that this process has open, as a server would."""
    with (tmp_path / "access.log").open("ab", buffering=0) as file:
        file.write(LINE % 1)
        yield file


def test_log_that_is_cut_off_begins_anew(own):
    """As logrotate does it with `copytruncate`."""
    log = ProductionLog(os.getpid())
    os.ftruncate(own.fileno(), 0)
    assert log.read().served[1].requests == 0
    own.write(LINE % 2)
    assert log.read().served[1].requests == 1
    log.close()


def test_of_many_lines_a_sample_stands_for_all(own):
    """What it costs has a limit."""
    log = ProductionLog(os.getpid())
    own.write(b"".join(LINE % number for number in range(10 * SAMPLED_LINES)))
    assert log.read().served[1].requests == 10 * SAMPLED_LINES
    log.close()


def test_what_nobody_has_read_for_long_is_not_read_at_once(own, monkeypatch):
    """The memory is production's: a sample of the lines stands for all here as well."""
    monkeypatch.setattr(production_log, "READ_BYTES", 1 << 18)
    read, most = os.pread, []

    def pread(descriptor, count, offset):
        most.append(count)
        return read(descriptor, count, offset)

    log = ProductionLog(os.getpid())
    own.write(b"".join(LINE % number for number in range(20_000)))
    monkeypatch.setattr(os, "pread", pread)
    requests = log.read().served[1].requests
    own.write(LINE % 1)
    assert log.read().served[1].requests == 1
    log.close()
    assert 19_900 < requests < 20_100
    assert max(most) == 1 << 18


def test_file_without_lines_is_not_read_again_and_again(own, monkeypatch):
    """A server may append to something else than a log."""
    monkeypatch.setattr(production_log, "READ_BYTES", 1 << 12)
    log = ProductionLog(os.getpid())
    own.write(b"x" * (1 << 14))
    log.read()
    assert not any(tail.waiting_bytes for tail in log._files.values())
    own.write(b"\n" + LINE % 2)
    assert log.read().served[1].requests == 1
    log.close()


def test_file_that_is_no_access_log_tells_of_nothing(tmp_path):
    """An error log has other lines."""
    with (tmp_path / "error.log").open("a") as file:
        print("2026/11/23 17:25:19 [error] open() failed", file=file, flush=True)
        log = ProductionLog(os.getpid())
        assert not log.tells_requests
        log.close()


def test_worker_that_ends_while_it_is_looked_at_is_left_out(own, monkeypatch):
    """As at a reload."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    monkeypatch.setattr(psutil.Process, "children", lambda _: [SimpleNamespace(pid=gone.pid)])
    monkeypatch.setattr(production_log, "LOOK_AGAIN_S", 0.0)
    log = ProductionLog(os.getpid())
    own.write(LINE % 2)
    assert log.read().served[1].requests == 1
    log.close()


def test_worker_that_may_not_be_looked_at_is_left_out(own, monkeypatch):
    """Another user's, in a container without SYS_PTRACE; its starter has the log open as well."""
    looked = production_log._appended_to_by

    def may(pid):
        if pid != os.getpid():
            raise PermissionError(13, "Permission denied")
        return looked(pid)

    monkeypatch.setattr(production_log, "_appended_to_by", may)
    monkeypatch.setattr(psutil.Process, "children", lambda _: [SimpleNamespace(pid=1)])
    log = ProductionLog(os.getpid())
    own.write(LINE % 2)
    assert log.read().served[1].requests == 1
    log.close()


def test_server_that_is_gone_is_lost():
    """There is nothing to look into."""
    with pytest.raises(ObservationLost, match="process 4194305 cannot be observed"):
        ProductionLog(4_194_305)
