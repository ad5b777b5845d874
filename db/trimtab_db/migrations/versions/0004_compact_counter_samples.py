"""Counter samples are deflated, and there are means of ten seconds and of a minute beside them."""

from __future__ import annotations

import json
import zlib

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

BATCH = 1000


def upgrade() -> None:
    """Deflates what is there, in place."""
    with op.batch_alter_table("counter_sample") as table:
        table.add_column(sa.Column("step_s", sa.Integer(), nullable=False, server_default="1"))
        table.add_column(sa.Column("compact", sa.LargeBinary(), nullable=True))
    connection = op.get_bind()
    sample = sa.table(
        "counter_sample",
        sa.column("id", sa.Integer),
        sa.column("values", sa.JSON),
        sa.column("compact", sa.LargeBinary),
    )
    last = 0
    while rows := connection.execute(
        sa.select(sample.c.id, sample.c["values"])
        .where(sample.c.id > last)
        .order_by(sample.c.id)
        .limit(BATCH)
    ).all():
        last = rows[-1][0]
        connection.execute(
            sa.update(sample)
            .where(sample.c.id == sa.bindparam("key"))
            .values(compact=sa.bindparam("deflated")),
            [
                {
                    "key": key,
                    "deflated": zlib.compress(json.dumps(values, separators=(",", ":")).encode(), 1),
                }
                for key, values in rows
            ],
        )
    with op.batch_alter_table("counter_sample") as table:
        table.drop_index("ix_counter_sample_host_id_taken_at")
        table.drop_column("values")
        table.alter_column(
            "compact", new_column_name="values", existing_type=sa.LargeBinary(), nullable=False
        )
        table.create_index("ix_counter_sample_host_id_step_s_taken_at", ["host_id", "step_s", "taken_at"])
