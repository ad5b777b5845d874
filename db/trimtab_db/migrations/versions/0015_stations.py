"""Stations of the fleet, and which of them take part in a run."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

ROLES = ("server", "generator")
STATES = ("ready", "draining", "left")


def _words(name: str, *words: str) -> sa.Enum:
    return sa.Enum(*words, name=name, native_enum=False, create_constraint=True, length=32)


def upgrade() -> None:
    """Create the table; runs so far were their host's own affair."""
    op.create_table(
        "station",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("role", _words("role", *ROLES), nullable=False),
        sa.Column("state", _words("state", *STATES), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("facts", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("settled", sa.Boolean(), nullable=False),
        sa.Column("booking_id", sa.Integer(), nullable=True),
        sa.Column("booked_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("joined_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_station_host_id_host")),
        sa.ForeignKeyConstraint(["booking_id"], ["booking.id"], name=op.f("fk_station_booking_id_booking")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_station")),
        sa.UniqueConstraint("name", name=op.f("uq_station_name")),
    )
    op.create_index(op.f("ix_station_booking_id"), "station", ["booking_id"])
    op.add_column("run", sa.Column("fleet", sa.JSON(none_as_null=True), nullable=True))
