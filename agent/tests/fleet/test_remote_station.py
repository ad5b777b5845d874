"""A trial on its way to another host while what lies between them fails: it is measured, and recorded once.

The engine is the test's own: it hands orders to a station in this process, loses answers, and loses the
station or the scheduler from sight when the test says so. The same with real processes, machines and
PostgreSQL is in test_stations.py and test_fleet_run.py.
"""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from fleet_rack import wait_until
from trimtab_agent.errors import FleetError, StationLost
from trimtab_agent.fleet import leases, remote_station
from trimtab_agent.fleet.controller import Forgotten, Present
from trimtab_agent.fleet.member import ABORT
from trimtab_agent.fleet.remote_station import RemoteStation
from trimtab_agent.fleet.station_host import StationHost
from trimtab_agent.fleet.work import Answer, WorkOrder
from trimtab_agent.station.equipment import JobListener
from trimtab_db import database, open_database, sqlite_url
from trimtab_db.errors import DatabaseUnavailableError
from trimtab_db.records import BookingState, StationRole
from trimtab_db.repository.bookings import Bookings
from trimtab_trials.trial import Verdict
from trimtab_tuner.judging.job import TrialReport

from .conftest import job, records_host

NOW = datetime(2026, 11, 28, tzinfo=UTC)


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
    """A trial process whose trials last until the test lets them go; it knows how many have begun."""

    def __init__(self):
        self.settled = True
        self.begun = 0
        self.held = False
        self._go_on = threading.Event()
        self._ended = False

    def start(self):
        """It is ready."""

    def ask(self, request, _on_event):
        """A report, or that it was stopped."""
        assert request["do"] == "job"
        self._go_on.clear()
        self._ended = False
        self.begun += 1
        if self.held:
            assert self._go_on.wait(120)
        if self._ended:
            return {"is": "failed", "code": "stopped", "sentence": "it was stopped", "settled": True}
        return {"is": "report", "report": report(self.begun), "settled": True}

    def go_on(self):
        """What goes on comes to its end."""
        self.held = False
        self._go_on.set()

    def end(self):
        """What goes on is aborted."""
        self._ended = True
        self.go_on()

    close = end


def report(number):
    """What the trial that has begun as the n-th says: its reason is its number."""
    made = TrialReport(
        verdict=Verdict.VERIFIED,
        reason=f"trial {number}",
        measurements=(),
        host=records_host(),
        target_version="1",
        server_config="",
        disturbances=(),
        started_at=NOW,
        finished_at=NOW,
    )
    return made.model_dump(mode="json")


class Engine:
    """As `controller.Fleet`, with the station web1 in this process.

    `answers` says whether the scheduler does, `there` whether web1 is in the fleet, at which `address`;
    `prepared` are those that were asked to make something ready; `generators` has the
    addresses of those that are, by name; `forget` loses what has been ordered. Orders go no further than here
    while `deaf`, as those to a host that has just died.
    """

    def __init__(self, host):
        self.host = host
        self.answers = self.there = True
        self.deaf = False
        self.address = "tls://web1"
        self.generators = {}
        self.prepared = []
        self.orders = []
        self._waiting = []
        self._threads = ThreadPoolExecutor(8)

    def listen(self, _name, _on_event):
        """Nothing is told."""

    def present(self):
        """Who is there, by the scheduler's word."""
        if not self.answers:
            raise FleetError("no scheduler answers")
        servers = {"web1": self.address} if self.there else {}
        return {
            name: Present(
                name=name,
                role=role,
                address=address,
                facts={"host": vars(records_host())},
                condition={},
                last_seen=0.0,
            )
            for role, of_role in (("server", servers), ("generator", self.generators))
            for name, address in of_role.items()
        }

    def prepare(self, address, _workload):
        """The engine waits for whoever is at that address."""
        answer = Future()
        self.prepared.append(address)
        if address == self.address:
            answer.set_result(Answer(what="prepared"))
        return answer

    def carry_out(self, _address, order):
        """Hands it on."""
        answer = Future()
        self._waiting.append(answer)
        if not self.deaf:
            self._threads.submit(self.host.carry_out, order).add_done_callback(
                lambda done: answer.done() or answer.set_result(done.result())
            )
        self.orders.append(order)
        return answer

    def forget(self):
        """The answers to what has been ordered do not come."""
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if not each.done():
                each.set_exception(Forgotten("the connection was lost"))

    def tell(self, _address, operation, **told):
        """Tells the station."""
        assert operation == ABORT
        self.host.abort(**told)

    def close(self):
        """Ends its threads."""
        self._threads.shutdown()


