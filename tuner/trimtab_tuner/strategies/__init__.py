"""The strategies by name.

A new strategy is a class that inherits `base.BaseStrategy` and a line in `STRATEGIES`; the contract test runs
over every name registered here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from trimtab_tuner.space import Space
from trimtab_tuner.strategies.base import CostsOf, Options, Strategy, nothing_counted
from trimtab_tuner.strategies.coarse_to_fine import CoarseToFine
from trimtab_tuner.strategies.gp import GaussianProcess
from trimtab_tuner.strategies.grid import Grid
from trimtab_tuner.strategies.hill_climb import HillClimb
from trimtab_tuner.strategies.past_runs import Features, PastRun
from trimtab_tuner.strategies.race import Race
from trimtab_tuner.strategies.random_search import RandomSearch
from trimtab_tuner.strategies.surrogate_race import SurrogateRace
from trimtab_tuner.strategies.tpe import Tpe

DEFAULT_STRATEGY = "surrogate-race"


@dataclass(frozen=True)
class StrategyEntry:
    """A registered strategy: how it is made, what it is called in plain words within a sentence, and one
    sentence on what it does.
    """

    factory: Callable[[Space, Options], Strategy]
    plain: str
    help: str


STRATEGIES: dict[str, StrategyEntry] = {
    "surrogate-race": StrategyEntry(
        SurrogateRace,
        "model, then repeats",
        "A model of scores and failures says where to look, then the leaders are repeated. The default.",
    ),
    "coarse-to-fine": StrategyEntry(
        CoarseToFine,
        "coarse grid, then finer ones",
        "A wide grid in space-filling order, then finer matrices round the best; ties go to the cheapest.",
    ),
    "grid": StrategyEntry(Grid, "grid", "Every point of a grid that fits the budget, in order."),
    "hill-climb": StrategyEntry(
        HillClimb,
        "hill climbing",
        "Moves to better neighbours, halves the step where there are none, starts anew at the top.",
    ),
    "random": StrategyEntry(
        RandomSearch, "random", "Random configurations: what every other strategy must beat."
    ),
    "tpe": StrategyEntry(Tpe, "Parzen estimator (Optuna)", "Optuna's tree-structured Parzen estimator."),
    "gp": StrategyEntry(
        GaussianProcess,
        "Gaussian process",
        "A Gaussian process and expected improvement, the textbook method.",
    ),
    "race": StrategyEntry(
        Race,
        "many once, then repeats",
        "Many configurations once, then repeats for those that may still win.",
    ),
}


def strategy_label(name: str) -> str:
    """What a strategy is called, in plain words first: `model, then repeats (surrogate-race)`.

    One that a run of another version has, and this one does not know, is told by its name alone.
    """
    entry = STRATEGIES.get(name)
    return name if entry is None or entry.plain == name else f"{entry.plain} ({name})"


def make_strategy(
    name: str,
    space: Space,
    *,
    seed: int,
    budget_trials: int,
    coarse_grid: Mapping[str, int] | None = None,
    levels: int = 3,
    tie_tolerance: float = 0.01,
    noise: float = 0.0,
    default_first: bool = True,
    costs: CostsOf = nothing_counted,
    experience: Sequence[PastRun] = (),
    features: Features | None = None,
) -> Strategy:
    """Make a strategy by name; `base.Options` explains the settings.

    Raises ValueError for an unknown name or a budget below one trial, SpaceError without a free knob.
    """
    if name not in STRATEGIES:
        raise ValueError(f"strategy {name!r}: expected one of {', '.join(STRATEGIES)}")
    options = Options(
        seed=seed,
        budget_trials=budget_trials,
        coarse_grid=coarse_grid or {},
        levels=levels,
        tie_tolerance=tie_tolerance,
        noise=noise,
        default_first=default_first,
        costs=costs,
        experience=experience,
        features=features or {},
    )
    return STRATEGIES[name].factory(space, options)
