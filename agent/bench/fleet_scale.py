"""What deciding costs in a run over many hosts, and how much faster eight hosts are than one.

The study is the real one, with its database (SQLite here), its model of hosts and its strategy; the hosts are
simulated stations in this process (`simulated/station.py`), which take no time of their own.

    control     CPU time of this process for each trial of the search, without that of the stations' threads:
                recording, the model of hosts and configurations, the strategy
    trials/h    of the search, by the clock, where each trial also sleeps for FIXED_S

Every host searches; none is kept for a confirmation, of which there is none. HOSTS and TRIALS in the
environment, such as HOSTS=8,100 TRIALS=1000,10000, say for which the first is measured. Up to 512 trials the
model is fitted with each; then so seldom that a trial costs the same however many were before it
(trimtab_tuner/fleet/effects.py). So of two figures for as many hosts that of more trials is not to be higher.
"""

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from trimtab_agent.paths import VarPaths
from trimtab_agent.runtime import open_runtime
from trimtab_agent.settings import AgentSettings
from trimtab_agent.simulated.demo import mark
from trimtab_agent.simulated.scenario import Scenario, write_scenario
from trimtab_agent.simulated.station import SimulatedStation
from trimtab_agent.station.equipment import JobListener
from trimtab_agent.study.fleet_search import FleetSearch
from trimtab_agent.study.run_spec import RunSpec
from trimtab_db.records import RunState
from trimtab_trials.trial import TrialPurpose
from trimtab_tuner.judging.job import TrialJob, TrialReport

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from simulated_hosts import SimulatedHosts


def _numbers(name: str, default: str) -> list[int]:
    return [int(word) for word in os.environ.get(name, default).split(",")]


HOSTS = _numbers("HOSTS", "8,100")
TRIALS = _numbers("TRIALS", "200,1000")
FIXED_S = 20.0  # as a trial of a quick run takes
FIXED_TRIALS = 6  # of each host
SEARCH_ONLY: dict[str, Any] = {
    "elimination_trials": 0, "confirmation_repeats": 0, "learn": False, "early_stopping": True,
}  # fmt: skip


class BenchStation(SimulatedStation):
    """A simulated host that adds up the CPU time of its thread, and sleeps for `fixed_s` in each trial."""

    fixed_s = 0.0
    cpu_s = 0.0

    def carry_out(
        self, number: int, job: TrialJob, listener: JobListener, kept: dict[str, Any]
    ) -> TrialReport:
        """As the simulated one does."""
        before_s = time.thread_time()
        report = super().carry_out(number, job, listener, kept)
        self.cpu_s += time.thread_time() - before_s
        time.sleep(self.fixed_s)
        return report


def searched(hosts: int, trials: int, fixed_s: float = 0.0) -> tuple[int, float, float]:
    """One run: how many trials its search took, and how many seconds of CPU and of the clock that took."""
    taken: dict[str, float] = {}
    BenchStation.fixed_s = fixed_s
    carry_out = FleetSearch.carry_out

    with tempfile.TemporaryDirectory() as folder:
        mark(Path(folder))
        write_scenario(VarPaths(Path(folder)).scenario, Scenario())
        with open_runtime(AgentSettings(var=Path(folder))) as runtime:
            stations = SimulatedHosts(runtime, hosts, BenchStation)

            def timed(*arguments: Any) -> None:  # noqa: ANN401 - those of `carry_out`
                own_s, cpu_s, clock_s = _of_stations(stations), time.process_time(), time.monotonic()
                carry_out(*arguments)
                taken["clock"] = time.monotonic() - clock_s
                taken["cpu"] = time.process_time() - cpu_s - (_of_stations(stations) - own_s)

            spec = RunSpec(
                target="nginx",
                hosts=tuple(stations.names),
                seed=1,
                budget_trials=-(-trials // hosts),
                settings=SEARCH_ONLY,
            )
            with (
                patch("simulated_hosts.held_back", return_value=()),
                patch.object(runtime.service, "_stations", stations),
                patch.object(FleetSearch, "carry_out", timed),
            ):
                run_id = runtime.service.start(spec)
                runtime.service.wait()
            run = runtime.repository.run(run_id)
            if run.state is not RunState.FINISHED:
                raise RuntimeError(f"the run has ended {run.state.value}: {run.error}")
            done = sum(each.purpose is TrialPurpose.SEARCH for each in runtime.repository.trials(run_id))
    return done, taken["cpu"], taken["clock"]


def _of_stations(stations: SimulatedHosts) -> float:
    return sum(station.cpu_s for station in stations.made if isinstance(station, BenchStation))


def main() -> None:
    """Prints both sections."""
    print("## What deciding costs\n")
    print("Simulated hosts that take no time (`agent/bench/fleet_scale.py`).\n")
    print("| hosts | trials of the search | control, ms of CPU time for each |")
    print("| ---: | ---: | ---: |")
    for hosts in HOSTS:
        for trials in TRIALS:
            done, cpu_s, _ = searched(hosts, trials)
            print(f"| {hosts} | {done:,} | {1000 * cpu_s / done:.1f} |", flush=True)
    print(f"\n## Eight hosts beside one\n\nThe same with trials that take {FIXED_S:g} s each.\n")
    print("| hosts | trials | trials an hour | times that of one host |")
    print("| ---: | ---: | ---: | ---: |")
    alone = None
    for hosts in (1, 8):
        done, _, clock_s = searched(hosts, hosts * FIXED_TRIALS, FIXED_S)
        rate = 3600 * done / clock_s
        alone = alone or rate
        print(f"| {hosts} | {done} | {rate:,.0f} | {rate / alone:.2f} |", flush=True)


if __name__ == "__main__":
    main()
