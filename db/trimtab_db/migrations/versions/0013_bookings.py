"""Bookings: repetitions of trials that stations carry out, each under a lease with a fencing token."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

STATES = ("free", "booked", "committed")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "booking",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("trial_number", sa.Integer(), nullable=False),
        sa.Column("repetition", sa.Integer(), nullable=False),
        sa.Column("job", sa.JSON(none_as_null=True), nullable=False),
        sa.Column(
            "state",
            sa.Enum(*STATES, name="state", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("result", sa.LargeBinary(), nullable=True),
        sa.Column("committed_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_booking_run_id_run")),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_booking_host_id_host")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_booking")),
        sa.UniqueConstraint(
            "run_id", "trial_number", "repetition", name=op.f("uq_booking_run_id_trial_number_repetition")
        ),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_booking_run_id_state"), "booking", ["run_id", "state"])
