"""How good the strategies are, on recorded surfaces and on synthetic spaces; no server is involved.

Trials until a configuration within 1 % of the best has been tried, as a share of what random choice needs;
the regret of what is recommended after 16 trials with 5 % noise; the score reached in spaces of a dozen mixed
knobs; the time that asking takes.  SEEDS in the environment sets how often each is repeated (100).
"""

import os
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from trimtab_tuner.records import TrialResult, Verdict
from trimtab_tuner.replay.replaying import (
    SurfaceSummary,
    geometric_mean,
    learnt_from,
    random_trials_to,
    summarise,
)
from trimtab_tuner.replay.surfaces import Surface, thesis_surfaces
from trimtab_tuner.strategies import DEFAULT_STRATEGY, STRATEGIES, make_strategy

sys.path.insert(0, str(Path(__file__).resolve().parent))
from synthetic import SyntheticSpace, synthetic_spaces

SEEDS = int(os.environ.get("SEEDS", "100"))
NOISE = 0.05
NOISY_BUDGET = 16
HARD_TRIALS = 8
SLOW = {"gp": 20, "tpe": 4, "hill-climb": 2}  # so many times fewer repeats, to keep the benchmark in minutes
SURFACES = thesis_surfaces()


def main() -> None:
    """Prints the section."""
    hard = sum(random_trials_to(surface, 0.01) >= HARD_TRIALS for surface in SURFACES)
    print("## Search strategies\n")
    print(
        f"The {len(SURFACES)} tuning tables of Harji's thesis as surfaces, {SEEDS} seeds "
        "each (fewer for slow "
        "strategies). Trials until a configuration within 1 % of the best was tried, as a "
        "share of what random "
        f"choice needs: geometric mean over all surfaces, and over the {hard} hard ones "
        "where random choice needs "
        f"{HARD_TRIALS} or more. Regret: how far what is recommended after {NOISY_BUDGET} trials with "
        f"{NOISE:.0%} noise is below the best. Beaten: the surfaces on which "
        f"{DEFAULT_STRATEGY}'s mean "
        "regret is below this strategy's, plus those on which both are equal, and the share that "
        "this makes of all. Failing: share of recommendations that failed verification.\n"
    )
    _print_surfaces()
    _print_synthetic()
    _print_asking()


