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
from trimtab_trials.trial import Trial, Verdict
from trimtab_tuner.replay.replaying import Replay, geometric_mean, learnt_from, random_trials_to, replays
from trimtab_tuner.replay.surfaces import Surface, thesis_surfaces
from trimtab_tuner.strategies import DEFAULT_STRATEGY, STRATEGIES, make_strategy

sys.path.insert(0, str(Path(__file__).resolve().parent))
from synthetic import SyntheticSpace, synthetic_spaces

SEEDS = int(os.environ.get("SEEDS", "100"))
NOISE = 0.05
NOISY_BUDGET = 16
HARD_TRIALS = 8
WITHIN = 0.01
SLOW = {"gp": 10}  # so many times fewer repeats, to keep the benchmark in minutes
WARM = 20
SURFACES = thesis_surfaces()

Searches = list[list[Replay]]  # one list per surface, in the order of SURFACES


def main() -> None:
    """Prints the section."""
    hard = sum(random_trials_to(surface, WITHIN) >= HARD_TRIALS for surface in SURFACES)
    print("## Search strategies\n")
    print(
        f"The {len(SURFACES)} tuning tables of Harji's thesis as surfaces, each searched with as many seeds "
        "as the table says. Trials until a configuration within 1 % of the best was tried, as a share of "
        f"what random choice needs: geometric mean over all surfaces, and over the {hard} hard ones where "
        f"random choice needs {HARD_TRIALS} or more. Regret: how far what is recommended after "
        f"{NOISY_BUDGET} trials with {NOISE:.0%} noise is below the best. Beaten: the surfaces on which "
        f"{DEFAULT_STRATEGY}'s mean regret is below this strategy's, plus those on which both are equal, and "
        "the share that this makes of all. Failing: share of recommendations that failed verification.\n"
    )
    _print_surfaces()
    _print_synthetic()
    _print_asking()


def _print_surfaces() -> None:
    print(
        "| strategy | seeds | trials, all | trials, hard | failed trials | regret, mean | median | p95 "
        "| beaten | failing |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    own = _searches(DEFAULT_STRATEGY, NOISY_BUDGET, NOISE)
    for name in STRATEGIES:
        noisy = own if name == DEFAULT_STRATEGY else _searches(name, NOISY_BUDGET, NOISE)
        _print_row(name, _searches(name), noisy, own)
    for label, known in ((", experience of others", False), (", and what is known of the run", True)):
        warm = [_on_every_surface(partial(_warm_on, known=known, noise=noise)) for noise in (0.0, NOISE)]
        _print_row(DEFAULT_STRATEGY + label, warm[0], warm[1], own)
    print(
        "\nExperience: the other surfaces, without those of the same server and workload. Known of a run: "
        "architecture family, sendfile mode, disk-bound or not, one or several CPUs.\n"
    )
    exact = [done for searches in _searches(DEFAULT_STRATEGY, NOISY_BUDGET) for done in searches]
    print(
        f"Without noise, what {DEFAULT_STRATEGY} recommends after {NOISY_BUDGET} trials had failed "
        f"verification in {sum(done.recommended_failing for done in exact)} of {len(exact):,} searches.\n"
    )


def _print_row(label: str, cold: Searches, noisy: Searches, own: Searches) -> None:
    random_trials = [random_trials_to(surface, WITHIN) for surface in SURFACES]
    ratios = [
        statistics.fmean(done.trials_to[WITHIN] for done in searches) / random
        for searches, random in zip(cold, random_trials, strict=True)
    ]
    hard = [ratio for ratio, random in zip(ratios, random_trials, strict=True) if random >= HARD_TRIALS]
    failed = [sum(d.failed for d in searches) / sum(d.trials for d in searches) for searches in cold]
    regrets = np.array([[_regret(done) for done in searches] for searches in noisy])
    pairs = [
        (statistics.fmean(map(_regret, mine)), float(theirs.mean()))
        for mine, theirs in zip(own, regrets, strict=True)
    ]
    beaten, equalled = sum(a < b for a, b in pairs), sum(a == b for a, b in pairs)
    itself = label.startswith(DEFAULT_STRATEGY)
    failing = statistics.fmean(done.recommended_failing for searches in noisy for done in searches)
    print(
        f"| {label} | {len(noisy[0])} | {geometric_mean(ratios):.3f} | {geometric_mean(hard):.3f} "
        f"| {statistics.fmean(failed):.0%} "
        f"| {regrets.mean():.2%} | {np.median(regrets):.2%} | {np.percentile(regrets, 95):.2%} "
        f"| {'' if itself else f'{beaten} + {equalled} ({(beaten + equalled) / len(pairs):.0%})'} "
        f"| {failing:.2%} |",
        flush=True,
    )


def _regret(done: Replay) -> float:
    """The regret of a search; the whole where it recommended nothing or what fails."""
    return 1.0 if done.regret is None else done.regret


def _searches(name: str, budget_trials: int | None = None, noise: float = 0.0) -> Searches:
    """A strategy on every surface; without a budget until the best is found."""
    repeats = max(1, SEEDS // SLOW.get(name, 1))
    return _on_every_surface(
        partial(replays, strategy_name=name, repeats=repeats, budget_trials=budget_trials, noise=noise)
    )


def _warm_on(surface: Surface, known: bool, noise: float) -> list[Replay]:
    return replays(
        surface,
        DEFAULT_STRATEGY,
        repeats=max(1, SEEDS // WARM),
        budget_trials=NOISY_BUDGET if noise else None,
        noise=noise,
        experience=learnt_from(SURFACES, surface),
        features=surface.features if known else None,
    )


def _on_every_surface(search: Callable[[Surface], list[Replay]]) -> Searches:
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(search, SURFACES))


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
            search.tell(Trial(configuration=proposal.configuration, verdict=verdict, score=score))
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
        result = Trial(configuration=proposal.configuration, verdict=verdict, score=score)
        drawn.tell(result)
        search.tell(result)
    search.ask()
    times_ms = [_timed_ms(search.ask) for _ in range(20)]
    elapsed_ms, cpu_ms = (sorted(times) for times in zip(*times_ms, strict=True))
    print(
        f"Asking {DEFAULT_STRATEGY} in a space of {space.knobs} knobs with 1,000 trials told takes "
        f"{statistics.median(cpu_ms):.1f} ms of CPU time (at most {cpu_ms[-1]:.1f} in 20), in which "
        f"{statistics.median(elapsed_ms):.1f} ms go by (at most {elapsed_ms[-1]:.1f})."
    )


def _timed_ms(call: Callable[[], object]) -> tuple[float, float]:
    """How long a call takes: on the clock, and of CPU time."""
    begun, begun_cpu = time.perf_counter(), time.process_time()
    call()
    return 1000 * (time.perf_counter() - begun), 1000 * (time.process_time() - begun_cpu)


if __name__ == "__main__":
    main()
