"""Calibration and ladder, against simulated servers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimtab_trials.measurement import Measurement
from trimtab_tuner.judging.ladder import Calibration, CalibrationError, make_ladder


def calibrate(calibration, reply_rate, generator_limit=float("inf")):
    """Run a calibration against a server given as reply rate over offered rate; returns the rates driven."""
    rates = []
    while (rate := calibration.next_rate()) is not None:
        rates.append(rate)
        offered = min(rate, generator_limit)
        calibration.tell(
            Measurement(
                rate_rps=rate,
                goodput_mbps=1,
                reply_rate_rps=reply_rate(offered),
                generator_limited=rate > generator_limit,
            )
        )
    return rates


@given(st.floats(300, 60_000))
def test_saturation_is_found_within_a_seventh_in_few_steps(capacity):
    """A server that answers up to its capacity and no more."""
    calibration = Calibration(start_rate_rps=1000)
    rates = calibrate(calibration, lambda rate: min(rate, capacity))
    assert capacity * 6 / 7 <= calibration.saturation_rps <= capacity
    assert len(rates) <= 13
    assert not calibration.generator_limited


def test_usual_server_takes_at_most_nine_steps():
    """A server of 12,000 requests per second, from the default start."""
    rates = calibrate(Calibration(), lambda rate: min(rate, 12_000))
    assert len(rates) <= 9


def test_calibration_never_leaps():
    """A server is not asked for far more than it has been seen to follow: that would measure the
    generator.
    """
    rates = calibrate(Calibration(start_rate_rps=1000), lambda rate: min(rate, 50_000))
    assert all(later <= 1.61 * max(rates[: n + 1]) for n, later in enumerate(rates[1:]))


def test_one_disturbed_second_does_not_set_the_ladder():
    """A rate that was not followed once, and is followed when driven again, is followed."""
    answers = iter([1000, 1600, 900, 2560])  # the third is disturbed
    calibration = Calibration(start_rate_rps=1000)
    rates = calibrate(calibration, lambda rate: next(answers, min(rate, 9000)))
    assert rates[2] == rates[3] == 2560
    assert pytest.approx(calibration.saturation_rps, rel=0.15) == 9000


def test_collapse_under_overload_does_not_hide_the_peak():
    """Goodput that falls to a tenth beyond the knee: the highest reply rate seen counts."""
    calibration = Calibration(start_rate_rps=1000)
    calibrate(calibration, lambda rate: rate if rate <= 9000 else 900)
    assert 7500 <= calibration.saturation_rps <= 9000


def test_overloaded_start_goes_down():
    """A start rate far above what the server can do."""
    calibration = Calibration(start_rate_rps=100_000)
    calibrate(calibration, lambda rate: min(rate, 5000))
    assert pytest.approx(calibration.saturation_rps, rel=0.15) == 5000


def test_generator_that_gives_out_first_is_reported():
    """The saturation rate is then a lower bound and says so."""
    calibration = Calibration(start_rate_rps=1000)
    calibrate(calibration, lambda rate: rate, generator_limit=5000)
    assert calibration.generator_limited
    assert calibration.saturation_rps == 5000


def test_repeated_calibration_does_not_climb_to_what_was_followed():
    """A server that has got CPUs begins there, one that has given some away a rung below."""
    first, limited = Calibration(), Calibration()
    calibrate(first, lambda rate: min(rate, 13_500.0))
    assert first.next_start_rps == 13_107.0
    again = Calibration(first.next_start_rps)
    calibrate(again, lambda rate: min(rate, 20_000.0))
    assert (again.saturation_rps, again.steps, first.steps) == (20_000.0, 6, 9)
    calibrate(limited, lambda rate: rate, generator_limit=13_500.0)
    assert limited.next_start_rps == 8_192.0


def test_calibration_of_a_server_that_followed_nothing_is_repeated_from_its_start():
    """There is nothing that would be known of it."""
    stuck = Calibration(2_000.0)
    stuck.tell(measured(2_000.0, capacity_rps=100.0, cpu_share=1.0))
    assert stuck.next_start_rps == 2_000.0


def test_generator_that_gives_out_where_the_server_had_failed_does_not_end_the_calibration():
    """2,560 is not followed by a healthy generator; driven again the generator gives out too."""
    calibration = Calibration(start_rate_rps=1000)
    rates = []
    while (rate := calibration.next_rate()) is not None:
        rates.append(rate)
        calibration.tell(
            Measurement(
                rate_rps=rate,
                goodput_mbps=1,
                reply_rate_rps=min(rate, 2000),
                generator_limited=rates.count(2560) == 2 and rate == 2560,
            )
        )
    assert not calibration.generator_limited
    assert len(rates) == 6  # two refinements between 1,600 and 2,560
    assert calibration.saturation_rps == 2000


def test_server_that_answers_nothing_is_an_error():
    """No reply at the very first rate means that there is nothing to calibrate."""
    with pytest.raises(CalibrationError, match="answered no request at 1,000 requests per second"):
        calibrate(Calibration(start_rate_rps=1000), lambda rate: 0)


def test_no_measurement_is_an_error():
    """There is no saturation rate before the first step."""
    with pytest.raises(CalibrationError, match="no rate has been measured"):
        _ = Calibration().saturation_rps
    with pytest.raises(CalibrationError, match="above 0"):
        Calibration(start_rate_rps=0)


def test_expected_steps_ends_at_the_steps_taken():
    """The estimate for the progress bar is never below what is done and right at the end."""
    calibration = Calibration(start_rate_rps=1000)
    while (rate := calibration.next_rate()) is not None:
        assert calibration.expected_steps > calibration.steps
        calibration.tell(Measurement(rate_rps=rate, goodput_mbps=1, reply_rate_rps=min(rate, 7000)))
    assert calibration.steps == calibration.expected_steps


def test_ladder_of_four_points():
    """The quick preset's ladder."""
    assert make_ladder(10_000, 4) == (5000, 8000, 10_000, 13_000)