def _print_surfaces() -> None:
    print(
        "| strategy | trials, all | trials, hard | failed trials | regret, median | p95 | beaten | failing |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    own = _noisy(DEFAULT_STRATEGY)
    for name in STRATEGIES:
        cold = _to_best(name)
        _print_row(name, cold, own if name == DEFAULT_STRATEGY else _noisy(name), own)
    for label, known in ((", experience of others", False), (", and what is known of the run", True)):
        _print_row(DEFAULT_STRATEGY + label, _warm(known, noise=0.0), _warm(known, noise=NOISE), own)
    print(
        "\nExperience: the other surfaces, without those of the same server and workload. Known of a run: "
        "architecture family, sendfile mode, disk-bound or not, one or several CPUs.\n"
    )


def _print_row(
    label: str, cold: list[SurfaceSummary], noisy: list[SurfaceSummary], own: list[SurfaceSummary]
) -> None:
    regrets = [regret for summary in noisy for regret in summary.regrets]
    pairs = [
        (statistics.fmean(a.regrets), statistics.fmean(b.regrets)) for a, b in zip(own, noisy, strict=True)
    ]
    beaten, equalled = sum(a < b for a, b in pairs), sum(a == b for a, b in pairs)
    print(
        f"| {label} | {geometric_mean([s.ratio for s in cold]):.3f} "
        f"| {geometric_mean([s.ratio for s in cold if s.random_trials >= HARD_TRIALS]):.3f} "
        f"| {statistics.fmean(s.failed_share for s in cold):.0%} "
        f"| {np.median(regrets):.2%} | {np.percentile(regrets, 95):.2%} "
        f"| {'' if noisy is own else f'{beaten} + {equalled} ({(beaten + equalled) / len(pairs):.0%})'} "
        f"| {sum(s.failing for s in noisy) / len(regrets):.2%} |",
        flush=True,
    )


def _to_best(name: str) -> list[SurfaceSummary]:
    search = partial(summarise, strategy_name=name, repeats=_repeats(name), budget_trials=1)
    return _on_every_surface(search)


def _noisy(name: str) -> list[SurfaceSummary]:
    search = partial(
        summarise, strategy_name=name, repeats=_repeats(name), budget_trials=NOISY_BUDGET, noise=NOISE
    )
    return _on_every_surface(search)


def _warm(known: bool, noise: float) -> list[SurfaceSummary]:
    return _on_every_surface(partial(_warm_on, known=known, noise=noise))


def _warm_on(surface: Surface, known: bool, noise: float) -> SurfaceSummary:
    return summarise(
        surface,
        DEFAULT_STRATEGY,
        repeats=max(1, SEEDS // 20),
        budget_trials=NOISY_BUDGET if noise else 1,
        noise=noise,
        experience=learnt_from(SURFACES, surface),
        features=surface.features if known else None,
    )


def _on_every_surface(search: Callable[[Surface], SurfaceSummary]) -> list[SurfaceSummary]:
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(search, SURFACES))


def _repeats(name: str) -> int:
    return max(1, SEEDS // SLOW.get(name, 1))


def _print_synthetic() -> None:
    spaces = synthetic_spaces()
    print(
        f"Synthetic spaces of {spaces[0].knobs} to {spaces[-1].knobs} mixed knobs with interactions, a known "
        "optimum and regions that fail: the share of the optimum that the best of so many "
        "trials reaches, mean "
        f"over {len(spaces)} spaces and {max(1, SEEDS // 10)} seeds.\n"
    )
    print("| strategy | 30 trials | 100 trials |\n| --- | ---: | ---: |")
    for name in (DEFAULT_STRATEGY, "tpe", "random"):
        reached = [
            _best_of(name, space, seed, (30, 100)) for space in spaces for seed in range(max(1, SEEDS // 10))
        ]
        means = np.mean(reached, axis=0)
        print(f"| {name} | {means[0]:.1%} | {means[1]:.1%} |", flush=True)
    print()


def _best_of(name: str, space: SyntheticSpace, seed: int, after: tuple[int, ...]) -> list[float]:
    """The share of the optimum reached after so many trials."""
    search = make_strategy(name, space.space, seed=seed, budget_trials=max(after))
    best, reached = 0.0, []
    for number in range(1, max(after) + 1):
        proposal = search.ask()
        if proposal is not None:
            score = space.score(proposal.configuration)
            best = max(best, score or 0.0)
            verdict = Verdict.FAILED_VERIFICATION if score is None else Verdict.VERIFIED
            search.tell(TrialResult(configuration=proposal.configuration, verdict=verdict, score=score))
        if number in after:
            reached.append(best)
    return reached


def _print_asking() -> None:
    space = synthetic_spaces()[0]
    search = make_strategy(DEFAULT_STRATEGY, space.space, seed=1, budget_trials=2000)
    drawn = make_strategy("random", space.space, seed=1, budget_trials=2000)
    for _ in range(1000):
        proposal = drawn.ask()
        if proposal is None:
            raise RuntimeError("the space is too small for 1,000 trials")
        score = space.score(proposal.configuration)
        verdict = Verdict.FAILED_VERIFICATION if score is None else Verdict.VERIFIED
        result = TrialResult(configuration=proposal.configuration, verdict=verdict, score=score)
        drawn.tell(result)
        search.tell(result)
    search.ask()
    took_ms = sorted(_timed_ms(search.ask) for _ in range(20))
    print(
        f"Asking {DEFAULT_STRATEGY} in a space of {space.knobs} knobs with 1,000 trials told takes "
        f"{statistics.median(took_ms):.1f} ms (at most {took_ms[-1]:.1f} in 20)."
    )


def _timed_ms(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - begun)


if __name__ == "__main__":
    main()
