"""The tables of the fleet, as SQLAlchemy models; what the columns mean stands in `records.py`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from trimtab_db.models import Base, CompactJson, words
from trimtab_db.records import BookingState, StationRole, StationState


class Booking(Base):
    """`records.Booking`. No id is ever given twice, or a station could mistake another run's booking for the
    one that it had before that run was deleted: PostgreSQL gives none twice, SQLite must be told so.
    """

    __tablename__ = "booking"
    __table_args__ = (
        UniqueConstraint("run_id", "trial_number", "repetition"),
        Index(None, "run_id", "state"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"))
    trial_number: Mapped[int]
    repetition: Mapped[int]
    job: Mapped[dict[str, Any]]
    state: Mapped[BookingState] = mapped_column(words(BookingState, "state"))
    token: Mapped[int]
    host_id: Mapped[int | None] = mapped_column(ForeignKey("host.id"))
    lease_until: Mapped[datetime | None]
    result: Mapped[dict[str, Any] | None] = mapped_column(CompactJson)
    committed_at: Mapped[datetime | None]


class Station(Base):
    """`records.Station`. Until when it is booked stands in its own row too: who looks for a free one locks
    that row alone, and decides by what is in it.
    """

    __tablename__ = "station"
    __table_args__ = (UniqueConstraint("name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    role: Mapped[StationRole] = mapped_column(words(StationRole, "role"))
    state: Mapped[StationState] = mapped_column(words(StationState, "state"))
    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"))
    address: Mapped[str]
    facts: Mapped[dict[str, Any]]
    settled: Mapped[bool]
    booking_id: Mapped[int | None] = mapped_column(ForeignKey("booking.id"), index=True)
    booked_until: Mapped[datetime | None]
    joined_at: Mapped[datetime]
