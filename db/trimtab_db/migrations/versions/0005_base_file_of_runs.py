"""A run may begin with a user's own configuration file, which is kept with it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Old runs began with the server's defaults."""
    op.add_column("run", sa.Column("base", sa.JSON(), nullable=False, server_default="{}"))
