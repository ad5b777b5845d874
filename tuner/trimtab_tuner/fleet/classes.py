"""Classes of hosts, and which hosts a search keeps its hands off.

Hosts of one class have the same kind of processor, as many CPUs, the same kernel, network cards and version
of the server: what holds for one should hold for the others. Classes are strata: a configuration that goes on
to more hosts goes to all of them, and what comes out is said for each as well.

Where there are enough hosts, some of each class are kept for the confirmation, so that what is confirmed is
confirmed on hosts that had no part in choosing it.
"""

import random
from collections.abc import Mapping, Sequence

from trimtab_tuner.frozen import Frozen

ENOUGH_TO_HOLD_BACK = 6
HELD_BACK_SHARE = 3  # one of so many


class HostClass(Frozen):
    """What makes hosts comparable."""

    cpu_model: str
    cpus: int
    kernel: str
    network_cards: tuple[str, ...]
    server: str

    @property
    def sentence(self) -> str:
        """The class in words."""
        cards = ", ".join(self.network_cards) or "no network card"
        return f"{self.cpus} x {self.cpu_model}, kernel {self.kernel}, {cards}, server {self.server}"


def hosts_by_class(classes: Mapping[str, HostClass]) -> list[list[str]]:
    """The hosts of each class by name, the largest class first."""
    found: dict[HostClass, list[str]] = {}
    for name in sorted(classes):
        found.setdefault(classes[name], []).append(name)
    return sorted(found.values(), key=lambda names: (-len(names), names))


def strata_of(classes: Mapping[str, HostClass]) -> dict[str, int]:
    """The number of each host's class, 0 for the largest."""
    return {name: number for number, names in enumerate(hosts_by_class(classes)) for name in names}


def held_back(classes: Mapping[str, HostClass], seed: int) -> tuple[str, ...]:
    """The hosts that the search leaves to the confirmation; none where there are too few.

    A third of all, drawn from each class in proportion, but never a whole class: the search would know
    nothing of it.
    """
    wanted = len(classes) // HELD_BACK_SHARE if len(classes) >= ENOUGH_TO_HOLD_BACK else 0
    drawn = random.Random(seed)  # noqa: S311 - an experiment's choice, no secret
    groups = [drawn.sample(names, len(names)) for names in hosts_by_class(classes)]
    kept: list[str] = []
    while len(kept) < wanted and any(len(group) > 1 for group in groups):
        largest = max(groups, key=len)
        kept.append(largest.pop())
    return tuple(sorted(kept))


def share_of_stage(host: str, hosts: Sequence[str], strata: Mapping[str, int], stage: int) -> int:
    """How many hosts of this one's class may measure a configuration on its way to a stage of so many."""
    own = sum(strata.get(other, 0) == strata.get(host, 0) for other in hosts)
    return -(-stage * own // len(hosts))
