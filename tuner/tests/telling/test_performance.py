"""What a configuration does in people's terms, from the blocks of a confirmation."""

from dataclasses import replace

import pytest
from trimtab_trials.measurement import Latency, Measurement, RequestCounts
from trimtab_tuner.telling.performance import figure, performances

LADDER = (1000.0, 2000.0, 3000.0)


def climb(capacity_rps, rates=LADDER, **changes):
    """What a server of that capacity answers at these rates; slower the nearer it comes to it."""
    return [
        Measurement(
            rate_rps=rate,
            reply_rate_rps=min(rate, capacity_rps),
            goodput_mbps=min(rate, capacity_rps) / 100,
            reply_latency=Latency(p50_us=100.0, p99_us=1000.0 * rate / capacity_rps, p999_us=5000.0),
            **changes,
        )
        for rate in rates
    ]


def test_capacity_lies_where_the_replies_say_between_what_was_followed_and_what_was_not():
    """The default follows 1,000 and not 2,000; the other 2,000 and not 3,000."""
    found = performances(
        {"default": {1: climb(1500), 2: climb(1500)}, "other": {1: climb(2500), 2: climb(2500)}},
        "default",
        LADDER,
    )
    own = found["other"]
    least, most = 2500 / 0.95, 11_500 / 3.95
    assert (own.capacity_rps.mean, own.capacity_rps.low) == pytest.approx((least, least))
    assert own.capacity_rps.high == pytest.approx(most)
    assert own.capacity_mbps.mean == 20
    assert not own.at_least
    assert own.capacity_gain.gain == pytest.approx(2500 / 1500 - 1)
    assert own.capacity_gain.low == pytest.approx(least / (7500 / 3.95) - 1)
    assert own.capacity_gain.high == pytest.approx(most / (1500 / 0.95) - 1)
    assert own.capacity_gain.significant
    assert found["default"].capacity_gain is None


def test_gain_within_what_the_climb_can_tell_is_not_significant():
    """Both collapse beyond what they followed, and both may have done so at 2,000."""
    collapsed = [replace(one, reply_rate_rps=900.0) for one in climb(2500)[-1:]]
    found = performances(
        {
            "default": {n: [*climb(1500)[:1], replace(climb(1500)[1], reply_rate_rps=900.0)] for n in (1, 2)},
            "other": {n: [*climb(2500)[:2], *collapsed] for n in (1, 2)},
        },
        "default",
        LADDER,
    )
    gain = found["other"].capacity_gain
    assert (gain.low, gain.high) == pytest.approx((0.0, 2.0))
    assert not gain.significant


def test_intervals_of_several_gains_hold_together():
    """Bonferroni: with more challengers each interval is wider, so that one more makes no claim easier."""
    rates = (1000.0, 1400.0, 2000.0, 2450.0, 3000.0)
    default = {1: climb(1500, rates), 2: climb(1000, rates), 3: climb(1500, rates)}
    other = {n: climb(2500, rates) for n in (1, 2, 3)}
    alone = performances({"default": default, "other": other}, "default", LADDER)
    among = performances({"default": default, "other": other, "third": other}, "default", LADDER)
    low, wider = (found["other"].capacity_gain.low for found in (alone, among))
    assert wider < low


def test_capacity_that_was_only_bounded_has_no_upper_bound():
    """The generator gave out, or the ladder ended."""
    found = performances(
        {"default": {1: climb(1500), 2: climb(1500)}, "other": {1: climb(9000), 2: climb(9000)}},
        "default",
        LADDER,
    )
    own = found["other"]
    assert own.at_least
    assert own.capacity_rps.high is None
    assert (own.capacity_gain.low, own.capacity_gain.high) == (pytest.approx(3000 / (7500 / 3.95) - 1), None)


def test_default_that_was_only_bounded_makes_no_gain():
    """It may follow more than the other in every block."""
    bounded = climb(9000)
    for default in ({1: bounded, 2: bounded}, {1: climb(1500), 2: bounded}):
        found = performances(
            {"default": default, "other": {1: climb(9000), 2: climb(9000)}}, "default", LADDER
        )
        assert found["other"].capacity_gain is None
        assert found["other"].capacity_rps.mean == 3000


