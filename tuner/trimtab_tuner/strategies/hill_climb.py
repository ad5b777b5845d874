"""Hill climbing with restarts: move to a better neighbour, halve the step where there is none.

The climb begins at the default (or, where there is none, in the middle) with steps of a quarter of each
range. A neighbour differs in one knob, or in two ordered knobs together, because connections and processes
have to rise together (digest of the seeds, statement 10). When no neighbour at the present step is better,
the step is halved; below a sixteenth the climb is over and a new one starts at a random configuration, until
the budget is spent.

A neighbour is accepted by test, not by bare comparison: it must lead by more than the noise of the two means
explains (one-sided, `CONFIDENCE`). One that leads, but not by enough, is repeated up to `MOST_REPEATS` times.
"""

import itertools
import math

import numpy as np
from scipy.special import ndtri
from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner.space import Space
from trimtab_tuner.strategies.base import BaseStrategy, Key, Options, Proposal, Tally
from trimtab_tuner.strategies.pool import Pool

FIRST_STEP = 0.25
LAST_STEP = 1 / 16
CONFIDENCE = 0.8
MOST_REPEATS = 3
TRIES = 50


class HillClimb(BaseStrategy):
    """The strategy; see the module's docstring, and `strategies.base` for the contract.

    Where the climb stands is found by replaying it over the tallies at every ask, so that it is a function of
    what was told and nothing else.
    """

    def __init__(self, space: Space, options: Options) -> None:
        super().__init__(space, options)
        self._pool = Pool(space, options.seed)
        self._threshold = float(ndtri(CONFIDENCE))
        self._reached: dict[tuple[Key, float, int], list[Configuration]] = {}

    def _propose(self) -> Proposal | None:
        start = self._start()
        for climb in itertools.count():
            proposal = self._climb(start, climb)
            if proposal is not None or climb > self.options.budget_trials:
                return proposal
            fresh = self._restart(climb)
            if fresh is None:
                return None
            start = fresh
        return None

    def _start(self) -> Configuration:
        if self.options.default_first:
            return self.default
        middle = {knob.name: knob.at(0.5) for knob in self.space.free}
        return self._pool.nearest({**self.default, **middle})[0]

    def _climb(self, start: Configuration, climb: int) -> Proposal | None:
        """The next trial of the climb from `start`; None when it has reached its top."""
        if not self.knows(start):
            return Proposal(configuration=start, level=1, reason="Start of a climb.")
        at, step, moves = start, FIRST_STEP, 0
        while step >= LAST_STEP and moves <= len(self.tallies):
            better = None
            for neighbour in self._neighbours(at, step, climb):
                if not self.knows(neighbour):
                    level = 1 + round(math.log2(FIRST_STEP / step))
                    return Proposal(configuration=neighbour, level=level, reason=f"Neighbour, step {step:g}.")
                verdict = self._compare(self.tallies.get(self.key(neighbour)), self.tallies.get(self.key(at)))
                if verdict is None:
                    return Proposal(
                        configuration=neighbour, level=1, reason="Leads by less than the noise.", repeat=True
                    )
                if verdict:
                    better = neighbour
                    break
            if better is None:
                step /= 2
            else:
                at, moves = better, moves + 1
        return None

    def _compare(self, challenger: Tally | None, holder: Tally | None) -> bool | None:
        """Whether the challenger is better; None if one more trial of it is needed to tell."""
        if challenger is None or not challenger.verified:
            return False
        if holder is None or not holder.verified:
            return True
        lead = math.log(max(challenger.mean, 1e-9) / max(holder.mean, 1e-9))
        if lead <= 0:
            return False
        error = self.options.noise * math.sqrt(1 / len(challenger.scores) + 1 / len(holder.scores))
        if lead > self._threshold * error:
            return True
        return False if len(challenger.scores) >= MOST_REPEATS else None

    def _neighbours(self, centre: Configuration, step: float, climb: int) -> list[Configuration]:
        """The neighbours one step away, in an order that is random but the same at every ask; found once."""
        known = (self.key(centre), step, climb)
        if known not in self._reached:
            self._reached[known] = self._find_neighbours(centre, step, climb)
        return self._reached[known]

    def _find_neighbours(self, centre: Configuration, step: float, climb: int) -> list[Configuration]:
        moves: dict[str, list[Value]] = {}
        found: list[Configuration] = []
        for knob in self.space.free:
            value = centre[knob.name]
            if knob.kind == "categorical":
                found += [{**centre, knob.name: choice} for choice in knob.choices if choice != value]
            else:
                at = knob.position(value)
                moved = {knob.at(at + sign * step) for sign in (-1, 1)}
                moves[knob.name] = sorted((v for v in moved if v != value), key=str)
        found += [{**centre, name: value} for name, values in moves.items() for value in values]
        for one, two in itertools.combinations(moves, 2):
            found += [{**centre, one: a, two: b} for a, b in itertools.product(moves[one], moves[two])]
        reached = []
        for wanted in found:
            nearest = next((c for c in self._pool.nearest(wanted) if self.space.allows(c)), None)
            if nearest is not None and nearest != centre and nearest not in reached:
                reached.append(nearest)
        order = np.random.default_rng((self.options.seed, climb, round(1 / step))).permutation(len(reached))
        return [reached[i] for i in order]

    def _restart(self, climb: int) -> Configuration | None:
        """Where climb number `climb` + 1 starts."""
        generator = np.random.default_rng((self.options.seed, climb))
        for _ in range(TRIES):
            drawn = self._pool.draw(generator)
            for configuration in self._pool.nearest(drawn)[:1]:
                if self.space.allows(configuration):
                    return configuration
        return None
