"""What stood behind the server while a rate was driven, counted in the window of the other counters."""

import time
from collections.abc import Sequence

from trimtab_agent.counters.source import Values
from trimtab_agent.station.server.replicas import Replicas
from trimtab_agent.station.upstream import RunningUpstream, counted, upstream_counters, was_the_limit


class BehindCounters:
    """The counters `backend` of a program that is tuned too, and `upstream` of ours, all of them together;
    none without either.
    """

    def __init__(self, server: Replicas, upstreams: Sequence[RunningUpstream]) -> None:
        self._server = server
        self._upstreams = upstreams
        self._begun: tuple[float, dict[str, int]] | None = None
        self._values: Values = {}

    def at_edge(self, edge: str) -> None:
        """The window begins (`begin`) or ends (`end`) now."""
        now_s = time.monotonic()
        if edge == "begin":
            self._begun = (now_s, counted(self._upstreams)) if self._upstreams else None
            return
        if (backend := self._server.read_backend()) is not None:
            self._values["backend"] = backend
        if self._begun is not None:
            begun_s, before = self._begun
            self._values["upstream"] = upstream_counters(before, counted(self._upstreams), now_s - begun_s)

    def values(self) -> Values:
        """One source each, as in a measurement."""
        return self._values

    @property
    def limited(self) -> bool:
        """Whether the upstream was the limit, and not the server."""
        upstream = self._values.get("upstream")
        return isinstance(upstream, dict) and was_the_limit(upstream)
