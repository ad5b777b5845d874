"""What is known of a server that runs, for the command line and the API alike."""

from typing import Any

from trimtab_tuner.targets.base import RenderError

from trimtab_agent.errors import HostError, SpecError
from trimtab_agent.host.cpu_layout import process_layout
from trimtab_agent.live.its_file import read_its_file
from trimtab_agent.live.running import RunningServer


def server_document(server: RunningServer, *, for_all: bool = False) -> dict[str, Any]:
    """A server as JSON; `trouble` says why the values that its file sets are not known.

    What is `for_all` may be seen by who may not read the file: of that it has no word but values of knobs.
    """
    values, trouble = values_of(server)
    if for_all and trouble and server.file is not None:
        trouble = f"Its file could not be read: `trimtab live servers {server.pid}` says why."
    return {
        "target": server.target.name,
        "pid": server.pid,
        "program": str(server.program),
        "processes": server.processes,
        "user": server.user,
        "addresses": [listener.address for listener in server.listeners],
        "file": str(server.file) if server.file else None,
        "unit": server.unit or None,
        "obstacles": list(server.obstacles),
        "no_reload": server.no_reload or None,
        "values": values,
        "trouble": trouble or None,
    }


def values_of(server: RunningServer) -> tuple[dict[str, Any], str]:
    """The values of knobs that its file sets; without them a sentence that says why."""
    if server.file is None:
        return {}, "Which file it was started with is not known."
    try:
        base = read_its_file(server)
        return dict(server.target.parse(base.expanded, len(process_layout().server))), ""
    except (SpecError, HostError, RenderError) as error:
        return {}, f"It cannot be read: {error}"
