"""A wide grid, then finer and finer matrices round the best: how the seeds' thesis tuned, on a budget.

DESIGN. Positions on each knob's scale run from 0 to 1 (`Knob.position`), so a step means the same ratio on a
log scale everywhere.

1. The default configuration (level 0), every run's reference.
2. The wide grid (level 1): the cross product of `coarse_grid` values per knob and every category. It is gone
   through in space-filling order and cut off at `COARSE_SHARE` of the budget; so the first trials are spread
   widely, a cut hurts least, and some trials always remain for the finer search. Each next point is the one
   with the largest distance from all points before, times a weight that falls from the middle of the grid to
   its corners: ranges are chosen wide, and going by distance alone would try every corner first (on the
   thesis' tuning tables that is no better than random order; with the weight it takes two thirds of the
   trials).
3. Matrices round the best so far: its neighbours one step away, each knob alone, and every two knobs together
   in all four diagonals, because raising connections without processes, or the reverse, does not help (digest
   of the seeds, statement 10). The step is the grid's own first (level 1: neighbours that the cut left out),
   then half of it (level 2), a quarter (level 3). Whenever a better configuration turns up, the matrix moves
   there; when a matrix is exhausted, the step is halved; after `levels` the search is over. Within a matrix
   the most promising neighbour comes first: the one whose surroundings, by inverse squared distance to all
   trials told, look best.

The best is the least resource-intensive among the configurations within `tie_tolerance` of the highest score
(thesis, section 3.7). Trials that are not verified are infeasible points: they pull the estimate of their
surroundings down to half the worst score. While nothing at all has been verified there is no best to refine;
then the rest of the wide grid is tried from few connections to many, and after it fewer connections than the
grid has, since every failure of verification the thesis found was cured by admitting fewer.

What is proposed is a function of the seed, the trials told and the proposals in flight, nothing else. That
is why telling the recorded trials of an interrupted run rebuilds its strategy.
"""

import itertools
import math
import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from trimtab_trials.configuration import Configuration, Value
from trimtab_trials.trial import Trial

from trimtab_tuner.roles import Role
from trimtab_tuner.space import ListedSpace, Space
from trimtab_tuner.strategies.base import BaseStrategy, Options, Proposal
from trimtab_tuner.strategies.pool import CATEGORY_SPAN, Pool

COARSE_SHARE = 0.4
DEFAULT_GRID_VALUES = 4
MAX_GRID = 2000

_STEP_NAMES = {1: "one step", 2: "half a step", 3: "a quarter of a step"}

Positions = NDArray[np.float64]


