"""Bets that may be looked at after every value: seldom wrong, and quick where there is an effect."""

import math

import numpy as np
import pytest
from scipy import stats
from trimtab_tuner.live.evidence import Above, Excess, Fewer, Middle, share_bounds

ALPHA = 0.05
SEQUENCES = 100
LENGTH = 400


def crossings(bet, values):
    """How many values it takes until the bet is won; None if it never is."""
    for number, value in enumerate(values, 1):
        bet.tell(value)
        if bet.evidence >= -math.log(ALPHA):
            return number
    return None


@pytest.fixture
def rng():
    """Draws that are the same in every run of the tests."""
    return np.random.default_rng(7)


@pytest.mark.parametrize("draw", ["normal", "heavy", "two_points"])
def test_equal_arms_are_seldom_told_apart_however_often_one_looks(rng, draw):
    """Whatever the differences are like."""
    draws = {
        "normal": lambda: rng.normal(0, 0.2, LENGTH),
        "heavy": lambda: 0.1 * rng.standard_t(1.5, LENGTH),
        "two_points": lambda: rng.choice([-0.3, 0.3], LENGTH),
    }
    wrong = sum(crossings(Above(), draws[draw]()) is not None for _ in range(SEQUENCES))
    assert wrong / SEQUENCES <= ALPHA


def test_repeated_t_test_is_wrong_where_the_bet_is_not(rng):
    """What the bet is for: the same sequences, looked at after every value by the usual test."""
    values = rng.normal(0, 0.2, (SEQUENCES, LENGTH))
    wrong = sum(
        any(
            stats.ttest_1samp(row[:n], 0, alternative="greater").pvalue < ALPHA for n in range(10, LENGTH, 10)
        )
        for row in values[:100]
    )
    assert wrong / 100 > 3 * ALPHA


@pytest.mark.parametrize("below", [0.02, 0.1])
def test_arm_that_is_better_is_not_told_to_be_worse(rng, below):
    """The bet is on one side."""
    wrong = sum(crossings(Above(), rng.normal(-below, 0.1, LENGTH)) is not None for _ in range(SEQUENCES))
    assert wrong / SEQUENCES <= ALPHA


def test_gain_of_a_twentieth_is_told_within_minutes(rng):
    """Differences of 5 % in noise of 15 % a period."""
    needed = [crossings(Above(), rng.normal(math.log(1.05), 0.15, LENGTH)) for _ in range(100)]
    assert np.median([n or LENGTH for n in needed]) < 150


def test_twice_the_cost_is_told_within_ten_values(rng):
    """Five seconds at two comparisons a second."""
    needed = [crossings(Above(math.log(1.02)), rng.normal(math.log(2), 0.15, 40)) for _ in range(100)]
    assert max(needed) <= 10


@pytest.mark.parametrize("true", [0.0, -0.3, 0.05])
def test_interval_holds_the_truth_at_all_times(rng, true):
    """At none of twenty looks is it outside, in 95 of 100 cases."""
    missed = 0
    for _ in range(60):
        middle = Middle()
        outside = False
        for number, value in enumerate(true + 0.1 * rng.standard_t(3, LENGTH), 1):
            middle.tell(value)
            if number % 20 == 0:
                low, high = middle.bounds(ALPHA)
                outside = outside or not low <= true <= high
        missed += outside
    assert missed / 60 <= ALPHA


def test_interval_of_many_values_is_narrow(rng):
    """It says something."""
    middle = Middle()
    for value in rng.normal(0.1, 0.1, 1000):
        middle.tell(value)
    low, high = middle.bounds(ALPHA)
    assert 0.08 < low < 0.1 < high < 0.12


@pytest.mark.parametrize("values", [[], [0.3], [0.1, -0.2, 0.4]])
def test_little_is_known_of_few_values(values):
    """The interval is everything."""
    middle = Middle()
    for value in values:
        middle.tell(value)
    assert middle.bounds(ALPHA) == (-math.inf, math.inf)


@pytest.mark.parametrize("value", [0.2, 0.0, -1e-12])
def test_equal_values_without_any_noise_have_an_interval(value):
    """Nothing is divided by a spread of 0."""
    middle = Middle()
    for _ in range(100):
        middle.tell(value)
    low, high = middle.bounds(ALPHA)
    assert low <= value <= high
    assert high - low < 0.1


def errors_until(rng, own_rate, others_rate, share, most=2000):
    """After how many periods errors are told to be more frequent in the arm; None if they never are."""
    bet = Excess()
    for number in range(1, most + 1):
        own, others = rng.poisson(own_rate * share), rng.poisson(others_rate * (1 - share))
        bet.tell(own, others, share)
        if bet.evidence >= -math.log(ALPHA):
            return number
    return None


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_equally_frequent_errors_are_seldom_told_apart(rng, share):
    """By chance one arm has more of them."""
    wrong = sum(errors_until(rng, 2, 2, share, most=300) is not None for _ in range(SEQUENCES))
    assert wrong / SEQUENCES <= ALPHA


def test_arm_that_alone_has_errors_is_found_by_few_of_them(rng):
    """With a share of 5 % that is no chance."""
    bet = Excess()
    for _ in range(4):
        bet.tell(1, 0, 0.05)
    assert bet.evidence >= -math.log(ALPHA / 5)


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_one_burst_of_errors_is_no_evidence(share):
    """They have one reason, and do not come independently of each other."""
    bet = Excess()
    bet.tell(100, 0, share)
    assert bet.evidence < -math.log(ALPHA)


def test_period_without_events_or_requests_says_nothing():
    """Nor one in which only one arm had requests."""
    bet = Excess()
    bet.tell(0, 0, 0.5)
    bet.tell(3, 0, 1.0)
    bet.tell(0, 3, 0.0)
    assert bet.evidence == pytest.approx(0.0)


def connections_until(rng, taken, most=400):
    """After how many periods an arm that takes this share of its connections is told; None if it never is."""
    bet = Fewer()
    for number in range(1, most + 1):
        drawn = rng.binomial(rng.poisson(20), 0.5, size=2)
        bet.tell(int(rng.binomial(drawn[0], taken)), int(drawn[1]))
        if bet.evidence >= -math.log(ALPHA):
            return number
    return None


def test_arm_that_takes_all_its_connections_is_seldom_told_to_lose_some(rng):
    """By chance it has had fewer."""
    wrong = sum(connections_until(rng, 1.0) is not None for _ in range(SEQUENCES))
    assert wrong / SEQUENCES <= ALPHA


@pytest.mark.parametrize(("taken", "within"), [(0.0, 2), (0.5, 30)])
def test_arm_that_loses_connections_is_told(rng, taken, within):
    """At once, if it takes none."""
    took = [connections_until(rng, taken) for _ in range(40)]
    assert sorted(number or math.inf for number in took)[36] <= within


def test_interval_of_a_share_holds_it_at_any_time(rng):
    """Whenever one looks; and it becomes narrow."""
    missed = 0
    for _ in range(SEQUENCES):
        counts = np.cumsum(rng.binomial(50, 0.02, size=100))
        bounds = [share_bounds(int(count), 50 * number, ALPHA) for number, count in enumerate(counts, 1)]
        missed += any(not low <= 0.02 <= high for low, high in bounds)
        assert bounds[-1][1] - bounds[-1][0] < 0.02
    assert missed / SEQUENCES <= ALPHA


def test_interval_of_what_never_happens_begins_at_nothing():
    """And without any trial it is everything."""
    low, high = share_bounds(0, 1000, ALPHA)
    assert low == 0
    assert 0 < high < 0.01
    assert share_bounds(0, 0, ALPHA) == (0.0, 1.0)
