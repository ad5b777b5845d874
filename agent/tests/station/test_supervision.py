"""One start of the server, its stats socket, warming, one driven rate: with the real programs."""

import dataclasses
import json
import os
import subprocess
import threading
from functools import partial

import pytest
from live_support import children_named
from trimtab_agent.errors import BinaryMissing, HostError
from trimtab_agent.station.generator import GeneratorDied, LoadOrder, drive
from trimtab_agent.station.processes.children import Child
from trimtab_agent.station.server.ports import ADDRESS
from trimtab_agent.station.server.refusals import ConfigurationRejected, ServerFailed
from trimtab_agent.station.server.stats_socket import StatsSocket, StatsSocketError
from trimtab_agent.station.server.target_server import TargetServer
from trimtab_agent.station.warming import WarmingFailed, warm
from trimtab_agent.stopping import Stopped, StopSignal
from trimtab_tuner.clients import Clients
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.placement import REPLICA_KNOBS
from trimtab_tuner.targets.servers.core import OF_THE_ADMINISTRATOR

CPUS = tuple(sorted(os.sched_getaffinity(0)))


@pytest.fixture
def order(server_order):
    """Makes orders for trimtab-httpd."""
    return partial(server_order, "core")


@pytest.fixture
def server(order):
    """A server with two workers that answers."""
    with TargetServer(order(workers=2), StopSignal()) as running:
        yield running


@pytest.mark.skipif(len(CPUS) < 2, reason="there is one CPU")
def test_workers_can_be_pinned_by_an_agent_that_runs_on_other_cpus(order):
    """As in every run: the server's check, too, must see the server's CPUs, or it refuses the plan."""
    os.sched_setaffinity(0, CPUS[-1:])
    try:
        with TargetServer(order(workers=1, affinity="process", cpus=CPUS[:1]), StopSignal()) as running:
            (worker,) = running.pids[1:]
            assert os.sched_getaffinity(worker) == {CPUS[0]}
        assert os.sched_getaffinity(0) == {CPUS[-1]}
    finally:
        os.sched_setaffinity(0, CPUS)


def choices_of_architecture() -> tuple[str, ...]:
    """The architectures that the tuner knows."""
    return next(knob.choices for knob in TARGETS["core"].space().knobs if knob.name == "architecture")


def load_order(settings, server, file_set, tmp_path, **changed):
    """A short rate."""
    fields = {
        "program": settings.load_path,
        "url": server.url,
        "rate_rps": 300.0,
        "duration_s": 0.4,
        "warmup_s": 0.1,
        "timeout_s": 30.0,  # no request may time out, however busy the machine is
        "sessions": file_set.sessions,
        "seed": 1,
        "cpus": CPUS[-1:],
        "prioritised": False,
        "log": tmp_path / "load.log",
    }
    return LoadOrder(**{**fields, **changed})


def test_server_answers_with_the_configuration_it_was_given(server):
    """Its stats socket shows what it runs with; its pids are the master's and the workers'."""
    with StatsSocket(server.stats_socket) as stats:
        shown = stats.ask("show config")
        info = stats.ask("show info")
    assert shown["workers"] == 2
    assert server.pids == (info["pid"], *(worker["pid"] for worker in info["workers"]))
    assert len(server.pids) == 3


def test_server_runs_on_its_cpus_only(server):
    """Workers inherit the mask of the master."""
    for pid in server.pids:
        assert os.sched_getaffinity(pid) == set(CPUS[:1])


def test_stopped_server_leaves_nothing_behind(order):
    """Neither processes nor socket."""
    server = TargetServer(order(workers=3), StopSignal())
    server.stop()
    server.stop()
    assert not server.stats_socket.exists()
    assert not children_named("trimtab-httpd")


def test_refused_configuration_is_the_servers_own_sentence(order):
    """The check before the start names the knob."""
    with pytest.raises(ConfigurationRejected, match="workers = 5000"):
        TargetServer(order(workers=5000), StopSignal())


def test_check_that_hangs_is_no_internal_error(order, monkeypatch):
    """The trial has crashed, and says what hung."""
    monkeypatch.setattr("trimtab_agent.station.server.refusals.CHECK_LIMIT_S", 0.2)
    monkeypatch.setattr(type(TARGETS["core"]), "check_command", lambda *_: ("sleep", "60"))
    with pytest.raises(ServerFailed, match=r"sleep had not checked .*trial-1\.conf after 0 s and was killed"):
        TargetServer(order(), StopSignal())


