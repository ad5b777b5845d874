"""Replicas for real: several instances of a server side by side, and where their receive queues go."""

import os
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from live_support import LADDER_RPS, TINY, wait_until_gone
from trimtab_agent.affinity.steering import Steering
from trimtab_agent.errors import SpecError
from trimtab_agent.host.cpu_layout import CpuLayout
from trimtab_agent.host.identity import describe_host
from trimtab_agent.os_settings.access import DirectAccess, SettingRefused
from trimtab_agent.os_settings.journal import SettingsJournal
from trimtab_agent.station.generator import LoadOrder, ServerDied, drive
from trimtab_agent.station.leftovers import Leftovers
from trimtab_agent.station.link import made_link
from trimtab_agent.station.processes.programs import find_installed
from trimtab_agent.station.server import replicas
from trimtab_agent.station.server.refusals import ConfigurationRejected, ServerFailed
from trimtab_agent.station.server.replicas import Replicas
from trimtab_agent.station.server.target_server import TargetServer
from trimtab_agent.station.warming import warm
from trimtab_agent.stopping import StopSignal
from trimtab_agent.study.run_spec import KnobSpec, RunSpec
from trimtab_agent.study.specification import check
from trimtab_db import open_database, sqlite_url
from trimtab_trials.trial import TrialPurpose
from trimtab_tuner.affinity import parse_mask
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.backends import BACKENDS
from trimtab_tuner.workloads.links import LINKS

CPUS = tuple(sorted(os.sched_getaffinity(0)))[:2]
SHARED = CpuLayout(server=CPUS, generator=CPUS)
pytestmark = pytest.mark.skipif(len(CPUS) < 2, reason="there is one CPU, and replicas want one each")


@pytest.fixture
def order(server_order):
    """Makes orders for two instances of a server."""

    def make(name, **changed):
        return server_order(name, cpus=CPUS, **{"replicas": 2, **changed})

    return make


@pytest.fixture
def steered_links(links):
    """Skips where no queue can be steered either."""
    if not os.access("/sys/class/net/lo/queues/rx-0/rps_cpus", os.W_OK):
        pytest.skip("receive queues cannot be steered here: it needs root")


def load_order(settings, server, file_set, tmp_path, **changed):
    """A short rate over all instances."""
    fields = {
        "program": settings.load_path,
        "url": server.url,
        "rate_rps": 300.0,
        "duration_s": 0.5,
        "warmup_s": 0.0,
        "timeout_s": 5.0,
        "sessions": file_set.sessions,
        "seed": 1,
        "cpus": CPUS[-1:],
        "prioritised": False,
        "log": tmp_path / "load.log",
        "destinations": server.destinations,
    }
    return LoadOrder(**{**fields, **changed})


@pytest.mark.live
@pytest.mark.parametrize("name", [name for name in TARGETS if TARGETS[name].protocol == "http"])
def test_replicas_share_the_cpus_and_the_load_and_leave_nothing_behind(
    name, order, settings, file_set, tmp_path
):
    """Each has addresses, a file and a CPU of its own; what they count is added up."""
    with Replicas(order(name), StopSignal()) as server:
        one, other = server.servers
        assert [instance.address for instance in server.servers] == ["127.0.0.1", "127.0.0.2"]
        assert server.destinations == (f"127.0.0.1:{one.port}", f"127.0.0.2:{other.port}")
        for instance, cpu in zip(server.servers, CPUS, strict=True):
            assert {*map(frozenset, map(os.sched_getaffinity, instance.pids))} == {frozenset({cpu})}
            warm(instance.address, instance.port, [path for path, _ in file_set.files], StopSignal())
        before = [instance.stats() for instance in server.servers]
        load = load_order(settings, server, file_set, tmp_path)
        result = drive(load, server.children, StopSignal(), lambda line: None)
        assert (result.requests.failed, result.requests.replied > 0) == (0, True)
        counter = "connections_accepted" if name == "h2o" else "requests"
        deadline = time.monotonic() + 10.0
        # lighttpd brings its page up to date once a second.
        while not all(
            instance.stats()[counter] > earlier[counter] + 1
            for instance, earlier in zip(server.servers, before, strict=True)
        ):
            assert time.monotonic() < deadline, "an instance has got no requests"
        after = [instance.stats() for instance in server.servers]
        assert server.stats()[counter] >= sum(stats[counter] for stats in after)
        assert server.workers_lost() == 0
        assert server.text.startswith(f"# replica 1 of 2, on CPU {CPUS[0]}\n")
        pids = server.pids
        assert set(pids) == {*one.pids, *other.pids}
    wait_until_gone(list(pids))
    left = {path.name for path in tmp_path.iterdir() if path.name != "var"}
    assert left == {
        "load.log",
        *(f"trial-1.{number}.{kind}" for number in (1, 2) for kind in ("conf", "log")),
    }