class Study:
    """A study that waits for trial 1 of a run at web1."""

    def __init__(self, engine, repository, run_id, generators=()):
        self._engine = engine
        self.run_id = run_id
        self.station = RemoteStation(
            engine, repository, run_id, engine.present()["web1"], generators, 1 if generators else 0
        )
        self._thread = ThreadPoolExecutor(1)
        self._bookings = repository.bookings(run_id)

    def order(self):
        """Orders it; what came of it, later."""
        return self._thread.submit(self.station.carry_out, 1, job(), JobListener(), {})

    def order_and_die(self):
        """Orders it, and does nothing more: hears no answer, and looks at no booking."""
        offered = self._bookings.offer(1, 1, {"order": {}, "job": job().model_dump(mode="json")})
        held = self._bookings.book(offered.id, "web1", remote_station.LEASE_S, generators=0, among=()).booking
        order = WorkOrder(
            run_id=self.run_id,
            booking_id=held.id,
            token=held.token,
            trial=1,
            lease_s=remote_station.LEASE_S,
            job=job(),
            generators=(),
        )
        self._engine.carry_out("tls://web1", order)

    @property
    def booking(self):
        """How it stands in the database."""
        return self._bookings.one(1, 1)

    def end_lease(self):
        """The time of the lease is over."""
        self._bookings.renew(self.booking.id, self.booking.token, 0.0)

    def close(self):
        """Ends."""
        self.station.stop()
        self._thread.shutdown()


@pytest.fixture
def trials():
    """The trial process of web1."""
    return Trials()