def test_server_that_cannot_start_says_why(order, tmp_path, settings):
    """A program that accepts its configuration and then ends at once."""
    script = tmp_path / "trimtab-httpd"
    script.write_text("#!/bin/sh\n[ \"$1\" = -t ] && exit 0\necho 'no listening today' >&2\nexit 1\n")
    script.chmod(0o755)
    broken = order()
    object.__setattr__(broken, "program", script)
    with pytest.raises(ServerFailed, match="ended with exit code 1: no listening today"):
        TargetServer(broken, StopSignal())


def test_stop_is_heard_while_waiting_for_the_server(order, tmp_path):
    """A server that never answers does not hold up a stop."""
    script = tmp_path / "trimtab-httpd"
    script.write_text('#!/bin/sh\n[ "$1" = -t ] && exit 0\nexec sleep 60\n')
    script.chmod(0o755)
    silent = order()
    object.__setattr__(silent, "program", script)
    stop = StopSignal()
    threading.Timer(0.2, stop.request).start()
    with pytest.raises(Stopped):
        TargetServer(silent, stop)
    assert not children_named("sleep")


def test_stats_socket_error_is_the_servers_sentence(server):
    """Unknown commands are refused with a message."""
    with StatsSocket(server.stats_socket) as stats, pytest.raises(StatsSocketError, match="bogus"):
        stats.ask("bogus")


def test_socket_nobody_listens_on_is_named(tmp_path):
    """The path stands in the sentence."""
    with pytest.raises(StatsSocketError, match=str(tmp_path / "none.sock")):
        StatsSocket(tmp_path / "none.sock")


def test_warming_asks_for_every_file(server, file_set):
    """As many requests as there are files, and no content sent."""
    before = server.stats()
    warm(ADDRESS, server.port, [path for path, _ in file_set.files], StopSignal())
    after = server.stats()
    assert after["requests"] - before["requests"] == 36
    assert after["bytes_sent"] - before["bytes_sent"] < 36 * 1024


def test_warming_stops_at_a_file_that_is_not_there(server):
    """The answer and the path are named."""
    with pytest.raises(WarmingFailed, match="404 for /nothing"):
        warm(ADDRESS, server.port, ["/nothing"], StopSignal())


def test_driven_rate_is_the_generators_result(settings, server, file_set, tmp_path):
    """Numbers add up, and both sides agree."""
    order = load_order(settings, server, file_set, tmp_path)
    result = drive(order, [server.child], StopSignal(), lambda line: None)
    assert result.rate_rps == 300.0
    assert result.requests.replied > 0
    assert result.requests.failed == 0
    assert server.stats()["requests"] >= result.requests.replied


def test_missing_session_log_is_the_generators_sentence(settings, server, file_set, tmp_path):
    """A generator that ends without a result says why."""
    order = load_order(settings, server, file_set, tmp_path, sessions=tmp_path / "none.log")
    with pytest.raises(GeneratorDied, match=r"exit code 2.*none\.log"):
        drive(order, [server.child], StopSignal(), lambda line: None)


def test_every_byte_served_is_what_the_file_set_was_made_of(settings, server, file_set, tmp_path):
    """The tuner's definition, the files, the server and the generator's verification agree."""
    order = load_order(settings, server, file_set, tmp_path, cpus=CPUS[-1:])
    with Child([*order.command(), "--verify=all"], cpus=CPUS, log=order.log, capture=True) as generator:
        result = json.loads(generator.stdout.read().splitlines()[-1])
    assert result["failures"] == {}
    assert result["replies"]["verified"] == result["requests"]["replied"] > 0


def test_generator_has_a_process_for_each_cpu(settings, server, file_set, tmp_path):
    """As many as it may use; in a closed loop no more than connections."""
    order = load_order(settings, server, file_set, tmp_path, cpus=(0, 1, 2, 3, 7))
    assert {"--processes=5", "--cpus=0-3,7"} <= set(order.command())
    closed = dataclasses.replace(order, clients=Clients(loop="closed", connections=(2, 3)), rate_rps=2.0)
    assert {"--processes=2", "--connections=2"} <= set(closed.command())


