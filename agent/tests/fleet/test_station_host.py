"""A station's work while its database, its disk or its trial process fail: nothing is lost, nothing twice.

The trial process is one that answers at once, and the database goes away at the moments that matter; the same
with real processes, machines and PostgreSQL is in test_stations.py and test_fleet_run.py.
"""

import json

import pytest
from trimtab_agent.fleet import leases
from trimtab_agent.fleet.station_host import StationHost
from trimtab_agent.fleet.trial_process import TrialProcessDied
from trimtab_agent.fleet.work import WorkOrder
from trimtab_db import open_database, sqlite_url
from trimtab_db.errors import DatabaseUnavailableError
from trimtab_db.records import BookingState, StationRole
from trimtab_db.repository.bookings import Bookings

from .conftest import job, records_host

LEASE_S = 3600.0
REPORT = {"verdict": "verified", "score": 7.0}


@pytest.fixture(autouse=True)
def namespaces():
    """None is needed here."""


@pytest.fixture
def repository(tmp_path):
    """A database of the test's own."""
    opened = open_database(sqlite_url(tmp_path / "trimtab.db"))
    yield opened
    opened.close()


class Trials:
    """A trial process that answers at once, or dies; it knows how often it was started."""

    def __init__(self):
        self.settled = True
        self.started = 0
        self.dies = False

    def start(self):
        """It is ready."""
        self.started += 1

    def ask(self, request, _on_event):
        """A report."""
        assert request["do"] == "job"
        if self.dies:
            raise TrialProcessDied("the trial process was killed by SIGKILL")
        return {"is": "report", "report": REPORT, "settled": True}

    def end(self):
        """Nothing goes on."""

    close = end


class Outage:
    """A database that takes no results for so many times; `then` is called each time."""

    def __init__(self, monkeypatch):
        self.times = 0
        self.then = lambda: None
        commit = Bookings.commit_result

        def failing(bookings, *held):
            if self.times > 0:
                self.times -= 1
                self.then()
                raise DatabaseUnavailableError("The database cannot be reached.")
            commit(bookings, *held)

        monkeypatch.setattr(Bookings, "commit_result", failing)
        monkeypatch.setattr(leases, "PAUSE_S", 0.0)


@pytest.fixture
def outage(monkeypatch):
    """There is none until a test says so."""
    return Outage(monkeypatch)


@pytest.fixture
def run_id(repository, new_run):
    """A run, and the station web1 that may be booked for it."""
    run = new_run()
    host_id = repository.register_host(records_host())
    for name in ("web1", "web2"):
        repository.register_station(name, StationRole.SERVER, host_id, f"tls://{name}", {}, settled=True)
    return run.id


@pytest.fixture
def host(repository, tmp_path):
    """Makes stations called web1 that find what an earlier one has left."""

    def make(trials=None):
        made = StationHost("web1", repository, trials or Trials(), tmp_path / "uncommitted", lambda *_: None)
        made.open()
        return made

    return make


@pytest.fixture
def ordered(repository, run_id):
    """Books a repetition for web1; the order for it."""

    def make(trial=1, station="web1"):
        bookings = repository.bookings(run_id)
        offered = bookings.one(trial, 1) or bookings.offer(trial, 1, {})
        claim = bookings.book(offered.id, station, LEASE_S)
        return WorkOrder(
            run_id=run_id,
            booking_id=claim.booking.id,
            token=claim.booking.token,
            trial=trial,
            lease_s=LEASE_S,
            job=job(),
        )

    return make


def booking(repository, order):
    """How the booking stands."""
    return repository.bookings(order.run_id).one(order.trial, 1)


def test_result_waits_for_a_database_that_comes_back(repository, host, ordered, outage):
    """However often it has to be offered, it is recorded once, under its token."""
    order, outage.times = ordered(), 5
    assert host().carry_out(order).what == "committed"
    stands = booking(repository, order)
    assert (stands.state, stands.token, stands.result) == (BookingState.COMMITTED, 1, REPORT)
    assert outage.times == 0


