"""Guessing a token is slowed down: after a few wrong ones an address waits, and the log says who tries."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable

log = logging.getLogger(__name__)

FREE_TRIES = 5
"""Wrong tokens of one address that cost it nothing, within `FORGOTTEN_S`."""
LONGEST_WAIT_S = 60.0
FORGOTTEN_S = 600.0
ADDRESSES_KEPT = 1024


class WrongTokens:
    """How often each address was wrong, and until when it has to wait. `clock` is in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tries: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def wait_s(self, address: str) -> float:
        """How long this address has to wait before it may show a token; 0 if not at all."""
        count, last = self._tries.get(address, (0, 0.0))
        if count < FREE_TRIES:
            return 0.0
        return max(0.0, last + min(LONGEST_WAIT_S, 2.0 ** (count - FREE_TRIES)) - self._clock())

    def note(self, address: str) -> None:
        """A token that was wrong."""
        count, last = self._tries.pop(address, (0, 0.0))
        now = self._clock()
        count = count + 1 if now - last < FORGOTTEN_S else 1
        self._tries[address] = (count, now)
        if len(self._tries) > ADDRESSES_KEPT:
            self._tries.popitem(last=False)
        log.warning("wrong token from %s, attempt %d", address, count)

    def forget(self, address: str) -> None:
        """A token that was right."""
        self._tries.pop(address, None)
