"""What fails under a trial of a real station costs that trial at most.

It is the network, the database, the disk, the trial process, or the time that the host is given.

Scheduler, study and generators fail in test_stations.py, test_fleet_run.py and test_shared_load.py. The same
without a rack, for the gate: test_remote_station.py, test_station_host.py, test_shared_load_faults.py.
"""

import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import psutil
import pytest
from fleet_rack import WITHIN_S, wait_until
from trimtab_agent.errors import StationLost
from trimtab_agent.fleet.remote_station import RemoteStation
from trimtab_agent.station.equipment import JobListener
from trimtab_db.records import BookingState

from .conftest import assert_driven, job

pytestmark = [pytest.mark.live, pytest.mark.kernel, pytest.mark.timeout(900)]  # several waits
DISK_BYTES = 160 << 20


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """A disk that can be filled without harm to others."""
    disk = tmp_path_factory.mktemp("disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "trimtab", disk], check=True)
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.fixture(scope="module")
def machine(rack, database_url, disk):
    """A host that runs servers, with a disk of its own."""
    return rack.host("web1", TRIMTAB_DATABASE_URL=database_url, TRIMTAB_VAR=str(disk))


@pytest.fixture
def web1(machine):
    """The host, in the fleet."""
    if machine.station is None:
        machine.join("server")
    return machine


class Study:
    """A study that has trials carried out at web1, while the test does something else."""

    def __init__(self, fleet, repository, run_id):
        self.station = RemoteStation(fleet, repository, run_id, fleet.present()["web1"])
        self.begun, self.measured = [], []
        self._thread = ThreadPoolExecutor(1)
        self._bookings = repository.bookings(run_id)

    def order(self, number):
        """Orders a trial; what came of it, later."""
        listener = JobListener(rate_started=self.begun.append, measured=self.measured.append)
        return self._thread.submit(self.station.carry_out, number, job(), listener, {})

    @contextmanager
    def in_flight(self, number=1):
        """A trial whose first rate is being driven."""
        answer = self.order(number)
        wait_until(lambda: self.begun or answer.done(), "the trial begins")
        assert not answer.done(), answer.result()
        yield answer

    def result(self, answer):
        """What came of it."""
        return answer.result(WITHIN_S)

    def booking(self, number=1):
        """How a trial stands in the database."""
        return self._bookings.one(number, 1)

    def end_lease(self, number=1):
        """The time of the lease is over."""
        held = self.booking(number)
        self._bookings.renew(held.id, held.token, 0.0)

    def assert_goes_on(self):
        """The station carries out what comes next."""
        assert_driven(self.result(self.order(99)))
        assert self.booking(99).state is BookingState.COMMITTED

    def close(self):
        """Ends."""
        self.station.stop()
        self._thread.shutdown()


@pytest.fixture
def study(fleet, repository, new_run, web1):
    """A study with a run of its own."""
    wait_until(lambda: "web1" in fleet.present(), "web1 in the fleet")
    study = Study(fleet, repository, new_run().id)
    yield study
    study.close()


def fill(file):
    """Has a file take what is left of its disk."""
    with file.open("wb", buffering=0) as opened, suppress(OSError):
        while opened.write(bytes(4096)):
            pass


def test_network_that_is_cut_under_a_trial_costs_nothing(rack, web1, study):
    """It goes on, and its result is in the database; with the cable back the station takes the next."""
    with study.in_flight() as answer:
        rack.cut(web1)
        try:
            assert_driven(study.result(answer))
        finally:
            rack.cut(web1, off=False)
    assert (study.booking().state, study.booking().token) == (BookingState.COMMITTED, 1)
    study.assert_goes_on()


def test_database_that_is_killed_under_a_trial_gets_its_result_when_it_is_back(postgresql, web1, study):
    """The station measures meanwhile, and offers what it has until it is taken."""
    with study.in_flight() as answer:
        told = len(web1.station.log)
        postgresql.stop()
        try:
            wait_until(lambda: "cannot be reached" in web1.station.log[told:], "the station misses it")
        finally:
            postgresql.start()
        assert_driven(study.result(answer))
    assert (study.booking().state, study.booking().token) == (BookingState.COMMITTED, 1)
    study.assert_goes_on()


def test_host_that_stands_still_for_longer_than_its_lease_costs_the_trial_in_flight(web1, study):
    """So slow is no host that only has much to do. What it still has is refused, and measured once more."""
    with study.in_flight() as answer:
        station = web1.station
        station.signal(signal.SIGSTOP)
        try:
            study.end_lease()
            wait_until(lambda: study.booking().state is BookingState.FREE, "the lease has ended")
        finally:
            station.signal(signal.SIGCONT)
        assert_driven(study.result(answer))
    assert (study.booking().state, study.booking().token) == (BookingState.COMMITTED, 2)
    assert web1.station is station
    study.assert_goes_on()


def test_trial_process_that_is_killed_costs_the_trial_in_flight(web1, study, repository):
    """The station stays in the fleet, and says that its settings are back."""
    with study.in_flight() as answer:
        station = psutil.Process(web1.station.process.pid)
        (trials,) = (child for child in station.children() if "work" in child.cmdline())
        trials.kill()
        with pytest.raises(StationLost, match="web1 cannot go on: the trial process was killed by SIGKILL"):
            study.result(answer)
    assert study.booking().state is BookingState.FREE
    assert repository.station("web1").settled
    study.assert_goes_on()


def test_disk_that_is_full_costs_the_trial_in_flight_at_most(web1, study, disk, repository):
    """With room again the station takes the next."""
    with study.in_flight() as answer:
        rest = disk / "rest"
        fill(rest)
        try:
            try:
                assert_driven(study.result(answer))
            except StationLost:
                assert study.booking().state is BookingState.FREE
        finally:
            rest.unlink()
    assert study.booking().token == 1
    assert repository.station("web1").settled
    study.assert_goes_on()
