"""Simulated traffic of a server whose connections three arms share: what each arm sees, period by period.

Requests come by chance, in sizes of a mix; service times have heavy tails; the machine's speed moves for all
arms alike, and the CPU clock has noise. Two processes that are equal otherwise may differ in cost by
something that stays with them for the episode (`lasting`), such as where their memory lies. A candidate
differs from the baseline as its parameters say.
"""

from collections.abc import Iterator

import numpy as np
from trimtab_tuner.live.episode import Episode
from trimtab_tuner.live.observed import SIZE_CLASSES, ArmPeriod, Served

REQUESTS = 1000  # a period, in all arms
CPU_S = 50e-6
BYTES = 1024  # of the smallest class
SERVICE_S = 1e-3
# Of the classes by size; first requests on connections are half of all.
MIX = np.tile([0.35, 0.4, 0.2, 0.05, 0.0, 0.0], 2) / 2
TAIL = 1.31  # relative standard deviation of a service time within a class: a lognormal with sigma 1
SLOW = 0.01

Arms = tuple[ArmPeriod, ArmPeriod, ArmPeriod]


class Traffic:
    """Draws by a seed; `lasting` is the standard deviation of what stays with a process, as a share."""

    def __init__(self, seed: int, *, lasting: float = 0.0) -> None:
        self._chance = np.random.default_rng(seed)
        self._own = [float(factor) for factor in self._chance.lognormal(0, lasting, 2)]

    def arm(
        self, share: float, *, cost: float = 1.0, time: float = 1.0, errors: float = 0.0, drift: float = 1.0
    ) -> ArmPeriod:
        """An arm with that share of the requests. `cost` and `time` are factors of CPU and service time,
        `errors` is the share of requests that fail, `drift` the machine's slowness in this period."""
        chance = self._chance
        counts = chance.poisson(REQUESTS * share * MIX)
        sizes = np.tile(2.0 ** np.arange(SIZE_CLASSES), 2)
        # A request costs something whatever is sent, and bytes do not cost the same in all of them.
        costs = 0.5 + 0.5 * sizes * chance.lognormal(0, 0.2, len(sizes))
        means = chance.gamma(np.maximum(counts, 1) / TAIL**2, TAIL**2 / np.maximum(counts, 1))
        times_s = counts * sizes * means * SERVICE_S * time * drift
        return ArmPeriod(
            served=tuple(Served(int(n), float(s)) for n, s in zip(counts, times_s, strict=True)),
            errors=int(chance.poisson(REQUESTS * share * errors)),
            slow=int(chance.poisson(REQUESTS * share * SLOW * time)),
            cpu_s=float((counts * costs).sum() * CPU_S * cost * chance.lognormal(0, 0.1) * drift),
            bytes_sent=int((counts * sizes).sum() * BYTES),
        )

    def periods(
        self, episode: Episode, *, cost: float = 1.0, time: float = 1.0, errors: float = 0.0
    ) -> Iterator[Arms]:
        """Production, baseline and canary, with the shares that the episode gives them."""
        while True:
            share, drift = episode.share, float(self._chance.lognormal(0, 0.2))
            yield (
                self.arm(max(0.0, 1 - 2 * share), drift=drift),
                self.arm(share, drift=drift, cost=self._own[0]),
                self.arm(share, drift=drift, cost=cost * self._own[1], time=time, errors=errors),
            )
