"""What whole runs on this machine claim: of two equal configurations, of one slowed by 5 %, and quick against
grid.

A/A: the default and the same with another keep-alive timeout, which changes nothing under this load; a
claimed difference is wrong.  A/B: connections are the limit (clients' pauses see to that), and one
configuration admits 5 % fewer; not to tell them apart is wrong.  Quick against grid: the best of a `quick`
run and the best of an exhaustive grid, which drives every configuration of the preset's grid up the whole of
the ladder as quick left it, repeated in turns.

Takes three hours.  TRIMTAB_AA, TRIMTAB_AB and TRIMTAB_GRIDS in the environment set how many runs there are
of each (40, 10, 1).
"""

import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from trimtab_agent.results.outcome import Outcome
from trimtab_agent.runtime import Runtime, open_runtime
from trimtab_agent.settings import AgentSettings
from trimtab_agent.study.run_spec import KnobSpec, RunSpec
from trimtab_db.records import RunState
from trimtab_trials.trial import TrialPurpose
from trimtab_tuner.certainty.statistics import Gain, paired_gain

AA_RUNS = int(os.environ.get("TRIMTAB_AA", "40"))
AB_RUNS = int(os.environ.get("TRIMTAB_AB", "10"))
GRID_RUNS = int(os.environ.get("TRIMTAB_GRIDS", "1"))
TURNS = 6
MOST_TURNS = 3 * TURNS
SLOWED = 0.95
GRID_BUDGET = 200  # more than the preset's grid has configurations: none of its values is thinned out
CONNECTIONS = 100  # far below what the CPUs could serve: the clients' pauses keep them busy

INTRODUCTION = """# What whole runs claim

Runs on one machine whose truth is known, to see whether what Trimtab announces is true. `make bench-live`
measures this anew; the file `agent/bench/tuning_runs.py` has the settings.
"""

# A comparison and no search: two trials, then the confirmation of the `standard` preset on short rates.
COMPARISON: dict[str, Any] = {
    "strategy": "grid",
    "budget_trials": 2,
    "runners_up": 1,
    "expert_baseline": False,
    "directories": 10,
    "time_scale": 0.1,
    "timeout_s": 1.0,
    "calibration_step_s": 1.0,
    "rate_duration_s": 2.0,
    "warmup_s": 0.5,
    "gap_s": 0.0,
    "ladder_points": 3,
    "calibration_start_rps": 500.0,
    # Connections that are not let in time out; here that is meant, and no failure.
    "thresholds": {"all_files_limit": 1, "size_limit": 1, "size_over_mean_limit": 1, "failures_limit": 1},
}


def main() -> None:
    """Prints the section; a part that fails does not take the others with it, and is told in the end."""
    print(INTRODUCTION, flush=True)
    failed = 0
    with tempfile.TemporaryDirectory() as folder, open_runtime(AgentSettings(var=Path(folder))) as runtime:
        parts: list[Callable[[], None]] = [
            *([partial(_print_equal, runtime, Path(folder))] if AA_RUNS else []),
            *([partial(_print_slowed, runtime, Path(folder))] if AB_RUNS else []),
            *(partial(_print_quick_against_grid, runtime, seed) for seed in range(1, GRID_RUNS + 1)),
        ]
        for part in parts:
            try:
                part()
            except Exception:
                traceback.print_exc()
                failed += 1
    sys.exit(failed)


def _tell(line: str) -> None:
    """What has been done so far; the section itself goes to standard output."""
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def _print_equal(runtime: Runtime, folder: Path) -> None:
    base = _base(folder, "keepalive_timeout = 15")
    knobs = {"keepalive_timeout": KnobSpec(low=16, high=16)}
    gains = [_compared(runtime, base, knobs, seed) for seed in range(1, AA_RUNS + 1)]
    claimed = sum(gain is not None and gain.significant for gain in gains)
    print(f"A/A: {claimed} of {AA_RUNS} runs of two equal configurations claimed a difference.\n", flush=True)


def _print_slowed(runtime: Runtime, folder: Path) -> None:
    base = _base(folder, f"max_connections = {CONNECTIONS}")
    slower = round(SLOWED * CONNECTIONS)
    knobs = {"max_connections": KnobSpec(low=slower, high=slower)}
    gains = [_compared(runtime, base, knobs, seed) for seed in range(1, AB_RUNS + 1)]
    told = sum(gain is not None and gain.significant and gain.gain < 0 for gain in gains)
    measured = ", ".join(f"{gain.gain:+.1%}" for gain in gains if gain is not None)
    print(
        f"A/B: {told} of {AB_RUNS} confirmations told a configuration slowed by {1 - SLOWED:.0%} from the "
        f"default (measured: {measured}).\n",
        flush=True,
    )


