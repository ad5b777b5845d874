"""Episodes with real servers and a candidate that is the baseline (A/A): how often is it told to be better or
worse?

Each is an episode as in production, with steps of at most STEP_S. Beside it, on the same periods, stands what
most canary tools do in effect: a t-test after every period. How far an episode has come is kept, so that many
can be measured in parts: `python agent/bench/live_same.py SECONDS` measures for so long, or until there are
enough (TRIMTAB_EPISODES, 40), and prints what there is.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from live_lab import Kept, Lab, Ticking, bounded, failed, lab
from trimtab_agent.live.episodes import Told, carry_out
from trimtab_tuner.live.episode import Rules

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tuner" / "bench"))
from live_episodes import RepeatedTest

EPISODES = int(os.environ.get("TRIMTAB_EPISODES", "40"))
RATE_RPS = 2500
STEP_S = 40
PERIODS = 2 * STEP_S
EPISODE_S = 3 * STEP_S + 15


def main() -> None:
    """Measures for as long as it may, and prints the rows."""
    until_s = time.monotonic() + float(sys.argv[1] if len(sys.argv) > 1 else "inf")
    kept = Kept("same")
    for _ in bounded(range(EPISODES), kept, until_s - EPISODE_S):
        with lab() as made:
            kept.add(one(made))
    show(kept)


def one(made: Lab) -> dict[str, object]:
    """One episode, as it ended."""
    beside, periods = RepeatedTest(), 0

    def tell(told: Told) -> None:
        nonlocal periods
        periods += 1
        beside.tell(told.baseline.arm, told.canary.arm)

    public = made.public(RATE_RPS, EPISODE_S + 10)
    with made.observed() as observer, tempfile.TemporaryDirectory() as notes:
        tick = Ticking(observer)
        for _ in range(6):
            tick()
        end = carry_out(
            server=made.server,
            base=made.base,
            candidate=made.server.target.space().default(),
            knobs=[],
            notes=Path(notes),
            rules=Rules(most_periods=PERIODS),
            guards=(),
            slow_s=1.0,
            cpus=1,
            paths=observer.paths,
            tick=tick,
            tell=tell,
        )
    public.process.terminate()
    result = public.end()
    return {
        "action": end.decision.action,
        "reason": end.decision.reason,
        "periods": periods,
        "test": beside.decided,
        "change": end.evidence["change"],
        "requests": result["requests"]["offered"],
        "failed": failed(result),
    }


def show(kept: Kept) -> None:
    """The table of what there is."""
    ends = kept.all()
    if not ends:
        return
    number = len(ends)
    print(f"Equal candidates, {number} episodes with nginx under {RATE_RPS:,} requests/s:\n")
    print("| judged by | promoted, told as a gain | rolled back, told as harm | periods, mean |")
    print("| --- | ---: | ---: | ---: |")
    promoted = sum(each["action"] == "promote" for each in ends)
    back = sum(each["action"] == "roll-back" for each in ends)
    mean = sum(each["periods"] for each in ends) / number
    print(f"| episode | {promoted} | {back} | {mean:.0f} |")
    gained, harmed = (sum(each["test"] == said for each in ends) for said in ("gain", "harm"))
    print(f"| t-test after every period | {gained} | {harmed} | {mean:.0f} |\n")


if __name__ == "__main__":
    main()