def test_workers_of_core_are_numbered_through_and_maxima_are_not_added_up(order):
    """As if they were the workers of one server."""
    with Replicas(order("core", workers=2), StopSignal()) as server:
        document = server.read_stats()
        one, other = (instance.read_stats() for instance in server.servers)
        assert [worker["worker"] for worker in document["workers"]] == [0, 1, 2, 3]
        assert [worker["pid"] for worker in document["workers"]] == [
            worker["pid"] for part in (one, other) for worker in part["workers"]
        ]
        largest = [part["total"]["queue_length_max"] for part in (one, other)]
        assert document["total"]["queue_length_max"] == max(largest)


@pytest.mark.live
@pytest.mark.parametrize("name", ["lighttpd", "nginx"])
def test_death_of_one_replica_is_the_death_of_the_server(name, order, settings, file_set, tmp_path):
    """In the middle of a rate; the sentence names the process, and the other ends as well."""
    with Replicas(order(name), StopSignal()) as server:
        second = server.servers[1]
        pids = server.pids
        assert server.death_sentence() is None
        load = load_order(settings, server, file_set, tmp_path, duration_s=30.0)
        with pytest.raises(ServerDied, match=f"process {second.child.pid}"):
            drive(load, server.children, StopSignal(), lambda line: psutil.Process(second.pids[0]).kill())
        assert str(second.child.pid) in server.death_sentence()
    wait_until_gone(list(pids))


@pytest.mark.live
def test_replica_that_does_not_come_up_takes_the_others_with_it(order, monkeypatch):
    """Nothing runs on when the start as a whole has failed."""
    started = []

    def second_fails(made, stop):
        if started:
            raise ServerFailed("no second today")
        started.append(TargetServer(made, stop))
        started.extend(started[0].pids)
        return started[0]

    monkeypatch.setattr(replicas, "TargetServer", second_fails)
    with pytest.raises(ServerFailed, match="no second today"):
        Replicas(order("nginx"), StopSignal())
    wait_until_gone(started[1:])


def test_more_replicas_than_cpus_are_refused_with_a_sentence(order):
    """Before anything is started."""
    with pytest.raises(ConfigurationRejected, match="replicas = 3: expected 1 to 2"):
        Replicas(order("nginx", replicas=3), StopSignal())


def php(children):
    """The knobs of a pool of so many processes, all of them there from the beginning."""
    backend = BACKENDS["php"]
    return {knob.name: knob.default for knob in backend.knobs} | {"pm": "static", backend.children: children}


@pytest.mark.live
@pytest.mark.parametrize("name", [name for name in TARGETS if TARGETS[name].serves_php])
def test_every_replica_has_a_pool_of_its_own(name, order):
    """As in the seeds' study: so many PHP processes for each instance."""
    if not list(Path("/usr/sbin").glob("php-fpm[0-9]*")):
        pytest.skip("php-fpm is not installed")
    with Replicas(order(name, **php(2)), StopSignal()) as server:
        for instance in server.servers:
            names = [psutil.Process(pid).name() for pid in instance.pids]
            assert len([one for one in names if one.startswith("php-fpm")]) == 1 + 2