def _print_quick_against_grid(runtime: Runtime, seed: int) -> None:
    quick, quick_s = _finished(runtime, RunSpec(preset="quick", seed=seed))
    ladder = runtime.repository.run(quick).ladder
    settings = {
        "strategy": "grid",
        "budget_trials": GRID_BUDGET,
        "early_stopping": False,
        "confirmation_repeats": 0,
        "ladder": ladder,
    }
    grid, _ = _finished(runtime, RunSpec(preset="quick", seed=seed, settings=settings))
    # Without the default in between, which only a search that is judged by its noise needs.
    cells = [t for t in runtime.repository.whole_trials(grid) if t.proposal_number is not None]
    grid_s = sum((t.finished_at - t.started_at).total_seconds() for t in cells)
    _tell(f"run {grid}, the grid, took {grid_s / 60:.1f} minutes for {len(cells)} trials")
    bests = (_best_trial(runtime, quick), _best_trial(runtime, grid))
    pairs = _measured_in_turns(runtime, (quick, grid), bests)
    gain = paired_gain([of_grid for _, of_grid in pairs], [of_quick for of_quick, _ in pairs])
    print(
        f"Quick against the exhaustive grid (seed {seed}): {quick_s / 60:.1f} against "
        f"{grid_s / 60:.1f} minutes for {len(cells)} trials "
        f"({quick_s / grid_s:.0%}); what quick found is {gain} of the grid's best, by "
        f"{len(pairs)} repeats in turns.\n",
        flush=True,
    )


def _measured_in_turns(
    runtime: Runtime, runs: tuple[int, int], trials: tuple[int, int]
) -> list[tuple[float, float]]:
    """Scores of a trial of each of two runs, side by side; a turn that the host spoilt is made up for."""
    pairs: list[tuple[float, float]] = []
    for turn in range(MOST_TURNS):
        scores: dict[int, float | None] = {}
        for which in (0, 1) if turn % 2 else (1, 0):
            runtime.service.repeat(runs[which], trials[which])
            runtime.service.wait()
            repeated = runtime.repository.whole_trials(runs[which])[-1]
            _tell(f"turn {turn + 1}: run {runs[which]} again, {repeated.verdict}, {repeated.score} Mbps")
            scores[which] = repeated.score
        if (first := scores[0]) is not None and (second := scores[1]) is not None:
            pairs.append((first, second))
        if len(pairs) == TURNS:
            break
    return pairs


def _compared(runtime: Runtime, base: Path, knobs: dict[str, KnobSpec], seed: int) -> Gain | None:
    """The gain of the only other configuration over the default, by the run's own confirmation."""
    fixed = {name: KnobSpec(fixed=value) for name, value in (("workers", 1), ("sendfile", "nonblocking"))}
    if "max_connections" not in knobs:
        fixed["max_connections"] = KnobSpec(fixed=CONNECTIONS)
    spec = RunSpec(
        preset="standard",
        base=str(base),
        objective="sustained",
        seed=seed,
        knobs={**fixed, **knobs},
        settings=COMPARISON,
    )
    run_id, _ = _finished(runtime, spec)
    outcome = Outcome.model_validate(runtime.repository.run(run_id).outcome)
    return next((ranked.gain for ranked in outcome.ranking if not ranked.is_default), None)


def _finished(runtime: Runtime, spec: RunSpec) -> tuple[int, float]:
    """A run brought to its end: its number, and the seconds it took."""
    begun = time.monotonic()
    run_id = runtime.service.start(spec)
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    _tell(f"run {run_id} {run.state}: {run.error or (run.outcome or {}).get('sentence', '')}")
    if run.state is not RunState.FINISHED:
        raise RuntimeError(f"run {run_id} {run.state}: {run.error}")
    return run_id, time.monotonic() - begun


def _best_trial(runtime: Runtime, run_id: int) -> int:
    """The number of a search trial of the configuration that the run recommends, or of its highest score."""
    run = runtime.repository.run(run_id)
    best = Outcome.model_validate(run.outcome).best if run.outcome else None
    trials = [t for t in runtime.repository.whole_trials(run_id) if t.purpose is TrialPurpose.SEARCH]
    own = [t for t in trials if t.configuration == best]
    return (own or sorted(trials, key=lambda t: -(t.score or 0.0)))[0].number


def _base(folder: Path, line: str) -> Path:
    file = folder / "base.ini"
    file.write_text(f"[server]\n{line}\n")
    return file


if __name__ == "__main__":
    main()
