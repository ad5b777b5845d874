"""The traffic of a real server becomes another kind: after how many seconds is that seen? And how often is a
change seen where there is none?

nginx is observed as in production, by its own log and its status page. A minute is learnt from, a minute more
stays as it is, then the public asks for files eight times as large, on a connection for each request, or
twice as often. How far it has come is kept: `python agent/bench/live_shift.py SECONDS` measures for so long,
or until there are enough rounds of each (TRIMTAB_ROUNDS, 10), and prints what there is.
"""

from __future__ import annotations

import os
import statistics
import sys
import time

from live_lab import (
    FILE_BYTES,
    LOGGED_S,
    PERIOD_S,
    Asking,
    Kept,
    Lab,
    Ticking,
    bounded,
    lab,
    section,
    shifts_of,
)
from trimtab_tuner.live.contexts import LEARNING, ChangeWatch, traffic_of

ROUNDS = int(os.environ.get("TRIMTAB_ROUNDS", "10"))
STEADY_PERIODS = 120
# So long is waited for a change to be seen; 30 seconds are wanted.
MOST_PERIODS = 120
WANTED_S = 30.0
ROUND_S = (LEARNING + STEADY_PERIODS + MOST_PERIODS) * PERIOD_S + 10
USUAL = Asking(rate_rps=1500)
SHIFTS = shifts_of(USUAL)


def main() -> None:
    """Measures for as long as it may, and prints the section."""
    until_s = time.monotonic() + float(sys.argv[1] if len(sys.argv) > 1 else "inf")
    for name, shift in SHIFTS.items():
        kept = Kept(f"shift: {name}")
        for _ in bounded(range(ROUNDS), kept, until_s - ROUND_S):
            with lab() as made:
                kept.add(one(made, shift))
    show()


def one(made: Lab, shift: Asking) -> dict[str, object]:
    """One round: seconds until the shift was seen (none if it was not), alarms before it."""
    made.add_files()
    asking, alarms, seen_s = made.asked(USUAL, ROUND_S), 0, None
    time.sleep(LOGGED_S)
    with made.observed() as observer:
        tick, watch = Ticking(observer), ChangeWatch()
        for _ in range(LEARNING + STEADY_PERIODS):
            alarms += watch.tell(traffic_of([tick()]))
        asking.process.terminate()
        asking.process.wait()
        made.asked(shift, ROUND_S)
        for period in range(1, MOST_PERIODS + 1):
            if watch.tell(traffic_of([tick()])):
                seen_s = period * PERIOD_S
                break
    return {"seen_s": seen_s, "alarms": alarms, "steady_s": STEADY_PERIODS * PERIOD_S}


def show() -> None:
    """The section of what there is."""
    about = (
        f"nginx under {USUAL.rate_rps:,} requests/s for {FILE_BYTES >> 10} KiB, ten on a connection; then "
        f"the traffic is another (`agent/bench/live_shift.py`). Wanted: seen within {WANTED_S:.0f} s, and at "
        "most one false alarm an hour."
    )
    heads = (
        *("then there is", "rounds", f"seen within {WANTED_S:.0f} s", "seconds, median", "most"),
        "false alarms an hour",
    )
    rows = []
    for name in SHIFTS:
        rounds = Kept(f"shift: {name}").all()
        if not rounds:
            continue
        seen = [each["seen_s"] for each in rounds if each["seen_s"] is not None]
        soon = sum(seen_s <= WANTED_S for seen_s in seen)
        middle, most = (f"{of(seen):.1f}" if seen else "–" for of in (statistics.median, max))
        an_hour = 3600 * sum(each["alarms"] for each in rounds) / sum(each["steady_s"] for each in rounds)
        rows.append((name, str(len(rounds)), str(soon), middle, most, f"{an_hour:.1f}"))
    print(section("How soon other traffic is seen", about, heads, rows))


if __name__ == "__main__":
    main()
