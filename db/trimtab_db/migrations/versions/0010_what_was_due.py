"""Each measurement says how many requests were due in its window.

Of what was recorded before nobody knows.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("measurement", sa.Column("due_rate_rps", sa.Double(), nullable=True))
