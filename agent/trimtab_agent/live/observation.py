"""What one server does, period by period: its replies, the CPU time that they took, who waits.

Each server that Trimtab tells of its replies in its own way is a Source; CPU time and accept queue the kernel
knows. Where that breaks, nothing may be concluded from what is left: ObservationLost ends an experiment.
"""

import os
import time
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Protocol, Self

from trimtab_tuner.live.observed import ArmPeriod, Observed, Replies

from trimtab_agent.errors import HostError
from trimtab_agent.live.cpu_time import CpuTime
from trimtab_agent.live.listening import inode_of, listeners_of
from trimtab_agent.live.socket_diag import accept_queues
from trimtab_agent.stopping import wait_readable

# For so long a server may be busy, with more than this share of a CPU, and tell of no reply: a single large
# reply takes its time.
SILENT_S = 10.0
BUSY_SHARE = 0.05


class ObservationLost(HostError):
    """What a server does is not known any more; the sentence says why."""


class Source(Protocol):
    """Where the replies of a server are told."""

    @property
    def tells_requests(self) -> bool:
        """Whether a server that works is told of here: False where there is only CPU time to go by."""
        ...

    @property
    def paths(self) -> Sequence[str]:
        """Pages that were asked for, the most usual first, as far as they are told."""
        ...

    def read(self) -> Replies:
        """What was told since the last reading; raises ObservationLost."""
        ...

    def close(self) -> None:
        """Gives back what it holds."""
        ...


class Observer:
    """Observes a server from now on.

    `pid` is that of its main process, `sockets` are the inodes of those that it listens on, and a reply that
    took longer than `slow_s` is slow. It closes the source. Raises ObservationLost for a process that has
    gone.
    """

    def __init__(self, pid: int, source: Source, sockets: Collection[int], slow_s: float) -> None:
        self._pid, self._source, self._sockets, self._slow_s = pid, source, frozenset(sockets), slow_s
        try:
            self._process = os.pidfd_open(pid)
        except OSError as error:
            source.close()
            raise self._lost(error) from error
        self._silent_s = 0.0
        try:
            self._cpu_time = CpuTime(pid)
            self._read_at_s = time.monotonic()
            source.read()  # what was before does not count
        except OSError as error:
            self.close()
            raise self._lost(error) from error
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def tells_requests(self) -> bool:
        """Whether replies are told of, and not CPU time and connections alone."""
        return self._source.tells_requests

    @property
    def paths(self) -> Sequence[str]:
        """Pages that it was asked for, the most usual first, as far as that is told."""
        return self._source.paths

    def close(self) -> None:
        """Ends the observation; the server notices nothing."""
        os.close(self._process)
        self._source.close()

    def read(self) -> Observed:
        """What the server did since the last reading.

        Raises ObservationLost when the server has ended, when its source broke, and when it is busy without
        telling of any reply.
        """
        self._require_process()
        now_s = time.monotonic()
        seconds, self._read_at_s = now_s - self._read_at_s, now_s
        try:
            cpu_s = self._cpu_time.read_s()
            waiting = self._waiting()
        except OSError as error:
            raise self._lost(error) from error
        replies = self._source.read()
        self._require_process()  # else what was read may be of a part of it
        observed = Observed(
            seconds=seconds,
            arm=ArmPeriod(
                served=replies.served,
                errors=replies.statuses.server_error + replies.aborted,
                slow=replies.service_times.slower_than(self._slow_s),
                cpu_s=cpu_s,
                waiting=waiting,
                connections=replies.connections_accepted,
                closed=replies.connections_closed,
                bytes_sent=replies.bytes_sent,
            ),
            replies=replies,
        )
        self._require_lines(observed)
        return observed

    def _waiting(self) -> int:
        """How many connections wait at its sockets; raises OSError.

        A server that was reloaded may have others than before.
        """
        queues = accept_queues()
        if self._sockets and not self._sockets & queues.keys():
            self._sockets = frozenset(inode_of(self._pid, each) for each in listeners_of(self._pid))
        return sum(queues.get(inode, 0) for inode in self._sockets)

    def _lost(self, error: OSError) -> ObservationLost:
        return ObservationLost(f"process {self._pid} cannot be observed: {error.strerror}")

    def _require_process(self) -> None:
        if wait_readable([self._process], 0):
            raise ObservationLost(f"process {self._pid} has ended")

    def _require_lines(self, observed: Observed) -> None:
        """Whether a log has come to an end that the server knows nothing of, as when its disk is full."""
        busy = observed.arm.cpu_s > BUSY_SHARE * observed.seconds
        told = observed.arm.requests or observed.arm.errors
        if not busy or told or not self._source.tells_requests:
            self._silent_s = 0.0
            return
        self._silent_s += observed.seconds
        if self._silent_s > SILENT_S:
            raise ObservationLost(
                f"process {self._pid} has been busy for {self._silent_s:.0f} s and told of no reply"
            )
