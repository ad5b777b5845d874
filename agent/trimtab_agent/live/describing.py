"""What is known of a server that runs, for the command line and the API alike."""

from typing import Any

from trimtab_tuner.targets.base import RenderError

from trimtab_agent.base_file import read_base
from trimtab_agent.errors import SpecError
from trimtab_agent.host.cpu_layout import process_layout
from trimtab_agent.live.running import RunningServer


def server_document(server: RunningServer) -> dict[str, Any]:
    """A server as JSON; `trouble` says why the values that its file sets are not known."""
    values, trouble = values_of(server)
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
        base = read_base(server.target, server.file)
        return dict(server.target.parse(base.expanded, len(process_layout().server))), ""
    except (SpecError, RenderError) as error:
        return {}, f"It cannot be read: {error}"