@given(st.floats(200, 1e6), st.integers(2, 12))
def test_ladder_ascends_from_well_below_to_well_above(saturation, points):
    """Any number of points spans the same range."""
    ladder = make_ladder(saturation, points)
    assert points == len(ladder)
    assert list(ladder) == sorted(set(ladder))
    assert ladder[0] == pytest.approx(0.5 * saturation, abs=1)
    assert ladder[-1] == pytest.approx(1.3 * saturation, abs=1)


@pytest.mark.parametrize(("saturation", "points"), [(10_000, 1), (0.5, 4), (3, 12)])
def test_impossible_ladder_is_refused(saturation, points):
    """Too few points, or too low a rate to tell them apart."""
    with pytest.raises(ValueError, match=r"expected at least 2|too low for a ladder"):
        make_ladder(saturation, points)


def test_ladder_ends_where_the_generator_gave_out():
    """Rates that cannot be offered are not measured."""
    calibration = Calibration(start_rate_rps=1000)
    calibration.tell(Measurement(rate_rps=1000, goodput_mbps=1, reply_rate_rps=1000))
    calibration.tell(Measurement(rate_rps=1600, goodput_mbps=1, reply_rate_rps=1500, generator_limited=True))
    assert calibration.next_rate() is None
    assert calibration.ladder(4)[-1] == pytest.approx(0.9 * 1500, abs=1)


def test_server_too_slow_for_a_ladder_is_told_in_a_sentence():
    """Rates of less than one request per second cannot be told apart."""
    calibration = Calibration(start_rate_rps=1)
    calibration.tell(Measurement(rate_rps=1, goodput_mbps=1, reply_rate_rps=0.4, generator_limited=True))
    with pytest.raises(CalibrationError, match="is too low for a ladder of 4 rates"):
        calibration.ladder(4)


def measured(rate_rps, capacity_rps, cpu_share=0.5):
    """What a server of that capacity answers, and what share of a CPU the generator used."""
    return Measurement(
        rate_rps=rate_rps,
        goodput_mbps=1,
        reply_rate_rps=min(rate_rps, capacity_rps),
        health={"cpu_share": cpu_share},
    )


@given(st.floats(2000, 500_000), st.integers(1, 8))
def test_every_halving_that_is_asked_for_is_made(capacity, halvings):
    """However many rates it takes to come so far up: the knee lies within one of so many parts of a step."""
    calibration = Calibration(refinements=halvings)
    rates = calibrate(calibration, lambda rate: min(rate, capacity))
    followed = max(rate for rate in rates if 0.95 * rate <= capacity)
    lost = min(rate for rate in rates if 0.95 * rate > capacity)
    assert lost <= followed * 1.6 ** (1 / 2**halvings) + 2


def test_calibration_ends_where_the_server_follows_everything():
    """The rates do not rise for ever."""
    calibration = Calibration()
    assert len(calibrate(calibration, lambda rate: rate)) < 30
    assert not calibration.saturated


def test_full_generator_ends_the_way_up():
    """It has delivered, and would not deliver 1.6 times as much."""
    calibration = Calibration(start_rate_rps=1000)
    calibration.tell(measured(1000, 9000))
    calibration.tell(measured(1600, 9000, cpu_share=0.96))
    assert calibration.next_rate() is None
    assert calibration.generator_limited


def test_what_a_full_generator_delivered_counts_between_what_was_followed_and_what_was_not():
    """8,290 of 9,000 are followed: the knee is looked for above them, not below."""
    calibration = Calibration(start_rate_rps=1000)
    rates = []
    while (rate := calibration.next_rate()) is not None:
        rates.append(rate)
        calibration.tell(measured(rate, 9000, cpu_share=0.96 if rate == 8290 else 0.5))
    assert rates[-2:] == [8290, 9324]


def test_rate_in_doubt_that_is_followed_with_a_full_generator_is_followed():
    """The first time something else was in the way."""
    calibration = Calibration(start_rate_rps=1000)
    calibration.tell(measured(1000, 500))
    calibration.tell(measured(1000, 9000, cpu_share=0.96))
    assert calibration.next_rate() == 1600


@pytest.mark.parametrize(
    ("health", "starved"),
    [
        ({"cpu_share": 0.06, "lateness_p99_us": 250_000}, True),
        ({"cpu_share": 0.06, "dropped_for_lateness": 40}, True),
        ({"cpu_share": 0.98, "lateness_p99_us": 250_000}, False),
        ({"cpu_share": 0.06, "lateness_p99_us": 100, "dropped_for_ports": 40}, False),
        ({"lateness_p99_us": 250_000}, False),
    ],
)
def test_generator_is_starved_where_it_was_late_with_little_of_its_cpu(health, starved):
    """One that is full, or has no ports, has no other program to blame; nor has one that does not say."""
    limited = Measurement(
        rate_rps=2000, goodput_mbps=1, reply_rate_rps=100, generator_limited=True, health=health
    )
    assert limited.generator_starved is starved
