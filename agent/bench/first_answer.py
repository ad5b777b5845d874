"""How soon a quick run tries something good, with the changes that its calibration points to and without.

For each web server the trials of the search, and the seconds since the calibration began, until a
configuration has been tried whose capacity is within 10 % of that of the run's result: medians over the seeds
(the most of them in brackets). The servers are simulated (`simulated/server_model.py`): the default's limit
on connections lets through 45 % of what the CPUs can do. So their true capacities are known, and the clock
is the station's own. How soon a real server is there, this does not tell.

SEEDS in the environment sets how many seeds there are (5).
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from unittest.mock import patch

from trimtab_agent.paths import VarPaths
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.runtime import Runtime, open_runtime
from trimtab_agent.settings import AgentSettings
from trimtab_agent.simulated.demo import mark
from trimtab_agent.simulated.scenario import Scenario, write_scenario
from trimtab_agent.simulated.server_model import SimulatedServer
from trimtab_agent.study import search
from trimtab_agent.study.run_spec import RunSpec
from trimtab_db import records
from trimtab_trials.configuration import Configuration
from trimtab_trials.trial import TrialPurpose
from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.workloads.parameters import recorded_parameters

SEEDS = int(os.environ.get("SEEDS", "5"))
WITHIN = 0.1
SERVERS = [name for name, target in TARGETS.items() if target.protocol == "http"]
SEARCH_ONLY = {"elimination_trials": 0, "confirmation_repeats": 0}

Soon = tuple[int, float]  # trials, seconds


def main() -> None:
    """Prints the table."""
    print("| server | trials without | trials with | seconds without | seconds with |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for server in SERVERS:
        with tempfile.TemporaryDirectory() as folder:
            mark(Path(folder))
            with open_runtime(AgentSettings(var=Path(folder))) as runtime:
                with patch.object(search, "first_changes_of", return_value=()):
                    before = [soon(runtime, server, seed) for seed in range(1, SEEDS + 1)]
                after = [soon(runtime, server, seed) for seed in range(1, SEEDS + 1)]
        figures = [told([found[part] for found in each]) for part in (0, 1) for each in (before, after)]
        print(f"| {server} | {' | '.join(figures)} |", flush=True)


def told(values: Sequence[float]) -> str:
    """The median and the most of them."""
    return f"{median(values):.0f} ({max(values):.0f})"


def soon(runtime: Runtime, server: str, seed: int) -> Soon:
    """The trials of a run's search, and the seconds, until something good had been tried."""
    scenario = Scenario(seed=seed)
    write_scenario(VarPaths(runtime.settings.var).scenario, scenario)
    run_id = runtime.service.start(RunSpec(target=server, preset="quick", seed=seed, settings=SEARCH_ONLY))
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    best = Outcome.model_validate(run.outcome).best
    if best is None:
        raise RuntimeError(f"run {run_id} of {server} has found nothing: {run.error}")
    enough = (1 - WITHIN) * capacity_rps(run, scenario, best)
    trials = runtime.repository.trials(run_id)
    searched = [trial for trial in trials if trial.purpose is TrialPurpose.SEARCH]
    for number, trial in enumerate(searched, start=1):
        if capacity_rps(run, scenario, trial.configuration) >= enough:
            return number, (trial.finished_at - trials[0].started_at).total_seconds()
    raise RuntimeError(f"run {run_id} of {server} recommends what it has not tried")


def capacity_rps(run: records.Run, scenario: Scenario, configuration: Configuration) -> float:
    """What the simulated server can do, without noise."""
    job = TrialJob(
        target=run.target,
        configuration=configuration,
        workload=recorded_parameters(run.workload_parameters),
        ladder=tuple(run.ladder),
        rate_duration_s=run.settings["rate_duration_s"],
        warmup_s=run.settings["warmup_s"],
        timeout_s=run.settings["timeout_s"],
    )
    server = SimulatedServer(
        job=job,
        scenario=scenario,
        trial=0,
        sizes=(1024,),
        cpus=tuple(run.layout["server"]),
        generator_cpus=tuple(run.layout["generator"]),
    )
    return server.capacity_rps


if __name__ == "__main__":
    main()
