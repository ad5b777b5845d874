"""Writes the sampler's samples to the database in batches, so that sampling costs a transaction every ten
seconds.

Means of ten seconds and of a minute are written beside them; once an hour what need not be kept is deleted
(trimtab_db.repository.counters). A database that cannot be written stops the recording, not the watching: the
failure is published once, and the batch is kept and tried again with the next one.
"""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

from trimtab_db.errors import PASSING_FAULTS, DatabaseError
from trimtab_db.records import CounterSample
from trimtab_db.repository import Repository

from trimtab_agent.broadcast import Broadcaster
from trimtab_agent.counters.source import Values
from trimtab_agent.recording.thinning import StepMeans

WRITE_EVERY_S = 10.0
# With a hundred workers these would be most of the database; each measurement keeps its own.
NOT_STORED = ("server_workers",)
PRUNE_EVERY_S = 3600.0
# An hour of seconds, with their means: on a host of two CPUs some 50 MB. The oldest go first.
MOST_KEPT = 4000


class Recorder:
    """Keeps the samples of one host; `write` may be called from any thread.

    `largest_bytes` bounds what all recorded samples of the host take up; None for no bound.
    """

    def __init__(
        self,
        repository: Repository,
        host_id: int,
        broadcaster: Broadcaster,
        *,
        largest_bytes: int | None = None,
    ) -> None:
        self._repository = repository
        self._host_id = host_id
        self._broadcaster = broadcaster
        self._largest_bytes = largest_bytes
        self._batch: list[CounterSample] = []
        self._batch_lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._tens = StepMeans(10)
        self._minutes = StepMeans(60, without_lists=True)
        self._failing = False
        self._when_writable: list[Callable[[], None]] = []
        self._prune_due = time.monotonic() + PRUNE_EVERY_S
        self._write_due = time.monotonic() + WRITE_EVERY_S

    def keep(
        self, values: Values, taken_at_s: float, step_s: int, run_id: int | None, trial_number: int | None
    ) -> None:
        """Takes in a sample, with the means that it completes."""
        sample = CounterSample(
            host_id=self._host_id,
            taken_at=datetime.fromtimestamp(taken_at_s, UTC),
            values={name: value for name, value in values.items() if name not in NOT_STORED},
            run_id=run_id,
            trial_number=trial_number,
            step_s=step_s,
        )
        ten = self._tens.add(sample) if step_s else None
        minute = self._minutes.add(ten) if ten is not None else None
        with self._batch_lock:
            self._batch += [each for each in (sample, ten, minute) if each is not None]

    def write_if_due(self) -> None:
        """Writes the batch once it has waited long enough."""
        if time.monotonic() >= self._write_due:
            self.write()

    def close(self) -> None:
        """Writes what has not been written yet; no sample comes any more."""
        ten = self._tens.finish()
        if ten is not None:
            minute = self._minutes.add(ten)
            self._batch += [each for each in (ten, minute, self._minutes.finish()) if each is not None]
        self.write()

    def when_writable(self, then: Callable[[], None]) -> None:
        """Calls `then` once, from the thread that writes, when the database has taken a batch again."""
        self._when_writable.append(then)

    def write(self) -> None:
        """Writes the samples that still wait for their batch to fill; a run that ends wants its last ones.

        Every sample taken before the call can be read after it, also those that another thread was writing.
        """
        with self._write_lock:
            self._write_due = time.monotonic() + WRITE_EVERY_S
            with self._batch_lock:
                batch, self._batch = self._batch, []
            then: list[Callable[[], None]] = []
            try:
                self._repository.add_counter_samples(batch)
                self._failing = False
                then, self._when_writable = self._when_writable, []
                if time.monotonic() >= self._prune_due:
                    self._repository.prune_counter_samples(self._host_id, self._largest_bytes)
                    self._repository.prune_live_samples(self._host_id)
                    self._prune_due = time.monotonic() + PRUNE_EVERY_S
            except DatabaseError as error:
                kept = isinstance(error, PASSING_FAULTS)
                if kept:
                    with self._batch_lock:
                        self._batch = [*batch, *self._batch][-MOST_KEPT:]
                if not self._failing:
                    fate = "kept for up to an hour" if kept else "those so far are lost"
                    message = f"Counters are not being recorded, and {fate}: {error}"
                    run_id = batch[-1].run_id if batch else None
                    self._broadcaster.publish(
                        "log", {"run_id": run_id, "level": "warning", "message": message}
                    )
                self._failing = True
        for call in then:
            call()
