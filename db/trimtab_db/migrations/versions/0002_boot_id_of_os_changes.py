"""The journal of operating-system settings knows in which boot a setting was touched: none outlives it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Old lines get no boot id, which means: it may still be in force."""
    with op.batch_alter_table("os_change") as table:
        table.add_column(sa.Column("boot_id", sa.String(), nullable=False, server_default=""))
