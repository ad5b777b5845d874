"""Trying a strategy on recorded surfaces: how soon it finds the best, and how good what it recommends is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from trimtab_trials.trial import Trial, Verdict

from trimtab_tuner.replay.surfaces import Surface
from trimtab_tuner.strategies import make_strategy
from trimtab_tuner.strategies.base import Proposal, Strategy
from trimtab_tuner.strategies.past_runs import PastRun

WITHIN = (0.05, 0.02, 0.01)
HARD_TRIALS = 8


@dataclass(frozen=True)
class Replay:
    """One search on one surface.

    `trials_to` has, for each share in `WITHIN`, the trials until a configuration that close to the best was
    tried; an expected number where the search ended before (its remaining configurations drawn at random).
    `regret` is how far the recommended configuration's recorded score is below the best, as a share; None if
    nothing was recommended. `recommended_failing` says that the recommended one failed verification.
    """

    trials_to: Mapping[float, float]
    trials: int
    failed: int
    regret: float | None
    recommended_failing: bool


def replay(
    surface: Surface,
    strategy_name: str,
    *,
    seed: int,
    budget_trials: int | None = None,
    noise: float = 0.0,
    experience: Sequence[PastRun] = (),
    features: Mapping[str, str | float] | None = None,
) -> Replay:
    """Run a strategy on a surface.

    Without a budget the search goes on until it has tried a configuration within the last of `WITHIN`.
    `noise` is the standard deviation of a trial as a share of its score.
    """
    search = make_strategy(
        strategy_name,
        surface.space,
        seed=seed,
        budget_trials=budget_trials or len(surface.scores),
        noise=noise,
        default_first=False,
        experience=experience,
        features=features or {},
    )
    generator = np.random.default_rng((seed, 1))
    tried: list[float | None] = []
    configurations = set()
    while (proposal := search.ask()) is not None:
        score = surface.score(proposal.configuration)
        tried.append(score)
        configurations.add(tuple(proposal.configuration.values()))
        search.tell(_measured(proposal, score, noise, generator))
        if budget_trials is None and score is not None and score >= surface.best * (1 - WITHIN[-1]):
            break
    regret, failing = _recommended(surface, search)
    return Replay(
        trials_to={share: _trials_to(surface, share, tried, len(configurations)) for share in WITHIN},
        trials=len(tried),
        failed=sum(score is None for score in tried),
        regret=regret,
        recommended_failing=failing,
    )


def random_trials_to(surface: Surface, share: float) -> float:
    """Trials that uniform random choice without repeats needs on average, to come that close to the best."""
    good = sum(s is not None and s >= surface.best * (1 - share) for s in surface.scores.values())
    return (len(surface.scores) + 1) / (good + 1)


def learnt_from(surfaces: Sequence[Surface], surface: Surface) -> list[PastRun]:
    """The other surfaces as experience, without those of the same server and workload."""
    return [other.past_run() for other in surfaces if other.group != surface.group]


def geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean of positive values."""
    return float(np.exp(np.mean(np.log(values))))


def _measured(proposal: Proposal, score: float | None, noise: float, generator: np.random.Generator) -> Trial:
    if score is None:
        return Trial(configuration=proposal.configuration, verdict=Verdict.FAILED_VERIFICATION)
    measured = score * max(0.0, 1 + noise * float(generator.normal()))
    return Trial(configuration=proposal.configuration, verdict=Verdict.VERIFIED, score=measured)


def _trials_to(surface: Surface, share: float, tried: Sequence[float | None], distinct: int) -> float:
    bar = surface.best * (1 - share)
    for number, score in enumerate(tried, start=1):
        if score is not None and score >= bar:
            return number
    good = sum(score is not None and score >= bar for score in surface.scores.values())
    return len(tried) + (len(surface.scores) - distinct + 1) / (good + 1)


def _recommended(surface: Surface, search: Strategy) -> tuple[float | None, bool]:
    """Regret of the recommended configuration, and whether it is one that fails."""
    best = search.best()
    if best is None:
        return None, False
    score = surface.score(best.configuration)
    return (None, True) if score is None else (1 - score / surface.best, False)


@dataclass(frozen=True)
class SurfaceSummary:
    """Many searches on one surface.

    `trials_to` are means over the searches, `ratio` is that to within 1 % as a share of what random choice
    needs. `regrets` are those of searches with a budget, 1.0 where nothing or a failing configuration was
    recommended; `failing` counts the latter. `failed_share` is the share of trials that failed verification.
    """

    surface: str
    configurations: int
    trials_to: Mapping[float, float]
    random_trials: float
    ratio: float
    failed_share: float
    regrets: tuple[float, ...]
    failing: int


def replays(
    surface: Surface,
    strategy_name: str,
    *,
    repeats: int,
    budget_trials: int | None = None,
    noise: float = 0.0,
    experience: Sequence[PastRun] = (),
    features: Mapping[str, str | float] | None = None,
) -> list[Replay]:
    """Replay a strategy `repeats` times, each time with another seed."""
    return [
        replay(
            surface,
            strategy_name,
            seed=seed,
            budget_trials=budget_trials,
            noise=noise,
            experience=experience,
            features=features,
        )
        for seed in range(repeats)
    ]


def summarise(
    surface: Surface,
    strategy_name: str,
    *,
    repeats: int,
    budget_trials: int,
    noise: float = 0.0,
    experience: Sequence[PastRun] = (),
    features: Mapping[str, str | float] | None = None,
) -> SurfaceSummary:
    """Replay a strategy `repeats` times to the best, and as often with a budget, each time with another
    seed.
    """
    search = partial(
        replays,
        surface,
        strategy_name,
        repeats=repeats,
        noise=noise,
        experience=experience,
        features=features,
    )
    to_best, budgeted = search(budget_trials=None), search(budget_trials=budget_trials)
    random_trials = random_trials_to(surface, WITHIN[-1])
    trials_to = {share: float(np.mean([r.trials_to[share] for r in to_best])) for share in WITHIN}
    return SurfaceSummary(
        surface=surface.name,
        configurations=len(surface.scores),
        trials_to=trials_to,
        random_trials=random_trials,
        ratio=trials_to[WITHIN[-1]] / random_trials,
        failed_share=sum(r.failed for r in to_best) / sum(r.trials for r in to_best),
        regrets=tuple(1.0 if r.regret is None else r.regret for r in budgeted),
        failing=sum(r.recommended_failing for r in budgeted),
    )
