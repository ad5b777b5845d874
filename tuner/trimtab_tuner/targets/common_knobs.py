"""Knobs that several servers have, each under a name of its own: one meaning, one range.

Those of proxying exist only in runs whose workload has requests that the server hands on over HTTP.
"""

from collections.abc import Sequence

from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob, Space


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


def wait_for_upstream(name: str, default: int, unit: str, what: str) -> Knob:
    """How long the server waits for something of the upstream."""
    return Knob(
        name=name,
        kind="integer",
        scale="log",
        low=1 if unit == "s" else 100,
        high=86_400 if unit == "s" else 86_400_000,
        default=default,
        unit=unit,
        help=what,
    )


def with_proxying(space: Space, knobs: Sequence[Knob], free: Sequence[str]) -> Space:
    """The space with a target's knobs of proxying, those free that a run tunes by default."""
    fixed = {knob.name: knob.default for knob in knobs if knob.name not in free}
    return space.model_copy(update={"knobs": (*space.knobs, *knobs), "fixed": {**space.fixed, **fixed}})
