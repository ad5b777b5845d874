"""Which servers the API may attach to: those that the operator lists, and no others.

A browser shall not get at servers that nobody meant to be tuned. The list (`TRIMTAB_LIVE_SERVERS`) has units,
paths of programs and ports; the commands of the daemon's own user need none.
"""

from collections.abc import Collection

from trimtab_agent.live.running import RunningServer


def is_listed(server: RunningServer, listed: Collection[str]) -> bool:
    """Whether the operator lists it: its unit (with or without `.service`), its program's path, or a port."""
    units = {server.unit, server.unit.removesuffix(".service")} - {""}
    ports = {str(listener.port) for listener in server.listeners}
    return not (units | ports | {str(server.program)}).isdisjoint(listed)
