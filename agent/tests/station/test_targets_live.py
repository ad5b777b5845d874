"""Every server that can be tuned, for real: started, loaded, stopped, and nothing left of it."""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep

import psutil
import pytest
from live_support import wait_until_gone
from trimtab_agent.errors import BinaryMissing
from trimtab_agent.station.clearing import REMOVERS
from trimtab_agent.station.generator import LoadOrder, drive
from trimtab_agent.station.leftovers import Leftovers
from trimtab_agent.station.processes.programs import server_program, version_of
from trimtab_agent.station.server.ports import ADDRESS
from trimtab_agent.station.server.refusals import ConfigurationRejected, ServerFailed
from trimtab_agent.station.server.target_server import ServerOrder, TargetServer
from trimtab_agent.stopping import StopSignal
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext

CPUS = tuple(sorted(os.sched_getaffinity(0)))
OTHERS = [name for name in TARGETS if name != "core"]


@pytest.fixture
def script(tmp_path):
    """Makes a program that passes every check and then does what the lines say."""

    def make(lines):
        path = tmp_path / "nginx"
        path.write_text(f'#!/bin/sh\n[ "$1" = -t ] && exit 0\n{lines}\n')
        path.chmod(0o755)
        tmp_path.chmod(0o755)
        return path

    return make


@pytest.mark.live
@pytest.mark.parametrize("name", TARGETS)
def test_server_serves_the_workload_and_leaves_nothing_behind(
    name, server_order, settings, file_set, tmp_path, request
):
    """Warm, drive, read its counters; then neither processes nor files of its own are there."""
    database = TARGETS[name].protocol == "mariadb"
    files = request.getfixturevalue("shop_files")[0] if database else file_set
    with TargetServer(server_order(name), StopSignal()) as server:
        # More requests than Apache takes on one connection.
        server.warm([path for path, _ in files.files] * 10, StopSignal())
        pids = server.pids
        result = drive(
            LoadOrder(
                program=settings.load_path,
                url=server.url,
                rate_rps=200.0,
                duration_s=0.4,
                warmup_s=0.1,
                timeout_s=5.0,
                sessions=files.sessions,
                seed=1,
                cpus=CPUS[-1:],
                prioritised=False,
                log=tmp_path / "load.log",
            ),
            [server.child],
            StopSignal(),
            lambda line: None,
        )
        assert result.requests.replied > 0
        assert result.requests.failed == 0
        assert server.stats()["connections_open"] >= 0
        assert server.workers_lost() == 0
        assert set(map(os.sched_getaffinity, pids).__next__()) == set(CPUS[:1])
    wait_until_gone(list(pids))
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "var") == [
        "load.log",
        "trial-1.conf",
        "trial-1.log",
    ]


@pytest.mark.live
@pytest.mark.parametrize("name", [name for name in TARGETS if TARGETS[name].drop_in is None])
def test_server_starts_with_a_file_that_is_named_without_its_path(name, settings, file_set):
    """As the comment in an exported file says, in the directory where it lies."""
    target = TARGETS[name]
    program = server_program(target, settings.httpd_path)
    with tempfile.TemporaryDirectory() as folder, socket.create_server((ADDRESS, 0)) as free:
        Path(folder).chmod(0o777)  # the server writes its logs there as the user it becomes
        port = free.getsockname()[1]
        free.close()
        context = RenderContext(
            root=str(file_set.root),
            listen=(f"{ADDRESS}:{port}",),
            server_cpus=CPUS[:1],
            prefix=folder,
            error_log=f"{folder}/error.log",
        )
        (Path(folder) / target.file_name).write_text(target.render(target.space().default(), context))
        command = target.start_command(target.file_name, str(program))
        server = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, process_group=0)
        try:
            wait_for_port(port, server)
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.communicate(timeout=20)


def wait_for_port(port, server):
    """Until something listens there; fails with what the server says if it ends before."""
    deadline_s = monotonic() + 20
    while True:
        with socket.socket() as probe:
            if probe.connect_ex((ADDRESS, port)) == 0:
                return
        assert server.poll() is None, server.communicate()[1].decode()
        assert monotonic() < deadline_s
        sleep(0.02)


@pytest.mark.live
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up privileges")
@pytest.mark.parametrize("name", OTHERS)
def test_server_started_by_root_runs_without_privileges(name, server_order):
    """Also where the files lie in a directory that others may not enter, as pytest's do."""
    with TargetServer(server_order(name), StopSignal()) as server:
        assert {psutil.Process(pid).uids().effective for pid in server.pids}.isdisjoint({0})


