"""The settings of one server in terms of another, through what they mean.

A *meaning* is something that several servers let one set, by its role: how many workers, how many connections
in total, the length of the accept queue. Each target says which of its knobs has it (`Target.equivalents`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner.roles import BLOCKING, Role
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.targets.backends import backend_of
from trimtab_tuner.targets.base import Target
from trimtab_tuner.targets.common_knobs import with_proxying
from trimtab_tuner.targets.equivalents import equivalents_of
from trimtab_tuner.targets.http2 import speaks_http2, with_http2
from trimtab_tuner.targets.kernel import NAMES
from trimtab_tuner.targets.placement import REPLICA_KNOBS
from trimtab_tuner.targets.tls import speaks_tls, with_tls

# Knobs of TLS and HTTP/2 that say the same wherever they take the same value; they stand in no `equivalents`,
# because not every configuration has them.
_OF_THE_WORKLOAD = (Role.TLS_KEY, Role.TLS_SESSIONS, Role.TLS_TICKETS, Role.STREAMS)


@dataclass(frozen=True)
class Translation:
    """A configuration of the other server.

    `origins` names for its knobs the knob they come from, `notes` what was lost; `without_equivalent` are the
    knobs for which there is nothing.
    """

    configuration: Configuration
    origins: Mapping[str, str]
    notes: Mapping[str, str]
    without_equivalent: tuple[str, ...]


def translate(source: Target, configuration: Configuration, target: Target, cpus: int) -> Translation:
    """The configuration of `source` as one of `target`; what has no equivalent keeps the default there."""
    read, written = equivalents_of(source.equivalents, configuration), target.equivalents
    meanings = {role: equivalent.read(configuration) for role, equivalent in read.items()}
    space = space_as_of(source, configuration, target, cpus)
    result = space.default()
    origins: dict[str, str] = {}
    notes: dict[str, str] = {}
    for role, equivalent in written.items():
        if role not in meanings:
            continue
        if role is Role.PLACEMENT and target.workers_to_pin(result) is not None:
            continue  # it has no setting for it
        result[equivalent.knob] = _nearest(space.knob(equivalent.knob), equivalent.write(meanings))
        origins[equivalent.knob] = read[role].knob
        if lost := equivalent.lossy(meanings):
            notes[equivalent.knob] = lost
    for name in REPLICA_KNOBS:
        # No server's file says how many there are of it.
        if name in configuration and space.knob(name).contains(configuration[name]):
            result[name], origins[name] = configuration[name], name
    for role in _OF_THE_WORKLOAD:
        said, says = _own(source, role), _own(target, role)
        if said is None or says is None or says.name not in result or said.name not in configuration:
            continue
        if says.contains(configuration[said.name]):
            result[says.name], origins[says.name] = configuration[said.name], said.name
    sent, sends = read.get(Role.SENDING_MODE), written.get(Role.SENDING_MODE)
    if sent is not None and sends is not None and configuration[sent.knob] == BLOCKING:
        notes[sends.knob] = (
            f"No equivalent in {target.name} for blocking sockets; sendfile is used without waiting."
        )
    backend = backend_of(configuration)  # whose settings have a file of their own, as the kernel's do
    told = {*origins.values(), *NAMES, *(() if backend is None else (knob.name for knob in backend.knobs))}
    return Translation(result, origins, notes, tuple(name for name in configuration if name not in told))


def space_as_of(source: Target, configuration: Configuration, target: Target, cpus: int) -> Space:
    """The target's space, with its knobs of TLS, HTTP/2 and proxying if the configuration has such."""
    space = target.space(cpus=cpus)
    if any(knob.name in configuration for knob in source.proxy_knobs):
        space = with_proxying(space, target.proxy_knobs, target.proxy_free)
    if target.http2 is not None and speaks_http2(configuration):
        space = with_http2(space, target.http2)
    return with_tls(space, target.tls_knobs) if speaks_tls(configuration) else space


def _own(target: Target, role: Role) -> Knob | None:
    """The target's knob of TLS or HTTP/2 with that role, if it has one."""
    knobs = (*target.tls_knobs, *(target.http2.knobs if target.http2 is not None else ()))
    return next((knob for knob in knobs if knob.role is role), None)


def _nearest(knob: Knob, value: Value) -> Value:
    """The value, or the nearest one that the knob allows."""
    if knob.contains(value) or value == knob.default:
        return value
    if isinstance(value, int) and knob.low is not None and knob.high is not None:
        return min(max(value, knob.low), knob.high)
    numbers = [choice for choice in knob.choices if isinstance(choice, int)]
    if isinstance(value, int) and numbers:
        return min(numbers, key=lambda choice: abs(choice - value))
    return knob.default
