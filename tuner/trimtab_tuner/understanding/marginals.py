"""What a forest of regression trees says of one knob, or of two, on average over all the others: exactly.

DESIGN. A tree is a sum of boxes, its leaves, each with a value. Let the knobs be independent of each other,
each one of its `POINTS` (or categories) being as likely as any other. Then the share of a knob's points that
lie in a leaf is the leaf's weight along that knob, the product of its weights along all others is how much it
counts where the knob is held at a value, and a marginal is a sum over leaves. No sample is drawn for it, so
that nothing of one knob's variance is taken for another's, and the marginals of knobs and of pairs fit
together. (Hutter, Hoos and Leyton-Brown, ICML 2014, section 3, with a measure of points in place of lengths.)

A leaf holds neighbouring places of a knob: it is added where they begin and taken away where they end, and
running sums do the rest. So all leaves are summed in a few passes, however many they are.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

POINTS = 32
SAMPLE = 64 * POINTS

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]
Points = NDArray[np.float32]  # what the trees compute with


class Marginals:
    """The marginals of scikit-learn's regression `trees`.

    `measured` has a row for each trial and a column for each knob, on the knobs' scales. A numeric knob is
    taken to be uniform between the ends of its column, one that is `categorical` over the values in it.
    """

    def __init__(self, trees: Sequence[Any], measured: Points, categorical: Sequence[bool]) -> None:
        self._trees = trees
        self.points = [
            np.unique(column) if is_category else _midpoints(column)
            for column, is_category in zip(measured.T, categorical, strict=True)
        ]
        lows, highs, values = zip(*(_boxes(tree) for tree in trees), strict=True)
        self._low, self._high, self._value = np.vstack(lows), np.vstack(highs), np.concatenate(values)
        self._tree = np.repeat(np.arange(len(trees)), [len(own) for own in values])
        ranges = [self._held(i, at) for i, at in enumerate(self.points)]
        self._weights = np.array(
            [(end - begin) / len(at) for (begin, end), at in zip(ranges, self.points, strict=True)]
        )

    def one(self, knob: int, places: Points) -> Matrix:
        """The mean score where a knob is held at each of some ascending places: a row for each tree."""
        begin, end = self._held(knob, places)
        counted, width = self._value * self._others(knob), len(places) + 1
        shape = (len(self._trees), width)
        changes = _sums(self._tree * width + begin, counted, shape)
        changes -= _sums(self._tree * width + end, counted, shape)
        return changes.cumsum(axis=1)[:, :-1]

    def two(self, one: int, other: int, places_one: Points, places_other: Points) -> Matrix:
        """The forest's mean score where two knobs are held at each pair of ascending places."""
        rows, columns = self._held(one, places_one), self._held(other, places_other)
        counted, width = self._value * self._others(one, other), len(places_other) + 1
        shape = (len(places_one) + 1, width)
        changes = np.zeros(shape)
        for sign, row, column in ((1, 0, 0), (-1, 0, 1), (-1, 1, 0), (1, 1, 1)):
            changes += sign * _sums(rows[row] * width + columns[column], counted, shape)
        return changes.cumsum(axis=0).cumsum(axis=1)[:-1, :-1] / len(self._trees)

    def variance(self, seed: int) -> float:
        """That of the forest over all knobs, from a sample in which every point of a knob is as frequent."""
        generator = np.random.default_rng(seed)
        columns = [generator.permutation(np.resize(at, SAMPLE)) for at in self.points]
        sample = np.column_stack(columns).astype(np.float32)
        predicted = sum(tree.predict(sample, check_input=False) for tree in self._trees)
        return float(np.var(predicted / len(self._trees)))

    def _held(self, knob: int, places: Points) -> tuple[Indices, Indices]:
        """Which places of a knob each leaf holds: from which one on, and before which one it ends."""
        at = places.astype(np.float64)
        return (
            np.searchsorted(at, self._low[:, knob], side="right"),
            np.searchsorted(at, self._high[:, knob], side="right"),
        )

    def _others(self, *held: int) -> Vector:
        """How much of each leaf there is where some knobs are held inside of it."""
        product: Vector = np.delete(self._weights, held, axis=0).prod(axis=0)
        return product


def _midpoints(column: Points) -> Points:
    """The middles of equal parts of the range of a knob's column."""
    low, high = float(column.min()), float(column.max())
    return (low + (high - low) * (np.arange(POINTS) + 0.5) / POINTS).astype(np.float32)


def _sums(cells: Indices, values: Vector, shape: tuple[int, int]) -> Matrix:
    """The values summed by the cell of a table that each belongs to, cells counted row by row."""
    sums: Matrix = np.bincount(cells, values, shape[0] * shape[1]).astype(np.float64)
    return sums.reshape(shape)


def _boxes(tree: Any) -> tuple[Matrix, Matrix, Vector]:  # noqa: ANN401 - scikit-learn has no types
    """Lower and upper bounds of a tree's leaves along each knob, and the leaves' values."""
    nodes = tree.tree_
    left, right = nodes.children_left, nodes.children_right
    low = np.full((nodes.node_count, tree.n_features_in_), -np.inf)
    high = -low
    level = np.array([0])
    while level.size:
        parents = level[left[level] != -1]
        split, threshold = nodes.feature[parents], nodes.threshold[parents]
        for children in (left[parents], right[parents]):
            low[children], high[children] = low[parents], high[parents]
        high[left[parents], split] = threshold
        low[right[parents], split] = threshold
        level = np.concatenate((left[parents], right[parents]))
    leaves = left == -1
    return low[leaves], high[leaves], nodes.value[leaves, 0, 0]
