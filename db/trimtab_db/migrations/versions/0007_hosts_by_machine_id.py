"""Hosts are told apart by machine-id; trials and changed settings belong to the host they were made on."""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A database had one host until now, whatever that was called.

    Its machine-id is not known here: the first host that is registered gives it to the old records. A trial
    was measured on the host of its run. A setting was changed on the host of its run too, or by hand on the
    host that was seen last.
    """
    with op.batch_alter_table("host") as table:
        table.add_column(sa.Column("machine_id", sa.String(), nullable=False, server_default=""))
        table.drop_constraint("uq_host_name_kernel_cpu_model_cpus_memory_bytes", type_="unique")
        table.create_unique_constraint(
            "uq_host_machine_id_name_kernel_cpu_model_cpus_memory_bytes",
            ["machine_id", "name", "kernel", "cpu_model", "cpus", "memory_bytes"],
        )
    with op.batch_alter_table("host") as table:
        table.alter_column("machine_id", existing_type=sa.String(), server_default=None)
    _know_some_host()
    for name in ("trial", "os_change"):
        with op.batch_alter_table(name) as table:
            table.add_column(sa.Column("host_id", sa.Integer(), nullable=True))
    op.add_column("os_change", sa.Column("by_hand", sa.Boolean(), nullable=True))
    of_run = "(SELECT host_id FROM run WHERE run.id = {table}.run_id)"
    last_seen = "(SELECT id FROM host ORDER BY seen_at DESC, id DESC LIMIT 1)"
    op.execute(f"UPDATE trial SET host_id = {of_run.format(table='trial')}")  # noqa: S608 - no input
    op.execute(f"UPDATE os_change SET host_id = {of_run.format(table='os_change')}")  # noqa: S608
    op.execute(f"UPDATE os_change SET host_id = {last_seen} WHERE host_id IS NULL")  # noqa: S608
    op.execute("UPDATE os_change SET by_hand = (run_id IS NULL)")
    with op.batch_alter_table("os_change") as table:
        table.alter_column("by_hand", existing_type=sa.Boolean(), nullable=False)
    for name in ("trial", "os_change"):
        with op.batch_alter_table(name) as table:
            table.alter_column("host_id", existing_type=sa.Integer(), nullable=False)
            table.create_foreign_key(f"fk_{name}_host_id_host", "host", ["host_id"], ["id"])


def _know_some_host() -> None:
    """Settings may have been changed by hand before any run: then no host is recorded yet."""
    connection = op.get_bind()
    host = sa.table(
        "host",
        *(sa.column(name) for name in ("machine_id", "name", "kernel", "cpu_model", "cpus", "memory_bytes")),
        sa.column("topology", sa.JSON),
        sa.column("seen_at", sa.DateTime(timezone=True)),
    )
    changed = connection.scalar(sa.text("SELECT count(*) FROM os_change"))
    if changed and not connection.scalar(sa.select(sa.func.count()).select_from(host)):
        unknown = {"machine_id": "", "name": "unknown", "kernel": "", "cpu_model": "", "cpus": 1}
        connection.execute(
            sa.insert(host).values(memory_bytes=0, topology={}, seen_at=datetime.now(UTC), **unknown)
        )
