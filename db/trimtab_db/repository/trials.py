"""Trials with their measurements, and the proposals they came from."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select
from sqlalchemy.orm import joinedload, selectinload

from trimtab_db import models, records
from trimtab_db.errors import RecordConflictError, RecordNotFoundError
from trimtab_db.repository.base import RepositoryPart, columns_of, now, record_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Select
    from sqlalchemy.orm.interfaces import ORMOption


class TrialRepository(RepositoryPart):
    """Queries about the trials of a run."""

    def record_proposal(
        self,
        run_id: int,
        number: int,
        configuration: records.JsonObject,
        *,
        configuration_hash: str,
        level: int,
        reason: str,
    ) -> records.Proposal:
        """Write down what the strategy asks for, before it is tried. `number` counts from 1 in the run."""
        proposal = records.Proposal(
            run_id=run_id,
            number=number,
            configuration=configuration,
            configuration_hash=configuration_hash,
            level=level,
            reason=reason,
            asked_at=now(),
        )
        with self.database.writing() as session:
            session.add(models.Proposal(**columns_of(proposal, without=["trial_number"])))
        return proposal

    def proposals_of(self, run_id: int) -> tuple[records.Proposal, ...]:
        """What the strategy asked for, in the order of asking; `trial_number` is None if not tried."""
        query = (
            select(models.Proposal)
            .filter_by(run_id=run_id)
            .options(joinedload(models.Proposal.trial).load_only(models.Trial.number))
            .order_by(models.Proposal.number)
        )
        with self.database.reading() as session:
            return tuple(
                record_of(records.Proposal, row, trial_number=row.trial.number if row.trial else None)
                for row in session.scalars(query)
            )

    def record_trial(self, trial: records.Trial) -> None:
        """Record a finished trial with everything in it, in one transaction: all of it or nothing.

        Raises `RecordConflictError` when the run has a trial of this number already, or no such proposal.
        """
        row = models.Trial(**columns_of(trial, without=["proposal_number", "measurements"]))
        row.measurements = [
            models.Measurement(
                **columns_of(measurement, without=["size_classes"]),
                size_classes=[
                    models.SizeClassResult(**columns_of(result)) for result in measurement.size_classes
                ],
            )
            for measurement in trial.measurements
        ]
        with self.database.writing() as session:
            session.add(row)
            if trial.proposal_number is not None:
                proposal = session.scalar(
                    select(models.Proposal).filter_by(run_id=trial.run_id, number=trial.proposal_number)
                )
                if proposal is None:
                    raise RecordConflictError(
                        f"Trial {trial.number} of run {trial.run_id} refers to proposal "
                        f"{trial.proposal_number}, which is not recorded."
                    )
                session.flush()
                proposal.trial_id = row.id

    def trials_of(
        self, run_id: int, *, after: int = 0, limit: int | None = None, size_classes: bool = False
    ) -> tuple[records.Trial, ...]:
        """The run's trials with numbers greater than `after`, ascending, at most `limit` of them.

        They come with their measurements, and those with their size classes if `size_classes` is set.
        """
        query = (
            select(models.Trial)
            .where(models.Trial.run_id == run_id, models.Trial.number > after)
            .options(*_parts(size_classes=size_classes))
            .order_by(models.Trial.number)
            .limit(limit)
        )
        with self.database.reading() as session:
            return tuple(_trial_record(row, size_classes=size_classes) for row in session.scalars(query))

    def trials_numbered(self, run_id: int, numbers: Iterable[int]) -> tuple[records.Trial, ...]:
        """Those of the run's trials, ascending, with everything in them."""
        query = (
            select(models.Trial)
            .where(models.Trial.run_id == run_id, models.Trial.number.in_(numbers))
            .options(*_parts(size_classes=True))
            .order_by(models.Trial.number)
        )
        with self.database.reading() as session:
            return tuple(_trial_record(row, size_classes=True) for row in session.scalars(query))

    def trial_summaries(
        self, run_id: int, *, after: int = 0, limit: int | None = None
    ) -> tuple[records.TrialSummary, ...]:
        """Like `trials_of`, but only what curves and tables show: for runs of thousands of trials."""
        with self.database.reading() as session:
            rows = session.execute(_lines(run_id, after, limit)).all()
            measurements: dict[int, list[records.MeasurementSummary]] = {row.number: [] for row in rows}
            if rows:
                own = (
                    select(models.Trial.number, *_columns(models.Measurement, records.MeasurementSummary))
                    .join(models.Trial.measurements)
                    .where(
                        models.Trial.run_id == run_id,
                        models.Trial.number.between(rows[0].number, rows[-1].number),
                    )
                    .order_by(models.Trial.number, models.Measurement.number)
                )
                for trial_number, *values in session.execute(own):
                    measurements[trial_number].append(records.MeasurementSummary(**_named(values)))
        return tuple(
            records.TrialSummary(**row._asdict(), measurements=tuple(measurements[row.number]))
            for row in rows
        )

    def trial_lines(self, run_id: int) -> tuple[records.TrialLine, ...]:
        """What became of the run's trials, ascending, and nothing of their measurements."""
        with self.database.reading() as session:
            rows = session.execute(_lines(run_id, after=0, limit=None))
            return tuple(records.TrialLine(**row._asdict()) for row in rows)

    def goodput_curves(self, run_id: int) -> dict[int, dict[float, float]]:
        """Goodput in Mbps by rate of each trial of the run, by the trial's number."""
        measurement = models.Measurement
        query = (
            select(models.Trial.number, measurement.rate_rps, measurement.goodput_mbps)
            .join(models.Trial.measurements)
            .where(models.Trial.run_id == run_id)
            .order_by(models.Trial.number, measurement.number)
        )
        curves: dict[int, dict[float, float]] = {}
        with self.database.reading() as session:
            for number, rate_rps, goodput_mbps in session.execute(query):
                curves.setdefault(number, {})[rate_rps] = goodput_mbps
        return curves

    def trials_with(self, run_id: int, configuration_hash: str) -> tuple[records.Trial, ...]:
        """The run's trials of one configuration with their measurements, without size classes."""
        query = (
            select(models.Trial)
            .filter_by(run_id=run_id, configuration_hash=configuration_hash)
            .options(*_parts(size_classes=False))
            .order_by(models.Trial.number)
        )
        with self.database.reading() as session:
            return tuple(_trial_record(row, size_classes=False) for row in session.scalars(query))

    def verified_scores(self, run_id: int) -> tuple[records.VerifiedScore, ...]:
        """The run's search trials that have a score, in one line each."""
        query = (
            select(
                models.Trial.number,
                models.Trial.configuration,
                models.Trial.score,
                func.max(models.Measurement.goodput_mbps).label("peak_mbps"),
            )
            .join(models.Trial.measurements)
            .where(
                models.Trial.run_id == run_id,
                models.Trial.purpose == records.TrialPurpose.SEARCH,
                models.Trial.score.is_not(None),
            )
            .group_by(models.Trial.id)
            .order_by(models.Trial.number)
        )
        with self.database.reading() as session:
            return tuple(records.VerifiedScore(**row._asdict()) for row in session.execute(query))

    def trial(self, run_id: int, number: int) -> records.Trial:
        """One trial with everything in it; raises `RecordNotFoundError`."""
        query = (
            select(models.Trial).filter_by(run_id=run_id, number=number).options(*_parts(size_classes=True))
        )
        with self.database.reading() as session:
            row = session.scalar(query)
            if row is None:
                raise RecordNotFoundError(f"There is no trial {number} of run {run_id}.")
            return _trial_record(row, size_classes=True)


