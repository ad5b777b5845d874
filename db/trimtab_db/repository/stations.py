"""The stations of the fleet: who has joined, what they say of themselves, and whether they may be booked.

The engine knows who is there at this moment; what stands here outlives it. A name is one station: whoever
joins under it again takes the row over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, select

from trimtab_db import records
from trimtab_db.errors import RecordConflictError, RecordNotFoundError
from trimtab_db.fleet_models import Booking, Station
from trimtab_db.records import StationRole, StationState
from trimtab_db.repository.base import RepositoryPart, now, record_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.orm import Session


class StationRepository(RepositoryPart):
    """Queries about stations."""

    def register_station(
        self,
        name: str,
        role: StationRole,
        host_id: int,
        address: str,
        facts: records.JsonObject,
        *,
        settled: bool = True,
    ) -> records.Station:
        """Note that a station has joined at this address, and may be booked.

        At the address that it had before it is the same as before: one that is being drained stays so.
        """
        with self.database.writing() as session:
            row = session.scalar(select(Station).filter_by(name=name).with_for_update())
            if row is None:
                row = Station(name=name)
                session.add(row)
            if row.address != address or row.state is StationState.LEFT:
                row.address, row.state, row.joined_at = address, StationState.READY, now()
            row.role, row.host_id, row.facts, row.settled = role, host_id, facts, settled
            session.flush()
            return record_of(records.Station, row)

    def stations(self, role: StationRole | None = None) -> tuple[records.Station, ...]:
        """All of them, or those of a role, by name."""
        query = select(Station).order_by(Station.name)
        if role is not None:
            query = query.filter_by(role=role)
        with self.database.reading() as session:
            return tuple(record_of(records.Station, row) for row in session.scalars(query))

    def station(self, name: str) -> records.Station:
        """The station of that name; raises `RecordNotFoundError`."""
        with self.database.reading() as session:
            return record_of(records.Station, _station_row(session, name, locked=False))

    def set_station_state(self, name: str, state: StationState) -> None:
        """Raises `RecordNotFoundError`."""
        with self.database.writing() as session:
            _station_row(session, name).state = state

    def set_station_settled(self, name: str, settled: bool) -> None:
        """Whether its machine's settings are as they were; raises `RecordNotFoundError`."""
        with self.database.writing() as session:
            _station_row(session, name).settled = settled

    def left_stations(self, present: Sequence[str]) -> tuple[str, ...]:
        """Note that stations which are not among these have left; those of which that is news."""
        gone = select(Station).where(Station.name.not_in(present), Station.state != StationState.LEFT)
        with self.database.writing() as session:
            rows = session.scalars(gone.with_for_update()).all()
            for row in rows:
                row.state = StationState.LEFT
            return tuple(row.name for row in rows)

    def forget_station(self, name: str) -> None:
        """Forget a station; what was measured there stays.

        Raises `RecordNotFoundError`, `RecordConflictError` while it has not left or holds a lease.
        """
        with self.database.writing() as session:
            row = _station_row(session, name)
            if row.state is not StationState.LEFT:
                raise RecordConflictError(
                    f"The station {name} is {row.state.value}: expected one that has left; drain it first."
                )
            if row.booked_until is not None and row.booked_until > self.database.clock(session):
                raise RecordConflictError(
                    f"The station {name} holds a lease until {row.booked_until:%H:%M:%S} UTC."
                )
            session.execute(delete(Station).filter_by(name=name))

    def bookings_held(self) -> tuple[records.Booking, ...]:
        """What is being carried out now, of all runs."""
        held = select(Station.booking_id).where(Station.booking_id.is_not(None))
        query = select(Booking).where(Booking.id.in_(held)).order_by(Booking.id)
        with self.database.reading() as session:
            return tuple(record_of(records.Booking, row) for row in session.scalars(query))


def _station_row(session: Session, name: str, *, locked: bool = True) -> Station:
    query = select(Station).filter_by(name=name)
    row = session.scalar(query.with_for_update() if locked else query)
    if row is None:
        raise RecordNotFoundError(f"There is no station {name}.", "station")
    return row
