"""A job, and a simulated station that carries it out."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from simulation import Simulation
from trimtab_agent.host.cpu_layout import CpuLayout
from trimtab_agent.simulated.station import SimulatedStation
from trimtab_trials.configuration import Value
from trimtab_trials.host import Host
from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.parameters import parameters

HOST = Host(
    machine_id="one", name="bench", kernel="6", cpu_model="a", cpus=4, memory_bytes=1 << 30, topology={}
)
WORKLOAD = parameters(WORKLOADS["specweb99"].sized(1), 0.02)
TIMES = {"rate_duration_s": 10.0, "warmup_s": 2.0, "gap_s": 1.0, "timeout_s": 2.0}
LAYOUT = CpuLayout(server=(0, 1), generator=(2, 3), reason="because")


@pytest.fixture
def job() -> Callable[..., TrialJob]:
    """Makes jobs of the core with its default, but for the knobs in `knobs`; `changes` are the job's."""

    def make(knobs: dict[str, Value] | None = None, **changes: Any) -> TrialJob:
        default = TARGETS["core"].space(cpus=len(LAYOUT.server)).default()
        climb: dict[str, Any] = {} if "calibrate_from_rps" in changes else {"ladder": (1000.0, 2000.0)}
        return TrialJob(
            target="core",
            configuration={**default, **(knobs or {})},
            **{"workload": WORKLOAD, **TIMES, **climb, **changes},
        )

    return make


@pytest.fixture
def simulation(tmp_path) -> Simulation:
    """What happens at the station."""
    return Simulation(tmp_path / "var")


@pytest.fixture
def station(simulation: Simulation, tmp_path) -> Iterator[SimulatedStation]:
    """The station."""
    made = SimulatedStation(HOST, LAYOUT, simulation.file, tmp_path / "workloads")
    yield made
    made.close()
