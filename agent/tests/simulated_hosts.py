"""Simulated hosts for runs over several of them: the study is the real one, what it decides on is made up."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from simulation import Simulation
from trimtab_agent.fleet.run_stations import Chosen, RunStations, Wanted
from trimtab_agent.paths import VarPaths
from trimtab_agent.runtime import Runtime
from trimtab_agent.simulated.station import SimulatedStation
from trimtab_db import records
from trimtab_trials.host import Host
from trimtab_tuner.fleet.classes import HostClass, held_back, strata_of


class SimulatedHosts(RunStations):
    """Gives every run so many hosts of one class, host0 and on; `simulations` say what happens at those where
    it is not what the run's own scenario says, and each is a `station`. `made` are those of the last run.
    """

    def __init__(
        self, runtime: Runtime, count: int, station: type[SimulatedStation] = SimulatedStation
    ) -> None:
        self._runtime = runtime
        self.names = tuple(f"host{number}" for number in range(count))
        self.simulations: dict[str, Simulation] = {}
        self.made: list[SimulatedStation] = []
        self._station = station

    def at(self, name: str) -> Simulation:
        """What happens at a host, from now on not what happens at the others."""
        var = self._runtime.settings.var / name
        return self.simulations.setdefault(name, Simulation(var))

    def choose(self, wanted: Wanted, target: str, seed: int) -> Chosen:
        """All of them, whatever is asked for."""
        del wanted, target
        classes = {
            name: HostClass(cpu_model="any", cpus=1, kernel="6", network_cards=(), server="1")
            for name in self.names
        }
        strata = strata_of(classes)
        hosts = {
            name: {
                "host_id": self._runtime.repository.register_host(_host(name)),
                "class": classes[name].model_dump(mode="json"),
                "stratum": strata[name],
            }
            for name in self.names
        }
        fleet = {
            "hosts": hosts,
            "generators": [],
            "generators_each": 0,
            "held_back": list(held_back(classes, seed)),
        }
        layout = {**self._runtime.layout.document(), "sentence": "simulated hosts"}
        return Chosen(1, layout, fleet, "1")

    @contextmanager
    def of(self, run_id: int) -> Iterator[list[Any]]:
        """The stations."""
        del run_id
        paths = VarPaths(self._runtime.settings.var)
        self.made = [
            self._station(
                _host(name),
                self._runtime.layout,
                self.simulations[name].file if name in self.simulations else paths.scenario,
                paths.workloads,
                name,
            )
            for name in self.names
        ]
        yield list(self.made)

    def changes(self, run: records.Run) -> str:
        """None."""
        del run
        return ""


def _host(name: str) -> Host:
    return Host(
        machine_id=name, name=name, kernel="6", cpu_model="any", cpus=1, memory_bytes=1 << 30, topology={}
    )