@pytest.fixture
def engine(repository, trials, tmp_path, monkeypatch):
    """The engine; nobody looks seldom or waits long."""
    monkeypatch.setattr(remote_station, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(leases, "PAUSE_S", 0.0)
    host = StationHost("web1", repository, trials, tmp_path / "uncommitted", lambda *_: None)
    host.open()
    made = Engine(host)
    yield made
    trials.end()
    made.close()


@pytest.fixture
def new_study(repository, new_run, engine):
    """Makes studies of one run, one after the other."""
    host_id = repository.register_host(records_host())
    repository.register_station("web1", StationRole.SERVER, host_id, "tls://web1", {}, settled=True)
    run_id, made = new_run().id, []

    def make(**options):
        made.append(Study(engine, repository, run_id, **options))
        return made[-1]

    yield make
    for study in made:
        study.close()


@pytest.fixture
def study(new_study):
    """The first study."""
    return new_study()


def begun(engine, trials, answer, count=1):
    """Waits until so many trials have begun at web1."""
    wait_until(lambda: trials.begun == count or answer.done(), "the trial begins")
    assert not answer.done(), answer.result()
    assert engine.orders


def test_scheduler_that_dies_loses_nothing(engine, trials, study):
    """The order is given again when it is back, and waits for what has gone on all the while."""
    trials.held = True
    answer = study.order()
    begun(engine, trials, answer)
    engine.answers = False
    engine.forget()
    engine.answers = True
    wait_until(lambda: len(engine.orders) >= 2, "the order is given again")
    trials.go_on()
    assert answer.result(60).reason == "trial 1"
    assert (trials.begun, study.booking.token) == (1, 1)
    assert {order.token for order in engine.orders} == {1}


def test_generator_that_has_gone_is_not_booked_while_another_is_there(engine, repository, new_study):
    """The database knows it still, and it stands before the other."""
    host_id = repository.register_host(records_host())
    for name in ("load1", "load2"):
        repository.register_station(name, StationRole.GENERATOR, host_id, f"tls://{name}", {})
    engine.generators = {"load2": "tls://load2:2"}
    assert new_study(generators=("load1", "load2")).order().result(60).reason == "trial 1"
    (order,) = engine.orders
    assert [(each.name, each.address) for each in order.generators] == [("load2", "tls://load2:2")]


@pytest.fixture
def busy_generator(engine, repository):
    """Has the one generator that is there booked for a trial of this run, at another host."""
    host_id = repository.register_host(records_host())
    repository.register_station("web2", StationRole.SERVER, host_id, "tls://web2", {})
    repository.register_station("load1", StationRole.GENERATOR, host_id, "tls://load1", {})
    engine.generators = {"load1": "tls://load1"}

    def book(run_id):
        bookings = repository.bookings(run_id)
        offered = bookings.offer(2, 1, {})
        claim = bookings.book(offered.id, "web2", 3600.0, generators=1, among=("load1",))
        return lambda: bookings.release(claim.booking.id, claim.booking.token)

    return book


def test_host_waits_for_its_turn_at_a_generator_that_its_run_has(
    busy_generator, engine, new_study, monkeypatch
):
    """However long the trials of the other hosts take: it is not lost."""
    monkeypatch.setattr(remote_station, "ABSENT_S", -remote_station.LEASE_S)
    study = new_study(generators=("load1",))
    release = busy_generator(study.run_id)
    asked, why_not = [], RemoteStation._why_not
    monkeypatch.setattr(RemoteStation, "_why_not", lambda one: asked.append(one) or why_not(one))
    answer = study.order()
    wait_until(lambda: len(asked) > 2 or answer.done(), "it has waited for too long more than once")
    assert not answer.done(), answer.result()
    release()
    assert answer.result(60).reason == "trial 1"


def test_host_that_waits_for_a_generator_of_another_run_is_lost(
    busy_generator, engine, new_study, new_run, monkeypatch
):
    """Nobody knows how long that run takes."""
    monkeypatch.setattr(remote_station, "ABSENT_S", -remote_station.LEASE_S)
    busy_generator(new_run().id)
    with pytest.raises(StationLost, match="web1 cannot go on: not enough generators are there and free"):
        new_study(generators=("load1",)).order().result(60)


def test_station_that_joins_anew_while_it_makes_ready_is_asked_again(engine, study):
    """The engine waits for ever for a station that is not at that address any more."""
    engine.address = "tls://web1:2"
    engine.present, present = lambda: {"web1": replace(now["web1"], address=place.pop(0))}, engine.present
    now, place = present(), ["tls://web1:1", *["tls://web1:2"] * 9]
    study.station.prepare(job().workload, lambda _done, _total: None)
    assert engine.prepared == ["tls://web1:1", "tls://web1:2"]


def test_network_that_is_cut_does_not_keep_a_result_from_the_record(engine, trials, study):
    """The station is out of sight, and commits; the study finds that in the database."""
    trials.held = True
    answer = study.order()
    begun(engine, trials, answer)
    engine.there = False
    engine.forget()
    trials.go_on()
    assert answer.result(60).reason == "trial 1"
    assert (study.booking.state, study.booking.token) == (BookingState.COMMITTED, 1)
    assert len(engine.orders) == 1


def test_trial_of_a_station_that_was_killed_is_measured_again_when_it_is_back(engine, trials, study):
    """Its lease ends, as nobody renews it, and the next has a token of its own."""
    engine.deaf = True
    answer = study.order()
    wait_until(lambda: engine.orders, "the order is given")
    engine.there = engine.deaf = False
    engine.forget()
    study.end_lease()
    wait_until(lambda: study.booking.state is BookingState.FREE, "the lease has ended")
    engine.there = True
    assert answer.result(60).reason == "trial 1"
    assert (trials.begun, study.booking.token) == (1, 2)


def test_station_that_stays_away_is_lost_and_its_trial_free_for_another(engine, study, monkeypatch):
    """The study goes on with the others then."""
    monkeypatch.setattr(remote_station, "ABSENT_S", 0.0)
    engine.deaf = True
    answer = study.order()
    wait_until(lambda: engine.orders, "the order is given")
    engine.there = False
    engine.forget()
    study.end_lease()
    with pytest.raises(StationLost, match="web1 cannot go on: it has left the fleet"):
        answer.result(60)
    assert study.booking.state is BookingState.FREE


def test_late_result_of_a_station_that_was_cut_off_beyond_its_lease_is_not_recorded(
    engine, trials, study, repository, monkeypatch
):
    """Another has measured the trial meanwhile; the one that still went on is refused."""
    monkeypatch.setattr(remote_station, "ABSENT_S", 0.0)
    trials.held = True
    answer = study.order()
    begun(engine, trials, answer)
    engine.there = False
    engine.forget()
    study.end_lease()
    with pytest.raises(StationLost):
        answer.result(60)
    host_id = repository.register_host(records_host())
    repository.register_station("web2", StationRole.SERVER, host_id, "tls://web2", {}, settled=True)
    bookings = repository.bookings(engine.orders[0].run_id)
    claim = bookings.book(study.booking.id, "web2", 3600.0)
    bookings.commit_result(claim.booking.id, claim.booking.token, report(7))
    trials.go_on()
    engine.host.wait_until_idle()
    assert (study.booking.token, study.booking.result["reason"]) == (2, "trial 7")


@pytest.mark.parametrize(("step", "measured"), [(timedelta(days=1), 2), (timedelta(days=-1), 1)])
def test_clock_of_the_database_that_is_set_costs_the_trial_in_flight_at_most(
    engine, trials, study, monkeypatch, step, measured
):
    """Set forward, it ends the lease: what is measured under it is refused, and measured once more."""

    class Stepped(datetime):
        """The clock after it was set."""

        @classmethod
        def now(cls, zone):
            """The present by it."""
            return datetime.now(zone) + step

    trials.held = True
    answer = study.order()
    begun(engine, trials, answer)
    asked, one = [], Bookings.one
    monkeypatch.setattr(Bookings, "one", lambda *named: asked.append(named) or one(*named))
    monkeypatch.setattr(database, "datetime", Stepped)
    wait_until(lambda: study.booking.token == measured and len(asked) > 5, "the study has looked")
    trials.go_on()
    assert answer.result(60).reason == f"trial {measured}"
    assert (trials.begun, study.booking.token) == (measured, measured)


def test_database_that_goes_away_while_a_trial_is_waited_for_ends_nothing(engine, trials, study, monkeypatch):
    """The study looks again until it is back."""
    trials.held = True
    answer = study.order()
    begun(engine, trials, answer)
    asked, one = [], Bookings.one

    def away(bookings, *named):
        asked.append(named)
        if len(asked) <= 5:
            raise DatabaseUnavailableError("The database cannot be reached.")
        return one(bookings, *named)

    monkeypatch.setattr(Bookings, "one", away)
    wait_until(lambda: len(asked) > 5, "the database is back")
    trials.go_on()
    assert answer.result(60).reason == "trial 1"
    assert (trials.begun, study.booking.token) == (1, 1)


def test_result_that_came_after_the_death_of_a_study_is_taken_by_the_next(engine, trials, study, new_study):
    """Nothing is measured again."""
    assert study.order().result(60).reason == "trial 1"
    assert new_study().order().result(60).reason == "trial 1"
    assert trials.begun == 1


def test_trial_of_a_study_that_was_killed_is_aborted_and_measured_again(engine, trials, study, new_study):
    """Nobody waits for it, and it would keep the station from what comes next."""
    trials.held = True
    study.order_and_die()
    wait_until(lambda: trials.begun == 1, "the trial begins")
    resumed = new_study()
    resumed.station.abort_left_behind()
    engine.host.wait_until_idle()
    assert resumed.order().result(60).reason == "trial 2"
    assert (resumed.booking.state, resumed.booking.token) == (BookingState.COMMITTED, 2)
