"""Which results cannot be told apart: ranks by Tukey's range test, highest score first.

Scores of one confirmation come in blocks, and whatever drifts between blocks hits all results in one alike.
So the logarithms of the scores are taken apart first into a level for each result, a part that its block
shares, and what is left, which alone is noise (the two-way model, by least squares; a missing score costs its
result a little certainty, and takes nothing from the others). Results of different runs have no block in
common; they are compared as independent samples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from trimtab_tuner.certainty.student_t import t_quantile
from trimtab_tuner.frozen import Frozen

ALPHA = 0.05
VARIANCES_P = 0.01  # at 5 %, with four blocks, 6 % of rankings of equal results were split
FEWEST_FOR_VARIANCES = 5
NOTHING = 1e-9  # of a logarithm: below the rounding of scores

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


class RankGroup(Frozen):
    """Results that share a rank: none differs significantly from the group's best, which comes first."""

    rank: int
    members: tuple[str, ...]


@dataclass(frozen=True)
class _Compared:
    """Results on a logarithmic scale: the level of each, and of each pair whether it can be told apart."""

    levels: Vector
    apart: NDArray[np.bool_]


def rank_blocks(rows: Mapping[str, Sequence[float | None]], alpha: float = ALPHA) -> tuple[RankGroup, ...]:
    """Rank named rows of scores, the same index meaning the same block; None (or 0) where there is no score.

    Tukey's HSD on what the two-way model leaves. Where that varies by more for some than for others (Brown
    and Forsythe's test), each pair is judged by its own differences within the blocks that hold both,
    in the manner of Games and Howell. Rows with fewer than two scores cannot be tested and are left out.
    """
    names, compared = _compared_blocks(rows, alpha)
    return _groups(names, compared) if compared is not None else ()


def told_apart(
    rows: Mapping[str, Sequence[float | None]], alpha: float = ALPHA
) -> frozenset[tuple[str, str]]:
    """The pairs (better, worse) of named rows that `rank_blocks` can tell apart, whatever their groups."""
    names, compared = _compared_blocks(rows, alpha)
    if compared is None:
        return frozenset()
    return frozenset(
        (names[i], names[j])
        for i, j in np.argwhere(compared.apart)
        if compared.levels[i] > compared.levels[j]
    )


def _compared_blocks(
    rows: Mapping[str, Sequence[float | None]], alpha: float
) -> tuple[tuple[str, ...], _Compared | None]:
    """The rows that can be tested by name, and how they compare; None where there is none."""
    usable = {name: row for name, row in rows.items() if sum(bool(score) for score in row) >= 2}
    if not usable:
        return (), None
    logs = np.log([[score or np.nan for score in row] for row in usable.values()])
    return tuple(usable), _in_blocks(logs, alpha)


def rank_samples(samples: Mapping[str, Sequence[float]], alpha: float = ALPHA) -> tuple[RankGroup, ...]:
    """Rank named samples of logarithms that have no block in common, by Games and Howell's test.

    Samples with fewer than two values cannot be tested and are left out.
    """
    usable = {name: np.array(values, dtype=float) for name, values in samples.items() if len(values) >= 2}
    if not usable:
        return ()
    counts = np.array([len(values) for values in usable.values()])
    levels = np.array([values.mean() for values in usable.values()])
    errors = np.array([values.var(ddof=1) for values in usable.values()]) / counts
    apart = np.zeros((len(usable), len(usable)), dtype=np.bool_)
    for i, j in zip(*np.triu_indices(len(usable), 1), strict=True):
        both = errors[[i, j]]
        freedom = both.sum() ** 2 / max((both**2 / (counts[[i, j]] - 1)).sum(), np.finfo(float).tiny)
        apart[i, j] = apart[j, i] = _differs(
            levels[i] - levels[j], both.sum(), len(usable), max(float(freedom), 1.0), alpha
        )
    return _groups(tuple(usable), _Compared(levels, apart))


