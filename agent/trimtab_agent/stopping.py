"""How work is asked to stop or to pause, from any thread, and how it notices.

A stop is a descriptor to select on, so that whoever waits for a child or a socket sees it at once. A pause is
kept between two trials.
"""

import os
import select
import threading
from collections.abc import Sequence
from typing import Protocol


class Stopped(Exception):
    """A stop was requested meanwhile."""


class HasEnd(Protocol):
    """Something whose end can be waited for: its descriptor becomes readable then, such as a child's."""

    exit_descriptor: int


def wait_readable(descriptors: Sequence[int], timeout_s: float | None) -> set[int]:
    """Those of the descriptors that can be read (or have come to their end); empty after `timeout_s`."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return {ready for ready, _ in poll.poll(None if timeout_s is None else max(0.0, timeout_s) * 1000)}


class StopSignal:
    """A request to stop that threads and selectors can wait for; set from any thread or signal handler."""

    def __init__(self) -> None:
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.requested = False
        self._closed = False
        self._lock = threading.RLock()  # a signal handler may come while its own thread holds it

    def request(self) -> None:
        """Asks for the stop; a second time, or when there is nothing to stop any more, changes nothing."""
        with self._lock:
            self.requested = True
            if not self._closed:
                os.eventfd_write(self.descriptor, 1)

    def wait(self, timeout_s: float, *also: HasEnd) -> bool:
        """Waits until a stop is requested, something else comes to its end, or `timeout_s` has passed.

        Returns whether anything of that happened before the time was over.
        """
        descriptors = [self.descriptor, *(other.exit_descriptor for other in also)]
        return bool(wait_readable(descriptors, timeout_s))

    def close(self) -> None:
        """Gives the descriptor back; a second time changes nothing."""
        with self._lock:
            if not self._closed:
                self._closed = True
                os.close(self.descriptor)


class PauseSwitch:
    """Open while the run may go on; the study waits at it before each trial."""

    def __init__(self) -> None:
        self._may_go_on = threading.Event()
        self._may_go_on.set()

    @property
    def requested(self) -> bool:
        """Whether the run pauses, or will when its present trial has finished."""
        return not self._may_go_on.is_set()

    def request(self) -> None:
        """Holds the run at its next trial."""
        self._may_go_on.clear()

    def release(self) -> None:
        """Lets the run go on."""
        self._may_go_on.set()

    def wait(self) -> None:
        """Returns when the run may go on."""
        self._may_go_on.wait()
