"""What each setting of a configuration is worth, by the model of the search and its recorded trials.

The model is that of `surrogate-race` (`strategies/surrogate.py`), whichever strategy has searched: it is
asked what the configuration would score without a setting. It may err; what it says only decides what is
measured first (`certainty/elimination.py`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from trimtab_trials.configuration import Configuration
from trimtab_trials.trial import Trial

from trimtab_tuner.certainty.standing import standings
from trimtab_tuner.space import Space
from trimtab_tuner.strategies.pool import Pool
from trimtab_tuner.strategies.surrogate import Observations, Surrogate

NOTHING = 0.03  # of the score: what settings that are to be left out in one check may cost by the model


@dataclass(frozen=True)
class Worth:
    """By name the share of the score that the model says is lost without a setting, and which of them are
    worth nothing together.
    """

    shares: Mapping[str, float]
    suspects: tuple[str, ...]


def worth_of(space: Space, winner: Configuration, searched: Sequence[Trial], noise: float) -> Worth:
    """The worth of the winner's settings; `searched` are the trials of the search, drift taken out, and
    `noise` is the relative standard deviation of one of them.

    At least one setting is not among the suspects: without all of them it is the default.
    """
    default = space.default()
    changed = [name for name, value in winner.items() if value != default.get(name)]
    pool = Pool(space, 0)
    seen = _observations(pool, searched)
    if len(changed) < 2 or not seen.ok.any():
        return Worth(dict.fromkeys(changed, 0.0), ())
    surrogate = Surrogate(space, pool, noise=noise)

    def losses(without: Sequence[Sequence[str]]) -> list[float]:
        those = [{**winner, **{name: default[name] for name in names}} for names in without]
        mean = surrogate.predict(seen, pool.points([winner, *those])).mean
        return [-math.expm1(float(each - mean[0])) for each in mean[1:]]

    shares = dict(zip(changed, losses([[name] for name in changed]), strict=True))
    ascending = sorted(changed, key=shares.__getitem__)
    together = losses([ascending[:count] for count in range(1, len(ascending))])
    suspects: tuple[str, ...] = ()
    for count, loss in enumerate(together, start=1):
        if loss > NOTHING:
            break
        suspects = tuple(ascending[:count])
    return Worth(shares, suspects)


def _observations(pool: Pool, searched: Sequence[Trial]) -> Observations:
    """What the model is told: of each configuration the mean of what is known, nothing of a failed one."""
    points, logs, repeats = [], [], []
    for standing in standings(searched).values():
        known = [score for trial in standing.search if (score := trial.known_score)]
        if not known and not standing.failed:
            continue
        points.append(standing.configuration)
        logs.append(math.log(sum(known) / len(known)) if known and not standing.failed else np.nan)
        repeats.append(max(1, len(known)))
    return Observations(
        pool.points(points), np.array(logs), np.array(repeats, dtype=float), np.zeros(len(points), dtype=bool)
    )