def test_of_a_rate_that_was_doubted_the_second_measurement_counts():
    """A calibration drives it again; memory is the most of both."""

    def server(latency_us, memory_bytes):
        """What a rate has that is followed with that median reply time."""
        return Measurement(
            rate_rps=1000,
            goodput_mbps=10,
            reply_rate_rps=1000,
            reply_latency=Latency(p50_us=latency_us),
            counters={"server_processes": {"peak_memory_bytes": memory_bytes}},
        )

    disturbed = replace(server(9000.0, 5e6), reply_rate_rps=100)
    own = performances({"default": {1: [disturbed, server(100.0, 4e6)]}}, "default", (1000.0,))["default"]
    assert (own.load_rps, own.p50_us.mean, own.p50_us.low) == (1000, 100, None)
    assert own.memory_bytes.mean == 5e6


def test_rate_that_was_not_followed_stays_lost_where_the_generator_gives_out_the_second_time():
    """It could offer it the first time."""
    again = replace(climb(1500)[1], generator_limited=True)
    own = performances({"default": {1: [*climb(1500)[:2], again]}}, "default", LADDER)["default"]
    assert not own.at_least


def test_default_that_breaks_the_rules_everywhere_has_no_capacity_and_gives_no_gain():
    """There is nothing to divide by."""
    found = performances(
        {"default": {1: climb(5000, held=False)}, "other": {1: climb(2500)}}, "default", LADDER
    )
    assert found["default"].capacity_rps is None
    assert found["other"].capacity_gain is None
    assert found["other"].load_rps is None


def test_latency_is_told_at_the_highest_load_that_all_followed():
    """The default ends at 1,000, so that is where both are looked at."""
    found = performances({"default": {1: climb(1500)}, "other": {1: climb(2500)}}, "default", LADDER)
    assert found["default"].load_rps == found["other"].load_rps == 1000
    assert found["default"].p99_us.mean == pytest.approx(1000 / 1.5)
    assert found["other"].p99_us.mean == pytest.approx(400)


def test_cost_is_told_at_the_common_load_and_memory_at_its_peak():
    """CPU per request is that at 1,000; memory the most of any rate."""
    measured = [
        replace(
            one,
            duration_s=1.0,
            requests=RequestCounts(offered=3000, replied=1500),
            counters={"server_processes": {"cpu_s": 0.1 * n, "peak_memory_bytes": 1e6 * n}},
        )
        for n, one in enumerate(climb(1500), 1)
    ]
    own = performances({"default": {1: measured}}, "default", LADDER)["default"]
    assert own.cpu_s_per_1000_requests.mean == pytest.approx(0.1)
    assert own.memory_bytes.mean == 3e6


def test_interval_needs_two_blocks():
    """One block says nothing about a spread; none says nothing at all."""
    assert figure([]) is None
    assert figure([2.0]).low is None
    assert figure([2.0, 2.0]).high == pytest.approx(2.0)


def test_interval_that_says_nothing_is_not_told():
    """Two blocks with 23,300 and 33,000 requests/s had one from 2,500 to 306,000."""
    told = figure([23_300.0, 33_000.0])
    assert told.mean == pytest.approx(27_729, rel=1e-3)
    assert (told.low, told.high) == (None, None)


def test_lower_end_of_an_interval_is_never_0():
    """A p99 of 0.9 to 4 ms in four blocks had one from 0: times spread as ratios do."""
    told = figure([900.0, 1_100.0, 1_000.0, 4_000.0])
    assert 0 < told.low < told.mean < told.high
    assert told.mean / told.low == pytest.approx(told.high / told.mean)


def test_cpu_time_below_the_kernels_tick_has_a_mean_all_the_same():
    """What is 0 has no logarithm."""
    told = figure([0.0, 0.01, 0.01])
    assert told.mean == pytest.approx(0.02 / 3)
    assert told.low == 0.0
