"""Trials with their measurements, and the proposals they came from."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import insert, select
from sqlalchemy.orm import joinedload, selectinload
from trimtab_trials.measurement import CURVE, Measurement, SizeClassCounts
from trimtab_trials.trial import Trial, Verdict

from trimtab_db import models, records
from trimtab_db.errors import RecordConflictError, RecordNotFoundError
from trimtab_db.repository.base import RepositoryPart, columns_of, now, record_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Select, Table
    from sqlalchemy.orm import Session
    from sqlalchemy.orm.interfaces import ORMOption

LINE = tuple(
    name.name
    for name in fields(Trial)
    if name.name not in ("proposal_number", "server_config", "measurements")
)
"""What became of a trial, without what it measured."""


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
    ) -> records.RecordedProposal:
        """Write down what the strategy asks for, before it is tried. `number` counts from 1 in the run."""
        proposal = records.RecordedProposal(
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

    def proposals_of(self, run_id: int) -> tuple[records.RecordedProposal, ...]:
        """What the strategy asked for, in the order of asking; `trial_number` is None if not tried."""
        query = (
            select(models.Proposal)
            .filter_by(run_id=run_id)
            .options(joinedload(models.Proposal.trial).load_only(models.Trial.number))
            .order_by(models.Proposal.number)
        )
        with self.database.reading() as session:
            return tuple(
                record_of(records.RecordedProposal, row, trial_number=row.trial.number if row.trial else None)
                for row in session.scalars(query)
            )

    def record_trial(self, trial: Trial) -> None:
        """Record a finished trial with everything in it, in one transaction: all of it or nothing.

        Raises `RecordConflictError` when the run has a trial of this number already, or no such proposal.
        """
        with self.database.writing() as session:
            trial_id = _added(
                session,
                models.Trial,
                columns_of(trial, without=["proposal_number", "measurements"])
                | {"configuration_hash": trial.configuration_hash},
            )
            for measurement in trial.measurements:
                own = columns_of(measurement, without=["size_classes"]) | {"trial_id": trial_id}
                own_id = _added(session, models.Measurement, own)
                if measurement.size_classes:
                    session.execute(
                        insert(_table(models.SizeClassResult)),
                        [columns_of(each) | {"measurement_id": own_id} for each in measurement.size_classes],
                    )
            if trial.proposal_number is not None:
                proposal = session.scalar(
                    select(models.Proposal).filter_by(run_id=trial.run_id, number=trial.proposal_number)
                )
                if proposal is None:
                    raise RecordConflictError(
                        f"Trial {trial.number} of run {trial.run_id} refers to proposal "
                        f"{trial.proposal_number}, which is not recorded."
                    )
                proposal.trial_id = trial_id

    def trials(self, run_id: int) -> tuple[Trial, ...]:
        """What became of the run's trials, ascending by number, and nothing of what they measured."""
        with self.database.reading() as session:
            return tuple(_trial(row) for row in session.execute(_lines(run_id)))

    def order_of_recording(self, run_id: int) -> tuple[int, ...]:
        """The numbers of the run's trials as they were recorded one after the other: with several hosts that
        is not in the order of the numbers.
        """
        query = select(models.Trial.number).filter_by(run_id=run_id).order_by(models.Trial.id)
        with self.database.reading() as session:
            return tuple(session.scalars(query))

    def trials_with_curves(
        self, run_id: int, *, after: int = 0, limit: int | None = None, configuration_hash: str | None = None
    ) -> tuple[Trial, ...]:
        """The run's trials with numbers greater than `after`, ascending, at most `limit` of them.

        Of their measurements there is what curves and tables show: for runs of thousands of trials.
        """
        lines = _lines(run_id).where(models.Trial.number > after).limit(limit)
        if configuration_hash is not None:
            lines = lines.where(models.Trial.configuration_hash == configuration_hash)
        with self.database.reading() as session:
            rows = session.execute(lines).all()
            if not rows:
                return ()
            measurements: dict[int, list[Measurement]] = {row.number: [] for row in rows}
            own = (
                select(models.Trial.number, *(getattr(models.Measurement, name) for name in CURVE))
                .join(models.Trial.measurements)
                .where(
                    models.Trial.run_id == run_id,
                    models.Trial.number.between(rows[0].number, rows[-1].number),
                )
                .order_by(models.Trial.number, models.Measurement.number)
            )
            if configuration_hash is not None:
                own = own.where(models.Trial.configuration_hash == configuration_hash)
            for trial_number, *values in session.execute(own):
                measurements[trial_number].append(Measurement(**dict(zip(CURVE, values, strict=True))))
        return tuple(_trial(row, measurements=tuple(measurements[row.number])) for row in rows)

    def whole_trials(
        self,
        run_id: int,
        *,
        after: int = 0,
        limit: int | None = None,
        numbers: Collection[int] | None = None,
        size_classes: bool = True,
    ) -> tuple[Trial, ...]:
        """The run's trials with everything in them, ascending; `numbers` names those that are wanted.

        `size_classes` are most of the work: without them measurements have none.
        """
        query = (
            select(models.Trial)
            .where(models.Trial.run_id == run_id, models.Trial.number > after)
            .options(*_parts(size_classes=size_classes))
            .order_by(models.Trial.number)
            .limit(limit)
        )
        if numbers is not None:
            query = query.where(models.Trial.number.in_(numbers))
        with self.database.reading() as session:
            return tuple(_whole_trial(row, size_classes=size_classes) for row in session.scalars(query))

    def trial(self, run_id: int, number: int) -> Trial:
        """One trial with everything in it; raises `RecordNotFoundError`."""
        query = (
            select(models.Trial).filter_by(run_id=run_id, number=number).options(*_parts(size_classes=True))
        )
        with self.database.reading() as session:
            row = session.scalar(query)
            if row is None:
                raise RecordNotFoundError(f"There is no trial {number} of run {run_id}.", "trial")
            return _whole_trial(row, size_classes=True)

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


