"""The tables of live tuning, as SQLAlchemy models; what the columns mean stands in `records.py`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from trimtab_db.models import Base, CompactJson, words
from trimtab_db.records import LiveMode, LiveState


class LiveSession(Base):
    """`records.LiveSession`."""

    __tablename__ = "live_session"

    id: Mapped[int] = mapped_column(primary_key=True)
    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"), index=True)
    target: Mapped[str]
    pid: Mapped[int]
    addresses: Mapped[list[str]]
    unit: Mapped[str]
    file: Mapped[str]
    mode: Mapped[LiveMode] = mapped_column(words(LiveMode, "mode"))
    settings: Mapped[dict[str, Any]]
    process: Mapped[int]
    process_started: Mapped[int] = mapped_column(BigInteger)
    state: Mapped[LiveState] = mapped_column(words(LiveState, "state"))
    sentence: Mapped[str]
    share: Mapped[float]
    context: Mapped[dict[str, Any] | None]
    asked: Mapped[str | None]
    started_at: Mapped[datetime]
    seen_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]


class LiveDecision(Base):
    """`records.LiveDecision`. What kinds there are, the code knows alone: they grow with it."""

    __tablename__ = "live_decision"

    id: Mapped[int] = mapped_column(primary_key=True)
    session_id: Mapped[int] = mapped_column(ForeignKey("live_session.id"), index=True)
    at: Mapped[datetime]
    kind: Mapped[str]
    sentence: Mapped[str]
    share: Mapped[float]
    configuration: Mapped[dict[str, Any] | None]
    evidence: Mapped[dict[str, Any]]


class LiveSample(Base):
    """`records.LiveSample` of a session."""

    __tablename__ = "live_sample"
    __table_args__ = (Index(None, "session_id", "at"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    session_id: Mapped[int] = mapped_column(ForeignKey("live_session.id"))
    at: Mapped[datetime]
    data: Mapped[dict[str, Any]] = mapped_column(CompactJson)


class LiveIncumbents(Base):
    """The configurations in force in each context, of one server's file on a host."""

    __tablename__ = "live_incumbents"
    __table_args__ = (UniqueConstraint("host_id", "target", "file"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"))
    target: Mapped[str]
    file: Mapped[str]
    document: Mapped[dict[str, Any]]
