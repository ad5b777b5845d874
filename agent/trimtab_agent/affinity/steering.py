"""Receive queues steered for the time of a trial, on top of whatever is in force, and just that taken back.

Workers are pinned by the server's own configuration, or by `pinning.py`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from trimtab_tuner.affinity import (
    PlanName,
    QueuePlacement,
    ReplicaPlacement,
    make_plan,
    place_queues_of_replicas,
)

from trimtab_agent.affinity.changes import changes_of, queues_of
from trimtab_agent.host.topology import SYS, Topology, read_topology
from trimtab_agent.os_settings.access import SettingRefused
from trimtab_agent.os_settings.journal import Applied, SettingsJournal


class Steering:
    """Puts queues of this host where a trial wants them. Safe to call from one thread at a time."""

    def __init__(self, journal: SettingsJournal, sysfs: Path = SYS) -> None:
        self._journal = journal
        self._sysfs = sysfs

    @contextmanager
    def for_plan(
        self, name: PlanName, cpus: Sequence[int], devices: Sequence[str]
    ) -> Iterator[tuple[Applied, ...]]:
        """The receive queues of a plan for a server on these CPUs; put back whatever ends it.

        Raises SettingRefused when a setting is refused: half a plan is another plan.
        """
        topology = read_topology(self._sysfs)
        try:
            plan = make_plan(name, tuple(cpus), 1, queues_of(topology, devices))
        except ValueError as error:
            raise SettingRefused(str(error)) from error
        with self._steered(plan.queues, topology) as settings:
            yield settings

    @contextmanager
    def for_replicas(
        self, placement: ReplicaPlacement, shares: Sequence[Sequence[int]], devices: Sequence[str]
    ) -> Iterator[tuple[Applied, ...]]:
        """The same for replicas, which have these shares of the CPUs and the devices in turn."""
        topology = read_topology(self._sysfs)
        try:
            queues = [queues_of(topology, (device,)) for device in devices]
            placements = place_queues_of_replicas(placement, shares, queues)
        except ValueError as error:
            raise SettingRefused(str(error)) from error
        with self._steered(placements, topology) as settings:
            yield settings

    def drift_of(self, settings: Sequence[Applied]) -> tuple[str, ...]:
        """A sentence for each of the settings that somebody else has changed since."""
        return self._journal.drift_of(settings)

    @contextmanager
    def _steered(
        self, placements: Sequence[QueuePlacement], topology: Topology
    ) -> Iterator[tuple[Applied, ...]]:
        with self._journal.held(changes_of(placements, topology)) as settings:
            yield settings
