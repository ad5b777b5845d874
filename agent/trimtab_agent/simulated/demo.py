"""A demo: a folder in which every measurement is simulated, and is said to be.

A mark in the folder makes it one, for good: whatever command or daemon opens it later knows. So simulated
runs and measured ones never lie in one database.
"""

from dataclasses import replace
from pathlib import Path

from trimtab_trials.host import Host

from trimtab_agent.errors import HostError
from trimtab_agent.paths import VarPaths
from trimtab_agent.simulated.scenario import Scenario, write_scenario

SAID = "Demo: simulated measurements"
"""What every page, report and exported file says."""
NO_CHANGES = "a demo changes nothing on this machine; start Trimtab without --demo for that"
PACE_S = 0.15  # a run of the quick preset then takes half a minute: long enough to watch
MARK_TEXT = "Every measurement in this folder is simulated.\n"


def demo_folder(var: Path) -> Path:
    """Where the demo beside a folder of real measurements lies."""
    return var.with_name(f"{var.name}-demo")


def mark(var: Path) -> None:
    """Makes a folder a demo. Raises HostError if it holds real measurements."""
    paths = VarPaths(var)
    if paths.demo_mark.exists():
        return
    if paths.database.exists():
        raise HostError(f"{var} holds real measurements: a demo wants a folder of its own")
    try:
        var.mkdir(parents=True, exist_ok=True)
        write_scenario(paths.scenario, Scenario(pace_s=PACE_S))
        paths.demo_mark.write_text(MARK_TEXT)
    except OSError as error:
        raise HostError(f"the directory {var} cannot be made: {error.strerror}") from error


def as_demo(host: Host) -> Host:
    """The machine as a demo records it: no result can be taken for one of the machine.

    Reports and files name the host or its CPU, and so say it.
    """
    return replace(host, machine_id=f"{0:032x}", name=SAID, cpu_model=SAID)
