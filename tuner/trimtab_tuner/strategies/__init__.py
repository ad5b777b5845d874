"""The strategies by name.

A new strategy is a class that follows `base.Strategy` and a line in `STRATEGIES`; the contract test runs over
every name registered here.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from trimtab_tuner.space import Space
from trimtab_tuner.strategies.base import Strategy
from trimtab_tuner.strategies.coarse_to_fine import CoarseToFine


@dataclass(frozen=True)
class StrategyEntry:
    """A registered strategy: its class, and one sentence on what it does."""

    factory: type[CoarseToFine]
    help: str


STRATEGIES: dict[str, StrategyEntry] = {
    "coarse-to-fine": StrategyEntry(
        CoarseToFine,
        "A wide grid in space-filling order, then finer matrices round the best; ties go to the cheapest.",
    ),
}


def make_strategy(
    name: str,
    space: Space,
    *,
    seed: int,
    budget_trials: int,
    coarse_grid: Mapping[str, int] | None = None,
    levels: int = 3,
    tie_tolerance: float = 0.01,
) -> Strategy:
    """Make a strategy by name.

    `coarse_grid` is the number of grid values per knob in the wide search, `levels` counts it and the finer
    matrices after it, scores within `tie_tolerance` (a share) of the best count as equal to it.

    Raises ValueError for an unknown name or a budget below one trial, SpaceError without a free knob.
    """
    if name not in STRATEGIES:
        raise ValueError(f"strategy {name!r}: expected one of {', '.join(STRATEGIES)}")
    return STRATEGIES[name].factory(
        space,
        seed=seed,
        budget_trials=budget_trials,
        coarse_grid=coarse_grid or {},
        levels=levels,
        tie_tolerance=tie_tolerance,
    )
