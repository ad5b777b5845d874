"""Generated problems for benchmarks of strategies: families of spaces whose best configuration is known.

A problem is made from its family and its seed; `DEVELOPMENT` seeds are for choosing how a strategy works,
`HELD_OUT` ones for reporting only. Its value is at most 1, which is the best; a trial's score is the value
times noise that is heavy-tailed (Student's t, four degrees of freedom) and half to one and a half times as
wide as said, depending on where the trial is. Where a family has a border, what lies beyond it fails; near
it configurations of a noisy host fail by chance.

`corner`, `cliff`, `narrow`: two knobs; the best lies in a corner, at the edge of a fall, in a small window.
`ridge`, `plateau`: three knobs; a ridge across all of them, a wide plateau with one narrow better valley.
`categorical`: categories whose effects depend on each other, and move the best values of the numbers.
`mixed`: 4 to 14 knobs with conditions, interactions and a region that fails.
`many`: 20 to 30 mixed knobs of which most do nothing, with categories that interact.
`recorded`: as `many`, but only a few hundred configurations drawn at random exist, each with its one noisy
measurement for the truth, as in the trials of a run.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from trimtab_trials.configuration import Configuration
from trimtab_trials.trial import Trial, Verdict
from trimtab_tuner.certainty.noise import judge_noise
from trimtab_tuner.space import Knob, ListedSpace, OnlyWith, Space

DEVELOPMENT = range(40)
HELD_OUT = range(2000, 2040)  # those from 1000 on have been looked at
NOISES = (0.0, 0.02, 0.05, 0.10)
TAIL = 4  # degrees of freedom
UNIT = 1000.0  # the score of a value of 1
RECORDED = 500
REFERENCE_EVERY = 10  # trials; a run measures its reference so often

Value = Callable[[dict[str, float]], float]


@dataclass(frozen=True)
class Problem:
    """One space with its truth.

    `value` is at most 1, of positions (a category's index) by name; `excess` is how far beyond the border
    they are, in widths of the strip in which failing is a matter of chance. `wide` names the knob along
    which the noise grows.
    """

    space: Space
    budget_trials: int
    value: Value
    excess: Value | None
    wide: str

    def positions(self, configuration: Configuration) -> dict[str, float]:
        """Where a configuration lies on each knob."""
        return {
            knob.name: float(knob.choices.index(configuration[knob.name]))
            if knob.kind == "categorical"
            else knob.position(configuration[knob.name])
            for knob in self.space.knobs
        }

    def failing(self, configuration: Configuration, noise: float) -> float:
        """The probability that a trial fails; 0 or 1 where nothing happens by chance."""
        if self.excess is None:
            return 0.0
        excess = self.excess(self.positions(configuration))
        return 1 / (1 + math.exp(-max(min(4 * excess, 50), -50))) if noise else float(excess > 0)

    def measured(self, configuration: Configuration, noise: float, generator: np.random.Generator) -> Trial:
        """One trial."""
        at = self.positions(configuration)
        draw, fate = generator.standard_t(TAIL) / math.sqrt(TAIL / (TAIL - 2)), generator.random()
        if fate < self.failing(configuration, noise):
            return Trial(configuration=configuration, verdict=Verdict.FAILED_VERIFICATION)
        error = noise * (0.5 + at[self.wide]) * draw
        score = UNIT * self.value(at) * max(0.05, 1 + error)
        return Trial(configuration=configuration, verdict=Verdict.VERIFIED, score=score)

    def estimated_noise(self, noise: float, generator: np.random.Generator) -> float:
        """What a run would believe the noise to be, from repeats of one configuration; 0 if there is none."""
        if not noise:
            return 0.0
        scores = [
            max(0.05, 1 + noise * generator.standard_t(TAIL) / math.sqrt(TAIL / (TAIL - 2)))
            for _ in range(2 + self.budget_trials // REFERENCE_EVERY)
        ]
        return judge_noise(list(enumerate(scores))).share

    def regret(self, configuration: Configuration | None, noise: float) -> float:
        """How far below the best a recommendation is in the mean; 1 where there is none or it fails."""
        if configuration is None:
            return 1.0
        passes = 1 - self.failing(configuration, noise)
        return 1 - self.value(self.positions(configuration)) * passes


def problem(family: str, seed: int) -> Problem:
    """The problem of a family that belongs to a seed."""
    return FAMILIES[family](np.random.default_rng((sorted(FAMILIES).index(family), seed)))


def _number(generator: np.random.Generator, name: str) -> Knob:
    """An integer knob on either scale, or an ordered one."""
    kind = generator.integers(4)
    if kind == 0:
        low = int(generator.integers(0, 3))
        high = low + int(generator.integers(30, 300))
        default = low + (high - low) // int(generator.integers(2, 6))
        return Knob(name=name, kind="integer", low=low, high=high, default=default, help="A number.")
    if kind == 3:
        choices = tuple(2**j for j in range(int(generator.integers(6, 11))))
        default = choices[int(generator.integers(len(choices)))]
        return Knob(name=name, kind="ordinal", choices=choices, default=default, help="Ordered.")
    high = int(2 ** generator.integers(7, 16))
    default = max(1, int(high ** generator.uniform(0.2, 0.7)))
    return Knob(name=name, kind="integer", scale="log", low=1, high=high, default=default, help="A number.")


def _fine(generator: np.random.Generator, name: str) -> Knob:
    """A number with many values."""
    knob = _number(generator, name)
    while knob.kind != "integer":
        knob = _number(generator, name)
    return knob


def _category(generator: np.random.Generator, name: str) -> Knob:
    choices = tuple("abcde"[: int(generator.integers(2, 6))])
    default = choices[int(generator.integers(len(choices)))]
    return Knob(name=name, kind="categorical", choices=choices, default=default, help="A category.")


def _at(generator: np.random.Generator, knob: Knob, low: float = 0.0, high: float = 1.0) -> float:
    """A position that the knob can take exactly."""
    return knob.position(knob.at(float(generator.uniform(low, high))))


def _corner(generator: np.random.Generator) -> Problem:
    one, two = knobs = [_fine(generator, "one"), _fine(generator, "two")]
    corner = generator.integers(0, 2, 2).astype(float)
    weights = generator.dirichlet([2, 2, 1]) * generator.uniform(0.4, 0.9)
    powers = generator.uniform(0.7, 2.0, 2)

    def value(at: dict[str, float]) -> float:
        off = [abs(at[k.name] - c) ** p for k, c, p in zip(knobs, corner, powers, strict=True)]
        return 1 - float(weights[0] * off[0] + weights[1] * off[1] + weights[2] * off[0] * off[1])

    return Problem(Space(knobs=(one, two)), 16, value, None, "one")


def _cliff(generator: np.random.Generator) -> Problem:
    one, two = _fine(generator, "one"), _fine(generator, "two")
    if generator.random() < 0.5:
        one, two = two, one
    edge, best = _at(generator, one, 0.3, 0.9), _at(generator, two, 0.2, 0.8)
    lean, rise = generator.uniform(-0.5, 0.5), generator.uniform(0.3, 0.8)
    bend, drop = generator.uniform(0.2, 0.8), generator.uniform(0.3, 0.65)
    rises_up = bool(generator.random() < 0.5)

    def value(at: dict[str, float]) -> float:
        x, best_x = (at[one.name], edge) if rises_up else (1 - at[one.name], 1 - edge)
        along = x - lean * (at[two.name] - best) - best_x
        side = max(0.2, 1 - bend * (at[two.name] - best) ** 2)
        return side * (drop if along > 1e-9 else max(0.1, 1 + rise * along))

    return Problem(Space(knobs=(one, two)), 16, value, None, two.name)


def _narrow(generator: np.random.Generator) -> Problem:
    knobs = [_fine(generator, "one"), _fine(generator, "two")]
    best = [
        _at(generator, knob, *((0.08, 0.35) if generator.random() < 0.5 else (0.65, 0.92))) for knob in knobs
    ]
    base, slope = generator.uniform(0.5, 0.75), generator.uniform(0.0, 0.3)
    widths = generator.uniform(0.08, 0.2, 2)

    def value(at: dict[str, float]) -> float:
        off = np.array([at[k.name] - b for k, b in zip(knobs, best, strict=True)])
        window = math.exp(-0.5 * float(((off / widths) ** 2).sum()))
        return float(base * (1 - slope * np.abs(off).mean()) + (1 - base) * window)

    return Problem(Space(knobs=tuple(knobs)), 16, value, None, "two")


def _ridge(generator: np.random.Generator) -> Problem:
    knobs = [_fine(generator, name) for name in ("one", "two", "three")]
    best = np.array([_at(generator, knob, 0.15, 0.85) for knob in knobs])
    across = generator.normal(size=3)
    across /= np.linalg.norm(across)
    width, along = generator.uniform(0.1, 0.3), generator.uniform(0.2, 1.5)

    def value(at: dict[str, float]) -> float:
        off = np.array([at[knob.name] for knob in knobs]) - best
        side = float(off @ across)
        length = float(off @ off) - side**2
        return 0.2 + 0.8 * math.exp(-0.5 * (side / width) ** 2 - along * length)

    return Problem(Space(knobs=tuple(knobs)), 24, value, None, "one")


def _plateau(generator: np.random.Generator) -> Problem:
    knobs = [_number(generator, name) for name in ("one", "two")] + [_fine(generator, "three")]
    best = [_at(generator, knob, 0.1, 0.9) for knob in knobs]
    widths = generator.uniform(0.12, 0.3, 3)
    plateau, fall = generator.uniform(0.7, 0.88), generator.uniform(0.3, 0.8)
    rim = int(generator.integers(3))
    upper = bool(generator.random() < 0.5)

    def value(at: dict[str, float]) -> float:
        off = np.array([at[k.name] - b for k, b in zip(knobs, best, strict=True)])
        window = math.exp(-0.5 * float(((off / widths) ** 2).sum()))
        x = at[knobs[rim].name] if upper else 1 - at[knobs[rim].name]
        low = fall * max(0.0, x - 0.75) * (1 - window)
        return (plateau + (1 - plateau) * window) * (1 - low)

    return Problem(Space(knobs=tuple(knobs)), 24, value, None, "three")


def _categorical(generator: np.random.Generator) -> Problem:
    categories = [_category(generator, f"category_{i}") for i in range(3)]
    numbers = [_fine(generator, "one"), _number(generator, "two")]
    value = _interplay(generator, categories, numbers, [])
    return Problem(Space(knobs=(*categories, *numbers)), 40, value, None, "one")


def _mixed(generator: np.random.Generator) -> Problem:
    count = int(generator.integers(4, 15))
    categories = [_category(generator, f"category_{i}") for i in range(1 + count // 4)]
    numbers = [_number(generator, f"number_{i}") for i in range(count - len(categories))]
    value, best = _bowl_of(generator, categories, numbers)
    switch, switched = categories[0], numbers[-1]
    on = switch.choices[int(best[switch.name])]
    condition = OnlyWith(
        knob=switched.name, otherwise=switched.default, other=switch.name, among=tuple({on, switch.default})
    )
    border = best[numbers[0].name] + best[numbers[1].name] + generator.uniform(0.2, 0.4)

    def excess(at: dict[str, float]) -> float:
        return (at[numbers[0].name] + at[numbers[1].name] - border) / 0.1

    space = Space(knobs=(*categories, *numbers), constraints=(condition,))
    return Problem(space, 40, value, excess, numbers[0].name)


def _many(generator: np.random.Generator) -> Problem:
    count = int(generator.integers(20, 31))
    categories = [_category(generator, f"category_{i:02}") for i in range(count // 2)]
    numbers = [_number(generator, f"number_{i:02}") for i in range(count - len(categories))]
    value = _interplay(generator, categories[:3], numbers[:3], [*categories[3:], *numbers[3:]])
    knobs = [*categories, *numbers]
    order = generator.permutation(len(knobs))
    return Problem(Space(knobs=tuple(knobs[i] for i in order)), 80, value, None, numbers[0].name)


def _recorded(generator: np.random.Generator) -> Problem:
    whole = _many(generator)
    drawn: list[Configuration] = [
        {
            knob.name: knob.choices[int(generator.integers(len(knob.choices)))]
            if knob.kind == "categorical"
            else knob.at(float(generator.random()))
            for knob in whole.space.knobs
        }
        for _ in range(RECORDED)
    ]
    luck = generator.uniform(0.01, 0.06) * generator.standard_t(TAIL, RECORDED) / math.sqrt(TAIL / (TAIL - 2))
    values = {
        tuple(whole.positions(c).values()): whole.value(whole.positions(c)) * max(0.05, 1 + float(error))
        for c, error in zip(drawn, luck, strict=True)
    }
    best = max(values.values())
    space = ListedSpace(
        knobs=tuple(knob.model_copy(update={"default": drawn[0][knob.name]}) for knob in whole.space.knobs),
        configurations=tuple(drawn),
    )
    return Problem(space, 60, lambda at: values[tuple(at.values())] / best, None, whole.wide)


def _interplay(
    generator: np.random.Generator, categories: list[Knob], numbers: list[Knob], idle: list[Knob]
) -> Value:
    """Categories act together by a table, and the first moves the best values of the numbers; the idle ones
    do next to nothing.
    """
    shape = [len(knob.choices) for knob in categories]
    table = generator.exponential(0.2, shape) + generator.exponential(0.1, shape[:1])[:, None, None]
    table -= table.min()
    best = np.array([[_at(generator, knob, 0.1, 0.9) for knob in numbers] for _ in range(shape[0])])
    best += generator.uniform() * (best.mean(axis=0) - best)  # some move more than others
    top = int(np.unravel_index(int(table.argmin()), shape)[0])
    best[top] = [knob.position(knob.at(float(x))) for knob, x in zip(numbers, best[top], strict=True)]
    weights = generator.exponential(1.2, len(numbers)) + 0.1
    steps = generator.random(len(numbers)) < 0.3  # these have a threshold instead of a best value
    small = generator.exponential(0.003, len(idle))
    favourites = [_at(generator, k) if k.kind != "categorical" else 0.0 for k in idle]

    def value(at: dict[str, float]) -> float:
        row = int(at[categories[0].name])
        loss = float(table[tuple(int(at[k.name]) for k in categories)])
        for i, knob in enumerate(numbers):
            off = abs(at[knob.name] - best[row][i])
            loss += float(weights[i]) * (0.15 * float(off > 0.3) if steps[i] else off * off)
        for weight, knob, favourite in zip(small, idle, favourites, strict=True):
            off = abs(at[knob.name] - favourite)
            loss += float(weight) * (float(off > 0) if knob.kind == "categorical" else off)
        return math.exp(-loss)

    return value


def _bowl_of(
    generator: np.random.Generator, categories: list[Knob], numbers: list[Knob]
) -> tuple[Value, dict[str, float]]:
    """Each knob has a best value and a weight, few of which are large; some pairs of numbers interact."""
    best = {k.name: _at(generator, k, 0.1, 0.9) for k in numbers}
    best |= {k.name: float(generator.integers(len(k.choices))) for k in categories}
    weights = {
        name: float(w) for name, w in zip(best, generator.exponential(0.8, len(best)) ** 1.5, strict=True)
    }
    pairs = [
        (str(a), str(b), float(generator.uniform(0.3, 1.0)))
        for a, b in generator.permutation([k.name for k in numbers])[: 2 * (len(numbers) // 4)].reshape(-1, 2)
    ]

    def value(at: dict[str, float]) -> float:
        off = {k.name: at[k.name] - best[k.name] for k in numbers}
        for a, b, slope in pairs:
            off[a] += slope * off[b]
        off |= {k.name: 0.5 * float(at[k.name] != best[k.name]) for k in categories}
        return math.exp(-sum(weights[name] * off[name] ** 2 for name in off))

    return value, best


FAMILIES: dict[str, Callable[[np.random.Generator], Problem]] = {
    "corner": _corner,
    "cliff": _cliff,
    "narrow": _narrow,
    "ridge": _ridge,
    "plateau": _plateau,
    "categorical": _categorical,
    "mixed": _mixed,
    "many": _many,
    "recorded": _recorded,
}
