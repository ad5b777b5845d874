"""How good the default strategy is on generated families of problems, beside its peers.

Each family with noise of 0, 2, 5 and 10 %, over the same seeds for every strategy: the regret of what is
recommended at the end of the budget. The seeds are split (`generated.py`): `--half development` is what the
strategy may be chosen by, `--half held-out`, the usual one, is only reported. Peers that are not ours take
part where they are installed (`optimisers.py`, `tuner/bench/requirements.lock`). What strategies other than
the default reached is kept in `.build/families`, as it does not change; a slow peer may have fewer seeds, and
is compared on those.  SEEDS in the environment sets how many seeds there are (12).
"""

import argparse
import json
import math
import os
import sys
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from trimtab_tuner.strategies import DEFAULT_STRATEGY, make_strategy

sys.path.insert(0, str(Path(__file__).resolve().parent))
from generated import DEVELOPMENT, FAMILIES, HELD_OUT, NOISES, problem
from optimisers import PEERS

SEEDS = int(os.environ.get("SEEDS", "12"))
KEPT = Path(".build/families")
OWN_PEERS = ("tpe", "gp", "random", "grid")
BY_CHANCE = 2.0  # standard errors of the paired difference
WITHIN = 1.25
NO_REGRET = 0.001  # below which nobody would tell one regret from another

Row = dict[str, NDArray[np.float64]]  # regrets of each strategy


class Found(NamedTuple):
    """What one search recommended: its regret, and how likely a trial of it fails."""

    regret: float
    failing: float


def main() -> None:
    """Prints the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("development", "held-out"), default="held-out")
    half = parser.parse_args().half
    seeds = list(DEVELOPMENT if half == "development" else HELD_OUT)[:SEEDS]
    names = [DEFAULT_STRATEGY, *OWN_PEERS, *(name for name, peer in PEERS.items() if peer.installed)]
    print(f"## Generated families, {half} half\n")
    print(
        f"Mean regret in % over {len(seeds)} seeds, the same ones for each strategy. Failing: how likely a "
        f"trial of what {DEFAULT_STRATEGY} recommends fails verification, in the mean.\n"
    )
    print(f"| family | noise | {' | '.join(names)} | to the best peer | verdict | failing |")
    print(f"| --- | ---: | {'---: | ' * len(names)}---: | --- | ---: |")
    verdicts = []
    for family in FAMILIES:
        for noise in NOISES:
            found = {name: found_by(name, family, noise, seeds) for name in names}
            row = {name: np.array([one.regret for one in each]) for name, each in found.items()}
            failing = fmean(one.failing for one in found[DEFAULT_STRATEGY])
            verdicts.append(verdict(row))
            figures = " | ".join(
                f"{100 * regrets.mean():.2f}" if len(regrets) else "" for regrets in row.values()
            )
            print(f"| {family} | {noise:.0%} | {figures} | {verdicts[-1]} | {failing:.2%} |", flush=True)
    near = sum("worse" not in each for each in verdicts)
    within = sum("over" not in each for each in verdicts)
    print(
        f"\nBest, or within chance of the best ({BY_CHANCE:g} standard errors of the paired differences), on "
        f"{near} of {len(verdicts)} ({near / len(verdicts):.0%}; wanted: 80 %); at most {WITHIN:g} times the "
        f"best peer's regret on {within} (wanted: all)."
    )


def verdict(row: Row) -> str:
    """The ratio to the best peer on the seeds that it has, and what that says."""
    own = row[DEFAULT_STRATEGY]
    peers = {name: regrets for name, regrets in row.items() if name != DEFAULT_STRATEGY and len(regrets) > 1}
    name = min(peers, key=lambda name: float((peers[name] - own[: len(peers[name])]).mean()))
    best = peers[name]
    behind = own[: len(best)] - best
    error = float(behind.std(ddof=1)) / math.sqrt(len(behind))
    ratio = max(float(own[: len(best)].mean()), NO_REGRET) / max(float(best.mean()), NO_REGRET)
    said = "best" if behind.mean() <= 0 else "by chance" if behind.mean() <= BY_CHANCE * error else "worse"
    over = behind.mean() > 0 and ratio > WITHIN
    return f"{ratio:.2f} ({name}) | {said}{', over' if over else ''}"


def found_by(name: str, family: str, noise: float, seeds: list[int]) -> list[Found]:
    """What a strategy has found, in the order of the seeds."""
    if name == DEFAULT_STRATEGY:
        return [search(family, noise, name, seed) for seed in seeds]
    peer = PEERS.get(name)
    if peer is not None:
        seeds = seeds[: peer.seeds] if problem(family, seeds[0]).budget_trials <= peer.most_trials else []
    file = KEPT / f"{name}.{family}.{noise}.json"
    kept = json.loads(file.read_text()) if file.exists() else {}
    for seed in seeds:
        if str(seed) not in kept:
            kept[str(seed)] = search(family, noise, name, seed)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(kept))
    return [Found(*kept[str(seed)]) for seed in seeds]


def search(family: str, noise: float, name: str, seed: int) -> Found:
    """One search by a strategy or a peer."""
    made = problem(family, seed)
    chance = np.random.default_rng((seed, round(1000 * noise), 7))
    estimated = made.estimated_noise(noise, chance)
    if name in PEERS:
        recommended = PEERS[name].search(made, seed, lambda c: made.measured(c, noise, chance))
    else:
        strategy = make_strategy(
            name,
            made.space,
            seed=seed,
            budget_trials=made.budget_trials,
            noise=estimated,
            default_first=family != "recorded",
        )
        while (proposal := strategy.ask()) is not None:
            strategy.tell(made.measured(proposal.configuration, noise, chance))
        best = strategy.best()
        recommended = None if best is None else best.configuration
    failing = 0.0 if recommended is None else made.failing(recommended, noise)
    return Found(made.regret(recommended, noise), failing)


if __name__ == "__main__":
    main()
