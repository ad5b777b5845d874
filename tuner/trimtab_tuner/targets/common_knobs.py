"""Knobs that several servers have, each under a name of its own: one meaning, one range."""

from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob


def accept_queue(name: str, default: int) -> Knob:
    """How many connections may wait for the server to take them."""
    return Knob(
        name=name,
        role=Role.ACCEPT_QUEUE,
        kind="integer",
        scale="log",
        low=1,
        high=65_535,
        default=default,
        unit="connections",
        resource_weight=0.5,
        help="Length of the kernel's accept queue (capped by net.core.somaxconn).",
    )


def requests_per_connection(name: str, default: int, server: str) -> Knob:
    """After how many requests the server closes a connection."""
    return Knob(
        name=name,
        role=Role.KEEPALIVE_REQUESTS,
        kind="integer",
        scale="log",
        low=1,
        high=1_000_000,
        default=default,
        unit="requests",
        help=f"Requests on one connection before {server} closes it.",
    )


def idle_time(name: str, default: int, *, needs_restart: bool = True) -> Knob:
    """After how long without a request the server closes a connection."""
    return Knob(
        name=name,
        role=Role.KEEPALIVE_TIME,
        kind="integer",
        scale="log",
        low=1,
        high=86_400,
        default=default,
        unit="s",
        needs_restart=needs_restart,
        help="Time that a connection may be idle between requests.",
    )
