"""Production is observed as it is: by what it tells and writes already, and nothing is set on it.

core      its stats socket, which its file names
others    the access logs that they have open, in the Common or the Combined format: requests, sizes,
          statuses; no service times, for none are in there
          those with a status page also tell of their connections (status_counts.py)
page only requests and connections: no sizes, no statuses
neither   CPU time, connections that are open and that wait: the sentence beside the observer says so
"""

from collections.abc import Iterable
from pathlib import Path

from trimtab_tuner.live.observed import Replies
from trimtab_tuner.targets.assignments import last_values
from trimtab_tuner.targets.servers.core.syntax import assignments

from trimtab_agent.errors import HostError
from trimtab_agent.live.core_stats import CoreStats
from trimtab_agent.live.its_file import text_of_its_file
from trimtab_agent.live.listening import inode_of
from trimtab_agent.live.observation import ObservationLost, Observer, Source
from trimtab_agent.live.production_log import ProductionLog
from trimtab_agent.live.running import RunningServer
from trimtab_agent.live.socket_diag import connections_at
from trimtab_agent.live.status_counts import LogWithCounts, status_counts

NO_TIMES = "Its access log tells no service times: requests, their sizes and statuses are observed."
NO_SIZES = (
    "It writes no access log in the Common or the Combined format, or no request is in it yet: its status "
    "page tells of requests and connections, and of no sizes, statuses or service times."
)
NOTHING = (
    "It writes no access log in the Common or the Combined format, or no request is in it yet: only its CPU "
    "time and its connections are observed."
)


class NoReplies:
    """A server that tells of no reply; how many connections are open at its ports the kernel knows.

    Those of all servers count that share the ports.
    """

    tells_requests = False
    paths = ()

    def __init__(self, ports: Iterable[int]) -> None:
        self._ports = frozenset(ports)

    def read(self) -> Replies:
        """The connections; raises ObservationLost when the kernel does not tell."""
        try:
            return Replies(connections_open=connections_at(self._ports))
        except OSError as error:
            raise ObservationLost(f"the kernel does not tell of connections: {error.strerror}") from error

    def close(self) -> None:
        """Nothing is held between readings."""


def production_observer(server: RunningServer, slow_s: float) -> tuple[Observer, str]:
    """Observes a server that runs here, and a sentence about what is not known of it; empty for nothing.

    Raises ObservationLost when it has gone, or may not be looked into.
    """
    source, sentence = _source(server)
    try:
        sockets = [inode_of(server.pid, listener) for listener in server.listeners]
    except OSError as error:
        source.close()
        raise ObservationLost(f"process {server.pid} cannot be observed: {error.strerror}") from error
    return Observer(server.pid, source, sockets, slow_s), sentence


def stats_socket_of(server: RunningServer) -> Path | None:
    """Where the core answers; None where its file does not say so, or cannot be read."""
    try:
        text = text_of_its_file(server)
    except HostError:
        return None
    named = last_values(assignments(text)).get("stats_socket")
    return Path(f"/proc/{server.pid}/cwd", named) if named else None


def _source(server: RunningServer) -> tuple[Source, str]:
    """The best source that there is, and the sentence about what it does not tell."""
    if server.target.name == "core" and (stats_socket := stats_socket_of(server)):
        return CoreStats(stats_socket), ""
    counts = status_counts(server)
    log = ProductionLog(server.pid, () if counts is None else (counts.path,))
    if counts is not None:
        return LogWithCounts(log, counts), NO_TIMES if log.tells_requests else NO_SIZES
    if log.tells_requests:
        return log, NO_TIMES
    log.close()
    return NoReplies(listener.port for listener in server.listeners), NOTHING
