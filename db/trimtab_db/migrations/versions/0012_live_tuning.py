"""Live tuning: its sessions, what they decided, what their arms did, and the configurations in force."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

MODES = ("advise", "canary", "auto")
STATES = ("observing", "episode", "waiting-for-a-person", "promoting", "watching", "ended")


def upgrade() -> None:
    """Create the four tables."""
    op.create_table(
        "live_session",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("target", sa.String(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("addresses", sa.JSON(), nullable=False),
        sa.Column("unit", sa.String(), nullable=False),
        sa.Column("file", sa.String(), nullable=False),
        sa.Column("mode", _words(MODES, "mode"), nullable=False),
        sa.Column("settings", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("process", sa.Integer(), nullable=False),
        sa.Column("state", _words(STATES, "state"), nullable=False),
        sa.Column("sentence", sa.String(), nullable=False),
        sa.Column("share", sa.Double(), nullable=False),
        sa.Column("context", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("asked", sa.String(), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_live_session_host_id_host")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_live_session")),
    )
    op.create_index(op.f("ix_live_session_host_id"), "live_session", ["host_id"])
    op.create_table(
        "live_decision",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("sentence", sa.String(), nullable=False),
        sa.Column("share", sa.Double(), nullable=False),
        sa.Column("configuration", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("evidence", sa.JSON(none_as_null=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"], ["live_session.id"], name=op.f("fk_live_decision_session_id_live_session")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_live_decision")),
    )
    op.create_index(op.f("ix_live_decision_session_id"), "live_decision", ["session_id"])
    op.create_table(
        "live_sample",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"], ["live_session.id"], name=op.f("fk_live_sample_session_id_live_session")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_live_sample")),
    )
    op.create_index(op.f("ix_live_sample_session_id_at"), "live_sample", ["session_id", "at"])
    op.create_table(
        "live_incumbents",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("target", sa.String(), nullable=False),
        sa.Column("file", sa.String(), nullable=False),
        sa.Column("document", sa.JSON(none_as_null=True), nullable=False),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_live_incumbents_host_id_host")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_live_incumbents")),
        sa.UniqueConstraint("host_id", "target", "file", name=op.f("uq_live_incumbents_host_id_target_file")),
    )


def _words(allowed: tuple[str, ...], name: str) -> sa.Enum:
    """A text column that holds only these words."""
    return sa.Enum(*allowed, name=name, native_enum=False, create_constraint=True, length=32)
