"""Waiting for a state instead of sleeping."""

import time
from collections.abc import Callable

LIMIT_S = 60.0  # of a machine that others share
LOOK_EVERY_S = 0.02


def until(condition: Callable[[], object], limit_s: float = LIMIT_S) -> None:
    """Waits for a condition; fails when it does not come about."""
    deadline_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline_s, f"it has not come about in {limit_s:.0f} s"
        time.sleep(LOOK_EVERY_S)
