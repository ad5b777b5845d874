"""Which knobs mattered, and which matter together: functional ANOVA on a run's verified trials.

Hutter, Hoos and Leyton-Brown, An Efficient Approach for Assessing Hyperparameter Importance, ICML 2014. A
forest of random trees (scikit-learn) is fitted to the scores; the variance of its predictions over the space
is divided into what each knob explains alone and what each pair explains beyond that. Only the range that was
measured counts: the corners of the space that the search never saw would be the forest's own invention.

The variance and its parts are those over the measured range, every part of which counts alike however the
search has spread its trials (`marginals.py`). The curves have up to `GRID_VALUES` of the measured values.

The forest is fitted to at most `MOST_TRIALS` trials, drawn at random from a larger run, so that what it takes
does not grow with the run.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trimtab_trials.configuration import Value
from trimtab_trials.trial import Trial

from trimtab_tuner.frozen import Frozen
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.understanding.marginals import Marginals, Points

FEWEST_TRIALS = 8
MOST_TRIALS = 1000
TREES = 64
FOLDS = 5
GRID_VALUES = 8
PAIRED_KNOBS = 4

Vector = NDArray[np.float64]


class CurvePoint(Frozen):
    """The mean score at one value of a knob over the measured range of the others.

    `spread` is half of that mean's 95 % interval, by forests of trials that were drawn anew.
    """

    value: Value
    score: float
    spread: float


class KnobImportance(Frozen):
    """A knob's own share of the variance of the score, and the curve behind it."""

    knob: str
    share: float
    curve: tuple[CurvePoint, ...]


class Interaction(Frozen):
    """Two knobs: what they explain together beyond each alone, and the mean score at each pair of values.

    `scores[i][j]` belongs to `values_one[i]` and `values_two[j]`.
    """

    knob_one: str
    knob_two: str
    share: float
    values_one: tuple[Value, ...]
    values_two: tuple[Value, ...]
    scores: tuple[tuple[float, ...], ...]


class Importance(Frozen):
    """Knobs and pairs by share, the largest first; `trials` verified trials, which the forest explains
    to R².
    """

    knobs: tuple[KnobImportance, ...]
    interactions: tuple[Interaction, ...]
    trials: int
    r_squared: float


def importance(space: Space, results: Sequence[Trial], *, seed: int = 0) -> Importance | None:
    """The importance of the free knobs; None with too few verified trials or when all score alike.

    Trials that were stopped early count with their estimates. Those at which the load generator gave out do
    not count: it would look as if nothing mattered any more beyond what the generator can offer.
    """
    verified = _drawn([r for r in results if r.known_score is not None], seed)
    scores = np.array([r.known_score for r in verified], dtype=float)
    knobs = [k for k in space.free if len({r.configuration.get(k.name) for r in verified}) > 1]
    if (
        len(verified) < FEWEST_TRIALS
        or not knobs
        or float(np.ptp(scores)) <= 1e-9 * abs(float(scores.mean()))
    ):
        return None
    forest = _Forest(knobs, verified, scores, seed)
    total = forest.marginals.variance(seed)
    if total <= 0:
        return None
    own = [forest.own_variance(i) for i in range(len(knobs))]
    ranked = sorted(range(len(knobs)), key=lambda i: -own[i])
    found = [_knob_importance(knobs[i], forest.values[i], own[i] / total, *forest.curve(i)) for i in ranked]
    pairs = []
    for one, two in itertools.combinations(ranked[:PAIRED_KNOBS], 2):
        beyond = max(0.0, forest.joint_variance(one, two) - own[one] - own[two])
        pairs.append(
            Interaction(
                knob_one=knobs[one].name,
                knob_two=knobs[two].name,
                share=_share(beyond / total),
                values_one=forest.values[one],
                values_two=forest.values[two],
                scores=tuple(tuple(float(score) for score in row) for row in forest.map(one, two)),
            )
        )
    pairs.sort(key=lambda pair: -pair.share)
    return Importance(
        knobs=tuple(found), interactions=tuple(pairs), trials=len(verified), r_squared=forest.r_squared
    )


def _knob_importance(
    knob: Knob, values: Sequence[Value], share: float, means: Vector, spreads: Vector
) -> KnobImportance:
    curve = [
        CurvePoint(value=value, score=float(mean), spread=float(spread))
        for value, mean, spread in zip(values, means, spreads, strict=True)
    ]
    return KnobImportance(knob=knob.name, share=_share(share), curve=tuple(curve))


def _share(share: float) -> float:
    """Rounded to what it is good for, and kept between 0 and 1: marginals are estimates."""
    return round(min(max(share, 0.0), 1.0), 4)


def _drawn(verified: Sequence[Trial], seed: int) -> Sequence[Trial]:
    """At most `MOST_TRIALS` of them, in their order."""
    if len(verified) <= MOST_TRIALS:
        return verified
    drawn = np.random.default_rng(seed).choice(len(verified), MOST_TRIALS, replace=False)
    return [verified[i] for i in np.sort(drawn)]


