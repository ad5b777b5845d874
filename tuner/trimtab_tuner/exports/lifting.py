"""The limit on connections that goes into a file: for the pauses as they are (targets/pauses.py)."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from trimtab_trials.configuration import Configuration

from trimtab_tuner.exports.lowering import connections_of, within_descriptors
from trimtab_tuner.roles import Role
from trimtab_tuner.targets.base import DESCRIPTOR_RESERVE, Target, space_of
from trimtab_tuner.targets.pauses import DESCRIPTORS_EACH, MEMORY_SHARE, Pauses, Room


@dataclass(frozen=True)
class Lifted:
    """A limit on connections for the pauses as they are: the `knob`, what was measured, and what to write.

    Over all workers and replicas `allowed` connections come of it, where `wanted` were to: `measured_total`
    times as many as sessions are longer, or as many as can be open at all. They are `beyond` what a process
    has descriptors for if each connection has a file open too.
    """

    knob: str
    measured: int
    measured_total: int
    value: int
    wanted: int
    allowed: int
    pauses: Pauses
    room: Room
    beyond: bool = False

    def sentences(self) -> tuple[str, ...]:
        """Both limits, and how the one follows from the other."""
        pauses = self.pauses
        held = pauses.sessions_rps * pauses.measured_s
        holds = pauses.sessions_rps * pauses.unscaled_s
        times = f"{pauses.factor:.2g} times the {self.measured_total:,} measured over all workers"
        if self.wanted < self.measured_total * pauses.factor:
            times += ", but no more than can be open within the time limit"
        least = ""
        if self.allowed < self.wanted:
            least = f"; no more than {self.allowed:,} are possible"
            if self.beyond:
                least = f"; {self.allowed:,} are more than have a file each, so no more are possible"
        found = (
            f"The limit found is {self.measured:,}, with pauses {pauses.time_scale:g} times those of the "
            f"workload (time scale) and a time limit of {pauses.timeout_s:g} s; {self.value:,} is the limit "
            "for the workload's real pauses."
        )
        law = (
            f"Little's law: {pauses.sessions_rps:,.0f} sessions/s of {pauses.measured_s:.2f} s held "
            f"{held:,.0f} connections open; of {pauses.unscaled_s:.2f} s (pauses {pauses.pause_s:.2f} s, "
            f"transfers {pauses.transfer_s:.2f} s as at the measured load) they hold {holds:,.0f}."
        )
        wanted = (
            f"Wanted are {self.wanted:,} connections ({times}){least}: checked against the highest value "
            f"that the server takes, {self.room.sentence()}."
        )
        return found, law, wanted

    def note(self) -> str:
        """That the exported file was driven with the limit as it was measured; empty where it has that."""
        if self.value == self.measured:
            return ""
        return (
            f"It was driven with {self.knob} = {self.measured} as measured, in place of {self.value}, which "
            "is for real pauses."
        )


def lift(
    target: Target,
    configuration: Configuration,
    cpus: int,
    pauses: Pauses,
    room: Room,
    workers: Configuration | None = None,
) -> Lifted | None:
    """The configuration's limit on connections for unscaled pauses; None where that is the measured one.

    It grows by as much as sessions do, but not past the connections that can be open at all, where it would
    limit nothing. What was measured is made less only where a process may not open as many sockets: no more
    were measured then, and the system refuses a file that asks for more. `workers` is the number of them that
    the files have, for all CPUs: there must be room for them all.
    """
    knob = space_of(target, configuration, cpus).of_role(Role.CONNECTIONS, Role.CONNECTIONS_PER_WORKER)
    if knob is None or not isinstance(measured := configuration.get(knob.name), int):
        return None
    own_bytes = round(knob.resource_weight * 1024)
    if own_bytes > room.connection_bytes:  # a process for each, whose memory does not grow as clients come
        room = replace(room, connection_bytes=own_bytes, measured=False)

    total = connections_of(target, configuration, knob)
    in_files = connections_of(target, configuration, knob, workers)
    before = total(measured)
    wanted = math.ceil(before * min(pauses.factor, max(1.0, pauses.most_open / before)))
    refused = _connections(target, configuration) > room.descriptors
    if wanted == before and not refused:
        return None

    def too_many_files(value: int, each: int = DESCRIPTORS_EACH) -> bool:
        connections = _connections(target, {**configuration, knob.name: value})
        # Caches of files do with what is left.
        return each * connections + DESCRIPTOR_RESERVE > room.descriptors

    def too_much(value: int) -> bool:
        memory_bytes = in_files(value) * room.connection_bytes
        return too_many_files(value) or memory_bytes > MEMORY_SHARE * room.memory_bytes

    highest = math.ceil(measured * pauses.factor)
    values: Sequence[int] = range(measured, min(highest, knob.high or highest) + 1)
    if knob.choices:
        values = [choice for choice in knob.choices if isinstance(choice, int) and choice >= measured]
    possible = values[: max(1, bisect_left(values, True, key=too_much))]
    value = possible[min(bisect_left(possible, wanted, key=total), len(possible) - 1)]
    if refused:
        value = within_descriptors(knob, measured, lambda each: too_many_files(each, 1))
    beyond = too_many_files(value)
    return Lifted(knob.name, measured, before, value, wanted, total(value), pauses, room, beyond)


def _connections(target: Target, configuration: Configuration) -> int:
    """Of each process."""
    return target.demands(configuration).connections
