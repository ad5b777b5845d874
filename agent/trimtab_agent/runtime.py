"""Everything that daemon and command line need to run experiments, put together and taken down in order."""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from trimtab_db import Repository, open_database
from trimtab_db.records import RunState

from trimtab_agent.affinity.service import AffinityService
from trimtab_agent.broadcast import Broadcaster
from trimtab_agent.counters.sampler import Sampler
from trimtab_agent.errors import HostError, RunConflict
from trimtab_agent.host.cpu_layout import CpuLayout, pin_this_process, process_layout
from trimtab_agent.host.identity import describe_host
from trimtab_agent.host.lock import RunLock
from trimtab_agent.paths import VarPaths
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.conditions import clear_leftovers_of_dead_runs
from trimtab_agent.study.ending_early import interrupt_dead_runs
from trimtab_agent.study.runs import RunService

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """The parts; `host_id` is this machine's record."""

    settings: AgentSettings
    repository: Repository
    broadcaster: Broadcaster
    sampler: Sampler
    service: RunService
    affinity: AffinityService
    host_id: int
    layout: CpuLayout


@contextmanager
def open_repository(settings: AgentSettings) -> Iterator[Repository]:
    """The database, made or brought up to date if need be, and with no run in it that only seems to go on.

    Raises HostError, DatabaseError.
    """
    try:
        settings.var.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HostError(f"the directory {settings.var} cannot be made: {error.strerror}") from error
    repository = open_database(settings.database)
    try:
        _mark_interrupted(repository, VarPaths(settings.var).lock)
        yield repository
    finally:
        repository.close()


def _mark_interrupted(repository: Repository, lock_path: Path) -> None:
    """Marks runs whose process has died as `interrupted`: they are `running`, but nobody holds the lock."""
    if not any(line.run.state is RunState.RUNNING for line in repository.runs()):
        return
    try:
        lock = RunLock(lock_path)
    except RunConflict:
        return  # it does go on, in another process
    try:
        interrupt_dead_runs(repository)
    finally:
        lock.release()


@contextmanager
def open_runtime(settings: AgentSettings) -> Iterator[Runtime]:
    """Pins this process to the generator's CPUs and starts to sample; at the end stops what is running, and
    gives the process its CPUs back.

    Raises HostError, DatabaseError.
    """
    layout = process_layout()
    with open_repository(settings) as repository:
        host_id = repository.register_host(describe_host())
        repository.prune_counter_samples(host_id)
        affinity = AffinityService(repository, layout, settings)
        for line in affinity.restore_left_behind():
            log.warning("%s: %s was left behind by a run and is %s now", line.path, line.mask, line.state)
        clear_leftovers_of_dead_runs(VarPaths(settings.var))
        # Milliseconds: fewer than a thousand events a second happen, so the clock stays ahead of the numbers.
        broadcaster = Broadcaster(first_id=int(time.time() * 1000))
        sampler = Sampler(repository, host_id, broadcaster, largest_bytes=settings.counters_mib * 2**20)
        service = RunService(
            settings=settings,
            repository=repository,
            broadcaster=broadcaster,
            sampler=sampler,
            host_id=host_id,
            layout=layout,
        )
        allowed = tuple(os.sched_getaffinity(0))
        pin_this_process(layout.generator)
        sampler.start()
        try:
            yield Runtime(
                settings=settings,
                repository=repository,
                broadcaster=broadcaster,
                sampler=sampler,
                service=service,
                affinity=affinity,
                host_id=host_id,
                layout=layout,
            )
        finally:
            service.close()
            sampler.stop()
            pin_this_process(allowed)
