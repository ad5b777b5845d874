"""What tests on simulated measurements share: they say what happens, instead of waiting until it does."""

from pathlib import Path
from typing import Any

from trimtab_agent.paths import VarPaths
from trimtab_agent.simulated.demo import mark
from trimtab_agent.simulated.scenario import Hold, Scenario, read_scenario, write_scenario


class Simulation:
    """The scenario of a demo in `var`; what it says goes for every rate that begins from then on."""

    def __init__(self, var: Path) -> None:
        mark(var)
        self.file = VarPaths(var).scenario
        write_scenario(self.file, Scenario())  # a demo has a pace for whoever watches; tests have none

    def change(self, **changes: Any) -> None:
        """Changes some of the scenario, and leaves the rest as it is."""
        whole = read_scenario(self.file).model_dump() | changes
        write_scenario(self.file, Scenario.model_validate(whole))

    def happens(self, what: str, **where: Any) -> None:
        """Something more happens to the trials that the other arguments name."""
        incidents = [one.model_dump() for one in read_scenario(self.file).incidents]
        self.change(incidents=[*incidents, {"what": what, **where}])

    def hold(self, trial: int | None = None, rate: int = 1) -> None:
        """That trial waits before its `rate`, which counts from 1, and no other does; None: each of them."""
        self.change(hold=Hold(trial=trial, rate=rate).model_dump())

    def release(self) -> None:
        """Whatever is held goes on."""
        self.change(hold=None)