def load_trees() -> None:
    """Imports what the forest is made of: a second that the first analysis need not take, if done before."""
    import sklearn.tree  # noqa: F401 - seldom used


def _trees(points: Points, scores: Vector, seed: int, *, redrawn: bool = False) -> list[Any]:
    """Extremely randomised trees, one after the other; `redrawn`: each of trials drawn with replacement.

    scikit-learn's own forest empties the warning filters of the whole process while its threads work, so that
    a second analysis at the same time would warn of that. Its checks of what comes in took longer than the
    trees: points are made as the trees want them instead.
    """
    from sklearn import config_context  # slow to import, seldom used
    from sklearn.tree import ExtraTreeRegressor

    draw = np.random.default_rng(seed)
    seeds, every = draw.integers(2**31, size=TREES), np.arange(len(scores))
    samples = [draw.choice(every, len(every)) if redrawn else every for _ in seeds]
    with config_context(skip_parameter_validation=True):
        return [
            ExtraTreeRegressor(random_state=int(own)).fit(points[of], scores[of], check_input=False)
            for own, of in zip(seeds, samples, strict=True)
        ]


def _each(trees: Sequence[Any], points: Points) -> Vector:
    """What each tree predicts at each point."""
    return np.array([tree.predict(points, check_input=False) for tree in trees])


class _Forest:
    """Random trees over the measured range of some knobs."""

    def __init__(self, knobs: Sequence[Knob], results: Sequence[Trial], scores: Vector, seed: int) -> None:
        self._knobs = knobs
        measured = [[self._number(k, r.configuration[k.name]) for k in knobs] for r in results]
        points = np.array(measured, dtype=np.float32)
        trees = _trees(points, scores, seed)
        categorical = [knob.kind == "categorical" for knob in knobs]
        self.marginals = Marginals(trees, points, categorical)
        # Trees of all trials agree about the noise in them; trees of trials drawn anew do not.
        self._redrawn = Marginals(_trees(points, scores, seed, redrawn=True), points, categorical)
        self.r_squared = round(self._out_of_sample(points, scores, seed), 3)
        self.values = [self._measured(k, results) for k in knobs]

    def _measured(self, knob: Knob, results: Sequence[Trial]) -> tuple[Value, ...]:
        """The values of a knob that were measured, in order."""
        by_place = {
            self._number(knob, r.configuration[knob.name]): r.configuration[knob.name] for r in results
        }
        return _spread([by_place[place] for place in sorted(by_place)])

    def own_variance(self, knob: int) -> float:
        """What the forest varies by with a knob, the others being averaged over."""
        return float(self.marginals.one(knob, self.marginals.points[knob]).mean(axis=0).var())

    def joint_variance(self, one: int, two: int) -> float:
        """What the forest varies by with two knobs, the others being averaged over."""
        points = self.marginals.points
        return float(self.marginals.two(one, two, points[one], points[two]).var())

    def curve(self, knob: int) -> tuple[Vector, Vector]:
        """Mean at each value of a knob, and half of the 95 % interval of that mean."""
        means = self.marginals.one(knob, self._places(knob)).mean(axis=0)
        return means, 1.96 * self._redrawn.one(knob, self._places(knob)).std(axis=0)

    def map(self, one: int, two: int) -> Vector:
        """Mean at each pair of values of two knobs."""
        return self.marginals.two(one, two, self._places(one), self._places(two))

    def _places(self, knob: int) -> Points:
        return np.array([self._number(self._knobs[knob], v) for v in self.values[knob]], dtype=np.float32)

    def _out_of_sample(self, points: Points, scores: Vector, seed: int) -> float:
        """R² of five-fold cross-validation: how far the forest can be believed at all."""
        predicted = np.empty(len(scores))
        for fold in np.array_split(np.random.default_rng(seed).permutation(len(scores)), FOLDS):
            others = np.setdiff1d(np.arange(len(scores)), fold)
            trees = _trees(points[others], scores[others], seed)
            predicted[fold] = _each(trees, points[fold]).mean(axis=0)
        variance = float(((scores - scores.mean()) ** 2).sum())
        return max(-1.0, 1 - float(((scores - predicted) ** 2).sum()) / variance)

    @staticmethod
    def _number(knob: Knob, value: Value) -> float:
        """A knob's value on its scale; a category's place among the choices, a default outside them -1."""
        if knob.kind == "integer":
            position = knob.position(value)
            return position if math.isfinite(position) else 0.0
        return float(knob.choices.index(value)) if value in knob.choices else -1.0


def _spread(values: Sequence[Value]) -> tuple[Value, ...]:
    """At most `GRID_VALUES` of some values, evenly, both ends included."""
    if len(values) <= GRID_VALUES:
        return tuple(values)
    indices = np.linspace(0, len(values) - 1, GRID_VALUES).round().astype(int)
    return tuple(values[i] for i in indices)
