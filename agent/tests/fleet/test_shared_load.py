"""Loads from generators on other machines: together they are one, and none of them spoils a configuration."""

import signal
import threading
from contextlib import contextmanager
from dataclasses import fields

import pytest
from fleet_rack import wait_until
from live_support import nothing_here
from trimtab_agent.errors import FleetError, GeneratorsLost
from trimtab_agent.fleet import shared_load
from trimtab_agent.fleet.credentials import security_of
from trimtab_agent.fleet.generator_orders import GeneratorOrder
from trimtab_agent.fleet.shared_load import SharedLoad
from trimtab_agent.runtime import open_station
from trimtab_agent.station import climb
from trimtab_agent.station.equipment import JobListener
from trimtab_agent.station.generator import LoadOrder
from trimtab_agent.station.requirements import completed
from trimtab_db.records import RunState

from .conftest import DRIVEN, assert_driven, job


def whole(**changed):
    """A job with the defaults of its knobs filled in."""
    return completed(job(**changed), 1, nothing_here)


PATIENT_S = 60.0  # for a reply that a busy machine sends late: as many replies as at any other time
OTHER_CLOCK = ("unshare", "--time", "--monotonic", "86400", "--fork", "--kill-child=TERM", "--")


@pytest.fixture(scope="module")
def generators(rack):
    """Two hosts that generate load; the monotonic clock of the second is a day ahead."""
    hosts = [rack.host("load1"), rack.host("load2")]
    hosts[0].join("generator")
    hosts[1].join("generator", ahead=OTHER_CLOCK)
    return hosts


@pytest.fixture
def own_station(settings):
    """The station of the machine that the tests run on."""
    with open_station(settings) as station:
        yield station


@contextmanager
def load_from(fleet, rack, *names):
    """The load of these."""
    with SharedLoad(fleet.generators(names), security_of(rack.credentials), "the test") as load:
        yield load


OF_THE_GENERATORS_MACHINE = {"program", "cpus", "prioritised", "log", "within", "sources", "share"}


def test_order_says_all_that_makes_a_load():
    """What a load is made of crosses to the generator; only what belongs to its machine is its own."""
    told = {each.name for each in fields(LoadOrder)} - OF_THE_GENERATORS_MACHINE
    assert set(GeneratorOrder.model_fields) == told | {"machines", "machine", "start_at_ns"}


@pytest.mark.live
@pytest.mark.kernel
@pytest.mark.timeout(900)
def test_two_generators_offer_what_one_does(rack, fleet, generators, own_station):
    """The same sessions, from one moment on, although their clocks differ by a day; and merged into one."""
    alone = own_station.carry_out(whole(timeout_s=PATIENT_S))
    with load_from(fleet, rack, "load1", "load2") as load:
        together = own_station.carry_out(whole(timeout_s=PATIENT_S), load=load)
    assert_driven(alone)
    assert_driven(together)
    assert f"listen = {rack.address}:" in together.server_config
    for one, both in zip(alone.measurements, together.measurements, strict=False):
        assert one.rate_rps == both.rate_rps
        assert one.requests == both.requests
        assert one.due_rate_rps == both.due_rate_rps
        assert both.reply_latency.p99_us > 0
        assert both.server_stats["requests"] >= both.requests.replied
    assert not any("it was driven again" in disturbance for disturbance in together.disturbances)


@pytest.mark.live
@pytest.mark.kernel
@pytest.mark.timeout(900)
def test_listener_sees_one_load(rack, fleet, generators, own_station):
    """While it goes on, and never more than there is in the end."""
    lines = []
    with load_from(fleet, rack, "load1", "load2") as load:
        report = own_station.carry_out(
            whole(ladder=(400,), rate_duration_s=2.5),
            JobListener(load_progress=lambda _rate, line: lines.append(line)),
            load=load,
        )
    assert lines
    replied = [line["requests_replied"] for line in lines]
    if not report.disturbances:  # else the rate was driven twice
        assert replied == sorted(replied)
        assert 0 < replied[-1] <= report.measurements[0].requests.replied


@pytest.mark.live
@pytest.mark.kernel
@pytest.mark.timeout(900)
def test_generator_that_dies_voids_the_rate_alone(rack, fleet, generators, own_station, monkeypatch):
    """It is driven again when the generator is back; the configuration keeps its verdict."""
    dying = generators[0]
    killed = threading.Event()

    def kill(_rate, _line):
        if not killed.is_set():
            killed.set()
            dying.running[-1].signal(signal.SIGKILL)
            threading.Thread(target=dying.join, args=("generator",)).start()

    # Where it is looked up anew, as for the next trial of a run, it has another address.
    monkeypatch.setattr(climb, "VOID_TRIES", 2)
    gone = pytest.raises(GeneratorsLost, match="the generator load1 was not reached, 2 times in a row")
    long = whole(ladder=(300,), rate_duration_s=3.0)
    with load_from(fleet, rack, "load1", "load2") as load, gone:
        own_station.carry_out(long, JobListener(load_progress=kill), load=load)
    wait_until(lambda: dying.running[-1].log.count("is in the fleet"), "load1 in the fleet again")
    with load_from(fleet, rack, "load1", "load2") as load:
        report = own_station.carry_out(whole(), load=load)
    assert_driven(report)


