"""What is host and what is configuration: the model behind every decision about several hosts.

The logarithm of a score is the sum of

    the level of the host at that time   (a *block*: what was measured there since its default was last)
  + the effect of the configuration      (over the default, which has 0)
  + how this host takes that one         (host × configuration: the same each time it is measured there)
  + noise

The default is measured on every host in every block, so ratios to it cancel the host's level; blocks of one
host share what is known of its level, and all configurations of a block help to tell it. Levels and effects
are found together by fitting them to each other in turn (backfitting: a pass costs time in proportion to the
number of trials, so that ten thousand of them are fitted in milliseconds).

How much hosts differ over one configuration, *its instability*, is a variance with an interval. Few hosts say
little about it, so it is drawn to what is usual among the configurations of the run; the more hosts have
measured it, the less.

Fitted anew with each trial, the model would cost more with every one of them. So beyond `FITTED_EACH` trials
it is fitted again only when there are a 64th to a 32nd more (`fitted_of`). A trial in between counts at once:
it is held against the levels that were found before, in a new block against that of its host
(`Effects.take_in`). Only levels and variances are as old as the last fit. To how many trials that was follows
from their number alone, so it does not matter who counts them, or when.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, stdtrit

from trimtab_tuner.certainty.noise import USUAL_NOISE

USUAL_INTERACTION = 0.03
PRIOR_TRIALS = 4.0
"""What is usual counts as so many trials, or hosts."""

ENOUGH_HOSTS = 3
"""Of which a configuration says something about what is usual."""

LEVEL_DRIFT = 0.01
"""How far the level of a host moves from block to block."""

PASSES = 30
SETTLED = 1e-6

FITTED_EACH = 512
"""Up to so many trials the model is fitted with each."""

MISSING_SHARE = 32
"""Of more, at most one of so many is missing from the fit."""

Vector = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Observation:
    """A score above 0 of a configuration (by its hash) on a host, in a block of that host's."""

    configuration: str
    host: str
    block: int
    score: float


@dataclass(frozen=True)
class Interval:
    """What something is between, with the model's confidence."""

    low: float
    high: float


@dataclass(frozen=True)
class Instability:
    """How much hosts differ over a configuration: a standard deviation, as a share of its score.

    `share` is drawn to what is usual, `interval` (95 %) is by its own hosts alone; None with fewer than two.
    """

    share: float
    interval: Interval | None


@dataclass(frozen=True)
class Effect:
    """A configuration's effect over the default, in logarithms of scores.

    `error` is the standard error of `mean` over hosts like those measured, `freedom` how well the variances
    behind it are known. `by_host` has what each host says by itself.
    """

    mean: float
    error: float
    freedom: float
    instability: Instability
    by_host: dict[str, float]

    @property
    def hosts(self) -> int:
        """How many hosts have measured it."""
        return len(self.by_host)

    @property
    def ratio(self) -> float:
        """Its score as a multiple of the default's."""
        return math.exp(self.mean)

    def lower(self, confidence: float) -> float:
        """What its mean effect is at least, with so much confidence (one-sided)."""
        return self.mean - _quantile(self.freedom, confidence) * self.error

    def upper(self, confidence: float) -> float:
        """What it is at most."""
        return self.mean + _quantile(self.freedom, confidence) * self.error

    def on_new_host(self, confidence: float) -> Interval:
        """Where its effect on one more host lies (two-sided)."""
        spread = math.hypot(self.error, self.instability.share)
        margin = _quantile(self.freedom, (1 + confidence) / 2) * spread
        return Interval(self.mean - margin, self.mean + margin)


@cache
def _quantile(freedom: float, confidence: float) -> float:
    """Of Student's distribution; asked for with few numbers of hosts, of thousands of configurations."""
    return float(stdtrit(freedom, confidence))


@cache
def _variance_bounds(freedom: int) -> tuple[float, float]:
    """What the sum of squares is divided by for the ends of a variance's interval (95 %)."""
    return float(chdtri(freedom, 0.025)), float(chdtri(freedom, 0.975))


