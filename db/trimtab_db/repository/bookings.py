"""Bookings: which station carries which repetition of a trial out, and what came of it.

A repetition is offered once. It is booked for a station, with as many generators as it needs, in one
transaction. The station gets a *lease*, the right to carry it out for a time, and with it a *fencing token*:
a number that grows with each lease of the repetition. The result is recorded under the current token alone,
and once. So a station that was away for longer than its lease (paused, cut off, slow) cannot record beside
the one that has taken over, whatever it believes.

    offer ─► free ── book ─► booked ── commit_result ─► committed
               ▲               │
               └── release, expire (of a lease that has ended)

A station is free when its lease has ended and its journal says that its settings are back (`settled`).

DESIGN: all times are the database's, so that no host's clock gives it more time than others. A lease whose
time is over ends when somebody notices, which `book` does first of all: until then nobody else can have begun
the work, and its result is taken.

Who decides upon a row locks it. In PostgreSQL whoever looks for work skips what others have locked (`FOR
UPDATE SKIP LOCKED`); in SQLite there is one writer at a time, and nothing to skip. Rows of stations are
locked after that of the booking, and servers before generators, so that nobody waits in a circle.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import delete, or_, select, update

from trimtab_db import records
from trimtab_db.errors import LeaseLostError, RecordConflictError, RecordNotFoundError
from trimtab_db.fleet_models import Booking, Station
from trimtab_db.records import BookingState, StationRole, StationState
from trimtab_db.repository.base import record_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Select
    from sqlalchemy.orm import Session

    from trimtab_db.database import Database


class Claim(NamedTuple):
    """A repetition that has been booked, and the generators that load the server."""

    booking: records.Booking
    generators: tuple[records.Station, ...]


class Bookings:
    """The bookings of one run."""

    def __init__(self, database: Database, run_id: int) -> None:
        self._database = database
        self._run_id = run_id

    def offer(self, trial_number: int, repetition: int, job: records.JsonObject) -> records.Booking:
        """Let stations carry out a repetition of a trial; both count from 1, `job` says what is to be done.

        Raises `RecordConflictError` when it is offered already, or there is no such run.
        """
        row = Booking(
            run_id=self._run_id,
            trial_number=trial_number,
            repetition=repetition,
            job=job,
            state=BookingState.FREE,
            token=0,
        )
        with self._database.writing() as session:
            session.add(row)
            session.flush()
            return record_of(records.Booking, row)

    def book(
        self,
        booking_id: int,
        station: str,
        lease_s: float,
        *,
        generators: int = 0,
        among: Sequence[str] = (),
    ) -> Claim | None:
        """Give the repetition to a station for so many seconds, and so many generators `among` these with it.

        None when it is not free (a lease whose time is over ends first), or the station or too many of the
        generators are booked, unsettled or not ready. No two callers get the same. Raises
        `RecordNotFoundError`.
        """
        with self._database.writing() as session:
            if session.scalar(select(Booking.id).filter_by(id=booking_id, run_id=self._run_id)) is None:
                raise RecordNotFoundError(
                    f"There is no booking {booking_id} of run {self._run_id}.", "booking"
                )
            locked = select(Booking).filter_by(id=booking_id).with_for_update(skip_locked=True)
            row = session.scalar(locked, execution_options={"populate_existing": True})
            now = self._database.clock(session)
            if row is None:
                return None
            if row.state is BookingState.BOOKED and row.lease_until is not None and row.lease_until <= now:
                _free(session, row)
            if row.state is not BookingState.FREE:
                return None
            servers = _free_stations(session, StationRole.SERVER, [station], 1, now)
            loading = _free_stations(session, StationRole.GENERATOR, among, generators, now)
            if len(servers) < 1 or len(loading) < generators:
                return None
            row.state = BookingState.BOOKED
            row.token += 1
            row.host_id = servers[0].host_id
            row.lease_until = now + timedelta(seconds=lease_s)
            for each in (*servers, *loading):
                each.booking_id, each.booked_until = row.id, row.lease_until
            session.flush()
            return Claim(
                record_of(records.Booking, row), tuple(record_of(records.Station, each) for each in loading)
            )

    def renew(self, booking_id: int, token: int, lease_s: float) -> records.Booking:
        """Let the lease end so many seconds from now; raises `LeaseLostError`, `RecordNotFoundError`."""
        with self._database.writing() as session:
            row = self._held(session, booking_id, token)
            row.lease_until = self._database.clock(session) + timedelta(seconds=lease_s)
            session.execute(update(Station).filter_by(booking_id=row.id).values(booked_until=row.lease_until))
            return record_of(records.Booking, row)

    def commit_result(self, booking_id: int, token: int, result: records.JsonObject) -> None:
        """Record what came of the repetition; again with the same result it changes nothing.

        Raises `LeaseLostError` when the token is not the current one, `RecordConflictError` when another
        result has been recorded under it, `RecordNotFoundError`. Nothing is recorded then.
        """
        with self._database.writing() as session:
            row = self._locked(session, booking_id)
            if row.state is BookingState.COMMITTED and row.token == token:
                if _text(row.result) != _text(result):
                    raise RecordConflictError(
                        f"{_named(row)} has a result under token {token} already, and this one is another; "
                        "it was not recorded."
                    )
                return
            row = self._held(session, booking_id, token)
            _let_go(session, row)
            row.state = BookingState.COMMITTED
            row.result = result
            row.lease_until = None
            row.committed_at = self._database.clock(session)

    def release(self, booking_id: int, token: int) -> None:
        """Give it back without a result, for another; raises `LeaseLostError`, `RecordNotFoundError`."""
        with self._database.writing() as session:
            _free(session, self._held(session, booking_id, token))

    def withdraw(self) -> None:
        """Forget what is free: nobody has begun it, and it will be offered anew if it is still wanted."""
        with self._database.writing() as session:
            session.execute(delete(Booking).filter_by(run_id=self._run_id, state=BookingState.FREE))

    def expire(self) -> tuple[records.Booking, ...]:
        """End every lease whose time is over; the bookings as they were, with the host that had each."""
        with self._database.writing() as session:
            return self._end_leases(session)

    def one(self, trial_number: int, repetition: int) -> records.Booking | None:
        """The booking of a repetition; None while it has not been offered."""
        query = select(Booking).filter_by(
            run_id=self._run_id, trial_number=trial_number, repetition=repetition
        )
        with self._database.reading() as session:
            row = session.scalar(query)
            return None if row is None else record_of(records.Booking, row)

    def all(self) -> tuple[records.Booking, ...]:
        """Everything that was offered, by trial and repetition."""
        query = select(Booking).filter_by(run_id=self._run_id)
        with self._database.reading() as session:
            rows = session.scalars(query.order_by(Booking.trial_number, Booking.repetition))
            return tuple(record_of(records.Booking, row) for row in rows)

    def _select(self, state: BookingState) -> Select[Booking]:
        return select(Booking).filter_by(run_id=self._run_id, state=state)

    def _end_leases(self, session: Session) -> tuple[records.Booking, ...]:
        over = self._select(BookingState.BOOKED).where(Booking.lease_until <= self._database.clock(session))
        rows = session.scalars(over.order_by(Booking.id).with_for_update(skip_locked=True)).all()
        ended = tuple(record_of(records.Booking, row) for row in rows)
        for row in rows:
            _free(session, row)
        return ended

    def _locked(self, session: Session, booking_id: int) -> Booking:
        row = session.get(Booking, booking_id, with_for_update=True)
        if row is None or row.run_id != self._run_id:
            raise RecordNotFoundError(f"There is no booking {booking_id} of run {self._run_id}.", "booking")
        return row

    def _held(self, session: Session, booking_id: int, token: int) -> Booking:
        """The row, if the token is that of its lease."""
        row = self._locked(session, booking_id)
        if row.state is BookingState.BOOKED and row.token == token:
            return row
        since = {
            BookingState.FREE: "it is free",
            BookingState.BOOKED: f"token {row.token} holds it",
            BookingState.COMMITTED: f"its result was recorded under token {row.token}",
        }
        raise LeaseLostError(
            f"The lease of {_named(row)} under token {token} has ended, and {since[row.state]}; "
            "nothing was recorded."
        )


def _free_stations(
    session: Session, role: StationRole, names: Sequence[str], wanted: int, now: datetime
) -> Sequence[Station]:
    """So many of the named stations that nobody else has, locked; fewer when there are not so many."""
    if not wanted:
        return ()
    over = or_(Station.booked_until.is_(None), Station.booked_until <= now)
    query = select(Station).filter_by(role=role, state=StationState.READY, settled=True)
    query = query.where(Station.name.in_(names), over).order_by(Station.id).limit(wanted)
    return session.scalars(
        query.with_for_update(skip_locked=True), execution_options={"populate_existing": True}
    ).all()


def _free(session: Session, row: Booking) -> None:
    _let_go(session, row)
    row.state = BookingState.FREE
    row.host_id = row.lease_until = None


def _let_go(session: Session, row: Booking) -> None:
    """Its stations are booked for it no more."""
    of_it = update(Station).filter_by(booking_id=row.id)
    session.execute(of_it.values(booking_id=None, booked_until=None))


def _named(row: Booking) -> str:
    return f"repetition {row.repetition} of trial {row.trial_number} of run {row.run_id}"


def _text(result: records.JsonObject | None) -> str:
    """What tells two results apart, whatever the order of their keys."""
    return json.dumps(result, sort_keys=True)
