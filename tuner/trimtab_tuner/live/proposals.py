"""What live tuning tries next in a context: what was found on this host, then steps round the incumbent.

Seeds come first, those that were found with such traffic before the others. After them one knob at a time is
changed, within a trust region round the incumbent: no knob goes further than a radius on its scale, or its
least step if that is longer. The radius grows with what was promoted and shrinks with what was harmful. An
episode that is given up leaves it as it is: too small a step shows nothing, and a smaller one would show
less.

Which knob is next is learnt from the attempts of the context: a direction that has helped is followed first,
then come those that nobody has tried, in an order drawn by the seed. What was not promoted is not tried
again, and no knob goes again as far as it did when that alone did harm.

All of this is a function of the attempts: who has recorded them needs to keep nothing else.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner.frozen import Frozen
from trimtab_tuner.live.contexts import Context
from trimtab_tuner.live.episode import Action
from trimtab_tuner.live.steps import Change, changes, is_within
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.targets.placement import REPLICA_KNOBS

FIRST_RADIUS = 0.1
LEAST_RADIUS = 0.02
MOST_RADIUS = 0.3
RADIUS_FACTOR = 1.5
# Knobs, by role or name, that mean nothing to an arm: where production's CPUs and instances are, and how it
# opened the socket that arms share.
OF_PRODUCTION_ALONE = (Role.PLACEMENT, Role.LISTENERS, Role.ACCEPT_QUEUE, *REPLICA_KNOBS)
# Values are rounded on a log scale, and then the step may be too long; these parts of it are tried in turn.
PARTS = (1.0, 0.9, 0.75, 0.5)


class Seed(Frozen):
    """A configuration that was found to be good on this host.

    `gain` is what it gained over the default there, as a share; `source` says it in words: `a run on this
    host recommends it (run 12: +80 % capacity on specweb99)`. `context` is the traffic that it was found
    with, where that is known; a run has no rate of its own.
    """

    configuration: Configuration
    gain: float
    source: str
    context: Context | None = None


class Attempt(Frozen):
    """An episode that has ended, by promotion, by harm or without a result.

    `before` is the incumbent it began with, `after` the candidate, both complete. `measured`: the candidate
    was a seed.
    """

    before: Configuration
    after: Configuration
    action: Action
    measured: bool = False


class Proposal(Frozen):
    """A candidate, what it changes, and why it is worth trying. `measured`: it is a seed."""

    configuration: Configuration
    changes: tuple[Change, ...]
    because: str
    measured: bool = False

    def __str__(self) -> str:
        return f"would try {', '.join(str(change) for change in self.changes)} because {self.because}"


@dataclass(frozen=True, slots=True)
class _Direction:
    """Where a knob goes: up (1) or down (-1); or a category, to a choice."""

    knob: str
    sign: int = 0
    choice: Value | None = None

    @property
    def in_words(self) -> str:
        if self.sign:
            return f"{'raising' if self.sign > 0 else 'lowering'} {self.knob}"
        return f"{self.knob} = {self.choice}"

    @property
    def back(self) -> "_Direction":
        """The other way; a choice has none but itself."""
        return _Direction(self.knob, -self.sign, self.choice)


def live_space(
    space: Space, incumbent: Configuration, left_out: Collection[str], most: Mapping[str, int]
) -> Space:
    """The space that begins at the incumbent, with knobs left out (by role or name) at what they are now.

    `space` has the ranges that the user allows; what is fixed in it stays as the incumbent has it. `most` has
    how high knobs can get; one that is higher already stays.
    """
    begun = space.with_defaults(incumbent)
    for name, high in most.items():
        if incumbent[name] in range(high + 1):
            begun = begun.restrict(name, high=high)
    held = {k.name: k.default for k in begun.knobs if k.name in left_out or k.role in left_out}
    return begun.model_copy(update={"fixed": {**begun.fixed, **held}})


def radius(attempts: Sequence[Attempt]) -> float:
    """How far a knob may go now, as a share of its scale; a seed is no step, and leaves it as it is."""
    now = FIRST_RADIUS
    for attempt in attempts:
        if attempt.measured:
            continue
        if attempt.action is Action.PROMOTE:
            now = min(now * RADIUS_FACTOR, MOST_RADIUS)
        elif attempt.action is Action.ROLL_BACK:
            now = max(now / RADIUS_FACTOR, LEAST_RADIUS)
    return now


def proposals(
    space: Space,
    seeds: Sequence[Seed],
    attempts: Sequence[Attempt],
    *,
    context: Context,
    seed: int,
    most_step: float,
) -> Iterator[Proposal]:
    """The candidates for the incumbent, the next one first; none when there is nothing left to try.

    `space` is one that begins at the incumbent (live_space()), `attempts` are those of the `context`, in the
    order of time. `most_step` is the user's limit to the radius. The same values give the same proposals.
    """
    known = _answered(attempts)
    within = min(radius(attempts), most_step)
    for proposal in (*_from_seeds(space, seeds, context), *_round_incumbent(space, attempts, seed, within)):
        if not proposal.changes or proposal.configuration in known:
            continue
        # A condition between knobs may have moved another one with it, and further.
        near = all(is_within(space.knob(c.knob), c, most_step) for c in proposal.changes)
        if (near or proposal.measured) and space.allows(proposal.configuration):
            known.append(proposal.configuration)
            yield proposal


def _answered(attempts: Sequence[Attempt]) -> list[Configuration]:
    """What need not be asked again: what was not promoted, and what something else was better than.

    What was promoted is no answer for ever: other traffic may have put another configuration in force since.
    """
    failed = [attempt.after for attempt in attempts if attempt.action is not Action.PROMOTE]
    promoted = (attempt for attempt in attempts if attempt.action is Action.PROMOTE)
    return failed + [attempt.before for attempt in promoted if attempt.after not in failed]


def _from_seeds(space: Space, seeds: Sequence[Seed], context: Context) -> Iterator[Proposal]:
    """What was found with such traffic, then what was found with other traffic, the largest gain first of
    each; knobs that are left out stay as they are.
    """

    def order(each: Seed) -> tuple[bool, float]:
        return each.context is None or not context.is_served_alike(each.context), -each.gain

    incumbent = space.default()
    for each in sorted(seeds, key=order):
        wanted = {knob.name: each.configuration.get(knob.name, knob.default) for knob in space.knobs}
        found = space.settled({**wanted, **space.fixed})
        missing = [str(change.knob) for change in changes(space, wanted, found)]
        without = f", there with other values of {', '.join(missing)}" if missing else ""
        yield Proposal(
            configuration=found,
            changes=changes(space, incumbent, found),
            because=f"{each.source}{without}",
            measured=True,
        )


def _round_incumbent(
    space: Space, attempts: Sequence[Attempt], seed: int, within: float
) -> Iterator[Proposal]:
    """Steps of one knob each, the most promising first."""
    incumbent, learnt = space.default(), _Learnt(space, attempts)
    moves = [move for knob in space.free for move in _moves(knob, incumbent[knob.name], within)]
    drawn = np.random.default_rng((seed, len(attempts))).permutation(len(moves))
    order = sorted((learnt.rank(moves[i][0]), place, moves[i]) for place, i in enumerate(drawn))
    for _, _, (direction, value) in order:
        change = Change(knob=direction.knob, before=incumbent[direction.knob], after=value)
        if learnt.rules_out(direction, change):
            continue
        found = space.settled({**incumbent, direction.knob: value})
        yield Proposal(
            configuration=found,
            changes=changes(space, incumbent, found),
            because=learnt.because(direction),
        )


def _moves(knob: Knob, value: Value, within: float) -> Iterator[tuple[_Direction, Value]]:
    """The steps of a knob: one up and one down, or to each other choice of a category."""
    if knob.kind == "categorical":
        for choice in knob.choices:
            if choice != value:
                yield _Direction(knob.name, choice=choice), choice
        return
    for sign in (-1, 1):
        moved = _moved(knob, value, sign, within)
        if moved is not None:
            yield _Direction(knob.name, sign), moved


def _moved(knob: Knob, value: Value, sign: int, within: float) -> Value | None:
    """The value a step up or down, of its least length if the radius holds no other; None at the end."""
    at = knob.position(value)
    for part in PARTS:
        moved = knob.at(at + sign * within * part)
        goes_on = sign * (knob.position(moved) - at) > 0
        if goes_on and is_within(knob, Change(knob=knob.name, before=value, after=moved), within):
            return moved
    if knob.kind == "integer":
        least: Value | None = value + sign if isinstance(value, int) else None
    else:
        place = knob.choices.index(value) + sign if value in knob.choices else -1
        least = knob.choices[place] if 0 <= place < len(knob.choices) else None
    return least if least is not None and knob.contains(least) else None


class _Learnt:
    """What the attempts of a context say about directions."""

    def __init__(self, space: Space, attempts: Sequence[Attempt]) -> None:
        self._space = space
        self._credit: dict[_Direction, float] = {}
        self._helped: dict[_Direction, Change] = {}
        self._harmed: dict[_Direction, list[Change]] = {}
        for attempt in attempts:
            self._learn(attempt, changes(space, attempt.before, attempt.after))

    def _learn(self, attempt: Attempt, changed: tuple[Change, ...]) -> None:
        """Knobs that changed together share in what came of it; harm of several is blamed on none."""
        if attempt.action is Action.ROLL_BACK and len(changed) > 1:
            return
        for change in changed:
            direction = self._direction(change)
            self._credit.setdefault(direction, 0.0)
            if attempt.action is Action.PROMOTE:
                self._credit[direction] += 1 / len(changed)
                self._helped[direction] = change
            elif attempt.action is Action.ROLL_BACK:
                self._harmed.setdefault(direction, []).append(change)

    def _direction(self, change: Change) -> _Direction:
        knob = self._space.knob(change.knob)
        if knob.kind == "categorical":
            return _Direction(knob.name, choice=change.after)
        return _Direction(knob.name, 1 if knob.position(change.after) > knob.position(change.before) else -1)

    def rank(self, direction: _Direction) -> tuple[int, float]:
        """The lower, the sooner."""
        if direction in self._harmed:
            return 3, 0.0
        if credit := self._credit.get(direction):
            return 0, -credit
        came_from_there = direction.sign and direction.back in self._helped
        return (2 if direction in self._credit or came_from_there else 1), 0.0

    def rules_out(self, direction: _Direction, change: Change) -> bool:
        """Whether the knob would go as far as it did when that did harm, or further."""
        knob = self._space.knob(change.knob)
        reached = direction.sign * knob.position(change.after)
        return any(
            reached >= direction.sign * knob.position(harmful.after)
            for harmful in self._harmed.get(direction, ())
        )

    def because(self, direction: _Direction) -> str:
        """Why a step in a direction is worth trying."""
        if direction in self._harmed:
            return f"{direction.in_words} further did harm, and this step is shorter"
        if direction in self._helped:
            return f"{direction.in_words} has helped with this traffic ({self._helped[direction]})"
        if direction in self._credit:
            return f"{direction.in_words} has shown nothing yet with this traffic, by another step"
        return f"{direction.in_words} has not been tried alone with this traffic"
