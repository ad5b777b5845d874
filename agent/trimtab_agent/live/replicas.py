"""Replicas of a running server on its own ports, switched on and off second by second by what its traffic is.

The policy decides (replicas_policy.py of the tuner). A replica is production's own file run once more beside
it (arms.py), and all have the same share of the connections. When replicas are switched off, or this ends
however it does, production has all new connections at once, and the replicas answer what they have begun.
When an administrator changes production's file, or where it listens, replicas go and come back as it is then.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import psutil
from trimtab_tuner.live.observed import Observed
from trimtab_tuner.live.replicas_policy import ReplicasPolicy, Second

from trimtab_agent.errors import HostError
from trimtab_agent.live.arms import ArmFiles, Arms
from trimtab_agent.live.attachment import Attachment
from trimtab_agent.live.episodes import observer_of
from trimtab_agent.live.its_file import read_its_file
from trimtab_agent.live.observation import Observer
from trimtab_agent.live.restoring import LOOK_EVERY_S
from trimtab_agent.live.running import RunningServer
from trimtab_agent.stopping import StopSignal

TELLS_S = 5.0  # so long a replica may take from its start until it tells of itself
SLOW_S = 1.0  # nothing here asks which replies were slow


class _Replicas:
    """So many replicas of one server, as it is when they are switched on."""

    def __init__(self, attachment: Attachment, count: int, notes: Path) -> None:
        self._at, self._count, self._notes = attachment, count, notes
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
        text = self._at.base.expanded
        texts = {f"replica {number}": text for number in range(1, self._count + 1)}
        arms = Arms(self._at.server, texts, self._notes)
        try:
            for pid, files in zip(arms.pids, arms.files, strict=True):
                self._observers.append(self._observed.enter_context(self._observer(pid, files)))
            arms.weigh(1 / (1 + self._count))
        except BaseException:
            self._off(arms)
            raise
        self._arms = arms

    def read(self) -> list[Observed]:
        """What each has done since the last time; raises HostError where one has ended by itself."""
        if self._arms is not None and (why := self._arms.ended()):
            self._off(self._arms)
            raise HostError(why)
        if self._arms is not None:
            self._arms.tidy()
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
                return observer_of(self._at.server, pid, files, SLOW_S)
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
    does not tell of its requests, and where it or a replica ends by itself; SpecError where its file is not
    understood.
    """
    if server.obstacles:
        raise HostError(" ".join(server.obstacles))
    policy = ReplicasPolicy(seed=seed)
    with closing(Attachment(server, read_its_file(server), SLOW_S)) as production:
        if not production.observer.tells_requests:
            raise HostError(production.not_observed)
        replicas = _Replicas(production, count, notes)
        try:
            busy_s = _busy_s()
            while not stop.wait(period_s):
                if production.changed():
                    replicas.switch(on=False)
                    production.read_anew()
                seen = [production.observer.read(), *replicas.read()]
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