class CoarseToFine(BaseStrategy):
    """The strategy; see the module's docstring, and `strategies.base` for the contract."""

    def __init__(self, space: Space, options: Options) -> None:
        super().__init__(space, options)
        self._levels = options.levels
        self._admitting = space.of_role(Role.CONNECTIONS, Role.CONNECTIONS_PER_WORKER)
        self._grid = {
            knob.name: knob.grid(knob.of(options.coarse_grid) or DEFAULT_GRID_VALUES) for knob in space.free
        }
        self._pool = Pool(space, options.seed)
        self._resolution = self._finest_steps() / 2
        wide = self._wide_grid(random.Random(options.seed))  # noqa: S311 - no secret
        self._coarse = self._space_filling_order(wide)

    @property
    def _coarse_trials(self) -> int:
        """How many points of the wide grid the budget leaves room for."""
        return min(len(self._coarse), max(1, round(COARSE_SHARE * self.options.budget_trials) - 1))

    def expected_trials(self) -> int:
        """The grid's share plus two matrices, never more than the budget or less than what is known."""
        numeric = sum(knob.kind != "categorical" for knob in self.space.free)
        matrix = 2 * numeric + 2 * numeric * (numeric - 1) + 1
        guess = 1 + self._coarse_trials + matrix * max(self._levels - 1, 1)
        if self._propose() is None:
            return max(self.told, self.spent)
        return max(min(self.options.budget_trials, max(guess, self.spent + 1)), self.told)

    @property
    def _known(self) -> list[Configuration]:
        """Every configuration told or in flight."""
        return [tally.configuration for tally in self.tallies.values()] + self.in_flight()

    def _new(self, configurations: Sequence[Configuration]) -> list[Configuration]:
        """Those that the space allows and that nothing known equals, or all but equals."""
        allowed = [c for c in configurations if self.space.allows(c)]
        if not allowed or not self._known:
            return allowed
        known = self._positions(self._known)
        gaps = np.abs(self._positions(allowed)[:, None, :] - known[None, :, :])
        close = np.logical_and.reduce(gaps <= self._resolution, axis=2)
        return [c for c, near in zip(allowed, close, strict=True) if not near.any()]

    def _propose(self) -> Proposal | None:
        left = self._new(self._coarse[: self._coarse_trials])
        best = self.best()
        if best is None and (len(self.tallies) > 1 or not left):
            return self._next_without_any_verified()
        if best is None or left:
            return Proposal(configuration=left[0], level=1, reason="Wide grid, in space-filling order.")
        return self._next_in_matrix(best)

    def _next_without_any_verified(self) -> Proposal | None:
        """Nothing verified yet: admit fewer connections, if the space has such a knob, else use less."""
        left = sorted(self._new(self._coarse), key=self._admission)
        if left:
            return Proposal(
                configuration=left[0],
                level=1,
                reason="No configuration has been verified yet: wide grid, fewest connections first.",
            )
        fewest, knob = min(self._known, key=self._admission), self._admitting
        if knob is None or knob not in self.space.free or knob.low is None:
            return None
        fewer = {**fewest, knob.name: max(knob.low, int(fewest[knob.name]) // 2)}
        if not self._new([fewer]):
            return None
        return Proposal(
            configuration=fewer,
            level=2,
            reason="No configuration has been verified yet: half the fewest connections tried.",
        )

    def _admission(self, configuration: Configuration) -> tuple[int, float]:
        value = 0 if self._admitting is None else configuration[self._admitting.name]
        return (value if isinstance(value, int) else 0, self.space.resource_cost(configuration))

    def _next_in_matrix(self, best: Trial) -> Proposal | None:
        for level in range(1, self._levels + 1):
            moves = self._new(self._matrix(best.configuration, 0.5 ** (level - 1)))
            if moves:
                estimates = self._estimate(moves)
                chosen = max(
                    range(len(moves)),
                    key=lambda i: (estimates[i], -self.space.resource_cost(moves[i])),
                )
                step = _STEP_NAMES.get(level, f"1/{2 ** (level - 1)} of a step")
                return Proposal(
                    configuration=moves[chosen],
                    level=level,
                    reason=f"Neighbour of the best so far, {step} of the wide grid away.",
                )
        return None

    def _matrix(self, centre: Configuration, share: float) -> list[Configuration]:
        """The centre's neighbours: one knob, or two numeric ones, moved by that share of a grid step."""
        found: list[Configuration] = []
        moves: dict[str, list[Value]] = {}
        for knob in self.space.free:
            value = centre[knob.name]
            if knob.kind == "categorical":
                found += [{**centre, knob.name: choice} for choice in knob.choices if choice != value]
            else:
                step = share / max(len(self._grid[knob.name]) - 1, 1)
                position = knob.position(value)
                moves[knob.name] = [
                    moved for sign in (-1, 1) if (moved := knob.at(position + sign * step)) != value
                ]
        for name, values in moves.items():
            found += [{**centre, name: value} for value in values]
        for one, two in itertools.combinations(moves, 2):
            found += [{**centre, one: a, two: b} for a, b in itertools.product(moves[one], moves[two])]
        if isinstance(self.space, ListedSpace):
            found = [self._pool.nearest(wanted)[0] for wanted in found]
        return found

    def _estimate(self, configurations: Sequence[Configuration]) -> list[float]:
        """Expected score of each: the mean of all scores told, weighted by inverse squared distance."""
        told = [tally for tally in self.tallies.values() if tally.known is not None or tally.failures]
        infeasible = min(tally.mean for tally in self.verified()) / 2
        scores = np.array([infeasible if tally.known is None else tally.known for tally in told])
        at = self._positions([tally.configuration for tally in told])
        distances = np.linalg.norm(self._positions(configurations)[:, None, :] - at[None, :, :], axis=2)
        weights = 1 / np.maximum(distances, 1e-6) ** 2
        return [float(estimate) for estimate in (weights @ scores) / weights.sum(axis=1)]

    def _positions(self, configurations: Sequence[Configuration]) -> Positions:
        """One row per configuration: scale positions, and for each category 0 or CATEGORY_SPAN."""
        return self._pool.coordinates(self._pool.points(configurations))

    def _finest_steps(self) -> Positions:
        """The finest level's step in each coordinate of `_positions`; 0 in a listed space."""
        if isinstance(self.space, ListedSpace):
            return np.zeros(self._pool.coordinates(self._pool.spread).shape[1])
        steps: list[float] = []
        for knob in self.space.free:
            if knob.kind == "categorical":
                steps += [CATEGORY_SPAN] * len(knob.choices)
            else:
                steps.append(0.5 ** (self._levels - 1) / max(len(self._grid[knob.name]) - 1, 1))
        return np.array(steps)

    def _wide_grid(self, chooser: random.Random) -> list[Configuration]:
        """The grid's allowed configurations in random order, which decides between points equally far apart.

        Of a grid of more than `MAX_GRID` points, as many random ones: more than any budget, and few enough to
        be put in order in a moment.
        """
        if isinstance(self.space, ListedSpace):
            listed = list(self.space.configurations)
            chooser.shuffle(listed)
            return listed
        if math.prod(len(values) for values in self._grid.values()) <= MAX_GRID:
            points = list(itertools.product(*self._grid.values()))
            chooser.shuffle(points)
        else:
            random_points = (tuple(chooser.choice(v) for v in self._grid.values()) for _ in range(MAX_GRID))
            points = list(dict.fromkeys(random_points))
        grid = [{**self.default, **dict(zip(self._grid, point, strict=True))} for point in points]
        return [configuration for configuration in grid if self.space.allows(configuration)]

    def _space_filling_order(self, grid: Sequence[Configuration]) -> list[Configuration]:
        """The grid's configurations, each far from the default and all before it, inside before outside."""
        if not grid:
            return []
        positions = self._positions(grid)
        centre = (positions.min(axis=0) + positions.max(axis=0)) / 2
        inside = 1 / (0.5 + np.linalg.norm(positions - centre, axis=1)) ** 2
        nearest = np.linalg.norm(positions - self._positions([self.default]), axis=1)
        order = []
        for _ in grid:
            chosen = int((nearest * inside).argmax())
            order.append(grid[chosen])
            nearest = np.minimum(nearest, np.linalg.norm(positions - positions[chosen], axis=1))
            nearest[chosen] = -1.0
        return order
