"""Stations of a fleet: they join, carry orders out, survive their scheduler, and leave."""

import threading

import pytest
from fleet_rack import WITHIN_S, wait_until
from trimtab_agent.errors import StationLost
from trimtab_agent.fleet.remote_station import RemoteStation
from trimtab_agent.station.equipment import JobListener
from trimtab_agent.stopping import Stopped
from trimtab_db.records import BookingState, StationRole, StationState

from .conftest import assert_driven, job

pytestmark = [pytest.mark.live, pytest.mark.kernel, pytest.mark.timeout(900)]  # several waits


@pytest.fixture(scope="module")
def machine(rack, database_url):
    """A host that runs servers."""
    return rack.host("web1", TRIMTAB_DATABASE_URL=database_url)


@pytest.fixture
def web1(machine):
    """The host, in the fleet: also where the test before has had it leave."""
    if machine.station is None:
        machine.join("server")
    return machine


@pytest.fixture
def at_web1(fleet, repository, new_run, web1):
    """The station of web1 for a new run."""
    return RemoteStation(fleet, repository, new_run().id, fleet.present()["web1"])


def carry_out(station, number=1, listener=None):
    """Has a trial carried out there."""
    return station.carry_out(number, job(), listener or JobListener(), {})


def test_station_says_what_it_is(rack, web1, fleet, repository):
    """Its machine, its servers, its versions; to the scheduler and to the database."""
    (station,) = rack.hosts["control"].run("fleet", "status", "--json")["stations"]
    assert (station["name"], station["role"], station["state"]) == ("web1", "server", "ready")
    assert station["servers"]["core"] == "0.1.0"
    assert station["free_memory_bytes"] > 0
    assert station["network_cards"][0]["name"] == "eth0"
    assert fleet.present()["web1"].address.startswith(f"tls://{web1.address}:")
    recorded = repository.station("web1")
    assert (recorded.role, recorded.settled) == (StationRole.SERVER, True)
    assert repository.host(recorded.host_id).name == "web1"


def test_trial_is_carried_out_there_and_recorded_under_its_token(at_web1, repository):
    """The listener is told what happens; the host of the report is the station's."""
    begun, measured = [], []
    report = carry_out(at_web1, 1, JobListener(rate_started=begun.append, measured=measured.append))
    assert_driven(report)
    assert report.host.name == "web1"
    assert begun == [m.rate_rps for m in report.measurements]
    assert [m.goodput_mbps for m in measured] == [m.goodput_mbps for m in report.measurements]
    booking = repository.bookings(at_web1._run_id).one(1, 1)
    assert (booking.state, booking.token) == (BookingState.COMMITTED, 1)
    assert booking.job["job"]["target"] == "core"
    station = repository.station("web1")
    assert (station.settled, station.booking_id) == (True, None)


def test_result_that_is_recorded_is_not_measured_again(at_web1, repository):
    """A study that was killed finds it."""
    bookings = repository.bookings(at_web1._run_id)
    first = carry_out(at_web1, 1)
    assert carry_out(at_web1, 1) == first
    assert bookings.one(1, 1).token == 1


def test_stop_has_the_station_abort_and_give_back(at_web1, repository):
    """The lease ends with it, so that the next one need not wait."""
    measuring = threading.Event()
    listener = JobListener(rate_started=lambda _rate: measuring.set())

    def stop_soon():
        measuring.wait(WITHIN_S)
        at_web1.stop()

    stopping = threading.Thread(target=stop_soon)
    stopping.start()
    with pytest.raises(Stopped):
        carry_out(at_web1, 1, listener)
    stopping.join()
    bookings = repository.bookings(at_web1._run_id)
    wait_until(lambda: bookings.one(1, 1).state is BookingState.FREE, "the lease given back")
    wait_until(lambda: repository.station("web1").settled, "the settings back")


