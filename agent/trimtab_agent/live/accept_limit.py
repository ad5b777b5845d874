"""Adapts `accept_limit` of a trimtab-httpd that runs, second by second, to its load.

The policy decides (accept_limit_policy.py of the tuner); this observes the server, sets what the policy says
at its stats socket, and gives the server its own limit back at the end, whatever that end is (switching.py).
"""

from collections.abc import Callable
from pathlib import Path

from trimtab_tuner.live.accept_limit_policy import MOST_LIMIT, AcceptLimitPolicy, Second
from trimtab_tuner.live.observed import Observed

from trimtab_agent.errors import HostError
from trimtab_agent.live.production import production_observer, stats_socket_of
from trimtab_agent.live.running import RunningServer
from trimtab_agent.live.switching import Switch
from trimtab_agent.station.server.stats_socket import StatsSocket, StatsSocketError
from trimtab_agent.stopping import StopSignal

KNOB = "accept_limit"
SLOW_S = 1.0  # nothing here asks which replies were slow


def adapt_accept_limit(
    server: RunningServer,
    notes: Path,
    stop: StopSignal,
    *,
    seed: int,
    tell: Callable[[Second, str], None],
    period_s: float = 1.0,
) -> list[str]:
    """Until a stop is requested; sentences about what could not be put back then.

    `notes` is the directory of notes of live tuning. `tell` gets every second and the limit that follows it,
    as the server takes it. Raises HostError where the server is not a trimtab-httpd with a stats socket, and
    where it ends or somebody else sets its limit.
    """
    stats_socket = stats_socket_of(server) if server.target.name == "core" else None
    if stats_socket is None:
        raise HostError(
            f"process {server.pid} ({server.target.name}) cannot be told an {KNOB}: expected a trimtab-httpd "
            "whose file names a stats_socket"
        )
    try:
        with StatsSocket(stats_socket) as stats:
            own = {KNOB: stats.ask("show config")[KNOB]}
    except StatsSocketError as error:
        raise HostError(str(error)) from error
    policy, in_force = AcceptLimitPolicy(seed=seed), str(own[KNOB])
    observer, _ = production_observer(server, SLOW_S)
    with observer, Switch(server.pid, stats_socket, own, notes) as switch:
        limit = _as_set(policy.limit)
        while True:
            if limit != in_force:
                switch.put({KNOB: limit})
                in_force = limit
            if stop.wait(period_s):
                return switch.close()
            second = _second(observer.read())
            limit = _as_set(policy.told(second))
            tell(second, limit)


def _as_set(limit: int) -> str:
    return "inf" if limit == MOST_LIMIT else str(limit)


def _second(observed: Observed) -> Second:
    """What the policy wants to know of a period."""
    arm = observed.arm
    return Second(
        open=observed.replies.connections_open or 0,
        waiting=arm.waiting,
        throughput_rps=arm.requests / observed.seconds,
        service_s=sum(served.service_s for served in arm.served) / arm.requests if arm.requests else 0.0,
    )
