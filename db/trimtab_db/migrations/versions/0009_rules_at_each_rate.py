"""Each measurement says whether the rules held at it.

What was recorded before says so of whole trials only: of a trial that failed, the rates are taken not to have
held, as it is not known which of them did.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("measurement", sa.Column("held", sa.Boolean(), nullable=False, server_default=sa.true()))
    op.execute(
        "UPDATE measurement SET held = FALSE WHERE trial_id IN "
        "(SELECT id FROM trial WHERE verdict = 'failed-verification')"
    )
