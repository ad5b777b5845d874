"""The settings of one server in terms of another, through what they mean.

A *meaning* is something that several servers let one set, by its role: how many workers, how many connections
in total, the length of the accept queue. Each target says which of its knobs has it (`Target.equivalents`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner.roles import BLOCKING, Role
from trimtab_tuner.space import Knob
from trimtab_tuner.targets.base import Target
from trimtab_tuner.targets.placement import REPLICA_KNOBS


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
    read, written = source.equivalents, target.equivalents
    meanings = {role: equivalent.read(configuration) for role, equivalent in read.items()}
    space = target.space(cpus=cpus)
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
    sent, sends = read.get(Role.SENDING_MODE), written.get(Role.SENDING_MODE)
    if sent is not None and sends is not None and configuration[sent.knob] == BLOCKING:
        notes[sends.knob] = (
            f"No equivalent in {target.name} for blocking sockets; sendfile is used without waiting."
        )
    told = set(origins.values())
    return Translation(result, origins, notes, tuple(name for name in configuration if name not in told))


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
