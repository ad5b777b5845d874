"""A demo: a folder in which every measurement is simulated, and is said to be.

A mark in the folder makes it one, for good: whatever command or daemon opens it later knows. So simulated
runs and measured ones never lie in one database.
"""

import os
from dataclasses import replace
from pathlib import Path

from trimtab_trials.host import Host

from trimtab_agent.errors import HostError
from trimtab_agent.paths import DEMO_SAID, DEMO_TEXT, VarPaths
from trimtab_agent.simulated.scenario import Scenario, write_scenario

SAID = DEMO_SAID
"""What every page, report and exported file says."""
NO_SERVER_ASKED = f"{SAID}. No server is asked whether it accepts the file."
NO_CHANGES = "a demo changes nothing on this machine; start Trimtab without --demo for that"
PACE_S = 0.15  # a run of the quick preset then takes half a minute: long enough to watch


def demo_folder(var: Path) -> Path:
    """Where the demo beside a folder of real measurements lies."""
    return var.with_name(f"{var.name}-demo")


def mark(var: Path) -> None:
    """Makes a folder a demo. Raises HostError if it holds real measurements, or somebody else's `demo`."""
    paths = VarPaths(var)
    try:
        if paths.is_demo:
            return
        if paths.database.exists():
            raise HostError(f"{var} holds real measurements: a demo wants a folder of its own")
        if os.path.lexists(paths.demo_mark):
            raise HostError(
                f"{paths.demo_mark} is in the way: a demo is marked by a file of that name, and this is "
                "another; name another folder with --var"
            )
        var.mkdir(parents=True, exist_ok=True)
        write_scenario(paths.scenario, Scenario(pace_s=PACE_S))
        with paths.demo_mark.open("x") as file:
            file.write(DEMO_TEXT)
    except OSError as error:
        raise HostError(f"the directory {var} cannot be made: {error.strerror}") from error


def as_demo(host: Host) -> Host:
    """The machine as a demo records it: no result can be taken for one of the machine.

    Reports and files name the host or its CPU, and so say it.
    """
    return replace(host, machine_id=f"{0:032x}", name=SAID, cpu_model=SAID)
