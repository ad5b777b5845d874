"""Replicas of a running server on its own ports, switched on and off second by second by what its traffic is.

The policy decides (replicas_policy.py of the tuner). A replica is production's own file run once more beside
it (arms.py), and all have the same share of the connections. When replicas are switched off, or this ends
however it does, production has all new connections at once, and the replicas answer what they have begun.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
from trimtab_tuner.live.observed import Observed
from trimtab_tuner.live.replicas_policy import ReplicasPolicy, Second

from trimtab_agent.base_file import BaseFile, read_base
from trimtab_agent.errors import HostError
from trimtab_agent.live.arms import ArmFiles, Arms
from trimtab_agent.live.episodes import observer_of
from trimtab_agent.live.observation import Observer
from trimtab_agent.live.production import production_observer
from trimtab_agent.live.restoring import LOOK_EVERY_S
from trimtab_agent.live.running import RunningServer
from trimtab_agent.stopping import StopSignal

TELLS_S = 5.0  # so long a replica may take from its start until it tells of itself
SLOW_S = 1.0  # nothing here asks which replies were slow


class _Replicas:
    """So many replicas of one server, which are on or off."""

    def __init__(self, server: RunningServer, base: BaseFile, count: int, notes: Path) -> None:
        self._server, self._notes = server, notes
        self._texts = {f"replica {number}": base.expanded for number in range(1, count + 1)}
        self._arms: Arms | None = None
        self._ending: list[Arms] = []
        self._observed = ExitStack()
        self._observers: list[Observer] = []

    def switch(self, *, on: bool) -> None:
        """On or off, whatever they are; raises HostError where they cannot be had, with none of them on."""
        if on == (self._arms is not None):
            return
        if self._arms is not None:
            self._off(self._arms)
            return
        arms = Arms(self._server, self._texts, self._notes)
        try:
            for pid, files in zip(arms.pids, arms.files, strict=True):
                self._observers.append(self._observed.enter_context(self._observer(pid, files)))
            arms.weigh(1 / (1 + len(self._texts)))
        except BaseException:
            self._off(arms)
            raise
        self._arms = arms

    def read(self) -> list[Observed]:
        """What each has done since the last time; raises HostError where one has ended by itself."""
        if self._arms is not None and (why := self._arms.ended()):
            self._off(self._arms)
            raise HostError(why)
        self._ending = [arms for arms in self._ending if not arms.wait(0)]
        return [observer.read() for observer in self._observers]

    def close(self) -> list[str]:
        """Off, and gone; sentences about what could not be put back."""
        complaints = self._off(self._arms) if self._arms is not None else []
        for arms in self._ending:
            arms.wait()
        return complaints

    def _observer(self, pid: int, files: ArmFiles) -> Observer:
        """As soon as it tells anything; raises HostError when it does not."""
        deadline = time.monotonic() + TELLS_S
        while True:
            try:
                return observer_of(self._server, pid, files, SLOW_S)
            except HostError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(LOOK_EVERY_S)

    def _off(self, arms: Arms) -> list[str]:
        self._arms, self._observers = None, []
        complaints = arms.close()
        with suppress(HostError):
            self._observed.close()
        self._observed = ExitStack()
        self._ending.append(arms)
        return complaints


def adapt_replicas(
    server: RunningServer,
    notes: Path,
    stop: StopSignal,
    *,
    count: int,
    seed: int,
    tell: Callable[[Second, ReplicasPolicy], None],
    period_s: float = 1.0,
) -> list[str]:
    """Until a stop is requested; sentences about what could not be put back then.

    `count` replicas are on or off together. `notes` is the directory of notes of live tuning. `tell` gets
    every second, and the policy after it. Raises HostError where replicas cannot be had, where the server
    does not tell of its requests, and where it or a replica ends by itself.
    """
    if server.obstacles or server.file is None:
        raise HostError(" ".join(server.obstacles) or f"the file of process {server.pid} is not known")
    policy = ReplicasPolicy(seed=seed)
    production, unknown = production_observer(server, SLOW_S)
    replicas = _Replicas(server, read_base(server.target, server.file), count, notes)
    with production:
        if not production.tells_requests:
            raise HostError(unknown)
        try:
            busy_s = _busy_s()
            while not stop.wait(period_s):
                seen = [production.read(), *replicas.read()]
                before_s, busy_s = busy_s, _busy_s()
                second = Second(
                    requests=sum(each.arm.requests for each in seen),
                    dynamic=sum(each.replies.dynamic or 0 for each in seen),
                    cpu_s=busy_s - before_s,
                )
                on = policy.told(second)
                tell(second, policy)
                replicas.switch(on=on)
        finally:
            complaints = replicas.close()
    return complaints


def _busy_s() -> float:
    """CPU time that the whole machine has used."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system + times.irq + times.softirq)
