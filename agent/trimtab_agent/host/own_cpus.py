"""The CPUs that this process was given, and those that it keeps to meanwhile.

While something is measured Trimtab moves itself to the CPUs of the generator. What the machine allows is
another question: it is answered by what the process was given (cpuset, taskset) before that.
"""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class _Pinning:
    """What the kernel said of this process before it pinned itself, and after."""

    given: frozenset[int]
    kept_to: frozenset[int]


# Those in force, the innermost last. Affinity belongs to the process, and so does this.
_pinnings: list[_Pinning] = []


def given_cpus() -> tuple[int, ...]:
    """The CPUs that this process may use, whatever it has pinned itself to.

    Who changes its mask from outside, with taskset or a cpuset, has the last word.
    """
    cpus = frozenset(os.sched_getaffinity(0))
    for pinning in reversed(_pinnings):
        if cpus != pinning.kept_to:
            break
        cpus = pinning.given
    return tuple(sorted(cpus))


@contextmanager
def pinned_to(cpus: tuple[int, ...]) -> Iterator[None]:
    """Keeps every thread of this process to `cpus` meanwhile; threads and children made then inherit it."""
    given = frozenset(os.sched_getaffinity(0))
    _move(cpus)
    pinning = _Pinning(given, frozenset(os.sched_getaffinity(0)))
    _pinnings.append(pinning)
    try:
        yield
    finally:
        _pinnings.remove(pinning)
        _move(given)


def _move(cpus: Collection[int]) -> None:
    for task in Path("/proc/self/task").iterdir():
        try:
            os.sched_setaffinity(int(task.name), cpus)
        except ProcessLookupError:
            continue  # the thread has ended meanwhile
