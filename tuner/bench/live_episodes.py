"""Simulated episodes of live tuning: how often an equal candidate is promoted or rolled back, and how soon a
harmful one is.

Beside it stands what most canary tools do in effect: a t-test of the same differences after every period.
TRIMTAB_EPISODES in the environment sets how many episodes of equal candidates there are (2000); a harmful
candidate gets a fiftieth of that.
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
PERIOD_S = 0.5
FIRST_TEST = 10
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


def episode(seed: int, **candidate: float) -> tuple[Decision, int, str]:
    """The decision that ended an episode, after how many periods, and what the repeated test decided."""
    judged, beside = Episode(Rules()), RepeatedTest()
    for number, arms in enumerate(Traffic(seed).periods(judged, **candidate), 1):
        decision = judged.told(*arms)
        beside.tell(*arms[1:])
        if decision.action not in (Action.GO_ON, Action.NEXT_STEP):
            return decision, number, beside.decided
    raise AssertionError("traffic does not end")


def main() -> None:
    """Prints the tables."""
    ends = [episode(seed) for seed in range(EPISODES)]
    actions = Counter(decision.action for decision, _, _ in ends)
    tests = Counter(decided for _, _, decided in ends)
    print(f"Candidates that are equal to the baseline, {EPISODES} simulated episodes:\n")
    print("| | promoted or told as a gain | rolled back or told as harm |\n| --- | ---: | ---: |")
    print(
        f"| episode | {actions[Action.PROMOTE] / EPISODES:.1%} | {actions[Action.ROLL_BACK] / EPISODES:.1%} |"
    )
    print(
        f"| t-test after every period | {tests['gain'] / EPISODES:.1%} | {tests['harm'] / EPISODES:.1%} |\n"
    )
    print("| harmful candidate | rolled back | within 10 s | seconds, median | 95 of 100 |")
    print("| --- | ---: | ---: | ---: | ---: |")
    count = max(EPISODES // 50, 1)
    for name, candidate in HARMS.items():
        ended = [episode(seed, **candidate) for seed in range(count)]
        took_s = [PERIOD_S * n for decision, n, _ in ended if decision.action is Action.ROLL_BACK]
        within = sum(seconds <= 10 for seconds in took_s) / count
        median, most = np.quantile(took_s, (0.5, 0.95)) if took_s else (math.nan, math.nan)
        print(f"| {name} | {len(took_s)} of {count} | {within:.0%} | {median:.1f} | {most:.1f} |")


if __name__ == "__main__":
    main()
