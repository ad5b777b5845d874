"""Limits in text, and what breaks them."""

from dataclasses import replace

import pytest
from trimtab_trials.measurement import Latency, Measurement
from trimtab_tuner.judging.limits import broken_limit, parse_limit
from trimtab_tuner.presets import PRESETS, SettingsError, override


def measured(rate_rps, *, p999_us=None, rss=None):
    """A measurement with these statistics."""
    return Measurement(
        rate_rps=rate_rps,
        goodput_mbps=1,
        reply_rate_rps=1,
        reply_latency=Latency(p999_us=p999_us),
        counters={} if rss is None else {"server_processes": {"peak_memory_bytes": rss}},
    )


@pytest.mark.parametrize(
    ("text", "statistic", "bound"),
    [
        ("p999 <= 20ms", "p999", 20_000),
        ("mean<=0.5s", "mean", 500_000),
        ("rss <= 500MB", "rss", 500e6),
        (" p50 <= 3 us ", "p50", 3),
        ("rss <= 1GiB", "rss", 2**30),
    ],
)
def test_limits_are_read_with_their_units(text, statistic, bound):
    """Microseconds and bytes inside."""
    limit = parse_limit(text)
    assert (limit.statistic, limit.bound) == (statistic, bound)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("p999 < 20ms", "expected STATISTIC <= NUMBER UNIT"),
        ("p98 <= 1ms", "no such statistic; expected one of mean, p50"),
        ("rss <= 20ms", "rss is given in kB, MB"),
        ("p99 <= 20MB", "p99 is given in us, ms, s"),
        ("p99 <= 20", "p99 is given in us, ms, s"),
        ("p99 <= 1.2.3ms", "1.2.3 is no number"),
        ("p99 <= 0ms", "expected a bound above 0"),
        (f"p99 <= {'9' * 400}s", "that is not endless"),
    ],
)
def test_limit_that_makes_no_sense_is_refused_in_a_sentence(text, said):
    """The text is quoted and the expected form shown."""
    with pytest.raises(ValueError, match=said.replace(".", r"\.")):
        parse_limit(text)


def test_constraint_must_hold_at_every_rate():
    """The sentence names the statistic, its value, the rate and the limit."""
    limits = [parse_limit("p999 <= 20ms"), parse_limit("rss <= 500MB")]
    good = [measured(100, p999_us=5_000, rss=4e8), measured(200, p999_us=20_000, rss=5e8)]
    assert broken_limit(limits, good) is None
    slow = measured(300, p999_us=35_000, rss=4e8)
    assert broken_limit(limits, [*good, slow]) == (limits[0], slow)
    said = limits[0].broken_sentence(slow, "300 requests/s")
    assert said == "p999 = 35.00 ms at 300 requests/s: expected p999 <= 20ms."
    large = measured(100, p999_us=5_000, rss=6e8)
    assert broken_limit(limits, [large]) == (limits[1], large)
    said = limits[1].broken_sentence(large, "10 connections")
    assert said == "rss = 600.0 MB at 10 connections: expected rss <= 500MB."


def test_what_was_not_measured_does_not_pass():
    """Nothing replied means no latency to judge."""
    limit, nothing = parse_limit("p999 <= 20ms"), measured(100)
    assert broken_limit([limit], [nothing]) == (limit, nothing)
    said = limit.broken_sentence(nothing, "100 requests/s")
    assert said == "p999 <= 20ms: p999 was not measured at 100 requests/s."


def test_constraint_in_the_settings_is_checked_when_it_is_given():
    """Before a run starts, not after its first trial."""
    quick = PRESETS["quick"].settings
    assert override(quick, {"constraints": ["p99<=5ms"]}).constraints == ("p99 <= 5ms",)
    assert override(quick, {"constraints": "p99<=5ms"}).constraints == ("p99 <= 5ms",)  # one needs no list
    with pytest.raises(SettingsError, match="no such statistic"):
        override(quick, {"constraints": ["speed <= 5ms"]})


def test_runs_recorded_before_the_peak_was_counted_keep_the_memory_that_was():
    """Their resident memory stands for it; where the peak was counted, that does."""
    limit = parse_limit("rss <= 500MB")
    earlier = {"server_processes": {"resident_bytes": 80e6}}
    both = {"server_processes": {"resident_bytes": 80e6, "peak_memory_bytes": 50e6}}
    bare = measured(1000)
    assert limit.measured(replace(bare, counters=earlier)) == 80e6
    assert limit.measured(replace(bare, counters=both)) == 50e6
    assert limit.measured(bare) is None
