"""Histograms of service times: what they say of the times, and that they add up."""

import math

import numpy as np
import pytest
from trimtab_tuner.live.service_times import (
    ServiceTimes,
    added_up,
    service_times_of,
    service_times_within,
)


def of(*times_s):
    """The histogram of these times."""
    return service_times_of(np.array(times_s, np.float64))


@pytest.mark.parametrize("share", [0.01, 0.5, 0.9, 0.99, 1.0])
def test_quantile_is_never_too_low_and_a_tenth_too_high_at_most(share):
    """Of times over five powers of ten."""
    times_s = np.random.default_rng(7).lognormal(-6, 2, 5000).clip(2e-5)
    exact_s = np.sort(times_s)[math.ceil(share * len(times_s)) - 1]
    told_s = service_times_of(times_s).quantile_s(share)
    assert exact_s <= told_s <= 1.101 * exact_s


def test_quantile_of_no_reply_is_not_known():
    """It is not 0."""
    assert ServiceTimes().quantile_s(0.5) is None


def test_time_beyond_the_classes_has_no_end():
    """Half an hour for a reply."""
    assert of(1800.0).quantile_s(0.99) == math.inf


def test_replies_slower_than_a_limit_are_counted():
    """One that takes as long as the limit is within it."""
    times = of(0.049, 0.05, 0.06, 3.0)
    assert (times.slower_than(0.05), times.slower_than(10.0), times.slower_than(0.0)) == (2, 0, 4)


def test_sum_of_histograms_is_that_of_all_their_times():
    """Whichever server or period they come from; of none it is empty."""
    assert added_up([of(0.001, 0.2), of(0.2), ServiceTimes()]) == of(0.001, 0.2, 0.2)
    assert added_up([]) == ServiceTimes()


def test_wide_classes_keep_their_counts_and_their_ends():
    """The core tells of wider ones."""
    times = service_times_within((5e-5, 1e-4, 0.05), (3, 100, 50, 7))
    assert times.replies == 160
    assert [times.slower_than(limit_s) for limit_s in (5e-5, 1e-4, 0.05)] == [157, 57, 7]
    assert 5e-5 < times.quantile_s(0.3) < 1e-4
