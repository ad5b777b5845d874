"""Between search and confirmation a run finds out which of its best's settings are worth something."""

from __future__ import annotations

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

PHASES = ("preparing", "calibrating", "searching", "eliminating", "confirming", "exporting", "done")
PURPOSES = ("calibration", "search", "elimination", "confirmation")


def upgrade() -> None:
    """Let runs be in that phase, and trials be for it."""
    for table, column, words in (("run", "phase", PHASES), ("trial", "purpose", PURPOSES)):
        name = op.f(f"ck_{table}_{column}")
        listed = ", ".join(f"'{word}'" for word in words)
        with op.batch_alter_table(table) as batch:
            batch.drop_constraint(name, type_="check")
            batch.create_check_constraint(name, f"{column} IN ({listed})")
