"""The minute after a promotion: production is compared with what it did before.

There is no control beside it any more, so only what is plain is called harm: errors that were not there, a
server that no longer answers, CPU time per request that is a quarter higher. Finer differences were looked
for before the promotion, by episodes.
"""

from trimtab_tuner.live.guards import FEW_ERRORS
from trimtab_tuner.live.observed import Observed, observed_together
from trimtab_tuner.wording import in_percent

WATCH_S = 60.0
DEARER = 1.25
LEAST_REQUESTS = 200
HANG_S = 3.0


class Watch:
    """Told of production period by period after a promotion; `before` is what it did until then."""

    def __init__(self, before: Observed) -> None:
        self._before = before
        self._periods: list[Observed] = []
        self._hanging_s = 0.0

    def tell(self, period: Observed) -> str:
        """Takes in one more period; the sentence about the harm that it shows, empty where it shows none."""
        self._periods.append(period)
        answered_before = self._before.arm.requests > 0
        hangs = period.arm.waiting > 0 and not period.arm.requests and answered_before
        self._hanging_s = self._hanging_s + period.seconds if hangs else 0.0
        if self._hanging_s >= HANG_S:
            return f"connections waited and none was answered for {self._hanging_s:.0f} s"
        return self._harm(observed_together(self._periods))

    @property
    def asked(self) -> int:
        """The requests that production has answered since the promotion, or has failed to."""
        return sum(max(period.arm.requests, period.arm.errors) for period in self._periods)

    @property
    def is_over(self) -> bool:
        """Whether it has been watched for long enough."""
        return sum(period.seconds for period in self._periods) >= WATCH_S

    def _harm(self, seen: Observed) -> str:
        before = self._before
        asked = max(seen.arm.requests, seen.arm.errors)  # aborted requests are no replies
        if asked < LEAST_REQUESTS:
            return ""
        usual = 2 * before.arm.errors / max(before.arm.requests, before.arm.errors, 1)
        if seen.arm.errors > FEW_ERRORS + usual * asked:
            return f"{seen.arm.errors:,} of {asked:,} requests failed; before {before.arm.errors:,}"
        if before.arm.requests < LEAST_REQUESTS or not before.arm.cpu_s or not seen.arm.requests:
            return ""
        ratio = (seen.arm.cpu_s / seen.arm.requests) / (before.arm.cpu_s / before.arm.requests)
        if ratio > DEARER and sum(period.seconds for period in self._periods) > WATCH_S / 4:
            return f"CPU time per request is {in_percent(ratio - 1)} higher than before"
        return ""
