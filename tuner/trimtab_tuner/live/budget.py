"""The risk budget: how many requests of a day may have met a candidate that turned out to be harmful."""

from collections import deque

from trimtab_tuner.frozen import Frozen

DAY_S = 86_400.0


class Spent(Frozen):
    """What is known of the last 24 hours: requests in all, those that met harm, and how many may."""

    requests: int
    harmed: int
    allowed: int

    @property
    def is_spent(self) -> bool:
        """Whether nothing more may be tried for now."""
        return self.harmed >= self.allowed


class RiskBudget:
    """Counts over the last 24 hours, by the minute.

    What happened before is forgotten, so the budget comes back. `share` of the requests that were seen may be
    harmed: who has just begun to look has seen few, and may risk little.
    """

    def __init__(self, share: float = 0.001) -> None:
        self._share = share
        self._minutes: deque[list[int]] = deque()  # [minute, requests, harmed]
        self._requests, self._harmed = 0, 0

    def tell(self, at_s: float, requests: int, harmed: int) -> None:
        """So many requests ended by `at_s` (a clock that does not go back), and so many of them met harm."""
        minute = int(at_s // 60)
        if not self._minutes or self._minutes[-1][0] != minute:
            self._minutes.append([minute, 0, 0])
        self._minutes[-1][1] += requests
        self._minutes[-1][2] += harmed
        self._requests += requests
        self._harmed += harmed

    def spent(self, at_s: float) -> Spent:
        """What is spent at `at_s`."""
        while self._minutes and self._minutes[0][0] <= (at_s - DAY_S) // 60:
            _, requests, harmed = self._minutes.popleft()
            self._requests -= requests
            self._harmed -= harmed
        return Spent(requests=self._requests, harmed=self._harmed, allowed=int(self._share * self._requests))
