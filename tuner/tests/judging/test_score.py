"""Objectives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimtab_trials.measurement import Latency, Measurement
from trimtab_tuner.judging.score import Objective, derived_limit, parse_objective, score


def curve(*points):
    """Measurements of (rate, goodput) pairs."""
    return [Measurement(rate_rps=rate, goodput_mbps=goodput, reply_rate_rps=rate) for rate, goodput in points]


def test_condensed_area_is_mean_goodput_over_the_ladder():
    """Worked by hand: (100 x 15 + 200 x 25) / 300."""
    measurements = curve((100, 10), (200, 20), (400, 30))
    assert pytest.approx(6500 / 300) == score("condensed-area", measurements)


def test_condensed_area_agrees_with_the_formula_of_the_thesis():
    """Times span / 13,000,000 it is the figure of the thesis' ladder: 1,400 Mbps all along give 2.58."""
    measurements = curve((6000, 1400), (15000, 1400), (30000, 1400))
    assert pytest.approx(2.5846, abs=1e-4) == score("condensed-area", measurements) * 24_000 / 13_000_000


def test_order_of_measurements_does_not_matter():
    """Measurements may come in any order."""
    measurements = curve((400, 30), (100, 10), (200, 20))
    for objective in set(Objective) - {Objective.MAT}:
        assert score(objective, measurements) == score(
            objective, sorted(measurements, key=lambda m: m.rate_rps)
        )


def test_peak_and_sustained():
    """The highest goodput, and that at the highest rate."""
    measurements = curve((100, 10), (200, 40), (400, 30))
    assert score("peak", measurements) == 40
    assert score("sustained", measurements) == 30


@given(st.lists(st.floats(0, 1e5), min_size=1, max_size=9))
def test_condensed_area_lies_between_lowest_and_highest_goodput(goodputs):
    """A mean lies within its values."""
    measurements = curve(*((100.0 * (i + 1), goodput) for i, goodput in enumerate(goodputs)))
    assert min(goodputs) - 1e-6 <= score("condensed-area", measurements) <= max(goodputs) + 1e-6


@pytest.mark.parametrize(
    ("objective", "measurements"),
    [("fastest", curve((1, 1))), ("peak", []), ("condensed-area", curve((1, 1), (1, 2)))],
)
def test_unknown_objective_or_bad_ladder_is_refused(objective, measurements):
    """Nothing to score is an error, not a zero."""
    with pytest.raises(ValueError, match=r"fastest|at least one|each rate once"):
        score(objective, measurements)


def latencies(*points):
    """Measurements of (rate, goodput, mean latency in ms)."""
    return [
        Measurement(rate_rps=r, goodput_mbps=g, reply_rate_rps=r, reply_latency=Latency(mean_us=1000 * ms))
        for r, g, ms in points
    ]


def test_mat_is_the_highest_goodput_before_the_limit_is_first_broken():
    """A rate beyond the first that breaks the limit does not count, even if it holds again."""
    measurements = latencies((100, 10, 0.1), (200, 20, 0.4), (300, 30, 0.9), (400, 40, 0.3))
    assert score("mat: mean <= 0.5ms", measurements) == 20
    assert score("mat: mean <= 50us", measurements) == 0
    assert score("mat", measurements, derived_limit(200.0)) == 40


def test_mat_without_any_limit_is_refused():
    """It would be the peak under another name."""
    with pytest.raises(ValueError, match="mat needs a limit"):
        score("mat", latencies((100, 10, 0.1)))


@pytest.mark.parametrize("text", ["speed", "peak: p99 <= 1ms", "mat: rss <= 5MB", "mat: p98 <= 1ms", "mat:"])
def test_objective_that_makes_no_sense_is_refused(text):
    """The text is quoted."""
    with pytest.raises(ValueError, match=r"expected|limit|statistic"):
        parse_objective(text)