def test_stop_is_heard_while_a_rate_is_driven(settings, server, file_set, tmp_path):
    """The generator is gone afterwards."""
    stop = StopSignal()
    order = load_order(settings, server, file_set, tmp_path, duration_s=30.0)
    with pytest.raises(Stopped):
        drive(order, [server.child], stop, lambda line: stop.request())
    assert not children_named("trimtab-load")


def test_program_that_is_not_there_is_named(tmp_path):
    """setpriv's message becomes the child's end."""
    with Child([str(tmp_path / "none")], cpus=CPUS, log=tmp_path / "log") as child:
        assert child.wait(60) not in (None, 0)
        assert str(tmp_path / "none") in child.death_sentence()


def test_child_that_runs_and_does_not_answer_is_told_with_what_its_log_says(tmp_path):
    """It is not said to have ended, and where its log is empty the sentence ends."""
    log = tmp_path / "log"
    with Child(["sleep", "60"], cpus=CPUS, log=log) as child:
        silent = "sleep had not ended, but did not answer on its status page within 10 s"
        assert child.silence_sentence("its status page", 10.0) == silent
        log.write_text("no such module\n")
        assert child.silence_sentence("its status page", 10.0) == f"{silent}: no such module"


def test_cpus_that_are_not_ours_are_named(tmp_path):
    """Not only `Invalid argument`."""
    with pytest.raises(HostError, match="cannot run sleep on the CPUs 4000: Invalid argument; this process"):
        Child(["sleep", "60"], cpus=(4000,), log=tmp_path / "log")


def test_child_that_cannot_be_watched_over_is_not_left_running(tmp_path, monkeypatch):
    """Without a descriptor nobody would ever end it."""
    monkeypatch.setattr(
        os, "pidfd_open", lambda _pid: (_ for _ in ()).throw(OSError(24, "Too many open files"))
    )
    with pytest.raises(HostError, match="cannot watch over sleep: Too many open files"):
        Child(["sleep", "60"], cpus=CPUS[:1], log=tmp_path / "log")
    assert children_named("sleep") == []


def test_log_directory_that_is_gone_does_not_change_our_cpus(tmp_path):
    """Whatever goes wrong at a start, the thread gets its own CPUs back."""
    before = os.sched_getaffinity(0)
    with pytest.raises((BinaryMissing, OSError)):
        Child(["true"], cpus=CPUS[:1], log=tmp_path / "gone" / "log")
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("architecture", choices_of_architecture())
def test_server_accepts_what_the_tuner_starts_from_in_every_architecture(settings, tmp_path, architecture):
    """The default configuration of each architecture's space passes the server's own check."""
    core = TARGETS["core"]
    context = RenderContext(root=str(tmp_path), listen=("127.0.0.1:8000",))
    file = tmp_path / "default.ini"
    file.write_text(core.render(core.space(architecture).default(), context))
    said = subprocess.run(
        [settings.httpd_path, "-t", "-c", file], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr


def test_server_and_tuner_know_the_same_architectures(settings):
    """Their names, and how many workers each has by default."""
    said = subprocess.run([settings.httpd_path, "-V", "--json"], capture_output=True, text=True, check=True)
    server = {row["name"]: row["workers_default"] for row in json.loads(said.stdout)["architectures"]}
    core = TARGETS["core"]
    assert {name: core.space(name).default()["workers"] for name in choices_of_architecture()} == server


def test_server_and_tuner_know_the_same_knobs_and_defaults(settings, tmp_path):
    """What the server says of an empty configuration is the default that the tuner starts from."""
    (tmp_path / "least.ini").write_text(f"[server]\nroot = {tmp_path}\nlisten = 127.0.0.1:8000\n")
    command = [settings.httpd_path, "-t", "-c", tmp_path / "least.ini"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    server = dict(line.split(" = ", 1) for line in said.splitlines() if " = " in line)
    tuner = {name: str(value) for name, value in TARGETS["core"].space().default().items()}
    tuner = {name: value for name, value in tuner.items() if name not in REPLICA_KNOBS}
    # The server caps its cache to the descriptors that it may open here.
    assert int(server.pop("cache_entries")) <= int(tuner.pop("cache_entries"))
    assert {name: server[name] for name in server.keys() - set(OF_THE_ADMINISTRATOR)} == tuner