def _added(session: Session, model: type[models.Base], values: records.JsonObject) -> int:
    """Adds a row, and gives its id. Rows that nobody changes afterwards need not be watched objects, which
    take three times as long to write; nor has the statement, which is the same each time, to hold the values.
    """
    row = dict(values)
    for group in model.__mapper__.composites:
        parts = row.pop(group.key)
        row |= {
            column.name: getattr(parts, part.name)
            for column, part in zip(group.columns, fields(parts), strict=True)
        }
    table = _table(model)
    added: int = session.execute(insert(table).returning(table.c.id), row).scalar_one()
    return added


def _table(model: type[models.Base]) -> Table:
    return cast("Table", model.__table__)


def _parts(*, size_classes: bool) -> tuple[ORMOption, ...]:
    measurements = selectinload(models.Trial.measurements)
    if size_classes:
        measurements = measurements.selectinload(models.Measurement.size_classes)
    return (measurements, joinedload(models.Trial.proposal).load_only(models.Proposal.number))


def _lines(run_id: int) -> Select[*tuple[Any, ...]]:
    """The run's trials as rows of what became of them."""
    return (
        select(*(getattr(models.Trial, name) for name in (*LINE, "configuration_hash")))
        .add_columns(models.Proposal.number.label("proposal_number"))
        .outerjoin(models.Trial.proposal)
        .where(models.Trial.run_id == run_id)
        .order_by(models.Trial.number)
    )


def _trial(row: Any, **further: Any) -> Trial:  # noqa: ANN401 - a row of columns, or a whole one
    values = {name: getattr(row, name) for name in LINE}
    values["verdict"] = Verdict(values["verdict"])
    number = row.proposal_number if "proposal_number" not in further else further.pop("proposal_number")
    trial = Trial(**values, proposal_number=number, **further)
    # It is recorded: no need to work it out again for thousands of them.
    vars(trial)["configuration_hash"] = row.configuration_hash
    return trial


def _whole_trial(row: models.Trial, *, size_classes: bool) -> Trial:
    return _trial(
        row,
        proposal_number=row.proposal.number if row.proposal else None,
        server_config=row.server_config,
        measurements=tuple(
            record_of(
                Measurement,
                measurement,
                size_classes=tuple(record_of(SizeClassCounts, counts) for counts in measurement.size_classes)
                if size_classes
                else (),
            )
            for measurement in row.measurements
        ),
    )
