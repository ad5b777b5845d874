"""kill -9 of a station at random instants: no result is lost or there twice, no setting stays changed.

A real station with its PostgreSQL, and a study that goes on all the while; after each kill a new one joins
on the same machine. Every other kill comes only once a trial has steered the receive queue of the host, so
that there is something to put back, and takes the trial process too, which else does that itself. Three times
in `make test-fleet`; TRIMTAB_KILLS=200 has it done so often, at instants from the seed TRIMTAB_KILL_SEED.
"""

import os
import random
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from fleet_rack import WITHIN_S, wait_until
from trimtab_agent.fleet import remote_station
from trimtab_agent.fleet.remote_station import RemoteStation
from trimtab_agent.station.equipment import JobListener
from trimtab_db.errors import DatabaseError
from trimtab_db.records import BookingState

from .conftest import DRIVEN, job

pytestmark = [pytest.mark.live, pytest.mark.kernel]

KILLS = int(os.environ.get("TRIMTAB_KILLS", "3"))
SEED = int(os.environ.get("TRIMTAB_KILL_SEED", "1"))
LONGEST_S = 2.0
QUEUE = "sys/class/net/lo/queues/rx-0/rps_cpus"
STEERED = {"ladder": (100,), "rate_duration_s": 0.5, "configuration": {"affinity": "aligned"}}


@pytest.fixture
def web1(rack, database_url):
    """A host that runs servers, in the fleet."""
    host = rack.host("web1", TRIMTAB_DATABASE_URL=database_url)
    host.join("server")
    return host


@pytest.fixture
def steering(web1):
    """Reads which CPUs the host's receive queue is given to."""
    there = subprocess.Popen(["ip", "netns", "exec", web1.namespace, "sleep", "infinity"])
    queue = Path(f"/proc/{there.pid}/root") / QUEUE
    yield lambda: int(queue.read_text().replace(",", ""), 16)
    there.kill()
    there.wait()


class Study(threading.Thread):
    """Has one trial after the other carried out, and looks after each whether the queue is as it was."""

    def __init__(self, station, bookings, steering):
        super().__init__()
        self.trials = 0
        self.left_changed = 0
        self.failure = None
        self.over = threading.Event()
        self._station = station
        self._bookings = bookings
        self._steering = steering

    def run(self):
        """Until it is over."""
        try:
            while not self.over.is_set():
                self.trials += 1
                report = self._station.carry_out(self.trials, job(**STEERED), JobListener(), {})
                assert report.verdict in DRIVEN, report.reason
                self.left_changed += self._steering() != 0
        except Exception as error:
            self.failure = error

    def end_lease(self):
        """A minute passes in which nobody renews the lease of a dead station."""
        with suppress(DatabaseError):
            for held in self._bookings.all():
                if held.state is BookingState.BOOKED:
                    self._bookings.renew(held.id, held.token, 0.0)

    def assert_goes_on(self):
        """Nothing has ended it."""
        if self.failure is not None:
            raise self.failure


def kill(station, *, with_trials):
    """Kills the station, with its trial process or without."""
    children = psutil.Process(station.process.pid).children()
    station.kill()
    for trials in children if with_trials else ():
        with suppress(psutil.NoSuchProcess):
            trials.kill()


@pytest.mark.timeout(300 + 60 * KILLS)
def test_station_that_is_killed_at_random_instants_loses_at_most_the_trial_in_flight(
    web1, fleet, repository, new_run, steering, monkeypatch
):
    """Each kill costs one trial at most, which is measured again; all the others are recorded once."""
    monkeypatch.setattr(remote_station, "ABSENT_S", WITHIN_S)  # a busy machine takes long to start a station
    instants = random.Random(SEED)
    run_id = new_run().id
    bookings = repository.bookings(run_id)
    study = Study(RemoteStation(fleet, repository, run_id, fleet.present()["web1"]), bookings, steering)
    assert steering() == 0
    study.start()
    changed = 0
    try:
        for number in range(KILLS):
            if number % 2 == 0:
                wait_until(lambda: steering() or study.failure, "a trial steers the queue")
            study.over.wait(instants.uniform(0, 0.2 if number % 2 == 0 else LONGEST_S))
            study.assert_goes_on()
            kill(web1.station, with_trials=number % 2 == 0)
            changed += steering() != 0
            study.end_lease()
            web1.join("server")
    finally:
        study.over.set()
        study.join()
    study.assert_goes_on()
    recorded = bookings.all()
    assert [each.trial_number for each in recorded] == list(range(1, study.trials + 1))
    assert {each.state for each in recorded} == {BookingState.COMMITTED}
    redone = sum(each.token - 1 for each in recorded)
    print(f"{KILLS} kills under {study.trials} trials: {redone} measured again, {changed} times steered")
    assert redone <= KILLS
    assert changed > 0
    assert study.left_changed == 0