@pytest.mark.live
@pytest.mark.kernel
@pytest.mark.timeout(900)
def test_generator_that_falls_silent_is_not_waited_for(rack, fleet, generators, own_station, monkeypatch):
    """It hangs for a moment: the rate is void, and driven again with both."""
    monkeypatch.setattr(shared_load, "SILENT_S", 2.0)
    hanging = generators[0].running[-1]
    begun = threading.Event()

    def stop(_rate, _line):
        if not begun.is_set():
            begun.set()
            hanging.signal(signal.SIGSTOP)
            threading.Timer(4.0, hanging.signal, (signal.SIGCONT,)).start()

    with load_from(fleet, rack, "load1", "load2") as load:
        report = own_station.carry_out(
            whole(ladder=(300,), rate_duration_s=2.5), JobListener(load_progress=stop), load=load
        )
    assert report.verdict in DRIVEN, report.reason
    assert "the generator load1 was lost; it was driven again" in report.disturbances[0]
    assert len(report.measurements) == 1


@pytest.mark.live
@pytest.mark.kernel
@pytest.mark.timeout(900)
def test_generator_works_for_one_station_at_a_time(rack, fleet, generators, own_station, monkeypatch):
    """Who comes second is told for whom it works, and drives again until it is free."""
    monkeypatch.setattr(climb, "VOID_TRIES", 1)
    with load_from(fleet, rack, "load1") as first, load_from(fleet, rack, "load1") as second:
        own_station.carry_out(whole(ladder=(300,)), load=first)
        with pytest.raises(GeneratorsLost, match="load1 refused: it works for the test"):
            own_station.carry_out(whole(ladder=(300,)), load=second)
    assert fleet.present()["load1"].role == "generator"


@pytest.mark.live
@pytest.mark.kernel
@pytest.mark.timeout(900)
def test_late_start_voids_the_rate(rack, fleet, generators, own_station, monkeypatch):
    """A generator that gets its order after the start has passed does not begin."""
    monkeypatch.setattr(climb, "VOID_TRIES", 1)
    monkeypatch.setattr(shared_load, "LEAD_S", -1.0)
    late = pytest.raises(GeneratorsLost, match=r"gave up: .*--start-at: expected a moment")
    with load_from(fleet, rack, "load1", "load2") as load, late:
        own_station.carry_out(whole(ladder=(300,)), load=load)


@pytest.mark.live
@pytest.mark.kernel
@pytest.mark.timeout(900)
def test_generator_that_is_not_there_is_named(fleet, generators):
    """With those that are."""
    with pytest.raises(FleetError, match="load9 is not in the fleet; in it now: load1, load2"):
        fleet.generators(("load9",))


@pytest.mark.live
@pytest.mark.kernel
@pytest.mark.timeout(900)
def test_run_with_a_load_machine(rack, generators, programs):
    """`trimtab tune --generator`: the server has all CPUs of its machine, and the run says who loaded it."""
    own = rack.own("alone")
    document = own.run(
        *("tune", "--generator", "load1", "--budget", "3", "--json"),
        *("--workload", "tcp-1k", "--ladder", "300,600", "--set", "rate_duration_s=0.5"),
        *("--set", "warmup_s=0.1", "--set", "confirmation_repeats=2", "--set", "calibration_step_s=0.5"),
    )
    assert document["run"]["state"] == RunState.FINISHED
    assert document["run"]["layout"]["sentence"].endswith("no generator")
    assert document["run"]["layout"]["reason"] == "the load comes from load1"
    assert len(document["run"]["layout"]["server"]) == len(document["run"]["layout"]["generator"])


@pytest.mark.live
@pytest.mark.kernel
@pytest.mark.timeout(900)
def test_run_with_a_load_machine_that_is_not_there_does_not_begin(rack, generators):
    """Exit code 1, and no run is recorded."""
    own = rack.own("alone-again")
    said = own.run("tune", "--generator", "load9", expect=1)
    assert "the generator load9 is not in the fleet" in said
    assert own.run("runs", "--json") == []


@pytest.mark.live
@pytest.mark.kernel
@pytest.mark.timeout(900)
def test_generator_that_is_drained_under_a_load_leaves_when_that_is_over(
    rack, fleet, generators, own_station
):
    """Whoever has it drained need not wait for that, and the rate is not void."""
    leaving, said = rack.host("load3"), []
    leaving.join("generator")

    def drain(_rate, _line):
        if not said:
            said.append(rack.hosts["control"].run("fleet", "drain", "load3"))

    long = whole(ladder=(300,), rate_duration_s=3.0)
    with load_from(fleet, rack, "load3") as load:
        report = own_station.carry_out(long, JobListener(load_progress=drain), load=load)
    assert "load3 leaves when what it does has come to its end." in said[0]
    assert_driven(report)
    assert leaving.running[-1].exit_code() == 0
