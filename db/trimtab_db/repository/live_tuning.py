"""Live tuning: sessions on servers that carry real traffic, what they decided, what their arms did.

The session itself writes; whoever wants something of it (`ask_live_session`) leaves a word in its record,
which it takes: the page in the browser and the session may be different processes.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import delete, select

from trimtab_db import live_models as models
from trimtab_db import records
from trimtab_db.errors import RecordNotFoundError
from trimtab_db.records import LiveDecisionKind, LiveRequest, LiveState
from trimtab_db.repository.base import (
    RepositoryPart,
    columns_of,
    found_or_added,
    now,
    record_of,
    rows_of_machine,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy.orm import Session

SAMPLES_KEPT_FOR = timedelta(days=7)
"""Older samples of the arms are pruned; decisions stay."""


class LiveTuningRepository(RepositoryPart):
    """Queries about live sessions."""

    def begin_live_session(self, new: records.NewLiveSession) -> records.LiveSession:
        """Record that live tuning attaches to a server now."""
        begun = now()
        row = models.LiveSession(
            **columns_of(new, without=["addresses"]),
            addresses=list(new.addresses),
            state=LiveState.OBSERVING,
            sentence="",
            share=0.0,
            started_at=begun,
            seen_at=begun,
        )
        with self.database.writing() as session:
            session.add(row)
            session.flush()
            return _record(row)

    def live_session(self, session_id: int) -> records.LiveSession:
        """One session; raises `RecordNotFoundError`."""
        with self.database.reading() as session:
            return _record(_row(session, session_id))

    def live_sessions(self, host_id: int) -> tuple[records.LiveSession, ...]:
        """All sessions of the host's machine, the latest first."""
        query = select(models.LiveSession).where(models.LiveSession.host_id.in_(rows_of_machine(host_id)))
        with self.database.reading() as session:
            rows = session.scalars(query.order_by(models.LiveSession.id.desc()))
            return tuple(_record(row) for row in rows)

    def move_live_session(self, session_id: int, *, pid: int, addresses: Sequence[str]) -> None:
        """Record that its server runs as another process now; raises `RecordNotFoundError`."""
        with self.database.writing() as session:
            row = _row(session, session_id, locked=True)
            row.pid, row.addresses = pid, list(addresses)

    def update_live_session(
        self,
        session_id: int,
        *,
        state: LiveState | None = None,
        sentence: str | None = None,
        share: float | None = None,
        context: records.JsonObject | None = None,
    ) -> None:
        """Record that the session is alive now, and what has changed: what is None stays as it is.

        With `LiveState.ENDED` it ends now, and what it was asked is forgotten. Raises `RecordNotFoundError`.
        """
        with self.database.writing() as session:
            row = _row(session, session_id, locked=True)
            row.seen_at = now()
            if state is not None:
                row.state = state
            if state is LiveState.ENDED:
                row.ended_at, row.asked = row.seen_at, None
            if sentence is not None:
                row.sentence = sentence
            if share is not None:
                row.share = share
            if context is not None:
                row.context = context

    def ask_live_session(self, session_id: int, request: LiveRequest) -> None:
        """Leave word for a session; raises `RecordNotFoundError`.

        The last word counts, except that nothing takes back `detach`. A session that has ended is asked
        nothing.
        """
        with self.database.writing() as session:
            row = _row(session, session_id, locked=True)
            if row.ended_at is None and row.asked != LiveRequest.DETACH:
                row.asked = request

    def take_live_request(self, session_id: int) -> LiveRequest | None:
        """What the session is asked, which is then no longer there; raises `RecordNotFoundError`.

        Reads first: most of the time there is nothing, and a reader waits for nobody.
        """
        with self.database.reading() as session:
            if _row(session, session_id).asked is None:
                return None
        with self.database.writing() as session:
            row = _row(session, session_id, locked=True)
            asked, row.asked = row.asked, None
            return None if asked is None else LiveRequest(asked)

    def add_live_decision(self, decision: records.NewLiveDecision) -> records.LiveDecision:
        """Record a decision that was made now."""
        row = models.LiveDecision(**columns_of(decision), at=now())
        with self.database.writing() as session:
            session.add(row)
            session.flush()
            return _decision(row)

    def live_decisions(self, session_id: int) -> tuple[records.LiveDecision, ...]:
        """What a session has decided, oldest first; raises `RecordNotFoundError`."""
        decision = models.LiveDecision
        with self.database.reading() as session:
            _row(session, session_id)
            rows = session.scalars(select(decision).filter_by(session_id=session_id).order_by(decision.id))
            return tuple(_decision(row) for row in rows)

    def add_live_sample(self, session_id: int, sample: records.LiveSample) -> None:
        """Record what the arms did."""
        with self.database.writing() as session:
            session.add(models.LiveSample(session_id=session_id, **columns_of(sample)))

    def live_samples(self, session_id: int, since: datetime, limit: int) -> tuple[records.LiveSample, ...]:
        """The first `limit` samples of a session after `since` (not included), oldest first.

        Raises `RecordNotFoundError`.
        """
        sample = models.LiveSample
        query = (
            select(sample.at, sample.data)
            .where(sample.session_id == session_id, sample.at > since)
            .order_by(sample.at)
            .limit(limit)
        )
        with self.database.reading() as session:
            _row(session, session_id)
            return tuple(records.LiveSample(at=at, data=data) for at, data in session.execute(query))

    def last_live_samples(self, session_id: int, count: int) -> tuple[records.LiveSample, ...]:
        """The last samples that a session has recorded, the latest first, whatever its clock said."""
        sample = models.LiveSample
        query = select(sample.at, sample.data).filter_by(session_id=session_id).order_by(sample.id.desc())
        with self.database.reading() as session:
            _row(session, session_id)
            found = session.execute(query.limit(count))
            return tuple(records.LiveSample(at=at, data=data) for at, data in found)

    def prune_live_samples(self, host_id: int) -> int:
        """Delete the samples of the host's machine that are too old; how many those were."""
        sample = models.LiveSample
        sessions = select(models.LiveSession.id).where(
            models.LiveSession.host_id.in_(rows_of_machine(host_id))
        )
        stale = delete(sample).where(sample.session_id.in_(sessions), sample.at < now() - SAMPLES_KEPT_FOR)
        with self.database.writing() as session:
            return session.connection().execute(stale).rowcount

    def live_incumbents(self, host_id: int, target: str, file: str) -> records.JsonObject | None:
        """What is known of the best configurations of a server's file on the host's machine, if anything."""
        incumbents = models.LiveIncumbents
        query = (
            select(incumbents.document)
            .where(
                incumbents.host_id.in_(rows_of_machine(host_id)),
                incumbents.target == target,
                incumbents.file == file,
            )
            .order_by(incumbents.id.desc())
            .limit(1)
        )
        with self.database.reading() as session:
            return session.scalar(query)

    def set_live_incumbents(self, host_id: int, target: str, file: str, document: records.JsonObject) -> None:
        """Record what is known now, in place of what was known before."""
        named = {"host_id": host_id, "target": target, "file": file}
        with self.database.writing() as session:
            new = models.LiveIncumbents(**named, document=document)
            row = found_or_added(session, select(models.LiveIncumbents).filter_by(**named), new)
            row.document = document


def _row(session: Session, session_id: int, *, locked: bool = False) -> models.LiveSession:
    """The record of a session; nobody else writes a `locked` one before the transaction has ended."""
    row = session.get(models.LiveSession, session_id, with_for_update=locked)
    if row is None:
        raise RecordNotFoundError(f"There is no live session {session_id}.", "live session")
    return row


def _record(row: models.LiveSession) -> records.LiveSession:
    asked = None if row.asked is None else LiveRequest(row.asked)
    return record_of(records.LiveSession, row, addresses=tuple(row.addresses), asked=asked)


def _decision(row: models.LiveDecision) -> records.LiveDecision:
    return record_of(records.LiveDecision, row, kind=LiveDecisionKind(row.kind))
