"""The server's own counters, from its stats socket (docs/stats-socket.md)."""

from pathlib import Path

from trimtab_agent.counters.source import Values
from trimtab_agent.stats_socket import StatsSocket, StatsSocketError

# Of these the present value counts; all others only ever grow, and are shown per second.
GAUGES = {"connections_open"}


class ServerSource:
    """The server whose stats socket was last given to `watch`."""

    name = "server"

    def __init__(self) -> None:
        self._path: Path | None = None

    def watch(self, path: Path | None) -> None:
        """From now on reads the stats socket at `path`; nothing when None."""
        self._path = path

    def read(self) -> dict[str, float] | None:
        """The totals of `show stats`; None when no server is being watched, or it has just gone."""
        path = self._path
        if path is None:
            return None
        try:
            with StatsSocket(path) as stats:
                return stats.total()
        except StatsSocketError:
            return None

    def values(self, earlier: dict[str, float], later: dict[str, float], interval_s: float) -> Values:
        """Gauges as of the later reading, counters per second with `_per_s` added to their names."""
        values: Values = {}
        for name, value in later.items():
            if name in GAUGES:
                values[name] = value
            elif name in earlier:
                # A restarted server counts from zero again.
                values[f"{name}_per_s"] = round(max(0.0, value - earlier[name]) / interval_s, 2)
        return values