def test_job_that_the_machine_cannot_carry_out_loses_the_station_and_no_configuration(at_web1, repository):
    """The sentence is the station's; the repetition is free for another one."""
    broken = job(target="core", configuration={"workers": 100_000})
    with pytest.raises(StationLost, match=r"web1 cannot go on: .*workers"):
        at_web1.carry_out(1, broken, JobListener(), {})
    assert repository.bookings(at_web1._run_id).one(1, 1).state is BookingState.FREE


def test_station_joins_again_and_its_trial_goes_on_when_the_scheduler_is_started_anew(
    rack, web1, at_web1, repository
):
    """The result is that of the first token: nothing was measured twice."""
    control = rack.hosts["control"]
    restarted = threading.Event()

    def restart(_rate):
        if not restarted.is_set():
            restarted.set()
            control.running[-1].kill()
            control.start("fleet", "serve", "--listen", rack.address)

    report = carry_out(at_web1, 1, JobListener(rate_started=restart))
    assert restarted.is_set()
    assert_driven(report)
    assert repository.bookings(at_web1._run_id).one(1, 1).token == 1
    wait_until(lambda: web1.station.log.count("is in the fleet") == 2, "web1 in the fleet again")
    assert_driven(carry_out(at_web1, 2))


def test_drained_station_finishes_what_it_does_and_leaves(rack, web1, at_web1, repository):
    """Its last result is recorded; it may be forgotten then, and joins again when it is started."""
    drained = threading.Event()

    def drain(_rate):
        if not drained.is_set():
            drained.set()
            rack.hosts["control"].run("fleet", "drain", "web1")

    station = web1.station
    assert_driven(carry_out(at_web1, 1, JobListener(rate_started=drain)))
    assert station.exit_code() == 0
    assert "its settings are as they were" in station.log
    assert repository.station("web1").state is StationState.LEFT
    assert "is forgotten" in rack.hosts["control"].run("fleet", "forget", "web1")
    assert repository.stations() == ()


@pytest.mark.parametrize(("role", "exit_code"), [("generator", 3), ("server", 1)])
def test_second_station_on_a_machine_is_refused(rack, web1, role, exit_code):
    """It would measure beside the first; the sentence names that one's process."""
    second = web1.start("station", "join", rack.scheduler, "--role", role)
    assert second.exit_code() == exit_code
    assert "is running on this machine" in second.log


def test_name_of_a_station_is_given_once(rack, web1):
    """Another machine cannot take the place of a station that is there."""
    other = rack.host("other", TRIMTAB_FLEET_CREDENTIALS=web1.environ()["TRIMTAB_FLEET_CREDENTIALS"])
    refused = other.start("station", "join", rack.scheduler, "--role", "generator")
    assert refused.exit_code() == 1
    assert "Only one station of a name can be in a fleet: web1 has joined from" in refused.log


def test_station_of_another_protocol_is_refused(rack, tmp_path):
    """Both versions are named, and what to do."""
    newer = tmp_path / "sitecustomize.py"
    newer.write_text("import trimtab_agent.fleet.engine as engine\nengine.PROTOCOL = 999\n")
    host = rack.host("newer", PYTHONPATH=str(tmp_path))
    refused = host.start("station", "join", rack.scheduler, "--role", "generator")
    assert refused.exit_code() == 1
    assert "expected the same version of Trimtab on all hosts" in refused.log
    assert "protocol 999" in refused.log


def test_stranger_is_not_let_in(rack, tmp_path):
    """Somebody whose credentials another authority has signed."""
    from trimtab_agent.fleet.credentials import make_authority, make_member

    make_authority(tmp_path / "other")
    make_member(tmp_path / "other", "stranger", tmp_path / "stranger.pem")
    host = rack.host("stranger", TRIMTAB_FLEET_CREDENTIALS=str(tmp_path / "stranger.pem"))
    refused = host.start("station", "join", rack.scheduler, "--role", "generator")
    assert refused.exit_code() == 1
    assert "nobody answers at" in refused.log


def test_killed_station_gives_up_its_lease_and_comes_back_in_order(rack, web1, at_web1, repository):
    """What a kill -9 has left is put back before the station is in the fleet again."""
    web1.station.kill()
    web1.join("server")
    assert_driven(carry_out(at_web1, 1))