def _groups(names: Sequence[str], compared: _Compared) -> tuple[RankGroup, ...]:
    """The groups: the best opens the first, which takes in all that cannot be told apart from it.

    The best of the rest opens the next, whose rank is one more than the number of results before it.
    """
    left = sorted(range(len(names)), key=lambda i: (-compared.levels[i], names[i]))
    groups: list[RankGroup] = []
    while left:
        members = [i for i in left if i == left[0] or not compared.apart[left[0], i]]
        rank = len(names) - len(left) + 1
        groups.append(RankGroup(rank=rank, members=tuple(names[i] for i in members)))
        left = [i for i in left if i not in members]
    return tuple(groups)


def _in_blocks(logs: Matrix, alpha: float) -> _Compared:
    """What a matrix of logarithms says, a row for each result and a column for each block, NaN if missing."""
    count, blocks = logs.shape
    row, column = np.nonzero(~np.isnan(logs))
    design = np.zeros((len(row), count + blocks))
    design[np.arange(len(row)), row] = design[np.arange(len(row)), count + column] = 1.0
    normal = design.T @ design
    inverse = np.linalg.pinv(normal)
    found = inverse @ design.T @ logs[row, column]
    rest = logs[row, column] - design @ found
    freedom = len(row) - int(np.linalg.matrix_rank(design))
    variance = float(rest @ rest) / freedom if freedom else np.nan
    own_variances = _variances_differ(logs)
    apart = np.zeros((count, count), dtype=np.bool_)
    for i, j in zip(*np.triu_indices(count, 1), strict=True):
        contrast = np.zeros(count + blocks)
        contrast[i], contrast[j] = 1.0, -1.0
        if own_variances:
            within = (logs[i] - logs[j])[~np.isnan(logs[i] - logs[j])]
            difference, free = float(within.mean()) if within.size else 0.0, within.size - 1
            squared_error = float(within.var(ddof=1)) / within.size if free > 0 else np.nan
        else:
            # Whether blocks that hold both, or a chain of such blocks, lead from one to the other.
            linked = np.allclose(contrast @ inverse @ normal, contrast)
            difference, free = float(found[i] - found[j]), freedom if linked else 0
            squared_error = variance * float(contrast @ inverse @ contrast)
        if free > 0:
            apart[i, j] = apart[j, i] = _differs(difference, squared_error, count, free, alpha)
    return _Compared(found[:count], apart)


def _differs(difference: float, squared_error: float, count: int, freedom: float, alpha: float) -> bool:
    """Whether a difference, with the variance of its error, is significant among `count` results.

    Without any variance, equal levels are alike and others are not.
    """
    error = float(np.sqrt(squared_error))
    if error < NOTHING:
        return abs(difference) > NOTHING
    return abs(difference) / error > _critical(alpha, count, round(freedom, 1))


@lru_cache(maxsize=256)
def _critical(alpha: float, count: int, freedom: float) -> float:
    """How many times its standard error a difference must be: Tukey's range, for two results Student's t."""
    if count == 2:
        return t_quantile(freedom, 1 - alpha / 2)
    from scipy import stats  # takes a second to load, which most commands need not pay

    return float(stats.studentized_range.ppf(1 - alpha, count, freedom)) / float(np.sqrt(2))


def _variances_differ(logs: Matrix) -> bool:
    """Whether Brown and Forsythe's test says that some results vary more within blocks than others do.

    Never with fewer than three results, as two differ from each other alike, or with fewer than
    `FEWEST_FOR_VARIANCES` blocks that hold all. The middle of a block is its median, which one noisy result
    does not move.
    """
    whole = logs[:, ~np.isnan(logs).any(axis=0)]
    if whole.shape[0] < 3 or whole.shape[1] < FEWEST_FOR_VARIANCES:
        return False
    centred = whole - whole.mean(axis=1, keepdims=True)
    centred = centred - np.median(centred, axis=0)
    if np.ptp(centred) < NOTHING:
        return False
    from scipy import stats

    return bool(stats.levene(*centred, center="median").pvalue < VARIANCES_P)
