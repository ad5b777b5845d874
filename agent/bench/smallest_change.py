"""Whether whole runs recommend the smallest change that gives the gain: quick runs on simulated servers.

Each server has two useful settings of six free ones, the limit of connections and the send buffer (15 % at
its best value); four do nothing, or harm. The run is the real one, from its calibration to its confirmation;
the station answers from a model (`simulated/station.py`), which also says what a configuration can do in
truth.

    no useless setting   of the runs that recommend a change: it holds no setting but useful ones
    2 % at most lost     what is recommended can do at least 0.98 of what the search's best can

SEEDS in the environment sets how many servers (200), FIRST_SEED the first of them (0).
"""

import os
import statistics
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from trimtab_agent.paths import VarPaths
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.runtime import open_runtime
from trimtab_agent.settings import AgentSettings
from trimtab_agent.simulated.demo import mark
from trimtab_agent.simulated.scenario import write_scenario
from trimtab_agent.study.run_spec import KnobSpec, RunSpec
from trimtab_db.records import RunState
from trimtab_trials.trial import TrialPurpose

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "study"))
from test_elimination import (  # type: ignore[import-not-found]
    DEFAULT,
    KNOBS,
    SIX,
    USEFUL,
    Server,
    changed,
)

SEEDS = int(os.environ.get("SEEDS", "200"))
FIRST_SEED = int(os.environ.get("FIRST_SEED", "0"))
FREE = {name: spec for name, spec in KNOBS.items() if name in SIX}
FIXED = {name: KnobSpec(fixed=value) for name, value in DEFAULT.items() if name not in SIX}


@dataclass(frozen=True)
class Found:
    """What one run has found: settings of the search's best and of what is recommended, and what these can
    do, as multiples of the default.
    """

    settings_of_best: frozenset[str]
    settings: frozenset[str]
    best: float
    recommended: float
    trials: int

    @property
    def lost(self) -> float:
        """How much of the best's capacity the recommended configuration lacks, as a share."""
        return 1 - self.recommended / self.best


def found_by(seed: int) -> Found:
    """One run on the server of that seed."""
    server = Server(seed)
    with tempfile.TemporaryDirectory() as folder:
        mark(Path(folder))
        write_scenario(VarPaths(Path(folder)).scenario, server.scenario)
        with open_runtime(AgentSettings(var=Path(folder))) as runtime:
            run_id = runtime.service.start(
                RunSpec(target="core", knobs={**FIXED, **FREE}, preset="quick", seed=seed)
            )
            runtime.service.wait()
            run = runtime.repository.run(run_id)
            trials = runtime.repository.trials(run_id)
    if run.state is not RunState.FINISHED:
        raise RuntimeError(f"the run has ended {run.state.value}: {run.error}")
    recommended = Outcome.model_validate(run.outcome).best or DEFAULT
    measured = [trial for trial in trials if trial.purpose is TrialPurpose.ELIMINATION]
    # It is in every first block, beside configurations with some of its settings.
    best = max((t.configuration for t in measured), key=lambda c: len(changed(c)), default=recommended)
    default_rps = server.capacity_rps(DEFAULT)
    return Found(
        settings_of_best=frozenset(changed(best)),
        settings=frozenset(changed(recommended)),
        best=server.capacity_rps(best) / default_rps,
        recommended=server.capacity_rps(recommended) / default_rps,
        trials=len(measured),
    )


def main() -> None:
    """Prints the table."""
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = list(pool.map(found_by, range(FIRST_SEED, FIRST_SEED + SEEDS)))
    with_change = [one for one in found if one.settings]
    print("| runs | with a recommended change | no useless setting | 2 % at most lost | lost, 95 of 100 |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    clean = sum(one.settings <= USEFUL for one in with_change)
    kept = sum(one.lost <= 0.02 for one in with_change)
    lost = sorted(one.lost for one in with_change)[max(0, round(0.95 * len(with_change)) - 1)]
    print(f"| {len(found)} | {len(with_change)} | {clean} | {kept} | {lost:.1%} |")
    settings_of_best, settings, best, recommended, trials = (
        statistics.fmean(figures)
        for figures in zip(
            *((len(f.settings_of_best), len(f.settings), f.best, f.recommended, f.trials) for f in found),
            strict=True,
        )
    )
    print(
        f"\nThe search's best holds {settings_of_best:.1f} settings in the mean and can do {best:.2f} times "
        f"the default; what is recommended holds {settings:.1f} and can do {recommended:.2f} times. The "
        f"elimination took {trials:.1f} trials in the mean."
    )


if __name__ == "__main__":
    main()