@pytest.mark.live
@pytest.mark.kernel
def test_queues_of_a_replicas_device_go_to_its_cpu_or_to_the_next_ones(steered_links, order, tmp_path):
    """Direct and indirect, read back from the kernel; each instance is asked through its own device."""
    profile = LINKS["eight-gigabit"].model_copy(update={"subnets": 2})
    repository = open_database(sqlite_url(tmp_path / "trimtab.db"))
    lines = repository.os_changes(repository.register_host(describe_host(tmp_path)))
    steering = Steering(SettingsJournal(lines, DirectAccess()))

    def steered(link):
        return [
            parse_mask(Path(f"/sys/class/net/{device}/queues/rx-0/rps_cpus").read_text())
            for device in link.receiving_devices
        ]

    with made_link(profile, Leftovers(tmp_path / "leftovers.json")) as link:
        untouched = steered(link)
        made = replace(order("lighttpd"), addresses=link.server_addresses)
        with Replicas(made, StopSignal()) as server:
            assert server.destinations == tuple(
                f"{address}:{instance.port}"
                for address, instance in zip(link.server_addresses, server.servers, strict=True)
            )
            with steering.for_replicas("direct", server.shares, link.receiving_devices):
                assert steered(link) == [(CPUS[0],), (CPUS[1],)]
            with steering.for_replicas("indirect", server.shares, link.receiving_devices):
                assert steered(link) == [(CPUS[1],), (CPUS[0],)]
            assert steered(link) == untouched
            with (
                pytest.raises(SettingRefused, match="1 network devices for 2 replicas"),
                steering.for_replicas("direct", server.shares, link.receiving_devices[:1]),
            ):
                pass
    repository.close()


@pytest.mark.live
@pytest.mark.kernel
def test_run_measures_replicas_behind_a_link(steered_links, runtime, monkeypatch):
    """From the knobs to the files that the run keeps; the queues are the kernel's again afterwards."""
    if find_installed("lighttpd") is None:
        pytest.skip("lighttpd is not installed")
    monkeypatch.setattr(runtime.service._stations, "_own", SHARED)
    knobs = {
        "replicas": KnobSpec(fixed=2),
        "replica_placement": KnobSpec(fixed="direct"),
        "server.max-worker": KnobSpec(fixed=0),
        "server.network-backend": KnobSpec(fixed="sendfile"),
        "server.max-connections": KnobSpec(low=16, high=20),
    }
    settings = {**TINY, "ladder": LADDER_RPS, "budget_trials": 1, "confirmation_repeats": 0}
    spec = RunSpec(target="lighttpd", link="eight-gigabit", knobs=knobs, settings=settings)
    run_id = runtime.service.start(spec)
    runtime.service.wait()
    trials = runtime.repository.whole_trials(run_id)
    trial = next(trial for trial in trials if trial.purpose is TrialPurpose.SEARCH)
    trial = runtime.repository.trial(run_id, trial.number)
    assert trial.verdict == "verified", trial.reason
    assert "# replica 2 of 2, on CPU" in trial.server_config
    exports = {export.format: export for export in runtime.repository.exports(run_id)}
    for format_ in ("lighttpd", "lighttpd-2"):
        assert exports[format_].check_ok, exports[format_].check_output
    assert exports["systemd"].file_name == "trimtab-lighttpd@.service"
    assert runtime.affinity.journal.in_force() == ()


@pytest.mark.parametrize(
    ("knobs", "sentence"),
    [
        ({"replica_placement": KnobSpec(choices=("none", "direct"))}, "share one device"),
        ({"replicas": KnobSpec(fixed=99)}, "replicas = 99: expected an integer from 1 to"),
        ({"replica_placement": KnobSpec(fixed="direct")}, "expected none where replicas = 1"),
    ],
)
def test_replicas_that_make_no_sense_are_refused_with_a_sentence(knobs, sentence):
    """Before a run begins."""
    with pytest.raises(SpecError, match=sentence):
        check(RunSpec(target="nginx", knobs=knobs), cpus=len(SHARED.server))


def test_one_file_of_a_users_own_is_not_that_of_several_instances(tmp_path):
    """They would share its addresses."""
    own = tmp_path / "nginx.conf"
    own.write_text("worker_processes 1;\nevents {}\nhttp { server { listen 80; } }\n")
    with pytest.raises(SpecError, match="one file cannot serve several instances"):
        check(RunSpec(target="nginx", base=str(own), knobs={"replicas": KnobSpec(fixed=2)}), cpus=2)
