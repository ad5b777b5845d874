"""Counter samples: one a second for a day, means of ten seconds and of a minute for longer.

    step   kept for                                   what for
    0      a day                                      ten a second, while somebody asks for them
    1 s    a day                                      Live, and the trials of the day in every detail
    10 s   a week; those of a run for ever            a run's trials later on
    60 s   a year                                     windows of a day and more

Never more than a size in all: past it the oldest go first, whatever they belong to. Samples are deflated JSON
of about a kilobyte, so that a day is some 80 MB on two CPUs.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import LargeBinary, delete, func, insert, select, type_coerce

from trimtab_db import models, records
from trimtab_db.repository.base import RepositoryPart, columns_of, now, rows_of_machine

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from sqlalchemy import Select
    from sqlalchemy.orm import Session

    _Query = Select[int, datetime, bytes, int | None, int | None, int]

RETENTION = {0: timedelta(days=1), 1: timedelta(days=1), 10: timedelta(days=7), 60: timedelta(days=365)}
"""How long samples of each step are kept."""

KEPT_WITH_RUN_S = 10
"""Samples of this step that belong to a run stay with it."""

SIZED_BY = 200  # samples whose mean size is taken for all


SPAN_SLACK = timedelta(seconds=2)
"""By so much finer samples may begin later or end earlier than coarser ones and still cover a trial."""

_STORED = models.CounterSample
COLUMNS = (
    _STORED.host_id,
    _STORED.taken_at,
    type_coerce(_STORED.values, LargeBinary),
    _STORED.run_id,
    _STORED.trial_number,
    _STORED.step_s,
)
"""What a record holds; reading rows of columns takes half as long as reading objects."""


def _records(session: Session, query: _Query) -> tuple[records.StoredSample, ...]:
    return tuple(
        records.StoredSample(
            host_id=host_id,
            taken_at=taken_at,
            values_json=models.inflated(values),
            run_id=run_id,
            trial_number=trial_number,
            step_s=step_s,
        )
        for host_id, taken_at, values, run_id, trial_number, step_s in session.execute(query)
    )


class CounterRepository(RepositoryPart):
    """Queries about counter samples."""

    def add_counter_samples(self, samples: Iterable[records.CounterSample]) -> None:
        """Record samples, all of them or none."""
        rows = [columns_of(sample) for sample in samples]
        if rows:
            with self.database.writing() as session:
                session.execute(insert(models.CounterSample), rows)

    def counter_samples(
        self, host_id: int, since: datetime, until: datetime | None = None, *, step_s: int = 1
    ) -> tuple[records.StoredSample, ...]:
        """The host's samples of a step taken from `since` up to `until` (both included), oldest first."""
        query = (
            select(*COLUMNS)
            .where(
                models.CounterSample.host_id.in_(self._rows_of_machine(host_id)),
                models.CounterSample.step_s == step_s,
                models.CounterSample.taken_at >= since,
            )
            .order_by(models.CounterSample.taken_at)
        )
        if until is not None:
            query = query.where(models.CounterSample.taken_at <= until)
        with self.database.reading() as session:
            return _records(session, query)

    def trial_counter_samples(self, run_id: int, trial_number: int) -> tuple[records.StoredSample, ...]:
        """The samples of a trial, oldest first, in the finest step that is there for all of its time."""
        sample = models.CounterSample
        of_trial = (sample.run_id == run_id, sample.trial_number == trial_number)
        with self.database.reading() as session:
            spans = [
                (step_s, last - first)
                for step_s, first, last in session.execute(
                    select(sample.step_s, func.min(sample.taken_at), func.max(sample.taken_at))
                    .where(*of_trial)
                    .group_by(sample.step_s)
                )
            ]
            if not spans:
                return ()
            # A step is a mean over what may begin before the trial's first finer sample.
            longest = max(span - timedelta(seconds=step_s) for step_s, span in spans)
            step_s = min(step_s for step_s, span in spans if span >= longest - SPAN_SLACK)
            query = select(*COLUMNS).where(*of_trial, sample.step_s == step_s).order_by(sample.taken_at)
            return _records(session, query)

    def prune_counter_samples(self, host_id: int, largest_bytes: int | None = None) -> int:
        """Delete what need not be kept any longer (see the head of this file); how many samples those were.

        `largest_bytes` is what all samples of the host may take up together; None for no bound.
        """
        sample = models.CounterSample
        hosts = self._rows_of_machine(host_id)
        with self.database.writing() as session:
            deleted = 0
            for step_s, age in RETENTION.items():
                stale = delete(sample).where(
                    sample.host_id.in_(hosts), sample.step_s == step_s, sample.taken_at < now() - age
                )
                if step_s == KEPT_WITH_RUN_S:
                    stale = stale.where(sample.run_id.is_(None))
                deleted += session.connection().execute(stale).rowcount
            if largest_bytes is not None:
                deleted += self._cut_down(session, hosts, largest_bytes)
            return deleted

    def _rows_of_machine(self, host_id: int) -> tuple[int, ...]:
        """The records of the host's machine; read by themselves, as an index is looked up by each of them."""
        with self.database.reading() as session:
            return tuple(session.scalars(rows_of_machine(host_id)))

    @staticmethod
    def _cut_down(session: Session, hosts: tuple[int, ...], largest_bytes: int) -> int:
        """Deletes the oldest samples until the rest fits: the finest step is the first to give way."""
        sample = models.CounterSample
        deleted = 0
        for step_s in sorted(RETENTION, reverse=True):
            of_step = (sample.host_id.in_(hosts), sample.step_s == step_s)
            newest = select(func.length(sample.values).label("bytes")).where(*of_step)
            newest = newest.order_by(sample.taken_at.desc()).limit(SIZED_BY)
            mean_bytes = session.scalar(select(func.avg(newest.subquery().c.bytes)))
            if not mean_bytes:
                continue
            count = session.scalar(select(func.count()).where(*of_step)) or 0
            fitting = int(largest_bytes / float(mean_bytes))
            if count > fitting:
                keys = select(sample.id).where(*of_step).order_by(sample.taken_at).limit(count - fitting)
                deleted += session.connection().execute(delete(sample).where(sample.id.in_(keys))).rowcount
                count = fitting
            largest_bytes -= int(count * float(mean_bytes))
        return deleted
