"""Earlier runs, as a search can learn from them.

A past run is its space, its features and what became of its trials. Its configurations are compared with the
present ones by where they lie on the scale of each knob's range (`Knob.position`), so that a table of a
machine with 100,000 connections can say something about one with 10,000.

Features are what is known of a run before its first trial: the architecture's family and the sending mode
(where they are fixed, under their roles), `disk` (0 if the file set fits in memory, to 1 if most requests
wait for the disk), `cpus` (1 for several CPUs). `likeness` turns their differences into weights.
"""

import math
from collections.abc import Mapping, Sequence

from trimtab_trials.trial import Trial

from trimtab_tuner.frozen import Frozen
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Space

Features = Mapping[str, str | float]

# How much a difference of 1 (or of two words) in a feature tells two runs apart: what moved the good windows
# most in the thesis' tables comes first (sections 3.14 and 4.7: the sendfile mode, then CPUs and the disk).
SEPARATION = {Role.SENDING_MODE: 16.0, "cpus": 8.0, "disk": 4.5, Role.ARCHITECTURE: 4.0}


class PastRun(Frozen):
    """An earlier run of some server under some workload."""

    space: Space
    features: dict[str, str | float]
    results: tuple[Trial, ...]


def likeness(past: Sequence[PastRun], features: Features) -> list[float]:
    """The weight of each past run for a run with those features; the weights add up to 1.

    Only features that both name count. Without any, all runs weigh the same.
    """
    weights = [math.exp(-0.5 * _difference(run.features, features)) for run in past]
    total = sum(weights)
    return [weight / total if total > 0 else 1 / len(weights) for weight in weights]


def _difference(one: Features, other: Features) -> float:
    total = 0.0
    for name in one.keys() & other.keys():
        a, b = one[name], other[name]
        apart = float(a != b) if isinstance(a, str) or isinstance(b, str) else (a - b) ** 2
        total += SEPARATION.get(name, 1.0) * apart
    return total
