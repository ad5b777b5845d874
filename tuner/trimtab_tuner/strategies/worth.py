"""What each setting of a configuration is worth, by the model of the search and its recorded trials.

The model is that of `surrogate-race` (`strategies/surrogate.py`), whichever strategy has searched: it is
asked what the configuration would score without a setting. It may err; what it says only decides what is
measured first (`certainty/elimination.py`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from trimtab_trials.configuration import Configuration
from trimtab_trials.trial import Trial

from trimtab_tuner.certainty.standing import standings
from trimtab_tuner.space import Space
from trimtab_tuner.strategies.pool import Pool
from trimtab_tuner.strategies.surrogate import Observations, Surrogate

ALMOST_ALL = 0.1  # of the score: what a first change alone may lack by the model, and be asked of
NOTHING = 0.03  # of the score: what settings that are to be left out in one check may cost by the model


@dataclass(frozen=True)
class Worth:
    """By name the share of the score that the model says is lost without a setting, and which of them are
    worth nothing together. `alone` are the default with one first change each, if that may be worth as much
    as the winner, likeliest first.
    """

    shares: Mapping[str, float]
    suspects: tuple[str, ...]
    alone: tuple[Configuration, ...] = ()


def worth_of(
    space: Space,
    winner: Configuration,
    searched: Sequence[Trial],
    noise: float,
    first_changes: Sequence[Configuration] = (),
) -> Worth:
    """The worth of the winner's settings; `searched` are the trials of the search, drift taken out, `noise`
    is the relative standard deviation of one of them, and `first_changes` have the values that each sets.

    At least one setting is not among the suspects: without all of them it is the default.
    """
    default = space.default()
    changed = [name for name, value in winner.items() if value != default.get(name)]
    pool = Pool(space, 0)
    seen = _observations(pool, searched)
    if len(changed) < 2 or not seen.ok.any():
        return Worth(dict.fromkeys(changed, 0.0), ())
    surrogate = Surrogate(space, pool, noise=noise)

    def losses(those: Sequence[Configuration]) -> list[float]:
        mean = surrogate.predict(seen, pool.points([winner, *those])).mean
        return [-math.expm1(float(each - mean[0])) for each in mean[1:]]

    def without(names: Sequence[str]) -> Configuration:
        return {**winner, **{name: default[name] for name in names}}

    shares = dict(zip(changed, losses([without([name]) for name in changed]), strict=True))
    ascending = sorted(changed, key=shares.__getitem__)
    together = losses([without(ascending[:count]) for count in range(1, len(ascending))])
    suspects: tuple[str, ...] = ()
    for count, loss in enumerate(together, start=1):
        if loss > NOTHING:
            break
        suspects = tuple(ascending[:count])
    lacks: list[tuple[float, Configuration]] = []
    for change in first_changes:
        ways = _alone(space, winner, change)
        if ways:
            lacks.append(min(zip(losses(ways), ways, strict=True), key=itemgetter(0)))
    likely = sorted((one for one in lacks if one[0] <= ALMOST_ALL), key=itemgetter(0))
    return Worth(shares, suspects, tuple(configuration for _, configuration in likely))


def _alone(space: Space, winner: Configuration, change: Configuration) -> list[Configuration]:
    """The default with a change: as it was tried, and with the values that the search has found better."""
    default = space.default()
    tried = {**default, **change}
    if any(winner[name] == default[name] for name in change):
        return [tried]
    found = {**default, **{name: winner[name] for name in change}}
    return [tried, found] if found != tried and space.allows(found) else [tried]


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
