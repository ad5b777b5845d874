"""How much time other programs took from a measurement: what CPUs worked beyond what it used itself.

Niced programs are left out, since they give way.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterable

import psutil


class Bystanders:
    """Watches these CPUs from now on; `own_cpu_s` is the CPU time that the server has used so far.

    Programs that this one starts and waits for meanwhile, such as the generator, are the measurement's own.
    """

    def __init__(self, cpus: Iterable[int], own_cpu_s: Callable[[], float]) -> None:
        self._cpus = tuple(cpus)
        self._own_cpu_s = own_cpu_s
        self._begun_s = time.monotonic()
        self._before_s = self._foreign_s()

    def share(self) -> float:
        """What they took, as a share of the time of one CPU."""
        return max(0.0, self._foreign_s() - self._before_s) / (time.monotonic() - self._begun_s)

    def _foreign_s(self) -> float:
        each = psutil.cpu_times(percpu=True)
        worked_s: float = sum(each[cpu].user + each[cpu].system + each[cpu].steal for cpu in self._cpus)
        started, own = (
            sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)
        )
        return worked_s - started - own - self._own_cpu_s()
