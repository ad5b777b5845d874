"""Takes a sample of all counters once a second, for as long as the agent lives; ten a second on demand.

Each sample is published at once, and handed to whoever keeps them (`recording/`). While somebody has asked
for more than one a second (`sample_every`, or a trial whose run wants it), those are published and kept with
the step 0, and each whole second beside them as ever.

Of several agents that keep their samples in one place only one takes any, the holder of a lock; the others
wait for their turn.
"""

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

from trimtab_tuner.clients import Loop

from trimtab_agent.broadcast import Broadcaster
from trimtab_agent.counters.source import Snapshot, Values
from trimtab_agent.counters.watched import WatchedCounters
from trimtab_agent.errors import HostError
from trimtab_agent.host.lock import FileLock, LockTaken

log = logging.getLogger(__name__)

TURN_S = 0.5  # from one look at a lock that is taken to the next


class Keeper(Protocol):
    """Whoever keeps the samples."""

    def keep(
        self, values: Values, taken_at_s: float, step_s: int, run_id: int | None, trial_number: int | None
    ) -> None:
        """Takes in a sample, in seconds since the epoch, and the trial it belongs to, if any.

        `step_s` is 1 for a sample of a second, 0 for one of less.
        """

    def write_if_due(self) -> None:
        """Called after every sample: the time to do what is done now and then."""


class Sampler:
    """The sampling thread over `counters`; it takes samples for as long as it holds `lock`, if there is
    one.
    """

    def __init__(
        self,
        counters: WatchedCounters,
        keeper: Keeper,
        broadcaster: Broadcaster,
        *,
        lock: Path | None = None,
        interval_s: float = 1.0,
    ) -> None:
        self._lock = lock
        self._counters = counters
        self._keeper = keeper
        self._interval_s = interval_s
        self._broadcaster = broadcaster
        self._demanded_s = self._trial_s = interval_s
        self._demanded_until = 0.0
        self._run_id: int | None = None
        self._trial_number: int | None = None
        self._load: Values | None = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="sampler", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread."""
        self._end.set()
        self._thread.join()

    def sample_every(self, interval_s: float, for_s: float) -> None:
        """Samples are taken so often for so long, and then once a second again."""
        self._demanded_s, self._demanded_until = interval_s, time.monotonic() + for_s

    @property
    def interval_s(self) -> float:
        """The time from one sample to the next, as it is wanted now."""
        demanded_s = self._demanded_s if time.monotonic() < self._demanded_until else self._interval_s
        return min(self._interval_s, self._trial_s, demanded_s)

    @contextmanager
    def of_trial(self, run_id: int, trial_number: int, interval_s: float) -> Iterator[None]:
        """Samples meanwhile belong to this trial, and are taken that often."""
        self._run_id, self._trial_number, self._trial_s = run_id, trial_number, interval_s
        try:
            yield
        finally:
            if self._trial_number == trial_number:  # or else another one has begun meanwhile
                self._run_id, self._trial_number, self._trial_s = None, None, self._interval_s

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

    def _loop(self) -> None:
        with ExitStack() as turn:
            if self._lock is None or self._has_turn(self._lock, turn):
                self._sample()

    def _has_turn(self, lock: Path, turn: ExitStack) -> bool:
        """Waits until nobody else holds the lock, which is then ours for `turn`; False if the end came
        first.
        """
        told = False
        while not self._end.is_set():
            try:
                turn.enter_context(FileLock(lock))
            except LockTaken as taken:
                if not told:
                    told = True
                    log.warning(
                        "process %s samples the counters; this one does when that has ended", taken.pid
                    )
                self._end.wait(TURN_S)
            except HostError as error:
                log.warning("%s; samples are taken without it", error)
                return True
            else:
                return True
        return False

    def _sample(self) -> None:
        earlier = second = self._counters.take()
        interval_s = self.interval_s
        due = time.monotonic() + interval_s
        while not self._end.wait(max(0.0, due - time.monotonic())):
            interval_s = self.interval_s
            # After a stall (suspend, overload) go on from now, rather than catch up in a burst.
            due = max(due, time.monotonic() - interval_s) + interval_s
            later = self._counters.take()
            sample = self._counters.between(earlier, later)
            load, self._load = self._load, None
            if load is not None:
                sample["load"] = load
            faster = interval_s < self._interval_s
            if faster:
                self._keep(sample, later, 0)
            # A busy machine takes a sample late and the next one soon after it: both are told, both recorded.
            if not faster or later.monotonic_s - second.monotonic_s > self._interval_s - interval_s / 2:
                whole = sample if second is earlier else self._whole(second, later, sample)
                self._keep(whole, later, 1)
                second = later
            earlier = later
            self._broadcaster.publish("sample", sample)
            self._keeper.write_if_due()

    def _whole(self, second: Snapshot, later: Snapshot, sample: Values) -> Values:
        """The sample of a whole second, with what the load generator has said in its last part."""
        said = {"load": sample["load"]} if "load" in sample else {}
        return {**self._counters.between(second, later), **said}

    def _keep(self, sample: Values, later: Snapshot, step_s: int) -> None:
        self._keeper.keep(sample, later.time, step_s, self._run_id, self._trial_number)