def _parts(*, size_classes: bool) -> tuple[ORMOption, ...]:
    measurements = selectinload(models.Trial.measurements)
    if size_classes:
        measurements = measurements.selectinload(models.Measurement.size_classes)
    return (measurements, joinedload(models.Trial.proposal).load_only(models.Proposal.number))


def _lines(run_id: int, after: int, limit: int | None) -> Select[*tuple[Any, ...]]:
    """The run's trials as rows of the columns of `TrialLine`."""
    return (
        select(*_columns(models.Trial, records.TrialLine, "proposal_number"))
        .add_columns(models.Proposal.number.label("proposal_number"))
        .outerjoin(models.Trial.proposal)
        .where(models.Trial.run_id == run_id, models.Trial.number > after)
        .order_by(models.Trial.number)
        .limit(limit)
    )


def _columns(model: type[models.Base], record: type, *without: str) -> list[Any]:
    """The model's attributes that the record has too, in its order."""
    return [getattr(model, field.name) for field in fields(record) if field.name not in without]


def _named(values: Sequence[Any]) -> dict[str, Any]:
    return dict(zip((field.name for field in fields(records.MeasurementSummary)), values, strict=True))


def _trial_record(row: models.Trial, *, size_classes: bool) -> records.Trial:
    return record_of(
        records.Trial,
        row,
        proposal_number=row.proposal.number if row.proposal else None,
        measurements=tuple(
            record_of(
                records.Measurement,
                measurement,
                size_classes=tuple(
                    record_of(records.SizeClassResult, result) for result in measurement.size_classes
                )
                if size_classes
                else (),
            )
            for measurement in row.measurements
        ),
    )
