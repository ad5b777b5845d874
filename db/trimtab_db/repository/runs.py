"""Runs: what they run on (host, target, workload), what happened in them, what came out of them."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, or_, select, true, update
from sqlalchemy.orm import Session
from trimtab_trials.host import Host
from trimtab_trials.trial import Trial, TrialPurpose

from trimtab_db import models, records
from trimtab_db.errors import RecordChangedError, RecordNotFoundError
from trimtab_db.fleet_models import Booking, Station
from trimtab_db.notes import notes_version
from trimtab_db.records import RunPhase, RunState
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

    from sqlalchemy import ColumnElement, Select


class RunRepository(RepositoryPart):
    """Queries about runs."""

    def register_host(self, host: Host) -> int:
        """Note that `host` was seen now; the same machine in the same state has the same id.

        A machine that is new here takes over what was recorded before machines had ids, as far as that is
        its own: of a file everything, of a database that hosts may have shared what has its name.
        """
        with self.database.writing() as session:
            mine = select(func.count()).where(models.Host.machine_id == host.machine_id)
            if not session.scalar(mine):
                nameless = update(models.Host).where(models.Host.machine_id == "")
                if not self.database.embedded:
                    nameless = nameless.where(models.Host.name == host.name)
                session.execute(nameless.values(machine_id=host.machine_id))
            query = select(models.Host).filter_by(**columns_of(host, without=["topology"]))
            row = found_or_added(session, query, models.Host(**columns_of(host), seen_at=now()))
            row.topology = host.topology
            row.seen_at = now()
            return row.id

    def host(self, host_id: int) -> Host:
        """The host with this id."""
        with self.database.reading() as session:
            row = session.get(models.Host, host_id)
            if row is None:
                raise RecordNotFoundError(f"There is no host {host_id}.", "host")
            return record_of(Host, row)

    def register_target(self, name: str, version: str) -> int:
        """The id of this kind of server in this version."""
        with self.database.writing() as session:
            query = select(models.Target).filter_by(name=name, version=version)
            return found_or_added(session, query, models.Target(name=name, version=version)).id

    def register_workload(
        self, name: str, parameters: records.JsonObject, *, files: int, total_bytes: int
    ) -> int:
        """The id of the workload `name` with exactly these parameters; its file set has `files` files."""
        canonical = json.dumps(parameters, sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(canonical.encode()).hexdigest()[:12]
        with self.database.writing() as session:
            query = select(models.Workload).filter_by(name=name, parameters_hash=digest)
            new = models.Workload(
                name=name, parameters=parameters, parameters_hash=digest, files=files, bytes=total_bytes
            )
            return found_or_added(session, query, new).id

    def create_run(self, new: records.NewRun) -> records.Run:
        """Record a run that starts now: state `running`, phase `preparing`."""
        started_at = now()
        with self.database.writing() as session:
            row = models.Run(
                **columns_of(new, without=["tags"]),
                tags=list(new.tags),
                ladder=[],
                state=RunState.RUNNING,
                phase=RunPhase.PREPARING,
                error="",
                created_at=started_at,
                started_at=started_at,
            )
            session.add(row)
            session.flush()
            return _run_record(row)

    def run(self, run_id: int) -> records.Run:
        """The run with this id; raises `RecordNotFoundError`."""
        with self.database.reading() as session:
            return _run_record(_run_row(session, run_id))

    def runs(
        self, *, limit: int = 50, offset: int = 0, archived: bool = True
    ) -> tuple[records.RunSummary, ...]:
        """The runs, newest first, with how far each has come; without `archived` those are left out."""
        query = _SUMMARIES.where(_listed(archived)).order_by(models.Run.id.desc()).limit(limit).offset(offset)
        with self.database.reading() as session:
            return tuple(_run_summary(*row) for row in session.execute(query))

    def run_summary(self, run_id: int) -> records.RunSummary:
        """The run with this id, and how far it has come; raises `RecordNotFoundError`."""
        with self.database.reading() as session:
            row = session.execute(_SUMMARIES.where(models.Run.id == run_id)).one_or_none()
            if row is None:
                raise _no_run(run_id)
            return _run_summary(*row)

    def count_runs(self, *, archived: bool = True) -> int:
        """How many runs are recorded; without `archived` those are left out."""
        with self.database.reading() as session:
            return session.scalar(select(func.count(models.Run.id)).where(_listed(archived))) or 0

    def count_runs_by_state(self) -> dict[RunState, int]:
        """How many runs are recorded in each state; no entry for a state that none is in."""
        query = select(models.Run.state, func.count()).group_by(models.Run.state)
        with self.database.reading() as session:
            return dict(session.execute(query).all())

    def is_any_running(self) -> bool:
        """Whether a run is recorded as going on, on whichever host."""
        with self.database.reading() as session:
            return (
                session.scalar(select(models.Run.id).filter_by(state=RunState.RUNNING).limit(1)) is not None
            )

    def is_running_here(self, host_id: int, *, over_hosts: bool = False) -> bool:
        """Whether a run of the host's machine is `running`, by what is recorded; one of several hosts if
        `over_hosts`."""
        with self.database.reading() as session:
            return any(_is_over_hosts(row) is over_hosts for row in session.scalars(_running(host_id)))

    def set_run_state(
        self, run_id: int, state: RunState, *, error: str = "", host_id: int | None = None
    ) -> None:
        """Move a run to `state`; `running` begins a stretch of it, on that host, all others end it.

        From `started_at` to `finished_at` is as long as all stretches together: a resumed run started so much
        before it goes on.
        """
        with self.database.writing() as session:
            row = _run_row(session, run_id)
            row.host_id = host_id or row.host_id
            row.state = state
            row.error = error
            if state is RunState.RUNNING:
                so_far = (row.finished_at or row.started_at) - row.started_at
                row.started_at, row.finished_at = now() - so_far, None
            else:
                # A clock that was set back meanwhile makes no stretch that is less than none.
                row.finished_at = max(now(), row.started_at)

    def set_run_phase(self, run_id: int, phase: RunPhase) -> None:
        """Note what the run is doing now."""
        with self.database.writing() as session:
            _run_row(session, run_id).phase = phase

    def set_run_ladder(self, run_id: int, ladder: Sequence[float]) -> None:
        """Record the ladder that a run begins with: rates in requests per second, ascending."""
        with self.database.writing() as session:
            _run_row(session, run_id).ladder = list(ladder)

    def grow_run_ladder(self, run_id: int, ladder: Sequence[float], rescored: Sequence[Trial]) -> None:
        """Record a longer ladder, or that the run begins anew without one, and with it what the trials have
        become, in one transaction.

        Of a trial its verdict with the reason and its scores are taken over.
        """
        judged = ("verdict", "reason", "score", "second_score", "estimated_score")
        with self.database.writing() as session:
            _run_row(session, run_id).ladder = list(ladder)
            for trial in rescored:
                session.execute(
                    update(models.Trial)
                    .where(models.Trial.run_id == run_id, models.Trial.number == trial.number)
                    .values({name: getattr(trial, name) for name in judged})
                )

    def set_run_layout(
        self, run_id: int, layout: records.JsonObject, space: records.JsonObject | None = None
    ) -> None:
        """Record how the CPUs are divided from now on, and the space if that follows them."""
        with self.database.writing() as session:
            row = _run_row(session, run_id)
            row.layout = layout
            if space is not None:
                row.space = space

    def set_run_outcome(self, run_id: int, outcome: records.JsonObject) -> None:
        """Record what the run found."""
        with self.database.writing() as session:
            _run_row(session, run_id).outcome = outcome

    def set_run_notes(
        self,
        run_id: int,
        *,
        name: str | None = None,
        archived: bool | None = None,
        notes: str | None = None,
        tags: Sequence[str] | None = None,
        if_version: str | None = None,
    ) -> None:
        """Replace what its user says of the run; None leaves it as it is.

        Raises `RecordNotFoundError`, and `RecordChangedError` where its words have another `notes_version`
        than `if_version`.
        """
        with self.database.writing() as session:
            row = _run_row(session, run_id, locked=if_version is not None)
            if if_version not in (None, notes_version(row.name, row.notes, row.tags)):
                raise RecordChangedError(
                    f"The name, notes or tags of run {run_id} have been changed meanwhile."
                )
            if name is not None:
                row.name = name
            if archived is not None:
                row.archived = archived
            if notes is not None:
                row.notes = notes
            if tags is not None:
                row.tags = list(tags)

    def interrupt_running_runs(self, host_id: int, *, over_hosts: bool = False) -> tuple[int, ...]:
        """Mark every run of the host's machine that is still `running` as interrupted, and say which.

        For whoever has just found that no run can be going on there: an agent that holds the machine's lock;
        or that of runs `over_hosts`, which the machine only decides.
        """
        with self.database.writing() as session:
            rows = [row for row in session.scalars(_running(host_id)) if _is_over_hosts(row) is over_hosts]
            for row in rows:
                row.state = RunState.INTERRUPTED
                row.error = "The agent ended while this run was going on."
                # When it ended nobody knows; what it did last is recorded.
                trials = select(func.max(models.Trial.finished_at)).where(models.Trial.run_id == row.id)
                events = select(func.max(models.Event.at)).where(models.Event.run_id == row.id)
                known = (session.scalar(trials), session.scalar(events))
                row.finished_at = max([row.started_at, *(at for at in known if at is not None)])
            return tuple(row.id for row in rows)

    def began_with(self, path: str) -> bool:
        """Whether a run began with the user's own configuration file at this path."""
        named = [file["path"].as_string() for file in (models.Run.base, models.Run.base["new"])]
        with self.database.reading() as session:
            return (
                session.scalar(select(models.Run.id).where(or_(*(name == path for name in named))))
                is not None
            )

    def delete_run(self, run_id: int) -> None:
        """Forget a run with its trials, bookings, events and exports; raises `RecordNotFoundError`.

        Samples and changes of settings are the machine's: they stay, and belong to no run any more.
        """
        trials = select(models.Trial.id).filter_by(run_id=run_id)
        measurements = select(models.Measurement.id).where(models.Measurement.trial_id.in_(trials))
        with self.database.writing() as session:
            _run_row(session, run_id)
            sizes = delete(models.SizeClassResult)
            session.execute(sizes.where(models.SizeClassResult.measurement_id.in_(measurements)))
            session.execute(delete(models.Measurement).where(models.Measurement.trial_id.in_(trials)))
            held = Station.booking_id.in_(select(Booking.id).filter_by(run_id=run_id))
            session.execute(update(Station).where(held).values(booking_id=None, booked_until=None))
            for of_run in (Booking, models.Proposal, models.Trial, models.Event, models.Export):
                session.execute(delete(of_run).where(of_run.run_id == run_id))
            for of_machine in (models.CounterSample, models.OsChange):
                session.execute(update(of_machine).where(of_machine.run_id == run_id).values(run_id=None))
            session.execute(delete(models.Run).where(models.Run.id == run_id))

    def add_event(
        self, run_id: int, level: str, message: str, data: records.JsonObject | None = None
    ) -> records.Event:
        """Record that something happened now."""
        event = records.Event(run_id=run_id, at=now(), level=level, message=message, data=data or {})
        with self.database.writing() as session:
            session.add(models.Event(**columns_of(event)))
        return event

    def events(self, run_id: int) -> tuple[records.Event, ...]:
        """What happened in a run, oldest first."""
        query = select(models.Event).filter_by(run_id=run_id).order_by(models.Event.at, models.Event.id)
        with self.database.reading() as session:
            _run_row(session, run_id)
            return tuple(record_of(records.Event, row) for row in session.scalars(query))

    def record_export(self, export: records.Export) -> None:
        """Record an exported configuration in place of the run's earlier one of the same format."""
        with self.database.writing() as session:
            query = select(models.Export).filter_by(run_id=export.run_id, format=export.format)
            row = found_or_added(session, query, models.Export(**columns_of(export)))
            for name, value in columns_of(export).items():
                setattr(row, name, value)

    def exports(self, run_id: int) -> tuple[records.Export, ...]:
        """The run's exported configurations, by format."""
        query = select(models.Export).filter_by(run_id=run_id).order_by(models.Export.format)
        with self.database.reading() as session:
            _run_row(session, run_id)
            return tuple(record_of(records.Export, row) for row in session.scalars(query))


