"""The first schema: experiments, what they ran on, and what they changed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create every table."""
    op.create_table(
        "host",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("kernel", sa.String(), nullable=False),
        sa.Column("cpu_model", sa.String(), nullable=False),
        sa.Column("cpus", sa.Integer(), nullable=False),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=False),
        sa.Column("topology", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_host")),
        sa.UniqueConstraint(
            "name",
            "kernel",
            "cpu_model",
            "cpus",
            "memory_bytes",
            name=op.f("uq_host_name_kernel_cpu_model_cpus_memory_bytes"),
        ),
    )
    op.create_table(
        "target",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_target")),
        sa.UniqueConstraint("name", "version", name=op.f("uq_target_name_version")),
    )
    op.create_table(
        "workload",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("parameters", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("parameters_hash", sa.String(), nullable=False),
        sa.Column("files", sa.Integer(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workload")),
        sa.UniqueConstraint("name", "parameters_hash", name=op.f("uq_workload_name_parameters_hash")),
    )
    op.create_table(
        "run",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("workload_id", sa.Integer(), nullable=False),
        sa.Column("preset", sa.String(), nullable=False),
        sa.Column("strategy", sa.String(), nullable=False),
        sa.Column("objective", sa.String(), nullable=False),
        sa.Column("space", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("settings", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("budget_trials", sa.Integer(), nullable=False),
        sa.Column("layout", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("ladder", sa.JSON(), nullable=False),
        sa.Column(
            "state",
            sa.Enum(
                "running",
                "finished",
                "stopped",
                "failed",
                "interrupted",
                name="state",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column(
            "phase",
            sa.Enum(
                "preparing",
                "calibrating",
                "searching",
                "confirming",
                "exporting",
                "done",
                name="phase",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("error", sa.String(), nullable=False),
        sa.Column("notes", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("outcome", sa.JSON(none_as_null=True), nullable=True),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_run_host_id_host")),
        sa.ForeignKeyConstraint(["target_id"], ["target.id"], name=op.f("fk_run_target_id_target")),
        sa.ForeignKeyConstraint(["workload_id"], ["workload.id"], name=op.f("fk_run_workload_id_workload")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
    )
    op.create_index(op.f("ix_run_state"), "run", ["state"], unique=False)
    op.create_table(
        "counter_sample",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("taken_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=True),
        sa.Column("trial_number", sa.Integer(), nullable=True),
        sa.Column("values", sa.JSON(none_as_null=True), nullable=False),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_counter_sample_host_id_host")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_counter_sample_run_id_run")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_counter_sample")),
    )
    op.create_index(
        op.f("ix_counter_sample_host_id_taken_at"), "counter_sample", ["host_id", "taken_at"], unique=False
    )
    op.create_index(
        op.f("ix_counter_sample_run_id_trial_number_taken_at"),
        "counter_sample",
        ["run_id", "trial_number", "taken_at"],
        unique=False,
    )
    op.create_table(
        "event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("level", sa.String(), nullable=False),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column("data", sa.JSON(none_as_null=True), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_event_run_id_run")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
    )
    op.create_index(op.f("ix_event_run_id_at"), "event", ["run_id", "at"], unique=False)
    op.create_table(
        "export",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("format", sa.String(), nullable=False),
        sa.Column("file_name", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("check_command", sa.String(), nullable=False),
        sa.Column("check_ok", sa.Boolean(), nullable=False),
        sa.Column("check_output", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_export_run_id_run")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_export")),
        sa.UniqueConstraint("run_id", "format", name=op.f("uq_export_run_id_format")),
    )
    op.create_table(
        "os_change",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=True),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("value_before", sa.String(), nullable=False),
        sa.Column("value_after", sa.String(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("applied_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("restored_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_os_change_run_id_run")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_os_change")),
    )
    op.create_index(op.f("ix_os_change_restored_at"), "os_change", ["restored_at"], unique=False)
    op.create_table(
        "trial",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column(
            "purpose",
            sa.Enum(
                "calibration",
                "search",
                "confirmation",
                name="purpose",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("block", sa.Integer(), nullable=False),
        sa.Column("configuration", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("configuration_hash", sa.String(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("score", sa.Double(), nullable=True),
        sa.Column("server_config", sa.String(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_trial_run_id_run")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trial")),
        sa.UniqueConstraint("run_id", "number", name=op.f("uq_trial_run_id_number")),
    )
    op.create_index(
        op.f("ix_trial_run_id_configuration_hash"), "trial", ["run_id", "configuration_hash"], unique=False
    )
    op.create_index(
        op.f("ix_trial_run_id_purpose_score"), "trial", ["run_id", "purpose", "score"], unique=False
    )
    op.create_table(
        "measurement",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("trial_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("rate_rps", sa.Double(), nullable=False),
        sa.Column("duration_s", sa.Double(), nullable=False),
        sa.Column("warmup_s", sa.Double(), nullable=False),
        sa.Column("elapsed_s", sa.Double(), nullable=False),
        sa.Column("goodput_mbps", sa.Double(), nullable=False),
        sa.Column("reply_rate_rps", sa.Double(), nullable=False),
        sa.Column("bytes_received", sa.BigInteger(), nullable=False),
        sa.Column("sessions_offered", sa.BigInteger(), nullable=False),
        sa.Column("sessions_started", sa.BigInteger(), nullable=False),
        sa.Column("sessions_completed", sa.BigInteger(), nullable=False),
        sa.Column("sessions_timed_out_connect", sa.BigInteger(), nullable=False),
        sa.Column("sessions_timed_out", sa.BigInteger(), nullable=False),
        sa.Column("sessions_failed", sa.BigInteger(), nullable=False),
        sa.Column("sessions_dropped", sa.BigInteger(), nullable=False),
        sa.Column("requests_offered", sa.BigInteger(), nullable=False),
        sa.Column("requests_replied", sa.BigInteger(), nullable=False),
        sa.Column("requests_timed_out_before_read", sa.BigInteger(), nullable=False),
        sa.Column("requests_timed_out_after_read", sa.BigInteger(), nullable=False),
        sa.Column("requests_failed", sa.BigInteger(), nullable=False),
        sa.Column("requests_abandoned", sa.BigInteger(), nullable=False),
        sa.Column("requests_dropped", sa.BigInteger(), nullable=False),
        sa.Column("connect_p50_us", sa.Double(), nullable=True),
        sa.Column("connect_p90_us", sa.Double(), nullable=True),
        sa.Column("connect_p99_us", sa.Double(), nullable=True),
        sa.Column("connect_p999_us", sa.Double(), nullable=True),
        sa.Column("connect_max_us", sa.Double(), nullable=True),
        sa.Column("connect_mean_us", sa.Double(), nullable=True),
        sa.Column("first_byte_p50_us", sa.Double(), nullable=True),
        sa.Column("first_byte_p90_us", sa.Double(), nullable=True),
        sa.Column("first_byte_p99_us", sa.Double(), nullable=True),
        sa.Column("first_byte_p999_us", sa.Double(), nullable=True),
        sa.Column("first_byte_max_us", sa.Double(), nullable=True),
        sa.Column("first_byte_mean_us", sa.Double(), nullable=True),
        sa.Column("reply_p50_us", sa.Double(), nullable=True),
        sa.Column("reply_p90_us", sa.Double(), nullable=True),
        sa.Column("reply_p99_us", sa.Double(), nullable=True),
        sa.Column("reply_p999_us", sa.Double(), nullable=True),
        sa.Column("reply_max_us", sa.Double(), nullable=True),
        sa.Column("reply_mean_us", sa.Double(), nullable=True),
        sa.Column("failures", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("health", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("server_stats", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("counters", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("generator_limited", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["trial_id"], ["trial.id"], name=op.f("fk_measurement_trial_id_trial")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_measurement")),
        sa.UniqueConstraint("trial_id", "number", name=op.f("uq_measurement_trial_id_number")),
    )
    op.create_table(
        "proposal",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("configuration", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("configuration_hash", sa.String(), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("trial_id", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_proposal_run_id_run")),
        sa.ForeignKeyConstraint(["trial_id"], ["trial.id"], name=op.f("fk_proposal_trial_id_trial")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_proposal")),
        sa.UniqueConstraint("run_id", "number", name=op.f("uq_proposal_run_id_number")),
        sa.UniqueConstraint("trial_id", name=op.f("uq_proposal_trial_id")),
    )
    op.create_table(
        "size_class_result",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("measurement_id", sa.Integer(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("asked", sa.BigInteger(), nullable=False),
        sa.Column("replied", sa.BigInteger(), nullable=False),
        sa.Column("timed_out_before_read", sa.BigInteger(), nullable=False),
        sa.Column("timed_out_after_read", sa.BigInteger(), nullable=False),
        sa.Column("failed", sa.BigInteger(), nullable=False),
        sa.Column("abandoned", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["measurement_id"],
            ["measurement.id"],
            name=op.f("fk_size_class_result_measurement_id_measurement"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_size_class_result")),
        sa.UniqueConstraint(
            "measurement_id", "size_bytes", name=op.f("uq_size_class_result_measurement_id_size_bytes")
        ),
    )
