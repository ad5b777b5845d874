"""A live session knows when its process began, which tells it from a later one of the same number."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Sessions of an earlier version ended with its processes: no process begins with the boot."""
    op.add_column(
        "live_session", sa.Column("process_started", sa.BigInteger(), nullable=False, server_default="0")
    )
