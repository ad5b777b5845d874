"""Simulated episodes of live tuning: how often an equal candidate is promoted or rolled back, and how soon a
harmful one is.

Beside it stands what most canary tools do in effect: a t-test of the same differences after every period.
TRIMTAB_EPISODES in the environment sets how many episodes of equal candidates there are (2000).
"""

import math
import os
from collections import Counter

import numpy as np
from live_traffic import Traffic
from scipy import special
from trimtab_tuner.live.episode import Action, Decision, Episode, Rules
from trimtab_tuner.live.observed import ArmPeriod, cost_difference

EPISODES = int(os.environ.get("TRIMTAB_EPISODES", "2000"))
HARMFUL = 40
PERIOD_S = 0.5
FIRST_TEST = 10
LASTING = (0.0, 0.005, 0.01)
HARMS: dict[str, dict[str, float]] = {
    "twice the CPU time per request": {"cost": 2.0},
    "twice the service time": {"time": 2.0},
    "1 % of errors": {"errors": 0.01},
    "CPU time 10 % higher": {"cost": 1.1},
}


class RepeatedTest:
    """A t-test of the differences after every period: harm or gain at 5 %, whichever comes first."""

    def __init__(self) -> None:
        self._count, self._total, self._squares = 0, 0.0, 0.0
        self.decided = ""

    def tell(self, baseline: ArmPeriod, canary: ArmPeriod) -> None:
        """One more period."""
        difference = cost_difference(baseline, canary)
        if difference is None or self.decided:
            return
        self._count += 1
        self._total += difference
        self._squares += difference**2
        if self._count < FIRST_TEST:
            return
        mean = self._total / self._count
        error = math.sqrt(max(self._squares / self._count - mean**2, 1e-12) / (self._count - 1))
        if abs(mean) > float(special.stdtrit(self._count - 1, 0.975)) * error:
            self.decided = "harm" if mean > 0 else "gain"


def episode(seed: int, *, lasting: float = 0.0, **candidate: float) -> tuple[Decision, int, str]:
    """The decision that ended an episode, after how many periods, and what the repeated test decided."""
    judged, beside = Episode(Rules()), RepeatedTest()
    for number, arms in enumerate(Traffic(seed, lasting=lasting).periods(judged, **candidate), 1):
        decision = judged.told(*arms)
        beside.tell(*arms[1:])
        if decision.action not in (Action.GO_ON, Action.NEXT_STEP):
            return decision, number, beside.decided
    raise AssertionError("traffic does not end")


def main() -> None:
    """Prints the page's beginning and its first section."""
    print("# Live tuning in figures\n")
    print("Written by `make bench-live-tuning`.\n")
    print("## Simulated episodes\n")
    print(
        f"Candidates that are equal to the baseline, {EPISODES:,} episodes each "
        "(`tuner/bench/live_episodes.py`). Wanted: at most 5 % promoted, and at most 5 % rolled back.\n"
    )
    print("| equal processes differ by | judged by | promoted, told as a gain | rolled back, told as harm |")
    print("| ---: | --- | ---: | ---: |")
    for lasting in LASTING:
        ends = [episode(seed, lasting=lasting) for seed in range(EPISODES)]
        actions = Counter(decision.action for decision, _, _ in ends)
        tests = Counter(decided for _, _, decided in ends)
        promoted, back = (actions[action] / EPISODES for action in (Action.PROMOTE, Action.ROLL_BACK))
        gained, harmed = (tests[decided] / EPISODES for decided in ("gain", "harm"))
        print(f"| {lasting:.1%} | episode | {promoted:.1%} | {back:.1%} |")
        print(f"| {lasting:.1%} | t-test after every period | {gained:.1%} | {harmed:.1%} |")
    print(f"\nCandidates that do harm, {HARMFUL} episodes each, with a share of 5 %. Wanted: 95 % in 10 s.\n")
    print("| harmful candidate | rolled back | within 10 s | seconds, median | 95 of 100 |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, candidate in HARMS.items():
        ended = [episode(seed, **candidate) for seed in range(HARMFUL)]
        took_s = [PERIOD_S * n for decision, n, _ in ended if decision.action is Action.ROLL_BACK]
        within = sum(seconds <= 10 for seconds in took_s) / HARMFUL
        median, most = np.quantile(took_s, (0.5, 0.95)) if took_s else (math.nan, math.nan)
        print(f"| {name} | {len(took_s)} of {HARMFUL} | {within:.0%} | {median:.1f} | {most:.1f} |")


if __name__ == "__main__":
    main()
