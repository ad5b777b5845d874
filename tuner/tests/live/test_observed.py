"""What is observed of a server: sizes, and periods that are added up."""

import numpy as np
import pytest
from trimtab_tuner.live.observed import (
    CLASSES,
    SIZE_CLASSES,
    ArmPeriod,
    Observed,
    Replies,
    Served,
    Statuses,
    observed_together,
    size_classes,
)


def test_replies_are_classed_by_their_size():
    """A limit belongs to the smaller class."""
    sizes = np.array([0, 1024, 1025, 8192, 8193, 1 << 40])
    assert size_classes(sizes).tolist() == [0, 0, 1, 1, 2, SIZE_CLASSES - 1]


def period(*, requests=10, waiting=0, accepted=None, opened=None):
    """Half a second of a server."""
    served = (Served(requests, 0.1), *[Served()] * (CLASSES - 1))
    return Observed(
        seconds=0.5,
        arm=ArmPeriod(served, errors=1, cpu_s=0.2, waiting=waiting),
        replies=Replies(
            served=served,
            aborted=1,
            bytes_sent=1000,
            statuses=Statuses(success=requests),
            connections_accepted=accepted,
            connections_open=opened,
        ),
    )


def test_periods_add_up_and_states_are_those_of_the_last():
    """Counts are sums; what waits or is open is so at the end."""
    both = observed_together(
        [period(waiting=9, accepted=2, opened=40), period(waiting=3, accepted=5, opened=7)]
    )
    assert (both.seconds, both.arm.requests, both.arm.errors, both.arm.waiting) == (1.0, 20, 2, 3)
    assert both.replies.served == both.arm.served
    assert (both.replies.aborted, both.replies.bytes_sent) == (2, 2000)
    assert both.replies.statuses == Statuses(success=20)
    assert (both.replies.connections_accepted, both.replies.connections_open) == (7, 7)


def test_count_that_one_period_does_not_know_is_not_known_of_all():
    """Half a sum would be wrong."""
    assert observed_together([period(accepted=2), period()]).replies.connections_accepted is None


def test_no_period_is_refused():
    """Nothing is known of it."""
    with pytest.raises(ValueError, match="expected a period"):
        observed_together([])