def _listed(archived: bool) -> ColumnElement[bool]:
    """Whether a run belongs on a list; with `archived` every one does."""
    return true() if archived else models.Run.archived.is_(False)


def _running(host_id: int) -> Select[models.Run]:
    return select(models.Run).where(
        models.Run.state == RunState.RUNNING, models.Run.host_id.in_(rows_of_machine(host_id))
    )


def _run_row(session: Session, run_id: int, *, locked: bool = False) -> models.Run:
    row = session.get(models.Run, run_id, with_for_update=locked)
    if row is None:
        raise _no_run(run_id)
    return row


def _no_run(run_id: int) -> RecordNotFoundError:
    return RecordNotFoundError(f"There is no run {run_id}.", "run")


_SUMMARIES = select(
    models.Run,
    select(func.count()).where(models.Trial.run_id == models.Run.id).scalar_subquery(),
    select(func.avg(models.Trial.score))
    .where(
        models.Trial.run_id == models.Run.id,
        models.Trial.purpose == TrialPurpose.SEARCH,
        models.Trial.score.is_not(None),
    )
    .group_by(models.Trial.configuration_hash)
    .order_by(func.avg(models.Trial.score).desc())
    .limit(1)
    .scalar_subquery(),
)
"""Runs with the number of their trials and the highest mean score of a configuration in their search."""


def _run_summary(row: models.Run, trials: int, best_score: float | None) -> records.RunSummary:
    return records.RunSummary(run=_run_record(row), trials=trials, best_score=best_score)


def _run_record(row: models.Run) -> records.Run:
    return record_of(
        records.Run,
        row,
        host=row.host.name,
        machine_id=row.host.machine_id,
        target=row.target.name,
        target_version=row.target.version,
        workload=row.workload.name,
        workload_parameters=row.workload.parameters,
        ladder=tuple(row.ladder),
        tags=tuple(row.tags),
    )


def _is_over_hosts(row: models.Run) -> bool:
    """Whether its trials are carried out by stations of the fleet."""
    return bool(row.fleet and row.fleet.get("hosts"))