def left_with(host, order, outage):
    """A station that had to leave while the database was away; it answers so."""
    station, outage.times = host(), 1

    def leave():
        station.leaving = True

    outage.then = leave
    answer = station.carry_out(order)
    assert (answer.what, answer.code) == ("failed", "database")


def test_result_of_a_station_that_leaves_is_kept_and_recorded_when_it_is_back(
    repository, host, ordered, outage, tmp_path
):
    """The database was away until then: the trial is not measured again."""
    order = ordered()
    left_with(host, order, outage)
    assert booking(repository, order).state is BookingState.BOOKED
    (kept,) = (tmp_path / "uncommitted").iterdir()
    assert json.loads(kept.read_text())["result"] == REPORT
    host()
    assert booking(repository, order).result == REPORT
    assert not kept.exists()


def test_kept_result_of_a_lease_that_another_has_taken_over_is_thrown_away(
    repository, host, ordered, outage, tmp_path
):
    """Its lease had ended, and web2 has measured it meanwhile."""
    order = ordered()
    left_with(host, order, outage)
    bookings = repository.bookings(order.run_id)
    bookings.release(order.booking_id, order.token)
    again = ordered(station="web2")
    bookings.commit_result(again.booking_id, again.token, {"verdict": "verified", "score": 8.0})
    host()
    assert booking(repository, order).result["score"] == 8.0
    assert list((tmp_path / "uncommitted").iterdir()) == []


def test_kept_result_stays_while_the_database_is_still_away(repository, host, ordered, outage, tmp_path):
    """The station does not join then; when it does, nothing has been lost."""
    order = ordered()
    left_with(host, order, outage)
    outage.times = 1
    with pytest.raises(DatabaseUnavailableError):
        host()
    assert len(list((tmp_path / "uncommitted").iterdir())) == 1
    host()
    assert booking(repository, order).result == REPORT


def test_full_disk_loses_the_result_and_no_more(repository, host, ordered, outage, tmp_path, caplog):
    """It is said in the log; the repetition is measured again when its lease has ended."""
    (tmp_path / "uncommitted").write_text("where a folder would be")
    order = ordered()
    left_with(host, order, outage)
    assert "the result of trial 1" in caplog.text
    bookings = repository.bookings(order.run_id)
    bookings.renew(order.booking_id, order.token, 0.0)
    again = ordered()
    assert (again.booking_id, again.token) == (order.booking_id, order.token + 1)
    assert host().carry_out(again).what == "committed"


def test_dead_trial_process_is_started_anew_and_its_repetition_given_back(repository, host, ordered):
    """The new one puts the machine's settings back before the station says that it is settled."""
    trials = Trials()
    station, trials.dies = host(trials), True
    order = ordered()
    answer = station.carry_out(order)
    assert (answer.what, answer.sentence) == ("failed", "the trial process was killed by SIGKILL")
    assert trials.started == 2
    assert booking(repository, order).state is BookingState.FREE
    assert repository.station("web1").settled
    trials.dies = False
    assert station.carry_out(ordered()).what == "committed"


def test_result_under_a_lease_that_was_lost_is_not_recorded(repository, host, ordered):
    """The order comes so late that somebody else has it by then."""
    order = ordered()
    repository.bookings(order.run_id).release(order.booking_id, order.token)
    newer = ordered(station="web2")
    answer = host().carry_out(order)
    assert answer.what == "lost"
    assert f"token {newer.token} holds it" in answer.sentence
    assert booking(repository, order).state is BookingState.BOOKED


def test_station_that_has_begun_nothing_can_be_booked_though_the_database_went_away_in_between(
    repository, host, ordered, monkeypatch
):
    """What it was told last was recorded, and the word that it was did not come."""
    tell, told = repository.set_station_settled, []

    def lost_once(name, settled):
        tell(name, settled)
        told.append(settled)
        if len(told) == 1:
            raise DatabaseUnavailableError("The connection was lost.")

    monkeypatch.setattr(repository, "set_station_settled", lost_once)
    answer = host().carry_out(ordered())
    assert (answer.what, answer.code) == ("failed", "database")
    assert told == [False, True]
    assert repository.station("web1").settled
