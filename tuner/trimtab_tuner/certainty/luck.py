"""What the best of a noisy search would score if it were measured again.

The best of many scores is also the luckiest, and so less good than it looks. How much less depends on how
many others nearly reach it: where these differ by no more than noise does, all of them are alike, and the
best is expected to be like their mean; where they differ by more, it keeps so much of its lead as the noise
does not explain (empirical Bayes: Efron and Morris, JASA 70, 1975). Only the configurations within `RIVALS`
standard deviations of the best count: what lies far below says nothing about how many could have had its
luck.
"""

import math
from collections.abc import Iterable
from statistics import fmean

import numpy as np
from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.trial import Trial

from trimtab_tuner.certainty.standing import standings

RIVALS = 3.0


def expected_score(searched: Iterable[Trial], best: Configuration, noise: float) -> float | None:
    """The expected score of the search's best, by its trials (drift taken out); None if it has none.

    `noise` is the relative standard deviation of one trial.
    """
    logs = {
        digest: np.log([trial.score for trial in one.search if trial.score])
        for digest, one in standings(searched).items()
    }
    known = {digest: own for digest, own in logs.items() if own.size}
    own = known.get(configuration_hash(best))
    if own is None:
        return None
    levels = np.array([each.mean() for each in known.values()])
    rivals = levels >= own.mean() - RIVALS * noise
    levels, errors = levels[rivals], np.array([noise**2 / each.size for each in known.values()])[rivals]
    if levels.size == 1 or noise == 0:
        return float(np.exp(own.mean()))
    differing = max(0.0, float(levels.var(ddof=1) - errors.mean()))  # the variance that is not noise
    middle = float(np.average(levels, weights=1 / (differing + errors)))
    kept = differing / (differing + noise**2 / own.size)
    return float(np.exp(middle + kept * (own.mean() - middle)))


def rival_of(default: Configuration, searched: Iterable[Trial], noise: float) -> Trial | None:
    """The best trial of another configuration than the default that may be as good as it; None if none comes
    so near.

    Where the default has the best scores of a search, that may be its luck as well: what scores within
    `RIVALS` standard deviations of one trial is not known to be worse. Drift is taken out of the trials.
    """
    trials = [trial for trial in searched if trial.score]
    own = [math.log(trial.score) for trial in trials if trial.configuration == default and trial.score]
    others = [trial for trial in trials if trial.configuration != default]
    best = max(others, key=lambda trial: trial.score or 0.0, default=None)
    if best is None or not own or math.log(best.score or 1.0) < fmean(own) - RIVALS * noise:
        return None
    return best
