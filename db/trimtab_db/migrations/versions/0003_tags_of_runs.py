"""Runs have tags: short words by which their user finds them again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Old runs have none."""
    op.add_column("run", sa.Column("tags", sa.JSON(), nullable=False, server_default="[]"))
