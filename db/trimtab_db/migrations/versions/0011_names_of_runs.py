"""Runs have names, and can be put into the archive."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Old runs have no name, and none is in the archive."""
    op.add_column("run", sa.Column("name", sa.String(), nullable=False, server_default=""))
    op.add_column("run", sa.Column("archived", sa.Boolean(), nullable=False, server_default=sa.false()))