@pytest.mark.parametrize(
    ("name", "changed", "said"),
    [
        ("h2o", {"tcp-reuseport": "ON"}, "unknown command: tcp-reuseport"),
        ("apache", {"ListenBacklog": -1}, "ListenBacklog must be > 0"),
    ],
)
def test_refused_configuration_is_the_servers_own_sentence(name, changed, said, server_order):
    """Its own check says why, before it is started."""
    with pytest.raises(ConfigurationRejected, match=said):
        TargetServer(server_order(name, **changed), StopSignal())


def test_missing_server_names_the_package_that_has_it(settings, monkeypatch):
    """Nothing is installed behind the user's back."""
    monkeypatch.setattr("trimtab_agent.station.processes.programs.find_installed", lambda name: None)
    with pytest.raises(BinaryMissing, match=r"apt-get install .* apache2-bin"):
        server_program(TARGETS["apache"], settings.httpd_path)


@pytest.mark.live
def test_worker_that_died_is_noticed(server_order):
    """nginx replaces it without a word to its clients."""
    with TargetServer(server_order("nginx", worker_processes=2), StopSignal()) as server:
        master, worker, *_ = server.pids
        os.kill(worker, signal.SIGKILL)
        wait_until_gone([worker])
        assert psutil.pid_exists(master)
        assert server.workers_lost() == 1


def test_server_that_ignores_sigterm_is_killed(server_order, script, monkeypatch):
    """After a time of grace."""
    monkeypatch.setattr("trimtab_agent.station.processes.children.STOP_GRACE_S", 0.2)
    stubborn = script("trap '' TERM\necho $$ >pid.$$\nwhile :; do read line </dev/zero; sleep 0.1; done")
    monkeypatch.setattr("trimtab_agent.station.server.target_server.START_LIMIT_S", 1.0)
    with pytest.raises(ServerFailed, match="did not answer on its status page within 1 s"):
        TargetServer(server_order("nginx", stubborn), StopSignal())
    assert not psutil.Process().children(recursive=True)


@pytest.mark.live
def test_server_that_serves_and_does_not_end_when_asked_is_killed(server_order):
    """Frozen, so that it never sees the signal: master and workers are gone all the same."""
    server = TargetServer(server_order("nginx", worker_processes=2), StopSignal())
    pids = server.pids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    server.stop()
    assert len(pids) == 3
    wait_until_gone(list(pids))


def test_server_that_forks_away_is_found_and_ended(server_order, script, tmp_path):
    """A daemon in a session of its own, whose parent ends at once."""
    away = script(f"setsid sleep 300 &\necho $! >{tmp_path}/pid\nexit 3")
    (tmp_path / "pid").touch()
    (tmp_path / "pid").chmod(0o666)
    with pytest.raises(ServerFailed, match="ended with exit code 3"):
        TargetServer(server_order("nginx", away), StopSignal())
    daemon = int((tmp_path / "pid").read_text())
    wait_until_gone([daemon])


STARTS_AND_WAITS = """
import sys
from pathlib import Path
from trimtab_agent.station.leftovers import Leftovers
from trimtab_agent.station.server.target_server import ServerOrder, TargetServer
from trimtab_agent.stopping import StopSignal
from trimtab_tuner.targets import TARGETS
program, root, directory, cpu = sys.argv[1:]
target = TARGETS["nginx"]
server = TargetServer(ServerOrder(program=Path(program), target=target,
    configuration={**target.space().default(), "worker_processes": 2}, root=Path(root), cpus=(int(cpu),),
    directory=Path(directory), name="trial-1", leftovers=Leftovers(Path(directory) / "leftovers.json")),
    StopSignal())
print(*server.pids, flush=True)
sys.stdin.read()
"""


