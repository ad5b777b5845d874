"""HTTP/2 of a target: whether it speaks it, and its knobs of it.

They exist only in runs whose workload has `[http2]`. There the knob `http2` is fixed at `on`: the workload's
clients speak nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob, Space

HTTP2 = Knob(
    name="http2",
    kind="categorical",
    choices=("on",),
    default="on",
    help="HTTP/2, because the workload's clients speak it.",
)


@dataclass(frozen=True)
class Http2:
    """HTTP/2 in a server, with its `knobs`.

    Over TLS it is agreed upon in the handshake. `plain`: it is spoken without TLS too, on the same address as
    HTTP/1. The architectures `not_with` do not speak it.
    """

    knobs: tuple[Knob, ...] = ()
    plain: bool = True
    not_with: tuple[str, ...] = ()

    @property
    def all_knobs(self) -> tuple[Knob, ...]:
        """The knobs, and the one that says that HTTP/2 is spoken."""
        return (HTTP2, *self.knobs)


def concurrent_streams(name: str, default: int) -> Knob:
    """How many streams a client may have open on a connection."""
    return Knob(
        name=name,
        role=Role.STREAMS,
        kind="integer",
        scale="log",
        low=1,
        high=1024,
        default=default,
        unit="streams",
        resource_weight=0.1,
        help="Requests of one connection that are worked on at once; clients hold further ones back.",
    )


def speaks_http2(configuration: Mapping[str, object]) -> bool:
    """Whether a configuration is one of HTTP/2."""
    return HTTP2.name in configuration


def with_http2(space: Space, http2: Http2) -> Space:
    """The space with a target's knobs of HTTP/2 to tune."""
    wider = space.model_copy(update={"knobs": (*space.knobs, *http2.all_knobs)})
    return wider.fix(HTTP2.name, HTTP2.default)
