"""The traffic of a real server becomes another kind while live tuning is attached in mode auto: how near does
it come to the best configuration for that traffic in a quarter of an hour?

nginx begins with the configuration that a run on this machine recommends for the traffic at first. After
BEFORE_S with that the public asks for files eight times as large, or on a connection for each request, or
twice as often. After so many minutes the session is detached, and four files are compared under the new
traffic: nginx's as it is then; that of the beginning, which is the winner for the old traffic; the one that
nobody has tuned; and the best for the new traffic. Each has a block in every turn, in random order, and what
is compared is the CPU time of a request: on a CPU of its own a server's capacity is its inverse.

The best for a kind of traffic is what an offline run recommends (`trimtab tune`, preset quick, with this file
as `--base`), of the settings that live tuning may change. The session knows these runs, as it does on any
machine where they were made. They are made before the first round, into .build/live-recovery, and whole, also
where the seconds end meanwhile.

    python agent/bench/live_recovery.py SECONDS MINUTES

measures for so long, or until there are enough rounds of each (TRIMTAB_ROUNDS, 3), with sessions that go on
for so many minutes after the shift (15). What has been measured is kept, by the minutes.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from live_lab import (
    FILE_BYTES,
    FILES,
    LOGGED_S,
    Asking,
    Kept,
    Lab,
    Ticking,
    arguments,
    bounded,
    lab,
    section,
    shifts_of,
    with_values,
)
from trimtab_agent.live.service import AttachSpec
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.runtime import open_live, open_runtime
from trimtab_agent.settings import AgentSettings
from trimtab_agent.study.run_spec import RunSpec
from trimtab_db.records import LiveDecisionKind, LiveMode, RunState
from trimtab_trials.configuration import Configuration
from trimtab_tuner.certainty.statistics import Gain, paired_gain
from trimtab_tuner.live.observed import observed_together
from trimtab_tuner.workloads.definition import Definition

ROUNDS = int(os.environ.get("TRIMTAB_ROUNDS", "3"))
MINUTES = 15.0
WANTED = 0.97
BEFORE_S = 90  # the session has observed the traffic of the beginning, and has begun to try something
TURNS, BLOCK_S, WASHOUT_S = 8, 8, 3
USUAL = Asking(rate_rps=4000)
SHIFTS = shifts_of(USUAL)
SETTINGS = AgentSettings(var=Path(__file__).resolve().parents[2] / ".build" / "live-recovery")
NOW, OLD, DEFAULT, BEST = "live", "the offline winner for the old traffic", "nobody has tuned it", "offline"


def main() -> None:
    """Measures for as long as it may, and prints the section."""
    until_s, minutes = arguments(MINUTES)
    last_s = until_s - BEFORE_S - 60 * minutes - 4 * TURNS * (BLOCK_S + WASHOUT_S) - 60
    if time.monotonic() < last_s:
        measure(last_s, minutes)
    show(minutes)


def measure(last_s: float, minutes: float) -> None:
    """The rounds that there is time for: none begins after `last_s` (monotonic)."""
    best = {asked: offline(asked) for asked in dict.fromkeys(map(of_run, (USUAL, *SHIFTS.values())))}
    for name, asked in SHIFTS.items():
        kept = rounds_of(name, minutes)
        for number in bounded(range(ROUNDS), kept, last_s):
            kept.add(one(asked, minutes, best[of_run(USUAL)], best[of_run(asked)], number))


def rounds_of(name: str, minutes: float) -> Kept:
    """What was measured of that shift, with sessions of that length."""
    return Kept(f"recovery: {name}, {minutes:g} min")


def of_run(asked: Asking) -> Asking:
    """What a run for that traffic is about: it finds the rates by itself."""
    return Asking(rate_rps=0, path=asked.path, requests=asked.requests)


def offline(asked: Asking) -> Configuration:
    """What a run recommends for that traffic; the default where it found nothing better."""
    size = FILE_BYTES * (8 if asked.path == "large" else 1)
    kept = Kept(f"offline: {asked.path}, {asked.requests}")
    if found := kept.all():
        best: Configuration = found[0]["best"]
        return best
    definition = {
        "name": f"public-{asked.path}-{asked.requests}",
        "help": f"One file of {size:,} bytes, asked for {asked.requests} times on a connection.",
        "files": {"kind": "listed", "list": [{"size_bytes": size}]},
        "sessions": {"kind": "plain", "requests": asked.requests},
    }
    with tempfile.TemporaryDirectory() as name, open_runtime(SETTINGS) as runtime:
        folder = Path(name)
        base = folder / "nginx.conf"
        base.write_text(FILES["nginx"].format(folder=folder, root=folder, port=8000, further="", site=""))
        spec = RunSpec(target="nginx", base=str(base), definition=Definition.model_validate(definition))
        run_id = runtime.service.start(spec)
        runtime.service.wait()
        run = runtime.repository.run(run_id)
    if run.state is not RunState.FINISHED:
        sys.exit(f"run {run_id} {run.state}: {run.error}")
    outcome = Outcome.model_validate(run.outcome)
    kept.add({"best": outcome.best or outcome.default, "run": run_id, "sentence": outcome.sentence})
    return offline(asked)


def one(asked: Asking, minutes: float, old: Configuration, best: Configuration, seed: int) -> dict[str, Any]:
    """One round: what the session decided, and what a request costs with each file."""
    with lab(values=old) as made, open_live(SETTINGS) as (repository, service):
        made.add_files()
        before = made.file.read_text()
        public = made.asked(USUAL, BEFORE_S)
        time.sleep(LOGGED_S)
        session = service.attach(AttachSpec(server=str(made.server.pid), mode=LiveMode.AUTO))
        public.end()
        made.asked(asked, 60 * minutes).end()
        service.close()
        decisions = repository.live_decisions(session)
        texts = {
            NOW: made.file.read_text(),
            OLD: before,
            DEFAULT: made.plain,
            BEST: with_values("nginx", made.plain, best),
        }
        costs = compared(made, texts, asked, np.random.default_rng(seed))
    return {
        "costs": costs,
        "decisions": [f"{each.kind}: {each.sentence}" for each in decisions],
        "kept": sum(each.kind is LiveDecisionKind.KEPT for each in decisions),
        "seen": any(each.kind is LiveDecisionKind.CONTEXT for each in decisions),
    }


def compared(
    made: Lab, texts: Mapping[str, str], asked: Asking, chance: np.random.Generator
) -> dict[str, list[float]]:
    """CPU seconds of 1,000 requests with each of these files, turn by turn."""
    costs: dict[str, list[float]] = {name: [] for name in texts}
    made.asked(asked, TURNS * len(texts) * (BLOCK_S + WASHOUT_S) + 30)
    with made.observed() as observer:
        tick = Ticking(observer)
        for _ in range(TURNS):
            for name in map(str, chance.permutation(list(texts))):
                made.file.write_text(texts[name])
                os.kill(made.server.pid, signal.SIGHUP)
                for _ in range(2 * WASHOUT_S):
                    tick()
                seen = observed_together([tick() for _ in range(2 * BLOCK_S)])
                costs[name].append(1000 * seen.arm.cpu_s / max(seen.arm.requests, 1))
    return costs


def of_the_best(rounds: Sequence[Mapping[str, Any]], name: str) -> Gain | None:
    """How much more a CPU serves with that file than with the best one, over the turns of all rounds."""
    costs = ([cost for each in rounds for cost in each["costs"][of]] for of in (BEST, name))
    best, own = ([1 / cost if cost else None for cost in of] for of in costs)
    return paired_gain(best, own)


def show(minutes: float) -> None:
    """The section of what there is."""
    about = (
        f"nginx under {USUAL.rate_rps:,} requests/s for {FILE_BYTES >> 10} KiB, ten on a connection, with "
        f"live tuning in mode auto; then other traffic, for {minutes:g} minutes. What a CPU serves in the "
        "end, of what it serves with the offline best for that traffic, with its 95 % interval "
        f"(`agent/bench/live_recovery.py`). Wanted: at least {100 * WANTED:.0f} %."
    )
    heads = ("then there is", "rounds", f"at least {100 * WANTED:.0f} %", "promoted", NOW, DEFAULT, OLD)
    rows = []
    for name in SHIFTS:
        if rounds := rounds_of(name, minutes).all():
            each = [of_the_best([one_round], NOW) for one_round in rounds]
            enough = sum(gain is not None and 1 + gain.gain >= WANTED for gain in each)
            promoted = sum(each["kept"] for each in rounds)
            ratios = (in_cell(of_the_best(rounds, of)) for of in (NOW, DEFAULT, OLD))
            rows.append((name, str(len(rounds)), str(enough), str(promoted), *ratios))
    print(section("How near to the best after other traffic has come", about, heads, rows))


def in_cell(gain: Gain | None) -> str:
    """A ratio with its interval."""
    if gain is None or gain.low is None or gain.high is None:
        return "–"
    return f"{1 + gain.gain:.1%} ({1 + gain.low:.1%} to {1 + gain.high:.1%})"


if __name__ == "__main__":
    main()
