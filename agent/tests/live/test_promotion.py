"""Production's own file gets new values and is taken up, and gets back what it was; nothing else changes."""

import os
import re
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import psutil
import pytest
from live_support import children_named
from trimtab_agent.base_file import read_base
from trimtab_agent.errors import HostError
from trimtab_agent.live import promotion as promoting
from trimtab_agent.live.promotion import Promotion
from trimtab_agent.station.server.stats_socket import StatsSocket
from waiting import until

pytestmark = pytest.mark.live

KNOB = {
    "nginx": "worker_processes",
    "core": "workers",
    "lighttpd": "server.max-worker",
    "h2o": "num-threads",
    "apache": "KeepAliveTimeout",
}
LINE = {
    "nginx": ("worker_processes 1;", "worker_processes 3;"),
    "core": (None, "workers = 3"),
    "lighttpd": (None, "server.max-worker = 3"),
    "h2o": ("num-threads: 1", "num-threads: 3"),
    "apache": ("KeepAliveTimeout 1", "KeepAliveTimeout 3"),
}
SERVERS = pytest.mark.parametrize("name", KNOB)

# An agent of its own, which is killed once the candidate is in force.
AGENT = """
import sys
from pathlib import Path
from trimtab_agent.base_file import read_base
from trimtab_agent.live.promotion import Promotion
from trimtab_agent.live.running import running_servers
pid, knob, notes = sys.argv[1:]
server = next(each for each in running_servers() if each.pid == int(pid))
values = {**server.target.space().default(), knob: 3}
promotion = Promotion(server, read_base(server.target, server.file), values, [knob], Path(notes))
print("promoted", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def promote(tmp_path):
    """Promotes three workers in place of one."""
    made = []

    def carry_out(server, name, value=3):
        values = {**server.seen.target.space().default(), KNOB[name]: value}
        made.append(Promotion(server.seen, server.base, values, [KNOB[name]], tmp_path / "notes"))
        return made[-1]

    yield carry_out
    for promotion in made:
        promotion.keep()


def workers(server, name):
    """How many workers it has: with what has been reloaded away, for as long as that lives.

    Of Apache, which keeps most numbers until a restart, it is the seconds that it keeps a connection.
    """
    if name == "apache":
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            connection.sendall(b"GET /page HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n")
            found = re.search(rb"Keep-Alive: timeout=(\d+)", connection.recv(1 << 16))
            return int(found[1]) if found else None
    if name == "h2o":
        servers = [each for each in psutil.Process(server.process.pid).children() if each.name() == "h2o"]
        return sum(each.num_threads() for each in servers) - (1 if len(servers) == 1 else 2)
    if name == "lighttpd":
        return len(psutil.Process(server.process.pid).children()) or 1
    if name == "core":
        with StatsSocket(server.file.parent / "stats.sock") as stats:
            return stats.ask("show config")["workers"]
    return len(psutil.Process(server.process.pid).children())


def answers(server):
    """Whether the page is served."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/page", timeout=10) as reply:
        return reply.read() == server.page


def beside(server):
    """The names of what lies in the directory of the file that has to do with it."""
    return sorted(path.name for path in server.file.parent.glob(f"*{server.file.name}*"))


@SERVERS
def test_file_has_the_new_values_alone_and_the_server_runs_with_them(name, production, promote):
    """Mode and owner are kept, and the file from before lies beside it."""
    server = production(name)
    server.file.chmod(0o640)
    os.chown(server.file, 1, 2)
    before = server.file.read_bytes()
    promotion = promote(server, name)
    until(lambda: workers(server, name) == 3)
    assert answers(server)
    old, new = LINE[name]
    lines, earlier = server.file.read_text().splitlines(), before.decode().splitlines()
    assert [line for line in lines if line not in earlier] == [new]
    assert [line for line in earlier if line not in lines] == ([old] if old else [])
    assert promotion.backup.read_bytes() == before
    for path in (server.file, promotion.backup):
        found = path.stat()
        assert (found.st_mode & 0o7777, found.st_uid, found.st_gid) == (0o640, 1, 2)
    assert beside(server) == [server.file.name, promotion.backup.name]


@SERVERS
def test_undo_puts_every_byte_back_and_the_server_runs_with_it(name, production, promote):
    """And the file from before lies there no more."""
    server = production(name)
    server.file.chmod(0o640)
    os.chown(server.file, 1, 2)
    before = server.file.read_bytes()
    promotion = promote(server, name)
    until(lambda: workers(server, name) == 3)
    promotion.undo()
    until(lambda: workers(server, name) == 1)
    assert answers(server)
    found = server.file.stat()
    assert server.file.read_bytes() == before
    assert (found.st_mode & 0o7777, found.st_uid, found.st_gid) == (0o640, 1, 2)
    assert beside(server) == [server.file.name]


