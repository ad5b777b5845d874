"""All counters together: the host's, and while there is one those of the server under test and its group.

The sampler reads them once a second, and a station round each rate; each compares only its own readings.
"""

from trimtab_agent.counters.host import host_sources
from trimtab_agent.counters.memory_group import MemoryGroupSource, ReadGroup
from trimtab_agent.counters.process import ProcessSource
from trimtab_agent.counters.server import ReadStats, ServerSource, WorkersSource
from trimtab_agent.counters.source import CounterSet


class WatchedCounters(CounterSet):
    """The counters of this host and of what is watched at present. For any thread."""

    def __init__(self) -> None:
        self._processes = ProcessSource()
        self._server = ServerSource()
        self._memory_group = MemoryGroupSource()
        super().__init__(
            [
                *host_sources(),
                self._processes,
                self._server,
                WorkersSource(self._server),
                self._memory_group,
            ]
        )

    def watch_server(self, pids: tuple[int, ...], read_stats: ReadStats | None) -> None:
        """Readings from now on include these processes and these counters of theirs; neither when empty."""
        self._processes.watch(pids)
        self._server.watch(read_stats)

    def server_memory_bytes(self) -> int | None:
        """The memory of all processes of the server together; None where it cannot be read.

        Every page that they share counts once. Not for every second: the kernel walks all their pages.
        """
        return self._processes.memory_bytes()

    def watch_memory_group(self, read_group: ReadGroup | None) -> None:
        """Readings from now on include this group; none when None."""
        self._memory_group.watch(read_group)
