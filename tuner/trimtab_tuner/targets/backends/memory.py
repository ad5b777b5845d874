"""Whether the processes that a program behind the server is allowed fit the memory: what each takes, and what
there is.

What a process takes is its proportional set size: pages that it shares with others count for each in part. A
pool that is allowed more processes than the load has needed may start them all one day.
"""

from collections.abc import Sequence
from typing import NamedTuple

from trimtab_trials.configuration import Configuration
from trimtab_trials.measurement import Measurement

from trimtab_tuner.targets.backends import backend_of
from trimtab_tuner.targets.placement import replicas_of
from trimtab_tuner.wording import counted

MIB = 2**20


class ChildrenMemory(NamedTuple):
    """`allowed` processes by the setting `knob`, over all replicas of the server; each took `each_bytes`, and
    there were `room_bytes` for all of them, at the rate `rate`.
    """

    knob: str
    allowed: int
    each_bytes: float
    room_bytes: float
    rate: Measurement

    @property
    def needed_bytes(self) -> float:
        """What they take when all of them are there."""
        return self.allowed * self.each_bytes

    @property
    def outgrown(self) -> bool:
        """Whether there is too little memory for all of them."""
        return self.needed_bytes > self.room_bytes

    @property
    def fit(self) -> int:
        """How many there is room for."""
        return int(self.room_bytes / self.each_bytes)

    @property
    def why_outgrown(self) -> str:
        """What does not fit what; the sentence has the figures."""
        return f"The processes that {self.knob} allows do not all fit the memory."

    @property
    def sentence(self) -> str:
        """The figures in words."""
        return (
            f"Each process behind the server took {self.each_bytes / MIB:,.1f} MiB, so that "
            f"{counted(self.allowed, 'process', 'processes')} take {self.needed_bytes / MIB:,.0f} MiB; "
            f"there were {self.room_bytes / MIB:,.0f} MiB for them, enough for {self.fit:,}."
        )


def memory_of_children(
    configuration: Configuration, measurements: Sequence[Measurement]
) -> ChildrenMemory | None:
    """The figures at the rate at which a process took most; None without such a program, or what it takes."""
    backend = backend_of(configuration)
    rate = max(measurements, key=lambda each: _each(each) or 0.0, default=None)
    if backend is None or rate is None or not (each := _each(rate)):
        return None
    now = each * (rate.counter("backend", "children") or 0.0)
    limit, held = (rate.counter("memory_group", name) for name in ("limit_bytes", "usage_bytes"))
    if limit is not None and held is not None:
        # Cached files give way to processes.
        free = limit - held + (rate.counter("memory_group", "file_bytes") or 0.0)
    elif (free_or_none := rate.counter("memory", "available_bytes")) is not None:
        free = free_or_none
    else:
        return None
    allowed = int(configuration[backend.children]) * replicas_of(configuration)
    return ChildrenMemory(backend.children, allowed, each, free + now, rate)


def _each(rate: Measurement) -> float | None:
    return rate.counter("backend", "memory_per_child_bytes")
