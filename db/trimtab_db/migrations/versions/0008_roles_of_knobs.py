"""Recorded knobs say what they do: rules, advice and grids ask for roles where they asked for names
before.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

# What every knob that has a role did in the five servers that could be tuned until now.
ROLES: dict[str, dict[str, str]] = {
    "core": {
        "architecture": "architecture",
        "sendfile": "sending-mode",
        "events": "events",
        "workers": "workers",
        "max_connections": "connections",
        "accept_limit": "accept-batch",
        "backlog": "accept-queue",
        "sndbuf": "send-buffer",
        "affinity": "placement",
        "cache_entries": "file-cache",
        "cache_mb": "content-cache",
        "cache_lock": "cache-lock",
        "reuseport": "listeners",
        "keepalive_timeout": "keep-alive-time",
    },
    "apache": {
        "ServerLimit": "workers",
        "ThreadsPerChild": "threads",
        "AsyncRequestWorkerFactor": "connections-per-worker",
        "ListenBacklog": "accept-queue",
        "ListenCoresBucketsRatio": "listeners",
        "EnableSendfile": "sending-mode",
        "MaxKeepAliveRequests": "keep-alive-requests",
        "KeepAliveTimeout": "keep-alive-time",
        "affinity": "placement",
    },
    "h2o": {
        "num-threads": "workers",
        "max-connections": "connections",
        "http1-request-timeout": "keep-alive-time",
        "http2-max-concurrent-requests-per-connection": "file-cache",
        "tcp-reuseport": "listeners",
        "affinity": "placement",
    },
    "lighttpd": {
        "server.max-worker": "workers",
        "server.max-connections": "connections-per-worker",
        "server.event-handler": "events",
        "server.network-backend": "sending-mode",
        "server.listen-backlog": "accept-queue",
        "server.max-keep-alive-requests": "keep-alive-requests",
        "server.max-keep-alive-idle": "keep-alive-time",
        "affinity": "placement",
    },
    "nginx": {
        "worker_processes": "workers",
        "worker_connections": "connections-per-worker",
        "worker_cpu_affinity": "placement",
        "multi_accept": "accept-batch",
        "reuseport": "listeners",
        "backlog": "accept-queue",
        "sendfile": "sending-mode",
        "open_file_cache": "file-cache",
        "keepalive_requests": "keep-alive-requests",
        "keepalive_timeout": "keep-alive-time",
    },
}


def upgrade() -> None:
    """The space of each run, knob by knob; what else a space says stays as it is."""
    connection = op.get_bind()
    run = sa.table("run", sa.column("id"), sa.column("target_id"), sa.column("space", sa.JSON))
    target = sa.table("target", sa.column("id"), sa.column("name"))
    of_target = sa.select(run.c.id, target.c.name, run.c.space).join(target, run.c.target_id == target.c.id)
    for row in connection.execute(of_target).all():
        space = _with_roles(row.space, ROLES.get(row.name, {}))
        connection.execute(sa.update(run).where(run.c.id == row.id).values(space=space))


def _with_roles(space: dict[str, Any], roles: dict[str, str]) -> dict[str, Any]:
    knobs = [{**knob, "role": knob.get("role") or roles.get(knob["name"])} for knob in space.get("knobs", [])]
    return {**space, "knobs": knobs} if "knobs" in space else space
