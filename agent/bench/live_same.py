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

from live_lab import Kept, Lab, Ticking, bounded, failed, lab, section
from trimtab_agent.live.episodes import Told, carry_out
from trimtab_tuner.live.episode import Action, Rules

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tuner" / "bench"))
from live_episodes import RepeatedTest

EPISODES = int(os.environ.get("TRIMTAB_EPISODES", "40"))
RATE_RPS = 2500
STEP_S = 40
PERIODS = 2 * STEP_S
EPISODE_S = 3 * STEP_S + 15


def main() -> None:
    """Measures for as long as it may, and prints the section."""
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
    """The section of what there is."""
    ends = kept.all()
    rows = [
        (judge, str(len(ends)), *(str(sum(each[of] == told for each in ends)) for told in (gain, harm)))
        for judge, of, gain, harm in (
            ("episode", "action", Action.PROMOTE, Action.ROLL_BACK),
            ("t-test after every period", "test", "gain", "harm"),
        )
        if ends
    ]
    lost, asked = (sum(each[of] for each in ends) for of in ("failed", "requests"))
    about = (
        f"Episodes with nginx under {RATE_RPS:,} requests/s, whose candidate is the baseline; a step takes "
        f"{STEP_S} s at most (`agent/bench/live_same.py`). Wanted: at most 5 % promoted, and at most 5 % "
        "rolled back."
    )
    if ends:
        about += f" Of {asked:,} requests {lost:,} failed."
    heads = ("judged by", "episodes", "promoted, told as a gain", "rolled back, told as harm")
    print(section("Equal candidates", about, heads, rows))


if __name__ == "__main__":
    main()