def pids_left_by_killed_agent(made: ServerOrder, directory: Path) -> list[int]:
    """Those of a server whose agent is killed as soon as it has started it in `directory`."""
    agent = subprocess.Popen(
        [sys.executable, "-c", STARTS_AND_WAITS, made.program, made.root, directory, str(CPUS[0])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with agent:
        assert agent.stdout is not None
        pids = [int(pid) for pid in agent.stdout.readline().split()]
        agent.kill()
    return pids


@pytest.mark.live
def test_server_does_not_outlive_an_agent_that_was_killed(server_order, tmp_path):
    """Not the master alone: the workers of a killed master would go on serving."""
    pids = pids_left_by_killed_agent(server_order("nginx"), tmp_path)
    assert len(pids) == 3
    wait_until_gone(pids)


@pytest.mark.live
def test_sockets_of_a_directory_too_deep_for_them_are_cleared_up_after_a_kill(server_order, tmp_path):
    """They lie under a short path, which nobody would look for without the journal."""
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    made = server_order("nginx")
    pids = pids_left_by_killed_agent(made, deep)
    wait_until_gone(pids)
    journal = Leftovers(deep / "leftovers.json")
    ((kind, short),) = journal.entries()
    assert kind == "directory"
    assert Path(short).is_dir()
    assert journal.clear(REMOVERS) == []
    assert not Path(short).exists()
    with TargetServer(replace(made, directory=deep), StopSignal()) as server:
        ((_, short),) = made.leftovers.entries()
        assert server.stats_socket.parent == Path(short)
    assert not Path(short).exists()
    assert made.leftovers.entries() == []


def test_nothing_but_such_a_directory_is_taken_away(tmp_path):
    """A journal that somebody has written into cannot have anything deleted."""
    journal = Leftovers(tmp_path / "leftovers.json")
    journal.remember("directory", str(tmp_path))
    assert journal.clear(REMOVERS) == []
    assert tmp_path.is_dir()


PINNED = {
    "lighttpd": {"server.max-worker": 3},
    "apache": {"ServerLimit": 3, "ThreadsPerChild": 8},
    "h2o": {"num-threads": 3},
}


def threads_of(pid):
    """The ids of a process's threads, the oldest first."""
    return sorted(int(task.name) for task in Path(f"/proc/{pid}/task").iterdir())


def masks(server, name):
    """The CPUs of each worker: of h2o's threads, of the others' processes with all their threads."""
    main, *children = server.pids
    if name == "h2o":
        first, *others = threads_of(main)
        return [os.sched_getaffinity(thread) for thread in (first, *others[-2:])]
    return [set().union(*map(os.sched_getaffinity, threads_of(child))) for child in children]


@pytest.mark.live
@pytest.mark.skipif(len(CPUS) < 2, reason="there is one CPU")
@pytest.mark.parametrize("name", PINNED)
def test_workers_that_the_server_cannot_pin_are_put_on_their_cpus(name, server_order):
    """In turn on the server's CPUs, all threads of a process; without a plan they may use them all."""
    one, other = ({cpu} for cpu in CPUS[:2])
    with TargetServer(
        replace(server_order(name, affinity="process", **PINNED[name]), cpus=CPUS[:2]), StopSignal()
    ) as server:
        assert masks(server, name) == [one, other, one]
        assert server.workers_moved() == ()
    with TargetServer(replace(server_order(name, **PINNED[name]), cpus=CPUS[:2]), StopSignal()) as server:
        assert all(mask == one | other for mask in masks(server, name))


@pytest.mark.live
@pytest.mark.skipif(len(CPUS) < 2, reason="there is one CPU")
def test_worker_that_somebody_moved_is_named_and_one_that_came_anew_is_pinned(server_order):
    """Reading back tells of the one; the other gets the CPU of the one that has gone."""
    made = replace(server_order("lighttpd", affinity="process", **PINNED["lighttpd"]), cpus=CPUS[:2])
    with TargetServer(made, StopSignal()) as server:
        master, first, second, third = server.pids
        os.sched_setaffinity(second, {CPUS[0]})
        (sentence,) = server.workers_moved()
        assert sentence == f"process {second} was put on CPU {CPUS[1]} and may use CPU {CPUS[0]} now"
        assert server.workers_moved() == ()
        os.kill(second, signal.SIGKILL)
        wait_until_gone([second])
        while len(fresh := {child.pid for child in psutil.Process(master).children()} - {second}) < 3:
            pass
        server.workers_moved()
        (new,) = fresh - {first, third}
        assert os.sched_getaffinity(new) == {CPUS[1]}


@pytest.mark.parametrize("name", TARGETS)
def test_every_server_says_its_version(settings, name):
    """A run is recorded with it."""
    assert re.fullmatch(
        r"\d+(\.\d+)+", version_of(TARGETS[name], server_program(TARGETS[name], settings.httpd_path))
    )
