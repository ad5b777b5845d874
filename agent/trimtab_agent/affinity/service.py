"""Affinity plans on this host, for the command line, the API and the runs: plan, apply, status, restore.

A plan asked for by a person stays in force until it is restored. A run applies its own on top for one trial
and takes just that back (`AffinityJournal.restore(down_to=…)`). Only one of them at a time: applying and
restoring by hand take the run lock, so that nobody moves interrupts under a measurement.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from trimtab_db import Repository
from trimtab_tuner.affinity import (
    AffinityPlan,
    PlanName,
    QueuePlacement,
    ReplicaPlacement,
    make_plan,
    place_queues_of_replicas,
)

from trimtab_agent.affinity.balancers import Balancer, balancers
from trimtab_agent.affinity.changes import changes_of, queues_of
from trimtab_agent.affinity.journal import AffinityJournal, Applied, Restored
from trimtab_agent.affinity.os_settings import DirectAccess, SettingRefused
from trimtab_agent.errors import RunConflict, SpecError
from trimtab_agent.helper.client import HelperAccess
from trimtab_agent.host.cpu_layout import CpuLayout
from trimtab_agent.host.lock import RunLock
from trimtab_agent.host.topology import Topology, read_topology
from trimtab_agent.paths import VarPaths
from trimtab_agent.settings import AgentSettings


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
    """Affinity plans on this host; masks go through the privileged helper where one is named."""

    def __init__(self, repository: Repository, layout: CpuLayout, settings: AgentSettings) -> None:
        self._layout = layout
        self._lock_path = VarPaths(settings.var).lock
        self._sysfs = settings.sysfs
        self.journal = AffinityJournal(
            repository, HelperAccess(settings.helper) if settings.helper is not None else DirectAccess()
        )

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
        with self._no_run():
            topology = self.topology()
            plan = self._plan(name, devices, workers, cpus, topology)
            settings = self.journal.apply(changes_of(plan.queues, topology))
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
        with self._no_run():
            return self.journal.restore()

    def restore_left_behind(self) -> tuple[Restored, ...]:
        """Puts back what a run, or a command that was killed, has left; for the start of the agent.

        Does nothing while a run goes on in another process: then it is that run's.
        """
        if not self.journal.in_force():
            return ()
        try:
            with self._no_run():
                return self.journal.restore(only_left_behind=True)
        except RunConflict:
            return ()

    @contextmanager
    def _no_run(self) -> Iterator[None]:
        """Holds the run lock. Raises RunConflict, HostError."""
        lock = RunLock(self._lock_path)
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def for_trial(
        self, name: PlanName, devices: Sequence[str], run_id: int | None
    ) -> Iterator[tuple[Applied, ...]]:
        """The receive queues of a plan steered for the time of a trial; put back whatever ends it.

        Its workers are pinned by the server's own configuration. Raises SettingRefused when a setting is
        refused: half a plan is another plan.
        """
        topology = self.topology()
        plan = self._plan(name, devices, 1, (), topology)
        with self._steered(plan.queues, topology, run_id) as settings:
            yield settings

    @contextmanager
    def for_replicas(
        self,
        placement: ReplicaPlacement,
        shares: Sequence[Sequence[int]],
        devices: Sequence[str],
        run_id: int | None,
    ) -> Iterator[tuple[Applied, ...]]:
        """The same for replicas, which have these shares of the CPUs and the devices in turn."""
        topology = self.topology()
        try:
            queues = [queues_of(topology, (device,)) for device in devices]
            placements = place_queues_of_replicas(placement, shares, queues)
        except ValueError as error:
            raise SettingRefused(str(error)) from error
        with self._steered(placements, topology, run_id) as settings:
            yield settings

    @contextmanager
    def _steered(
        self, placements: Sequence[QueuePlacement], topology: Topology, run_id: int | None
    ) -> Iterator[tuple[Applied, ...]]:
        mark = max((line.id for line in self.journal.in_force()), default=0)
        try:
            settings = self.journal.apply(changes_of(placements, topology), run_id)
            for setting in settings:
                if setting.state == "refused":
                    raise SettingRefused(f"{setting.path}: {setting.reason}")
            yield settings
        finally:
            self.journal.restore(down_to=mark)

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
            return make_plan(name, tuple(cpus) or self._layout.server, workers, queues)
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