@pytest.mark.parametrize("name", ["nginx", "core"])
def test_promotion_that_nobody_watches_any_more_is_put_back(name, production, tmp_path):
    """Whoever has promoted it was killed before it was known to stay."""
    server = production(name)
    before = (server.file.read_bytes(), server.file.stat().st_mtime_ns)
    agent = subprocess.Popen(
        [sys.executable, "-c", AGENT, str(server.process.pid), KNOB[name], str(tmp_path / "notes")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with agent:
        assert agent.stdout.readline() == b"promoted\n"
        until(lambda: workers(server, name) == 3)
        agent.kill()
    until(lambda: (server.file.read_bytes(), server.file.stat().st_mtime_ns) == before)
    until(lambda: workers(server, name) == 1)
    until(lambda: list((tmp_path / "notes").iterdir()) == [])
    assert beside(server) == [server.file.name]


def test_promotion_that_is_to_stay_stays_when_its_process_ends(production, promote, tmp_path):
    """Nothing is noted of it any more."""
    server = production("nginx")
    promotion = promote(server, "nginx")
    promotion.keep()
    promotion.take_back()
    assert list((tmp_path / "notes").iterdir()) == []
    assert promotion.backup.exists()
    until(lambda: workers(server, "nginx") == 3)


def test_line_ends_of_another_system_stay_as_they_are(production, promote):
    """On the way there and on the way back."""
    server = production("nginx")
    before = server.file.read_bytes().replace(b"\n", b"\r\n")
    server.file.write_bytes(before)
    promotion = promote(server, "nginx")
    assert server.file.read_bytes() == before.replace(b"processes 1;", b"processes 3;")
    promotion.undo()
    assert server.file.read_bytes() == before


def test_file_that_somebody_has_changed_since_it_was_read_is_refused(production, tmp_path):
    """It stays as that person has left it, with nothing beside it."""
    server = production("nginx")
    base, values = server.base, {**server.seen.target.space().default(), "worker_processes": 3}
    edited = base.text + "# a word\n"
    server.file.write_text(edited)
    with pytest.raises(HostError, match="has been changed since it was read: expected it as it was"):
        Promotion(server.seen, base, values, ["worker_processes"], tmp_path / "notes")
    assert server.file.read_text() == edited
    assert beside(server) == [server.file.name]
    assert workers(server, "nginx") == 1


def test_file_that_somebody_has_changed_since_its_promotion_is_left_on_the_way_back(production, promote):
    """The sentence tells where the one from before is."""
    server = production("nginx")
    before = server.file.read_bytes()
    promotion = promote(server, "nginx")
    edited = server.file.read_text() + "# a word\n"
    server.file.write_text(edited)
    with pytest.raises(HostError, match=f"stays as it is; {promotion.backup} is the file from before"):
        promotion.undo()
    assert server.file.read_text() == edited
    assert promotion.backup.read_bytes() == before


@SERVERS
def test_candidate_that_the_server_refuses_leaves_everything_as_it_was(name, production, promote):
    """The file even with its time, so that nobody takes it for changed; production is not reloaded."""
    server = production(name)
    before, as_it_was = server.file.read_bytes(), server.file.stat()
    children = psutil.Process(server.process.pid).children()
    with pytest.raises(HostError, match=f"(?s){name} does not accept .*{name}.conf: "):
        promote(server, name, "no number")
    now = server.file.stat()
    assert server.file.read_bytes() == before
    assert (now.st_mode, now.st_mtime_ns) == (as_it_was.st_mode, as_it_was.st_mtime_ns)
    assert beside(server) == [server.file.name]
    assert psutil.Process(server.process.pid).children() == children


def test_production_that_has_ended_meanwhile_leaves_the_file_as_it_was(production, monkeypatch, tmp_path):
    """It cannot take it up."""
    server = production("nginx")
    seen, base = server.seen, server.base
    values = {**seen.target.space().default(), "worker_processes": 3}

    def killed(*_):
        server.process.kill()
        server.process.wait()

    monkeypatch.setattr(promoting, "check", killed)
    with pytest.raises(HostError, match="cannot be reloaded: No such process"):
        Promotion(seen, base, values, ["worker_processes"], tmp_path / "notes")
    assert server.file.read_text() == base.text
    assert beside(server) == [server.file.name]


@pytest.fixture
def read_only():
    """Makes a directory one that even root cannot write to."""
    mounted = []

    def make(directory):
        bound = subprocess.run(("mount", "--bind", directory, directory), capture_output=True, check=False)
        if bound.returncode:
            pytest.skip("nothing can be mounted here")
        mounted.append(directory)
        subprocess.run(("mount", "-o", "remount,ro,bind", directory), check=True)

    yield make
    for directory in mounted:
        subprocess.run(("umount", directory), check=True)


def test_directory_that_cannot_be_written_to_is_told_on_the_way_there(production, promote, read_only):
    """In the kernel's words, and nothing has happened."""
    server = production("nginx")
    before = server.file.read_bytes()
    read_only(server.file.parent)
    with pytest.raises(HostError, match=f"{server.file} cannot be written: Read-only file system"):
        promote(server, "nginx")
    assert server.file.read_bytes() == before
    assert beside(server) == [server.file.name]
    assert workers(server, "nginx") == 1


def test_directory_that_cannot_be_written_to_is_told_on_the_way_back(production, promote, read_only):
    """The promotion stays in force, and the file from before beside it."""
    server = production("nginx")
    before = server.file.read_bytes()
    promotion = promote(server, "nginx")
    read_only(server.file.parent)
    with pytest.raises(HostError, match=f"{server.file} cannot be written: Read-only file system"):
        promotion.undo()
    assert promotion.backup.read_bytes() == before


def test_promotion_of_a_file_that_is_a_link_leaves_the_link(production, tmp_path):
    """What it leads to is changed."""
    server = production("nginx")
    there = server.file.rename(tmp_path / "real.conf")
    server.file.symlink_to(there)
    base = read_base(server.seen.target, server.file)
    values = {**server.seen.target.space().default(), "worker_processes": 3}
    promotion = Promotion(server.seen, base, values, ["worker_processes"], tmp_path / "notes")
    promotion.keep()
    assert promotion.file == there
    assert server.file.is_symlink()
    until(lambda: len(children_named("nginx", server.process.pid)) == 3)
    assert Path(base.path) == there
