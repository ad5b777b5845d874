"""A run's pause: asked for from any thread, kept between two trials, ended by going on or by a stop."""

import threading


class PauseSwitch:
    """Open while the run may go on; the runner's thread waits at it before each trial."""

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
