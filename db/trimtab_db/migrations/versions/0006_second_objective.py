"""A run may have a second objective, and a trial may be stopped early with an estimate of its score."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Old runs had one objective, and their trials were measured at every rate."""
    op.add_column("run", sa.Column("second_objective", sa.String(), nullable=True))
    op.add_column("trial", sa.Column("second_score", sa.Double(), nullable=True))
    op.add_column("trial", sa.Column("estimated_score", sa.Double(), nullable=True))
