"""Puts the workers of a server on their CPUs from outside, where the server has no setting for that.

lighttpd's and Apache's workers are processes, h2o's are threads; a process is put there with all its threads,
and what it starts later inherits the CPU (sched_setaffinity(2)). Nothing of it is in the journal: the masks
are those of processes that were started for the trial, and end with them.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import psutil
from trimtab_trials.configuration import Configuration
from trimtab_tuner.affinity import make_plan, pins_workers
from trimtab_tuner.targets.base import Target, plan_of
from trimtab_tuner.targets.placement import Workers

from trimtab_agent.os_settings.access import SettingRefused


class WorkerPinning:
    """The workers of the server whose main process is `main`, each on one of `worker_cpus`.

    A worker that comes in the place of another gets the CPU of the one that has gone.
    """

    def __init__(self, main: int, workers: Workers, worker_cpus: Sequence[int]) -> None:
        self._main = main
        self._workers = workers
        self._cpus = tuple(worker_cpus)
        self._places: list[int] = []  # the process or thread at each place, by its id
        self._seen: list[int] = []

    def complete(self) -> bool:
        """Whether all workers have been started: so many are there, and none has come since the last look."""
        before, self._seen = self._seen, self._present()
        return len(self._seen) >= self._workers.count and self._seen == before

    def pin(self) -> None:
        """Puts every worker that has no place yet on the CPU of the first free one. Raises SettingRefused."""
        present = self._present()
        places = [worker if worker in present else 0 for worker in self._places]
        for worker in present:
            if worker in places:
                continue
            if 0 in places:
                places[places.index(0)] = worker
            else:
                places.append(worker)
        self._places = places
        for place, worker in enumerate(places):
            if worker:
                self._put(worker, self._cpus[place % len(self._cpus)])

    def drift(self) -> tuple[str, ...]:
        """A sentence for each worker that is no longer where `pin` has put it."""
        sentences = []
        for place, worker in enumerate(self._places):
            cpu = self._cpus[place % len(self._cpus)]
            now = set().union(*map(_mask, self._threads(worker)))
            if now - {cpu}:
                cpus = ", ".join(map(str, sorted(now)))
                sentences.append(
                    f"{self._workers.kind} {worker} was put on CPU {cpu} and may use CPU {cpus} now"
                )
        return tuple(sentences)

    def _put(self, worker: int, cpu: int) -> None:
        done: set[int] = set()
        # A thread that was started meanwhile may have inherited the old CPUs.
        while new := [thread for thread in self._threads(worker) if thread not in done]:
            for thread in new:
                try:
                    os.sched_setaffinity(thread, {cpu})
                except ProcessLookupError:
                    continue
                except OSError as error:
                    raise SettingRefused(
                        f"{self._workers.kind} {worker} cannot be put on CPU {cpu}: {error.strerror}"
                    ) from error
            done.update(new)

    def _present(self) -> list[int]:
        if self._workers.kind == "thread":
            # The main thread serves too; threads that h2o starts before the others only watch over things.
            threads = _threads_of(self._main)
            others = self._workers.count - 1
            return threads[:1] + (threads[1:][-others:] if others else [])
        try:
            children = psutil.Process(self._main).children()
        except psutil.NoSuchProcess:
            return []
        if self._workers.count == 1 and not children:
            return [self._main]
        return sorted(child.pid for child in children)

    def _threads(self, worker: int) -> list[int]:
        return [worker] if self._workers.kind == "thread" else _threads_of(worker)


def pinning_of(
    target: Target, configuration: Configuration, cpus: Sequence[int], main: int
) -> WorkerPinning | None:
    """The pinning that the configuration's plan asks for; None where it asks for none, or the server's file
    sees to it.
    """
    workers, plan = target.workers_to_pin(configuration), plan_of(target, configuration)
    if workers is None or not pins_workers(plan):
        return None
    return WorkerPinning(main, workers, make_plan(plan, cpus, workers.count, ()).worker_cpus)


def _threads_of(process: int) -> list[int]:
    """The ids of a process's threads, the oldest first; empty when it has ended."""
    try:
        return sorted(int(task.name) for task in Path(f"/proc/{process}/task").iterdir())
    except OSError:
        return []


def _mask(thread: int) -> set[int]:
    """The CPUs that a thread may use; empty when it has ended."""
    try:
        return os.sched_getaffinity(thread)
    except ProcessLookupError:
        return set()
