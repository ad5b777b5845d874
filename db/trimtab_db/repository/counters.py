"""Counter samples: one a second, read by window, kept for a day unless a run needs them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select

from trimtab_db import models, records
from trimtab_db.repository.base import RepositoryPart, columns_of, now, record_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

RETENTION = timedelta(hours=24)


class CounterRepository(RepositoryPart):
    """Queries about counter samples."""

    def add_counter_samples(self, samples: Iterable[records.CounterSample]) -> None:
        """Record samples, all of them or none."""
        rows = [columns_of(sample) for sample in samples]
        if rows:
            with self.database.writing() as session:
                session.execute(insert(models.CounterSample), rows)

    def counter_samples(
        self, host_id: int, since: datetime, until: datetime | None = None
    ) -> tuple[records.CounterSample, ...]:
        """The host's samples taken from `since` up to `until` (both included), oldest first."""
        query = (
            select(models.CounterSample)
            .where(models.CounterSample.host_id == host_id, models.CounterSample.taken_at >= since)
            .order_by(models.CounterSample.taken_at)
        )
        if until is not None:
            query = query.where(models.CounterSample.taken_at <= until)
        with self.database.reading() as session:
            return tuple(record_of(records.CounterSample, row) for row in session.scalars(query))

    def trial_counter_samples(self, run_id: int, trial_number: int) -> tuple[records.CounterSample, ...]:
        """The samples taken while a trial was measured, oldest first."""
        query = (
            select(models.CounterSample)
            .where(
                models.CounterSample.run_id == run_id,
                models.CounterSample.trial_number == trial_number,
            )
            .order_by(models.CounterSample.taken_at)
        )
        with self.database.reading() as session:
            return tuple(record_of(records.CounterSample, row) for row in session.scalars(query))

    def prune_counter_samples(self, host_id: int) -> int:
        """Delete the host's samples that are older than RETENTION and belong to no run; how many those were.

        The samples taken during a run are part of the experiment and stay with it.
        """
        stale = delete(models.CounterSample).where(
            models.CounterSample.host_id == host_id,
            models.CounterSample.taken_at < now() - RETENTION,
            models.CounterSample.run_id.is_(None),
        )
        with self.database.writing() as session:
            return session.connection().execute(stale).rowcount
