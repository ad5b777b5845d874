"""Affinity plans that a person asks for, on the command line or through the API: plan, apply, status,
restore.

What is applied stays in force until it is restored; trials steer queues on top of it (`steering.py`).
Applying and restoring by hand take the machine's lock, so that nobody moves interrupts under a measurement.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from trimtab_tuner.affinity import AffinityPlan, PlanName, make_plan

from trimtab_agent.affinity.balancers import Balancer, balancers
from trimtab_agent.affinity.changes import changes_of, queues_of
from trimtab_agent.errors import RunConflict, SpecError
from trimtab_agent.host.topology import SYS, Topology, read_topology
from trimtab_agent.os_settings.journal import Applied, Restored, SettingsJournal


@dataclass(frozen=True, kw_only=True)
class PlannedAffinity:
    """A plan for this host and what it would change; `sentence` says it in words."""

    plan: AffinityPlan
    settings: tuple[Applied, ...]
    sentence: str


@dataclass(frozen=True, kw_only=True)
class AffinityStatus:
    """What is in force: lines of the journal as settings, what has drifted, and who else moves interrupts."""

    settings: tuple[Applied, ...]
    drift: tuple[str, ...]
    balancers: tuple[Balancer, ...]


class AffinityService:
    """Affinity plans on this host.

    `server_cpus` are those that plans are for if none are named; `alone` holds the machine's lock for as long
    as masks are changed, and raises RunConflict while a run goes on.
    """

    def __init__(
        self,
        journal: SettingsJournal,
        server_cpus: Sequence[int],
        alone: Callable[[], AbstractContextManager[object]],
        sysfs: Path = SYS,
    ) -> None:
        self.journal = journal
        self._server_cpus = tuple(server_cpus)
        self._alone = alone
        self._sysfs = sysfs

    def topology(self) -> Topology:
        """The host's topology as it is now."""
        return read_topology(self._sysfs)

    def plan(
        self, name: PlanName, devices: Sequence[str], workers: int, cpus: Sequence[int] = ()
    ) -> PlannedAffinity:
        """The plan for the receive queues of `devices`, as a preview; `cpus` default to the server's.

        Raises SpecError.
        """
        topology = self.topology()
        plan = self._plan(name, devices, workers, cpus, topology)
        settings = self.journal.preview(changes_of(plan.queues, topology))
        return PlannedAffinity(plan=plan, settings=settings, sentence=sentence_of(plan))

    def apply(
        self, name: PlanName, devices: Sequence[str], workers: int, cpus: Sequence[int] = ()
    ) -> PlannedAffinity:
        """Puts the masks of a plan into force; what was refused says why.

        Workers are pinned by whoever starts the server: here there is none. Raises SpecError, RunConflict.
        """
        with self._alone():
            topology = self.topology()
            plan = self._plan(name, devices, workers, cpus, topology)
            settings = self.journal.apply(changes_of(plan.queues, topology), by_hand=True)
            return PlannedAffinity(plan=plan, settings=settings, sentence=sentence_of(plan))

    def status(self) -> AffinityStatus:
        """What is in force now."""
        lines = self.journal.in_force()
        return AffinityStatus(
            settings=tuple(
                Applied(
                    path=line.path,
                    why="",
                    before=line.value_before,
                    after=line.value_after,
                    state="applied" if line.applied_at else "planned",
                )
                for line in lines
            ),
            drift=self.journal.drift(),
            balancers=balancers(),
        )

    def restore(self) -> tuple[Restored, ...]:
        """Puts everything back; what could not be says why, and stays in the journal. Raises RunConflict."""
        with self._alone():
            return self.journal.restore()

    def restore_left_behind(self) -> tuple[Restored, ...]:
        """Puts back what a run, or a command that was killed, has left; for the start of the agent.

        Does nothing while a run goes on in another process: then it is that run's.
        """
        if not self.journal.in_force():
            return ()
        try:
            with self._alone():
                return self.journal.restore(only_left_behind=True)
        except RunConflict:
            return ()

    def _plan(
        self,
        name: PlanName,
        devices: Sequence[str],
        workers: int,
        cpus: Sequence[int],
        topology: Topology,
    ) -> AffinityPlan:
        online = [cpu.cpu for cpu in topology.cpus]
        for cpu in cpus:
            if cpu not in online:
                raise SpecError("cpus", f"CPU {cpu} is not online: expected CPUs out of {online}")
        try:
            queues = queues_of(topology, devices)
            return make_plan(name, tuple(cpus) or self._server_cpus, workers, queues)
        except ValueError as error:
            raise SpecError("affinity", str(error)) from error


def sentence_of(plan: AffinityPlan) -> str:
    """The plan in words, as far as it can be told without looking."""
    workers = (
        f"workers on CPU {', '.join(map(str, plan.worker_cpus))}"
        if plan.worker_cpus
        else "workers wherever the scheduler puts them"
    )
    queues = (
        ", ".join(f"{p.queue.device} queue {p.queue.index} on CPU {p.cpu}" for p in plan.queues)
        if plan.queues
        else "receive queues as they are"
    )
    return f"{plan.name}: {workers}; {queues}."
