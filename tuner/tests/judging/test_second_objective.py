"""Second objectives: what they may be, and what they make of a trial's measurements."""

import pytest
from trimtab_trials.measurement import Latency, Measurement
from trimtab_tuner.judging.second_objective import axis, check_pair, second_score

MEASURED = (
    Measurement(
        rate_rps=2000,
        goodput_mbps=90,
        reply_rate_rps=1900,
        counters={"server_processes": {"peak_memory_bytes": 80e6}},
        reply_latency=Latency(p999_us=9e5),
    ),
    Measurement(
        rate_rps=1000,
        goodput_mbps=60,
        reply_rate_rps=1000,
        counters={"server_processes": {"peak_memory_bytes": 50e6}},
        reply_latency=Latency(p999_us=4e3),
    ),
)


def test_costs_have_their_units_and_less_is_better():
    """Objectives are in Mbps, and more is better."""
    assert (axis("rss").unit, axis("rss").minimised) == ("MB", True)
    assert (axis("p999").unit, axis("p999").minimised) == ("ms", True)
    assert (axis("mat: p999 <= 4ms").unit, axis("peak").minimised) == ("Mbps", False)


def test_figures_are_those_of_the_measurements():
    """Memory at its largest, the tail below saturation, goodput as in the score."""
    assert second_score("rss", MEASURED) == 80.0
    assert second_score("p999", MEASURED) == 4.0
    assert second_score("sustained", MEASURED) == 90.0
    assert second_score("mat: p999 <= 10ms", MEASURED) == 60.0


def test_cost_that_was_not_measured_has_no_figure():
    """Nothing is made up for it."""
    bare = Measurement(rate_rps=1, goodput_mbps=1, reply_rate_rps=1)
    assert second_score("rss", [bare]) is None
    assert second_score("p999", [bare]) is None


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("peak", "peak", "it is the first objective already"),
        ("mat: p999 <= 4ms", "mat:p999<=4ms", "it is the first objective already"),
        ("mat: p999 <= 4ms", "mat: p999 <= 4000us", "it is the first objective already"),
        ("peak", "speed", "expected one of condensed-area, peak, sustained, mat, rss, p999"),
        ("peak", "rss: 5MB", "expected one of"),
        ("peak", "sustained: p99 <= 1ms", "only mat takes a limit"),
        ("peak", "", "expected one of"),
    ],
)
def test_pairs_that_make_no_sense_are_refused_in_words(first, second, said):
    """The same twice, no such objective, a limit where there is none."""
    with pytest.raises(ValueError, match=said):
        check_pair(first, second)


def test_two_limits_of_mat_are_two_objectives():
    """What is achievable under a strict and under a mild limit."""
    check_pair("mat: p999 <= 4ms", "mat: p999 <= 40ms")
    check_pair("condensed-area", "rss")
