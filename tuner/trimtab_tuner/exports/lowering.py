"""A limit on connections that is higher than anything needs is lowered before it goes into a file.

A search takes the limit from a range, and beyond what is ever open every value is as good: one above the
default is lowered to what leaves room for twice the most connections that were open. So is one for which a
process may not open as many sockets, as the system refuses a file that asks for them.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob
from trimtab_tuner.targets.base import Target, space_of
from trimtab_tuner.targets.equivalents import equivalents_of
from trimtab_tuner.targets.placement import replicas_of

ROOM_FOR = 2  # times what was open
DIGITS = 2

Total = Callable[[Value], int]
"""How many connections a value of the limit comes to, over all workers and replicas."""


@dataclass(frozen=True)
class Lowered:
    """A limit on connections, the `knob`, of which less than was `measured` is enough: `value`.

    `most_open` connections were open at once at most, over all workers; the limit is one `for_each` of them,
    or for all together. They were on `server_cpus` of the machine's `cpus`.
    """

    knob: str
    measured: int
    value: int
    most_open: int
    for_each: bool
    server_cpus: int
    cpus: int

    def sentence(self) -> str:
        """What was open, and what room is left; how pages, the terminal, reports and files tell it."""
        on = f" on {self.server_cpus} of {self.cpus} CPUs" if 0 < self.server_cpus < self.cpus else ""
        each = " for each worker" if self.for_each else ""
        all_cpus = ", on all of them" if on else ""
        return (
            f"{self.knob}: at most {self.most_open:,} connections were open{on}; {self.value:,}{each} leaves "
            f"room for twice as many{all_cpus}. It was measured with {self.measured:,}."
        )


def lower(
    target: Target,
    configuration: Configuration,
    default: Configuration,
    most_open: int,
    server_cpus: int,
    cpus: int,
    workers: Configuration | None = None,
) -> Lowered | None:
    """The configuration's limit on connections for what was open; None where it is no higher than that asks.

    What is open grows with the CPUs of the machine that the file goes to. A limit for each worker has at
    least what was open over all of them, which are never loaded quite evenly. `workers` is how many of them
    the files have. A default that would do is not gone below: something else speaks for the value then.
    """
    knob = space_of(target, configuration, cpus).of_role(Role.CONNECTIONS, Role.CONNECTIONS_PER_WORKER)
    if knob is None or knob.kind != "integer" or most_open <= 0:
        return None
    measured, usual = configuration[knob.name], default.get(knob.name)
    if not isinstance(measured, int) or not isinstance(usual, int):
        return None
    parts = connections_of(target, configuration, knob, workers)(measured) / measured
    needed = ROOM_FOR * most_open * (cpus / server_cpus if 0 < server_cpus < cpus else 1)
    value = _rounded_up(max(needed / parts, most_open))
    if not usual < value < measured:
        return None
    each = knob.role is Role.CONNECTIONS_PER_WORKER and parts > 1
    return Lowered(knob.name, measured, value, most_open, each, server_cpus, cpus)


def connections_of(
    target: Target, configuration: Configuration, knob: Knob, workers: Configuration | None = None
) -> Total:
    """What the knob's values come to beside the rest of a configuration, with as many `workers`."""

    def total(value: Value) -> int:
        own = {**configuration, **(workers or {}), knob.name: value}
        meaning = equivalents_of(target.equivalents, own)[Role.CONNECTIONS]
        return meaning.read(own) * replicas_of(configuration)

    return total


def within_descriptors(knob: Knob, measured: int, too_many: Callable[[int], bool]) -> int:
    """The highest value below what was measured for which a process may open as many sockets; the lowest
    there is where none is.
    """
    lower_ones: Sequence[int] = range(knob.low or 1, measured)
    if knob.choices:
        lower_ones = [choice for choice in knob.choices if isinstance(choice, int) and choice < measured]
    return lower_ones[max(0, bisect_left(lower_ones, True, key=too_many) - 1)]


def _rounded_up(number: float) -> int:
    """To two figures."""
    step: int = 10 ** max(0, math.floor(math.log10(number)) - DIGITS + 1)
    return math.ceil(number / step) * step
