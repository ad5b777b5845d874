"""How a server says no to a configuration: by its own check, or by what it runs with in its place."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from trimtab_trials.configuration import Configuration

from trimtab_agent.station.processes.children import Child, last_line
from trimtab_agent.station.server.status_query import StatusQuery

CHECK_LIMIT_S = 20.0
SAYING_LIMIT_S = 10.0


class ConfigurationRejected(Exception):
    """The server's own check refuses the configuration; the text is the server's sentence."""


class ServerFailed(Exception):
    """The server accepted the configuration, but does not come up with it."""


def require_accepted(command: Sequence[str], program: str, file: Path) -> str:
    """Lets the server check its file with this command, and gives what it says of it; `program` is what is
    named where that goes wrong.

    Raises ConfigurationRejected with the server's words, ServerFailed for a check that hangs.
    """
    try:
        check = subprocess.run(command, capture_output=True, text=True, timeout=CHECK_LIMIT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise ServerFailed(
            f"{program} had not checked {file} after {CHECK_LIMIT_S:.0f} s and was killed"
        ) from error
    if check.returncode != 0:
        output = check.stderr.strip() or check.stdout.strip()
        raise ConfigurationRejected(output or f"{program} ended with exit code {check.returncode}")
    return check.stderr


def require_in_force(child: Child, status: StatusQuery, asked: Configuration) -> None:
    """Raises ConfigurationRejected for a value that a database has accepted and then changed by itself.

    With too few descriptors, for instance, it lets fewer clients in than its file says.
    """
    runs_with = status.runs_with(SAYING_LIMIT_S)
    if not runs_with:
        raise ServerFailed(f"{child.name} did not say with which values it runs")
    for name, value in asked.items():
        if runs_with.get(name, value) != value:
            said = last_line(child.log, name)
            raise ConfigurationRejected(
                f"{child.name} runs with {name} = {runs_with[name]} in place of {value}"
                + (f": {said}" if said else "")
            )
