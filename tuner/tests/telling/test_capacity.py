"""Where the capacity lies between the last rate that was followed and the first that was not."""

import pytest
from trimtab_trials.measurement import Measurement
from trimtab_tuner.telling.capacity import capacity_of, likely_capacity

CAN = 10_000.0  # what the servers here answer at most
STEPS = 24
STEP = 1.25 ** (1 / 4)  # as the confirmation ends


def answered(rate_rps, lost_per_excess, **changes):
    """One rate; under overload a server loses so many replies for each request too many."""
    over = max(0.0, rate_rps - CAN)
    replies_rps = max(0.5 * CAN, min(rate_rps, CAN) - lost_per_excess * over)
    return Measurement(rate_rps=rate_rps, reply_rate_rps=replies_rps, goodput_mbps=1.0, **changes)


def limit_rps(lost_per_excess):
    """The highest rate that such a server follows."""
    return CAN * (1 + lost_per_excess) / (0.95 + lost_per_excess)


def climbs(lost_per_excess, step=STEP):
    """The two rates a climb ends with, wherever its rungs lie."""
    for number in range(STEPS):
        low = limit_rps(lost_per_excess) * step ** (-(number + 0.5) / STEPS)
        yield [answered(low, lost_per_excess), answered(low * step, lost_per_excess)]


@pytest.mark.parametrize("lost_per_excess", [0.0, 0.05, 0.3, 1.0, 3.0, 20.0])
def test_limit_lies_within_the_bounds_however_much_a_server_loses_under_overload(lost_per_excess):
    """To a fiftieth for one that loses more than three replies for each request too many."""
    limit = limit_rps(lost_per_excess)
    for rates in climbs(lost_per_excess):
        found = capacity_of(rates)
        assert found.rate_rps <= found.low_rps <= found.likely_rps <= found.high_rps <= found.lost_rps
        assert found.low_rps <= 1.0001 * limit
        assert found.high_rps >= (0.9999 if lost_per_excess <= 3 else 0.98) * limit


@pytest.mark.parametrize(("lost_per_excess", "error"), [(0.0, 0.002), (0.3, 0.003), (1.0, 0.008)])
def test_limit_is_told_more_exactly_than_by_the_two_rates(lost_per_excess, error):
    """They are a twentieth apart."""
    for rates in climbs(lost_per_excess):
        assert likely_capacity(rates) == pytest.approx(limit_rps(lost_per_excess), rel=error)


@pytest.mark.parametrize("lost_per_excess", [0.0, 0.5, 1.0])
def test_bounds_hold_between_rates_that_lie_far_apart(lost_per_excess):
    """As of a ladder of one's own."""
    for rates in climbs(lost_per_excess, step=1.9):
        found = capacity_of(rates)
        assert found.low_rps <= 1.0001 * limit_rps(lost_per_excess)
        assert found.high_rps >= 0.9999 * limit_rps(lost_per_excess)


def test_of_a_server_that_collapses_only_the_two_rates_are_known():
    """It answered less than at the rate that it followed."""
    found = capacity_of([answered(10_000.0, 0.0), answered(11_000.0, 3.0)])
    assert (found.low_rps, found.high_rps) == (10_000.0, 11_000.0)
    assert 10_000.0 < found.likely_rps < 11_000.0


def test_rule_that_breaks_says_nothing_of_where_it_began_to():
    """The middle is as likely as anything."""
    found = capacity_of([answered(4_000.0, 0.0), answered(9_000.0, 0.0, held=False)])
    assert (found.low_rps, found.likely_rps, found.high_rps) == (4_000.0, 6_000.0, 9_000.0)


def test_late_replies_from_before_do_not_raise_the_limit():
    """More was answered than was due: that is not the server's limit at the next rate."""
    late = Measurement(rate_rps=10_000.0, reply_rate_rps=10_400.0, goodput_mbps=1.0)
    lost = answered(11_000.0, 0.0)
    assert likely_capacity([late, lost]) == likely_capacity([answered(10_000.0, 0.0), lost])


def test_server_that_followed_everything_may_follow_more():
    """There is no upper bound; one that followed nothing has no capacity."""
    found = capacity_of([answered(5_000.0, 0.0)])
    assert (found.low_rps, found.likely_rps, found.high_rps) == (5_000.0, 5_000.0, None)
    assert likely_capacity([answered(30_000.0, 0.0)]) is None
