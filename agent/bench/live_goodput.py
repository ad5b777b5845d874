"""What live tuning costs those who ask: the requests that a server answers to which it is attached in mode
auto, against those that one answers which is left as it is.

Both are nginx with the same file, and both meet the same arrivals: traffic that stays as it is, and traffic
that becomes another kind halfway. Both run at the same time, so what else goes on on the machine meets both:
each with its public on two CPUs of its own, or all on the same two where there are no more. A session is cut
into SLICES, and the requests answered in each are compared in pairs.

    python agent/bench/live_goodput.py SECONDS MINUTES

measures for so long, or until there are enough rounds of each (TRIMTAB_ROUNDS, 2), with sessions of so many
minutes (30). What has been measured is kept, by the minutes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from live_lab import (
    FILE_BYTES,
    LOGGED_S,
    ON_TWO,
    Asking,
    Cpus,
    Kept,
    Lab,
    Public,
    arguments,
    bounded,
    failed,
    lab,
    section,
    shifts_of,
)
from trimtab_agent.live.service import AttachSpec
from trimtab_agent.runtime import open_live
from trimtab_agent.settings import AgentSettings
from trimtab_db.records import LiveDecisionKind, LiveMode
from trimtab_tuner.certainty.statistics import Gain, paired_gain

ROUNDS = int(os.environ.get("TRIMTAB_ROUNDS", "2"))
MINUTES = 30.0
SLICES = 30  # of both halves together
WANTED = 0.99
AROUND_S = 60  # files are written, servers start and end
USUAL = Asking(rate_rps=4000)
SCENARIOS = {"as it was": USUAL, **shifts_of(USUAL)}
LIVE, STATIC = "live", "static"
HAVE_OWN_CPUS = len(os.sched_getaffinity(0)) >= 4


def main() -> None:
    """Measures for as long as it may, and prints the section."""
    until_s, minutes = arguments(MINUTES)
    round_s = 60 * minutes + AROUND_S
    for name, then in SCENARIOS.items():
        kept = rounds_of(name, minutes)
        for number in bounded(range(ROUNDS), kept, until_s - round_s):
            order = (LIVE, STATIC) if number % 2 else (STATIC, LIVE)
            kept.add(measured(order, then, minutes))
    show(minutes)


def rounds_of(name: str, minutes: float) -> Kept:
    """What was measured of that scenario, with sessions of that length."""
    return Kept(f"goodput: {name}, {minutes:g} min")


def measured(sides: Sequence[str], then: Asking, minutes: float) -> dict[str, Any]:
    """What came of each side; the first has the first CPUs."""
    half_s = 30 * minutes
    all_cpus = [Cpus((2 * place,), 2 * place + 1) if HAVE_OWN_CPUS else ON_TWO for place in range(len(sides))]
    with ExitStack() as opened:
        made = {
            side: opened.enter_context(lab(cpus=cpus)) for side, cpus in zip(sides, all_cpus, strict=True)
        }
        for each in made.values():
            each.add_files()
        first = {side: each.asked(USUAL, half_s) for side, each in made.items()}
        with attached(made.get(LIVE)) as decided:
            for public in first.values():
                public.end()
            second = {side: each.asked(then, half_s) for side, each in made.items()}
            ends = {side: [first[side].end(), second[side].end()] for side in made}
        return {
            side: {
                "replied": [*replied(first[side], half_s), *replied(second[side], half_s)],
                "offered": sum(end["requests"]["offered"] for end in ends[side]),
                "failed": sum(map(failed, ends[side])),
                "decisions": decided if side == LIVE else [],
            }
            for side in made
        }


@contextmanager
def attached(made: Lab | None) -> Iterator[list[tuple[str, str]]]:
    """Live tuning on that server until the end of the block; then the list has what it has decided."""
    decided: list[tuple[str, str]] = []
    if made is None:
        yield decided
        return
    os.sched_setaffinity(0, {made.cpus.public})  # where its threads are to be
    time.sleep(LOGGED_S)
    with TemporaryDirectory() as var, open_live(AgentSettings(var=Path(var))) as (repository, service):
        session = service.attach(AttachSpec(server=str(made.server.pid), mode=LiveMode.AUTO))
        yield decided
        service.close()
        decided += [(each.kind, each.sentence) for each in repository.live_decisions(session)]


def replied(public: Public, half_s: float) -> list[int]:
    """The requests that were answered in each slice of a half."""
    told, slices = public.replied(), SLICES // 2
    until = [
        max((count for at_s, count in told if at_s <= half_s * end / slices + 0.5), default=0)
        for end in range(1, slices + 1)
    ]
    return [now - before for before, now in pairwise([0, *until])]


def goodput(rounds: Sequence[Mapping[str, Any]]) -> Gain | None:
    """With live tuning against without, over the slices of all rounds."""
    static, live = (list(chain(*(each[of]["replied"] for each in rounds))) for of in (STATIC, LIVE))
    return paired_gain(static, live)


def show(minutes: float) -> None:
    """The section of what there is."""
    about = (
        f"nginx under {USUAL.rate_rps:,} requests/s for {FILE_BYTES >> 10} KiB, ten on a connection, for "
        f"{minutes:g} minutes with live tuning in mode auto and, at the same time, without; from the middle "
        "on the traffic is another (`agent/bench/live_goodput.py`). Wanted: at least "
        f"{100 * WANTED:.0f} %, at the lower end of the 95 % interval."
    )
    heads = (
        *("then", "rounds", "goodput, of that without", "lower end", "enough", "promoted, kept"),
        *("failed with, of", "without, of"),
    )
    rows = []
    for name in SCENARIOS:
        rounds = rounds_of(name, minutes).all()
        gain = goodput(rounds)
        if gain is not None:
            rows.append(tuple(row(name, rounds, gain)))
    print(section("Goodput, beside a server left as it is", about, heads, rows))


def row(name: str, rounds: Sequence[Mapping[str, Any]], gain: Gain) -> Iterator[str]:
    """The cells of a scenario."""
    yield from (name, str(len(rounds)), f"{1 + gain.gain:.2%}")
    yield "–" if gain.low is None else f"{1 + gain.low:.2%}"
    yield "yes" if gain.low is not None and 1 + gain.low >= WANTED else "no"
    kinds = [kind for each in rounds for kind, _ in each[LIVE]["decisions"]]
    yield f"{kinds.count(LiveDecisionKind.PROMOTED)}, {kinds.count(LiveDecisionKind.KEPT)}"
    for side in (LIVE, STATIC):
        lost, asked = (sum(each[side][of] for each in rounds) for of in ("failed", "offered"))
        yield f"{lost:,}, {asked:,}"


if __name__ == "__main__":
    main()
