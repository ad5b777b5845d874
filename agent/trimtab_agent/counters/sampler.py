"""Takes a sample of all counters once a second, for as long as the agent lives; ten a second on demand.

Each sample is published at once, and written to the database in batches, so that sampling costs a transaction
only every ten seconds.  While somebody has asked for more than one a second (`sample_every`, or a trial whose
run wants it), those are published and recorded with the step 0, and each whole second beside them as ever.
Means of ten seconds and of a minute are written beside them; once an
hour what need not be kept is deleted (trimtab_db.repository.counters).  A database that cannot be written
stops the recording, not the watching: the failure is published once, and tried again with the next batch.
"""

import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from trimtab_db.errors import DatabaseError
from trimtab_db.records import CounterSample
from trimtab_db.repository import Repository
from trimtab_tuner.workloads.clients import Loop

from trimtab_agent.broadcast import Broadcaster
from trimtab_agent.counters.host import host_sources
from trimtab_agent.counters.memory_group import MemoryGroupSource
from trimtab_agent.counters.process import ProcessSource
from trimtab_agent.counters.server import ReadStats, ServerSource, WorkersSource
from trimtab_agent.counters.source import CounterSet, Snapshot, Values
from trimtab_agent.counters.thinning import StepMeans
from trimtab_agent.station.memory_group import MemoryGroup

WRITE_EVERY_S = 10.0
# With a hundred workers these would be most of the database; each measurement keeps its own.
NOT_STORED = ("server_workers",)
PRUNE_EVERY_S = 3600.0


class Sampler:
    """The sampling thread, and the counters that a trial reads around each of its rates.

    `largest_bytes` bounds what all recorded samples of the host take up; None for no bound.
    """

    def __init__(
        self,
        repository: Repository,
        host_id: int,
        broadcaster: Broadcaster,
        *,
        interval_s: float = 1.0,
        largest_bytes: int | None = None,
    ) -> None:
        self._repository = repository
        self._interval_s = interval_s
        self._largest_bytes = largest_bytes
        self._host_id = host_id
        self._broadcaster = broadcaster
        self._processes = ProcessSource()
        self._server = ServerSource()
        self._memory_group = MemoryGroupSource()
        self._counters = CounterSet(
            [
                *host_sources(),
                self._processes,
                self._server,
                WorkersSource(self._server),
                self._memory_group,
            ]
        )
        self._demanded_s = self._trial_s = interval_s
        self._demanded_until = 0.0
        self._run_id: int | None = None
        self._trial_number: int | None = None
        self._load: Values | None = None
        self._batch: list[CounterSample] = []
        self._batch_lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._tens = StepMeans(10)
        self._minutes = StepMeans(60, without_lists=True)
        self._failing = False
        self._prune_due = time.monotonic() + PRUNE_EVERY_S
        self._write_due = time.monotonic() + WRITE_EVERY_S
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="sampler", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread and writes what has not been written yet."""
        self._end.set()
        self._thread.join()
        ten = self._tens.finish()
        if ten is not None:
            minute = self._minutes.add(ten)
            self._batch += [each for each in (ten, minute, self._minutes.finish()) if each is not None]
        self.write()

    def sample_every(self, interval_s: float, for_s: float) -> None:
        """Samples are taken so often for so long, and then once a second again."""
        self._demanded_s, self._demanded_until = interval_s, time.monotonic() + for_s

    @property
    def interval_s(self) -> float:
        """The time from one sample to the next, as it is wanted now."""
        demanded_s = self._demanded_s if time.monotonic() < self._demanded_until else self._interval_s
        return min(self._interval_s, self._trial_s, demanded_s)

    def watch_trial(
        self, run_id: int | None, trial_number: int | None, interval_s: float | None = None
    ) -> None:
        """Samples from now on belong to this trial, and are taken that often; to none when both are None."""
        self._run_id, self._trial_number = run_id, trial_number
        self._trial_s = interval_s or self._interval_s

    def watch_server(self, pids: tuple[int, ...], read_stats: ReadStats | None) -> None:
        """Samples from now on include these processes and these counters of theirs; neither when empty."""
        self._processes.watch(pids)
        self._server.watch(read_stats)

    def watch_memory_group(self, group: MemoryGroup | None) -> None:
        """Samples from now on include this group; none when None."""
        self._memory_group.watch(group)

    def load_progressed(self, loop: Loop, rate_rps: float, line: Mapping[str, Any]) -> None:
        """The load generator drives `rate_rps` and has reported `line`; the next sample tells it too.

        In a closed `loop` the number of connections takes the place of the rate.
        """
        self._load = {
            "run_id": self._run_id,
            "trial": self._trial_number,
            "loop": loop,
            "rate_rps": rate_rps,
            **{name: value for name, value in line.items() if name != "type"},
        }

    def snapshot(self) -> Snapshot:
        """All counters now, for `between`."""
        return self._counters.take()

    def between(self, earlier: Snapshot, later: Snapshot) -> Values:
        """What happened between two snapshots."""
        return self._counters.between(earlier, later)

    def _loop(self) -> None:
        earlier = second = self.snapshot()
        interval_s = self.interval_s
        due = time.monotonic() + interval_s
        while not self._end.wait(max(0.0, due - time.monotonic())):
            interval_s = self.interval_s
            # After a stall (suspend, overload) go on from now, rather than catch up in a burst.
            due = max(due, time.monotonic() - interval_s) + interval_s
            later = self.snapshot()
            sample = self.between(earlier, later)
            load, self._load = self._load, None
            if load is not None:
                sample["load"] = load
            faster = interval_s < self._interval_s
            if faster:
                self._record(sample, later, 0)
            # A busy machine takes a sample late and the next one soon after it: both are told, both recorded.
            if not faster or later.monotonic_s - second.monotonic_s > self._interval_s - interval_s / 2:
                whole = sample if second is earlier else {**self.between(second, later), **_load_of(sample)}
                self._record(whole, later, 1)
                second = later
            earlier = later
            self._broadcaster.publish("sample", sample)
            if time.monotonic() >= self._write_due:
                self.write()

    def _record(self, sample: Values, later: Snapshot, step_s: int) -> None:
        record = CounterSample(
            host_id=self._host_id,
            taken_at=datetime.fromtimestamp(later.time, UTC),
            values={name: value for name, value in sample.items() if name not in NOT_STORED},
            run_id=self._run_id,
            trial_number=self._trial_number,
            step_s=step_s,
        )
        ten = self._tens.add(record) if step_s else None
        minute = self._minutes.add(ten) if ten is not None else None
        with self._batch_lock:
            self._batch += [each for each in (record, ten, minute) if each is not None]

    def write(self) -> None:
        """Writes the samples that still wait for their batch to fill; a run that ends wants its last ones.

        Every sample taken before the call can be read after it, also those that another thread was writing.
        """
        with self._write_lock:
            self._write_due = time.monotonic() + WRITE_EVERY_S
            with self._batch_lock:
                batch, self._batch = self._batch, []
            try:
                self._repository.add_counter_samples(batch)
                self._failing = False
                if time.monotonic() >= self._prune_due:
                    self._repository.prune_counter_samples(self._host_id, self._largest_bytes)
                    self._prune_due = time.monotonic() + PRUNE_EVERY_S
            except DatabaseError as error:
                if not self._failing:
                    message = f"Counters are not being recorded: {error}"
                    self._broadcaster.publish(
                        "log", {"run_id": self._run_id, "level": "warning", "message": message}
                    )
                self._failing = True


def _load_of(sample: Values) -> Values:
    """What the load generator has said in the sample, if it has."""
    return {"load": sample["load"]} if "load" in sample else {}