def fitted_of(trials: int) -> int:
    """To how many of the first trials the model is fitted when there are so many.

    A multiple of a power of two, which doubles when the trials do: at most a `MISSING_SHARE`-th of them.
    """
    if trials <= FITTED_EACH:
        return trials
    step = 1 << max(0, (trials // MISSING_SHARE).bit_length() - 1)
    return trials - trials % step


class Effects:
    """The model fitted to observations; `default` is the default's hash, whose effect is 0."""

    def __init__(self, observations: Sequence[Observation], default: str) -> None:
        self.default = default
        self._hosts = sorted({each.host for each in observations})
        configurations = [default, *sorted({each.configuration for each in observations} - {default})]
        self._numbers = {name: number for number, name in enumerate(configurations)}
        self._host_numbers = hosts = {name: number for number, name in enumerate(self._hosts)}
        blocks: dict[tuple[str, int], int] = {}
        for each in observations:
            blocks.setdefault((each.host, each.block), len(blocks))
        self._blocks = blocks
        self._configuration = np.array([self._numbers[o.configuration] for o in observations], dtype=np.int64)
        self._host = np.array([hosts[o.host] for o in observations], dtype=np.int64)
        self._block = np.array([blocks[o.host, o.block] for o in observations], dtype=np.int64)
        self._host_of_block = np.array([hosts[host] for host, _ in blocks], dtype=np.int64)
        self._logs = np.array([math.log(each.score) for each in observations])
        self._fit()

    @property
    def noise(self) -> float:
        """The standard deviation of one trial on one host, as a share of its score."""
        return math.sqrt(self._noise2)

    @property
    def usual_instability(self) -> float:
        """How much hosts differ over a usual configuration."""
        return math.sqrt(self._usual2)

    def levels(self) -> dict[str, float]:
        """What the default scores on each host."""
        return {name: math.exp(float(level)) for name, level in zip(self._hosts, self._level, strict=True)}

    def level_at(self, host: str, block: int) -> float | None:
        """What the default scored on a host in that block, or in all; None where nothing is known."""
        level = self._log_level(host, block)
        return None if level is None else math.exp(level)

    def take_in(self, seen: Observation) -> None:
        """One more observation, held against levels and variances as they were fitted.

        Of a host that had no part in the fit it says nothing yet: there is no level to hold it against.
        """
        level = self._log_level(seen.host, seen.block)
        if level is None:
            return
        number = self._numbers.setdefault(seen.configuration, len(self._numbers))
        cell, per_host = (number, seen.host), self._cells.get(number, {})
        self._repeats[cell] = self._repeats.get(cell, 0) + 1
        mean = per_host.get(seen.host, 0.0)
        mean += (math.log(seen.score) - level - mean) / self._repeats[cell]
        self._cells[number] = {**per_host, seen.host: mean}

    def configurations(self) -> list[str]:
        """The hashes of all that have been measured."""
        return list(self._numbers)

    def of(self, configuration: str) -> Effect | None:
        """What is known of a configuration; None while it has not been measured."""
        number = self._numbers.get(configuration)
        per_host = {} if number is None else self._cells.get(number, {})
        hosts = len(per_host)
        if not hosts:
            return None
        if number == 0:
            return Effect(0.0, 0.0, math.inf, Instability(0.0, None), per_host)
        mean = sum(per_host.values()) / hosts
        own2, interval = self._own_instability(per_host)
        weight = PRIOR_TRIALS + max(hosts - 1, 0)
        share2 = (PRIOR_TRIALS * self._usual2 + max(hosts - 1, 0) * own2) / weight
        error = math.sqrt((share2 + self._noise2 * (1 + 1 / self._trials_per_block)) / hosts)
        return Effect(mean, error, weight, Instability(math.sqrt(share2), interval), per_host)

    def _log_level(self, host: str, block: int) -> float | None:
        number = self._blocks.get((host, block))
        if number is not None:
            return float(self._at_block[number])
        of_host = self._host_numbers.get(host)
        return None if of_host is None else float(self._level[of_host])

    def _own_instability(self, per_host: dict[str, float]) -> tuple[float, Interval | None]:
        """The variance of what hosts say, less that of noise; with the interval of its root."""
        hosts = len(per_host)
        if hosts < 2:
            return 0.0, None
        mean = sum(per_host.values()) / hosts
        squares = sum((each - mean) ** 2 for each in per_host.values())
        noise2 = self._noise2 * (1 + 1 / self._trials_per_block)
        low2, high2 = (squares / bound for bound in _variance_bounds(hosts - 1))
        return max(squares / (hosts - 1) - noise2, 0.0), Interval(
            math.sqrt(max(low2 - noise2, 0.0)), math.sqrt(max(high2 - noise2, 0.0))
        )

    def _fit(self) -> None:
        """Levels and effects in turn, then the variances; twice, as each needs the other."""
        count = len(self._numbers)
        self._noise2, self._usual2 = USUAL_NOISE**2, USUAL_INTERACTION**2
        self._effect: Vector = np.zeros(count)
        self._level: Vector = np.zeros(len(self._hosts))
        self._at_block: Vector = np.zeros(len(self._host_of_block))
        self._cells: dict[int, dict[str, float]] = {}
        self._repeats: dict[tuple[int, str], int] = {}  # how many trials each of the cells is the mean of
        self._trials_per_block = max(1.0, len(self._logs) / max(1, len(self._at_block)))
        if not self._logs.size:
            return
        for _ in range(2):
            self._backfit()
            self._judge_variances()

    def _backfit(self) -> None:
        weights = np.where(self._configuration == 0, 1 / self._noise2, 1 / (self._noise2 + self._usual2))
        in_block = np.bincount(self._block, weights, len(self._at_block))
        of_configuration = np.bincount(self._configuration, weights, len(self._effect))
        tie = 1 / LEVEL_DRIFT**2  # of a block to the level of its host
        for _ in range(PASSES):
            excess = np.bincount(
                self._block, weights * (self._logs - self._effect[self._configuration]), len(in_block)
            )
            # The host's level, the blocks being free round it; then each block, drawn to it.
            pull = tie * in_block / (tie + in_block)
            of_hosts = np.bincount(self._host_of_block, pull * excess / in_block, len(self._level))
            level = of_hosts / np.bincount(self._host_of_block, pull, len(self._level))
            at_block = (excess + tie * level[self._host_of_block]) / (in_block + tie)
            effect = np.bincount(
                self._configuration, weights * (self._logs - at_block[self._block]), len(self._effect)
            ) / np.maximum(of_configuration, 1e-300)
            # What all levels could take over from all effects belongs to the levels: the default has 0.
            level, at_block, effect = level + effect[0], at_block + effect[0], effect - effect[0]
            moved = float(np.max(np.abs(effect - self._effect))) if effect.size else 0.0
            self._level, self._at_block, self._effect = level, at_block, effect
            if moved < SETTLED:
                break

    def _judge_variances(self) -> None:
        """Noise by what repeats on one host differ in; instability by what hosts differ in beyond it."""
        excess = self._logs - self._at_block[self._block]
        cells, cell = np.unique(self._configuration * len(self._hosts) + self._host, return_inverse=True)
        counts = np.bincount(cell)
        means = np.bincount(cell, excess) / counts
        within = float(((excess - means[cell]) ** 2).sum())
        freedom = float((counts - 1).sum())
        self._noise2 = (PRIOR_TRIALS * USUAL_NOISE**2 + within) / (PRIOR_TRIALS + freedom)
        self._cells, self._repeats = {}, {}
        for number, mean, count in zip(cells.tolist(), means.tolist(), counts.tolist(), strict=True):
            configuration, host = divmod(number, len(self._hosts))
            self._cells.setdefault(configuration, {})[self._hosts[host]] = mean
            self._repeats[configuration, self._hosts[host]] = count
        variances = [
            self._own_instability(per_host)[0]
            for number, per_host in self._cells.items()
            if number and len(per_host) >= ENOUGH_HOSTS
        ]
        # Of most configurations: the median is not moved by the unstable ones.
        usual = float(np.median(variances)) if variances else USUAL_INTERACTION**2
        weight = len(variances)
        self._usual2 = (PRIOR_TRIALS * USUAL_INTERACTION**2 + weight * usual) / (PRIOR_TRIALS + weight)
