"""Bookings, on both databases: leases, fencing tokens, and results that are recorded once."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import booking_stations
import pytest
from sqlalchemy import select
from trimtab_db import database
from trimtab_db.errors import LeaseLostError, RecordConflictError, RecordNotFoundError
from trimtab_db.fleet_models import Booking
from trimtab_db.records import BookingState, StationRole, StationState

HERE, THERE = "station-0", "station-1"
LONG_S = 600.0
OVER_S = 0.0
"""A lease of no time is over when the next one looks."""


@pytest.fixture
def run(repository, make_run):
    """A run, and four stations on its host."""
    run = make_run(repository)
    for number in range(4):
        join(repository, run.host_id, f"station-{number}")
    return run


def join(repository, host_id, name, role=StationRole.SERVER):
    """A station joins."""
    repository.register_station(name, role, host_id, f"tls://{name}:1", {})


@pytest.fixture
def book(bookings):
    """Books the repetition that was offered last, or this one."""

    def book(lease_s=LONG_S, station=HERE, booking_id=None, **generators):
        booking_id = booking_id or max(one.id for one in bookings.all())
        claim = bookings.book(booking_id, station, lease_s, **generators)
        return None if claim is None else claim.booking

    return book


@pytest.fixture
def bookings(repository, run):
    """What it offers; nothing yet."""
    return repository.bookings(run.id)


def test_offered_repetition_is_booked_with_its_job_and_a_token(bookings, run, book):
    """What a station gets says all that it needs, and until when."""
    offered = bookings.offer(3, 1, {"target": "core"})
    assert (offered.state, offered.token, offered.host_id) == (BookingState.FREE, 0, None)
    booked = book(LONG_S)
    assert booked.job == {"target": "core"}
    assert (booked.trial_number, booked.repetition, booked.token) == (3, 1, 1)
    assert (booked.state, booked.host_id) == (BookingState.BOOKED, run.host_id)
    assert bookings.all() == (booked,)
    assert bookings.one(3, 1) == booked
    assert bookings.one(3, 2) is None
    assert book(LONG_S, THERE) is None


def test_repetition_of_a_trial_is_offered_once(bookings, repository, make_run):
    """The database itself refuses the second; another run has its own."""
    bookings.offer(1, 1, {})
    with pytest.raises(RecordConflictError):
        bookings.offer(1, 1, {})
    repository.bookings(make_run(repository).id).offer(1, 1, {})
    assert len(bookings.all()) == 1


def test_of_eight_claimers_one_gets_it(bookings, repository, run, book):
    """All at once, each for a station of its own."""
    for number in range(8):
        join(repository, run.host_id, f"claimer-{number}")
    bookings.offer(1, 1, {})
    together = threading.Barrier(8)

    def claim(number: int) -> bool:
        together.wait()
        return book(LONG_S, f"claimer-{number}") is not None

    with ThreadPoolExecutor(8) as pool:
        claimed = list(pool.map(claim, range(8)))
    # Whoever looks while others decide skips it, and may get nothing.
    assert sum(claimed) == 1
    assert bookings.all()[0].token == 1


def test_station_has_one_lease_at_a_time(bookings, repository, run):
    """Eight claims for one station at once, of eight repetitions: it gets one of them."""
    offered = [bookings.offer(1, number, {}).id for number in range(1, 9)]
    together = threading.Barrier(8)

    def claim(booking_id: int) -> bool:
        together.wait()
        return bookings.book(booking_id, HERE, LONG_S) is not None

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(claim, offered)) == 1
    (held,) = repository.bookings_held()
    assert repository.station(HERE).booking_id == held.id
    bookings.commit_result(held.id, held.token, {})
    assert repository.station(HERE).booking_id is None
    assert repository.bookings_held() == ()
    other = next(number for number in offered if number != held.id)
    assert bookings.book(other, HERE, LONG_S) is not None


def test_station_is_booked_with_its_generators_or_not_at_all(bookings, repository, run):
    """Two of the three generators; a second server finds too few left, and then nothing is booked."""
    loading = [f"load-{number}" for number in range(3)]
    for name in loading:
        join(repository, run.host_id, name, StationRole.GENERATOR)
    first, second = bookings.offer(1, 1, {}), bookings.offer(1, 2, {})
    claim = bookings.book(first.id, HERE, LONG_S, generators=2, among=loading)
    assert [station.name for station in claim.generators] == loading[:2]
    assert bookings.book(second.id, THERE, LONG_S, generators=2, among=loading) is None
    assert repository.station(THERE).booking_id is None
    assert bookings.all()[1].state is BookingState.FREE
    assert bookings.book(second.id, THERE, LONG_S, generators=1, among=loading) is not None
    bookings.release(first.id, claim.booking.token)
    assert [repository.station(name).booking_id for name in loading] == [None, None, second.id]


def test_lease_that_is_over_frees_station_and_generators(bookings, repository, run):
    """Whoever looks next may have them, also for another run."""
    join(repository, run.host_id, "load", StationRole.GENERATOR)
    late = bookings.offer(1, 1, {})
    bookings.book(late.id, HERE, OVER_S, generators=1, among=["load"])
    next_ = bookings.offer(1, 2, {})
    assert bookings.book(next_.id, HERE, LONG_S, generators=1, among=["load"]) is not None
    assert repository.station("load").booking_id == next_.id


def test_renewed_lease_keeps_station_and_generators(bookings, repository, run):
    """Until the lease ends anew."""
    join(repository, run.host_id, "load", StationRole.GENERATOR)
    offered = bookings.offer(1, 1, {})
    claim = bookings.book(offered.id, HERE, OVER_S, generators=1, among=["load"])
    renewed = bookings.renew(offered.id, claim.booking.token, LONG_S)
    assert repository.station(HERE).booked_until == renewed.lease_until
    assert repository.station("load").booked_until == renewed.lease_until


@pytest.mark.parametrize(
    ("unfit", "said"),
    [
        (lambda repository: repository.set_station_settled(HERE, False), "its settings are not back"),
        (lambda repository: repository.set_station_state(HERE, StationState.DRAINING), "it is drained"),
        (lambda repository: repository.set_station_state(HERE, StationState.LEFT), "it has left"),
    ],
)
def test_unfit_station_is_not_booked(bookings, repository, run, book, unfit, said):
    """Another one is; and this one too, when it has joined again from another address."""
    bookings.offer(1, 1, {})
    unfit(repository)
    assert book(LONG_S) is None, said
    repository.register_station(HERE, StationRole.SERVER, run.host_id, "tls://elsewhere:2", {})
    assert book(LONG_S) is not None


def test_generator_is_not_booked_as_a_server(bookings, repository, run, book):
    """Roles are kept apart."""
    join(repository, run.host_id, "load", StationRole.GENERATOR)
    bookings.offer(1, 1, {})
    assert book(LONG_S, "load") is None


def test_result_is_recorded_under_the_current_token(bookings, run, book):
    """It comes back as it went in, with the host that measured it."""
    bookings.offer(1, 1, {})
    booked = book(LONG_S)
    bookings.commit_result(booked.id, booked.token, {"verdict": "verified", "rates": [1.5]})
    (recorded,) = bookings.all()
    assert (recorded.state, recorded.result) == (
        BookingState.COMMITTED,
        {"verdict": "verified", "rates": [1.5]},
    )
    assert (recorded.host_id, recorded.lease_until) == (run.host_id, None)
    assert recorded.committed_at is not None
    assert book(LONG_S) is None


def test_expired_lease_goes_to_another_and_the_late_result_is_refused(
    bookings, repository, run, make_host, book
):
    """The sentence says which repetition, which token, and who holds it now."""
    bookings.offer(4, 2, {})
    other_id = repository.register_host(make_host(machine_id="another"))
    join(repository, other_id, "other")
    late = book(OVER_S)
    current = book(LONG_S, "other")
    assert (current.id, current.token, current.host_id) == (late.id, 2, other_id)
    expected = (
        rf"repetition 2 of trial 4 of run {run.id} under token 1 has ended, and token 2 holds it; nothing was"
    )
    with pytest.raises(LeaseLostError, match=expected):
        bookings.commit_result(late.id, late.token, {"from": "late"})
    bookings.commit_result(current.id, current.token, {"from": "current"})
    with pytest.raises(LeaseLostError, match="its result was recorded under token 2"):
        bookings.commit_result(late.id, late.token, {"from": "late"})
    assert bookings.all()[0].result == {"from": "current"}


def test_same_result_twice_is_recorded_once(bookings, run, book):
    """A station that has not heard the answer asks again; another result in its place is refused."""
    bookings.offer(1, 1, {})
    booked = book(LONG_S)
    bookings.commit_result(booked.id, booked.token, {"a": 1, "b": 2.5})
    (recorded,) = bookings.all()
    bookings.commit_result(booked.id, booked.token, {"b": 2.5, "a": 1})
    assert bookings.all() == (recorded,)
    with pytest.raises(
        RecordConflictError, match="has a result under token 1 already, and this one is another"
    ):
        bookings.commit_result(booked.id, booked.token, {"a": 2, "b": 2.5})
    assert bookings.all() == (recorded,)


def test_expire_says_whose_leases_have_ended(bookings, run, book):
    """They are free then, and none is told twice; those that go on are left alone."""
    first, second = (bookings.offer(1, repetition, {}) for repetition in (1, 2))
    over, held = book(OVER_S, HERE, first.id), book(LONG_S, THERE, second.id)
    assert bookings.expire() == (over,)
    assert bookings.expire() == ()
    assert [one.state for one in bookings.all()] == [BookingState.FREE, BookingState.BOOKED]
    assert bookings.all()[1] == held
    going_on = book(LONG_S, HERE, first.id)
    assert bookings.expire() == ()
    assert (going_on.id, going_on.token) == (over.id, 2)
    with pytest.raises(LeaseLostError, match="token 2 holds it"):
        bookings.renew(over.id, over.token, LONG_S)


def test_result_of_a_lease_that_nobody_has_ended_yet_is_taken(bookings, run, book):
    """Nobody else can have begun: the work need not be lost."""
    bookings.offer(1, 1, {})
    booked = book(OVER_S)
    bookings.commit_result(booked.id, booked.token, {})
    assert bookings.all()[0].state is BookingState.COMMITTED


def test_renewed_lease_goes_on(bookings, run, book):
    """It ends later, under the same token."""
    bookings.offer(1, 1, {})
    booked = book(OVER_S)
    renewed = bookings.renew(booked.id, booked.token, LONG_S)
    assert renewed.token == booked.token
    assert renewed.lease_until > booked.lease_until
    assert bookings.expire() == ()


def test_released_repetition_is_free_for_another_and_nothing_to_its_former_holder(bookings, run, book):
    """A token is worth nothing after it has been given back."""
    bookings.offer(1, 1, {})
    booked = book(LONG_S)
    bookings.release(booked.id, booked.token)
    for use in (
        lambda: bookings.commit_result(booked.id, booked.token, {}),
        lambda: bookings.release(booked.id, booked.token),
    ):
        with pytest.raises(LeaseLostError, match="has ended, and it is free"):
            use()
    assert book(LONG_S).token == 2


def test_booking_of_a_deleted_run_is_gone_and_its_number_never_comes_back(
    repository, make_run, bookings, run, book
):
    """A station that still carries it out can record it nowhere, whatever is offered since."""
    bookings.offer(1, 1, {})
    booked = book(LONG_S)
    repository.delete_run(run.id)
    again = make_run(repository)
    repository.bookings(again.id).offer(1, 1, {})
    other = repository.bookings(again.id).all()[0]
    assert other.id != booked.id
    assert repository.bookings(again.id).book(other.id, HERE, LONG_S) is not None
    with pytest.raises(RecordNotFoundError, match=f"no booking {booked.id} of run"):
        bookings.commit_result(booked.id, booked.token, {})


def test_booking_of_another_run_is_not_found(repository, make_run, bookings, run, book):
    """Numbers of bookings mean nothing to other runs."""
    bookings.offer(1, 1, {})
    booked = book(LONG_S)
    with pytest.raises(RecordNotFoundError):
        repository.bookings(make_run(repository).id).release(booked.id, booked.token)


@pytest.mark.parametrize(
    ("repetitions", "kills"), [(40, 8), pytest.param(200, 30, marks=pytest.mark.live)], ids=["some", "many"]
)
def test_repetitions_are_carried_out_once_each_whoever_dies(
    repository, database_url, run, bookings, repetitions, kills
):
    """Claims, ends of leases, deaths and results of four processes interleave at random: nothing that the
    database took is lost, and nothing is there twice.
    """
    for number in range(repetitions):
        bookings.offer(number // 4 + 1, number % 4 + 1, {"number": number})
    stations = subprocess.run(
        [sys.executable, Path(booking_stations.__file__), database_url, str(run.id), "1", str(kills)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=280,
    )
    recorded = {(one.trial_number, one.repetition): one for one in bookings.all()}
    assert len(recorded) == repetitions
    assert {one.state for one in recorded.values()} == {BookingState.COMMITTED}
    assert all(one.result["token"] == one.token for one in recorded.values())
    told = [tuple(map(int, line.split())) for line in stations.stdout.splitlines()]
    assert len(told) == len(set(told))  # no repetition was told to be recorded by two
    assert len({(trial, repetition) for trial, repetition, _ in told}) == len(told)
    assert all(recorded[trial, repetition].token == token for trial, repetition, token in told)
    assert max(one.token for one in recorded.values()) > 1  # leases did end


@pytest.mark.parametrize("kind", ["postgresql"], indirect=True)
def test_claimer_does_not_wait_for_another_one(repository, bookings, run, book):
    """What somebody is about to book is skipped, not waited for."""
    first, second = bookings.offer(1, 1, {}), bookings.offer(1, 2, {})
    with repository.database.writing() as session:
        session.scalars(select(Booking).where(Booking.id == first.id).with_for_update()).one()
        assert book(LONG_S, HERE, first.id) is None
        assert book(LONG_S, HERE, second.id).id == second.id


@pytest.mark.parametrize("kind", ["postgresql"], indirect=True)
def test_clock_of_the_host_does_not_count(bookings, run, monkeypatch, book):
    """A host whose clock is wrong gets no longer lease than others, and ends nobody's."""
    bookings.offer(1, 1, {})
    monkeypatch.setattr(database, "datetime", None)
    booked = book(LONG_S)
    bookings.renew(booked.id, booked.token, LONG_S)
    assert bookings.expire() == ()
    bookings.commit_result(booked.id, booked.token, {})
