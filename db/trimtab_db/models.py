"""The tables, as SQLAlchemy models. What the columns mean stands with what they carry: `records.py`, and for
trials and measurements `trimtab_trials`. Those of live tuning are in `live_models.py`, bookings in
`fleet_models.py`.

DESIGN: every key is an integer of the database's own; what is unique in the world besides (a trial's number
in its run, a workload's parameters) is a unique constraint, which serves as index at the same time. Counts
and figures that are compared, sorted or plotted are columns; what is only shown again is JSON. Nothing here
is particular to SQLite.

A counter sample names its trial by number and not by key: it is written while the trial runs, and a trial is
recorded only when it has finished.
"""

from __future__ import annotations

import json
import zlib
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Dialect,
    Enum,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    TypeDecorator,
    UniqueConstraint,
    false,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, composite, mapped_column, relationship
from trimtab_trials.measurement import Latency, RequestCounts, SessionCounts
from trimtab_trials.trial import TrialPurpose

from trimtab_db.records import RunPhase, RunState


class UtcDateTime(TypeDecorator[datetime]):
    """An aware point in time. SQLite keeps no time zone, so in there it is always UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse a naive time rather than guess where it was read off a clock."""
        if value is not None and value.tzinfo is None:
            raise ValueError(f"the time {value.isoformat()} has no time zone: expected an aware datetime")
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Give back what SQLite dropped."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class CompactJson(TypeDecorator[dict[str, Any]]):
    """JSON, deflated: a sample a second is most of the database, and its keys are the same every time."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: dict[str, Any] | None, dialect: Dialect) -> bytes | None:
        """Level 1: twice as fast as the default, and hardly larger."""
        return (
            None
            if value is None
            else zlib.compress(json.dumps(value, separators=(",", ":")).encode(), level=1)
        )

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> dict[str, Any] | None:
        """As it was given."""
        return None if value is None else json.loads(inflated(value))


def inflated(stored: bytes) -> bytes:
    """The JSON text behind a value of `CompactJson`."""
    return zlib.decompress(stored)


def words(enum: type[StrEnum], name: str) -> Enum:
    """A text column that holds only the words of `enum` (no type of PostgreSQL's own: hard to extend)."""
    return Enum(
        enum,
        native_enum=False,
        create_constraint=True,
        length=32,
        name=name,
        values_callable=lambda members: [member.value for member in members],
    )


class Base(DeclarativeBase):
    """The common ancestor; constraints get names so that migrations can refer to them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy reads it off the class
        datetime: UtcDateTime,
        dict[str, Any]: JSON(none_as_null=True),
        list[float]: JSON,
        list[str]: JSON,
    }


class Host(Base):
    """`trimtab_trials.host.Host`; the same machine with another kernel is another row, so that old runs stay
    true.

    Whose a row is (a trial's, a sample's, a setting's) is asked by machine, over all rows of that machine.
    """

    __tablename__ = "host"
    __table_args__ = (UniqueConstraint("machine_id", "name", "kernel", "cpu_model", "cpus", "memory_bytes"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    machine_id: Mapped[str]
    name: Mapped[str]
    kernel: Mapped[str]
    cpu_model: Mapped[str]
    cpus: Mapped[int]
    memory_bytes: Mapped[int] = mapped_column(BigInteger)
    topology: Mapped[dict[str, Any]]
    seen_at: Mapped[datetime]


class Target(Base):
    """A kind of server in one version."""

    __tablename__ = "target"
    __table_args__ = (UniqueConstraint("name", "version"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    version: Mapped[str]


class Workload(Base):
    """A workload with all its parameters; `parameters_hash` is what tells two of the same name apart."""

    __tablename__ = "workload"
    __table_args__ = (UniqueConstraint("name", "parameters_hash"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    parameters: Mapped[dict[str, Any]]
    parameters_hash: Mapped[str]
    files: Mapped[int]
    bytes: Mapped[int] = mapped_column(BigInteger)


class Run(Base):
    """`records.Run`."""

    __tablename__ = "run"

    id: Mapped[int] = mapped_column(primary_key=True)
    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"))
    target_id: Mapped[int] = mapped_column(ForeignKey("target.id"))
    workload_id: Mapped[int] = mapped_column(ForeignKey("workload.id"))
    preset: Mapped[str]
    strategy: Mapped[str]
    objective: Mapped[str]
    second_objective: Mapped[str | None]
    space: Mapped[dict[str, Any]]
    settings: Mapped[dict[str, Any]]
    seed: Mapped[int] = mapped_column(BigInteger)
    budget_trials: Mapped[int]
    layout: Mapped[dict[str, Any]]
    ladder: Mapped[list[float]]
    state: Mapped[RunState] = mapped_column(words(RunState, "state"), index=True)
    phase: Mapped[RunPhase] = mapped_column(words(RunPhase, "phase"))
    error: Mapped[str]
    base: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    fleet: Mapped[dict[str, Any] | None]
    name: Mapped[str] = mapped_column(server_default="")
    archived: Mapped[bool] = mapped_column(server_default=false())
    notes: Mapped[str]
    tags: Mapped[list[str]] = mapped_column(server_default="[]")
    created_at: Mapped[datetime]
    started_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    outcome: Mapped[dict[str, Any] | None]

    host: Mapped[Host] = relationship(lazy="joined", innerjoin=True)
    target: Mapped[Target] = relationship(lazy="joined", innerjoin=True)
    workload: Mapped[Workload] = relationship(lazy="joined", innerjoin=True)


class Trial(Base):
    """`trimtab_trials.trial.Trial`. The second index finds the best score of a run without reading its
    trials.
    """

    __tablename__ = "trial"
    __table_args__ = (
        UniqueConstraint("run_id", "number"),
        Index(None, "run_id", "purpose", "score"),
        Index(None, "run_id", "configuration_hash"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"))
    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"))
    number: Mapped[int]
    purpose: Mapped[TrialPurpose] = mapped_column(words(TrialPurpose, "purpose"))
    level: Mapped[int]
    block: Mapped[int]
    configuration: Mapped[dict[str, Any]]
    configuration_hash: Mapped[str]
    verdict: Mapped[str]
    reason: Mapped[str]
    score: Mapped[float | None]
    second_score: Mapped[float | None]
    estimated_score: Mapped[float | None]
    server_config: Mapped[str]
    started_at: Mapped[datetime]
    finished_at: Mapped[datetime]

    measurements: Mapped[list[Measurement]] = relationship(lazy="raise", order_by="Measurement.number")
    proposal: Mapped[Proposal | None] = relationship(lazy="raise", back_populates="trial")


class Measurement(Base):
    """Its `Measurement`; the three distributions and the two sets of counts are groups of columns."""

    __tablename__ = "measurement"
    __table_args__ = (UniqueConstraint("trial_id", "number"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    trial_id: Mapped[int] = mapped_column(ForeignKey("trial.id"))
    number: Mapped[int]
    rate_rps: Mapped[float]
    duration_s: Mapped[float]
    warmup_s: Mapped[float]
    elapsed_s: Mapped[float]
    goodput_mbps: Mapped[float]
    reply_rate_rps: Mapped[float]
    due_rate_rps: Mapped[float | None]
    bytes_received: Mapped[int] = mapped_column(BigInteger)
    sessions: Mapped[SessionCounts] = composite(
        mapped_column("sessions_offered", BigInteger),
        mapped_column("sessions_started", BigInteger),
        mapped_column("sessions_completed", BigInteger),
        mapped_column("sessions_timed_out_connect", BigInteger),
        mapped_column("sessions_timed_out", BigInteger),
        mapped_column("sessions_failed", BigInteger),
        mapped_column("sessions_dropped", BigInteger),
    )
    requests: Mapped[RequestCounts] = composite(
        mapped_column("requests_offered", BigInteger),
        mapped_column("requests_replied", BigInteger),
        mapped_column("requests_timed_out_before_read", BigInteger),
        mapped_column("requests_timed_out_after_read", BigInteger),
        mapped_column("requests_failed", BigInteger),
        mapped_column("requests_abandoned", BigInteger),
        mapped_column("requests_dropped", BigInteger),
    )
    connect_latency: Mapped[Latency] = composite(
        mapped_column("connect_p50_us"),
        mapped_column("connect_p90_us"),
        mapped_column("connect_p99_us"),
        mapped_column("connect_p999_us"),
        mapped_column("connect_max_us"),
        mapped_column("connect_mean_us"),
    )
    first_byte_latency: Mapped[Latency] = composite(
        mapped_column("first_byte_p50_us"),
        mapped_column("first_byte_p90_us"),
        mapped_column("first_byte_p99_us"),
        mapped_column("first_byte_p999_us"),
        mapped_column("first_byte_max_us"),
        mapped_column("first_byte_mean_us"),
    )
    reply_latency: Mapped[Latency] = composite(
        mapped_column("reply_p50_us"),
        mapped_column("reply_p90_us"),
        mapped_column("reply_p99_us"),
        mapped_column("reply_p999_us"),
        mapped_column("reply_max_us"),
        mapped_column("reply_mean_us"),
    )
    failures: Mapped[dict[str, Any]]
    health: Mapped[dict[str, Any]]
    server_stats: Mapped[dict[str, Any]]
    counters: Mapped[dict[str, Any]]
    generator_limited: Mapped[bool]
    held: Mapped[bool]

    size_classes: Mapped[list[SizeClassResult]] = relationship(
        lazy="raise", order_by="SizeClassResult.size_bytes"
    )


class SizeClassResult(Base):
    """`SizeClassCounts` of a measurement."""

    __tablename__ = "size_class_result"
    __table_args__ = (UniqueConstraint("measurement_id", "size_bytes"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    measurement_id: Mapped[int] = mapped_column(ForeignKey("measurement.id"))
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    asked: Mapped[int] = mapped_column(BigInteger)
    replied: Mapped[int] = mapped_column(BigInteger)
    timed_out_before_read: Mapped[int] = mapped_column(BigInteger)
    timed_out_after_read: Mapped[int] = mapped_column(BigInteger)
    failed: Mapped[int] = mapped_column(BigInteger)
    abandoned: Mapped[int] = mapped_column(BigInteger)


class Proposal(Base):
    """`records.RecordedProposal`."""

    __tablename__ = "proposal"
    __table_args__ = (UniqueConstraint("run_id", "number"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"))
    number: Mapped[int]
    configuration: Mapped[dict[str, Any]]
    configuration_hash: Mapped[str]
    level: Mapped[int]
    reason: Mapped[str]
    asked_at: Mapped[datetime]
    trial_id: Mapped[int | None] = mapped_column(ForeignKey("trial.id"), unique=True)

    trial: Mapped[Trial | None] = relationship(lazy="raise", back_populates="proposal")


class CounterSample(Base):
    """`records.CounterSample`. Read by window (host, step, time) and by trial; both have their index."""

    __tablename__ = "counter_sample"
    __table_args__ = (
        Index(None, "host_id", "step_s", "taken_at"),
        Index(None, "run_id", "trial_number", "taken_at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"))
    taken_at: Mapped[datetime]
    run_id: Mapped[int | None] = mapped_column(ForeignKey("run.id"))
    trial_number: Mapped[int | None]
    step_s: Mapped[int] = mapped_column(server_default="1")
    values: Mapped[dict[str, Any]] = mapped_column(CompactJson)


class OsChange(Base):
    """`records.OsChange`."""

    __tablename__ = "os_change"

    id: Mapped[int] = mapped_column(primary_key=True)
    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"))
    run_id: Mapped[int | None] = mapped_column(ForeignKey("run.id"))
    by_hand: Mapped[bool]
    boot_id: Mapped[str] = mapped_column(server_default="")
    path: Mapped[str]
    value_before: Mapped[str]
    value_after: Mapped[str]
    recorded_at: Mapped[datetime]
    applied_at: Mapped[datetime | None]
    restored_at: Mapped[datetime | None] = mapped_column(index=True)


class Event(Base):
    """`records.Event`."""

    __tablename__ = "event"
    __table_args__ = (Index(None, "run_id", "at"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"))
    at: Mapped[datetime]
    level: Mapped[str]
    message: Mapped[str]
    data: Mapped[dict[str, Any]]


class Export(Base):
    """`records.Export`; exporting a run again replaces the earlier text of that format."""

    __tablename__ = "export"
    __table_args__ = (UniqueConstraint("run_id", "format"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"))
    format: Mapped[str]
    file_name: Mapped[str]
    text: Mapped[str]
    check_command: Mapped[str]
    check_ok: Mapped[bool]
    check_output: Mapped[str]
    created_at: Mapped[datetime]
