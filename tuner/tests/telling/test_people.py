"""What a configuration does, in a sentence."""

import pytest
from trimtab_tuner.certainty.statistics import Gain
from trimtab_tuner.telling.people import Compared, in_words, table
from trimtab_tuner.telling.performance import Figure, Performance

DEFAULT = Performance(capacity_rps=Figure(mean=20_000))


def compared(gain, *, at_least):
    """What is said of a configuration beside the default."""
    own = Performance(
        capacity_rps=Figure(mean=20_000 * (1 + gain)),
        at_least=at_least,
        capacity_gain=Gain(gain=gain, low=None, high=None, significant=False, blocks=1),
    )
    return in_words("w=2", own, DEFAULT)


@pytest.mark.parametrize(
    ("gain", "at_least", "said"),
    [
        (0.1, True, ": at least +10 %"),
        (-0.09, True, ": at least -9.0 %"),
        (-0.09, False, ": -9.0 %"),
        (11.0, True, ": at least +1,100 %"),
    ],
)
def test_gain_of_what_is_only_bounded_from_below_says_so(gain, at_least, said):
    """In the words in which lists, files and pages tell it."""
    assert f"{said} (too few repeats for an interval)." in compared(gain, at_least=at_least)


@pytest.mark.parametrize(
    ("memory_mb", "p99_ms", "said"),
    [
        (160, 10.0, "It comes at a price: 16.0 times the memory and 2.00 times the p99 at 9,000 requests/s."),
        (21, 5.0, "It comes at a price: 2.10 times the memory."),
        (20, 5.2, ""),  # twice the memory is not more than that, and the intervals meet
        (10, 4.0, ""),
    ],
)
def test_gain_with_a_price_says_so_in_the_same_breath(memory_mb, p99_ms, said):
    """Much more memory, or a p99 above the default's at the same load, is no matter for the table alone."""

    def does(capacity_rps, memory, p99):
        return Performance(
            capacity_rps=Figure(mean=capacity_rps),
            load_rps=9000.0,
            p99_us=Figure(mean=p99 * 1e3, low=p99 * 0.9e3, high=p99 * 1.1e3),
            memory_bytes=Figure(mean=memory * 1e6),
        )

    told = in_words("w=2", does(40_000, memory_mb, p99_ms), does(20_000, 10, 5.0))
    assert ("price" in told) == bool(said)
    assert said in told


def test_table_tells_no_gain_whose_interval_says_nothing():
    """Nor a sentence."""
    wide = Gain(gain=0.05, low=-1.0, high=3e7, significant=False, blocks=2)
    own = Performance(capacity_rps=Figure(mean=21_000), capacity_gain=wide)
    heads, rows = table([Compared("w=2", own, None)])
    assert rows[0][heads.index("more than the default")] == "unknown"
    assert in_words("w=2", own, DEFAULT).endswith(": unknown (the repeats differ too much).")


@pytest.mark.parametrize(
    ("p99_us", "said"),
    [(84.8, "84.8 µs"), (868.0, "868 µs"), (999.6, "1.00 ms"), (1520.0, "1.52 ms"), (2.5e6, "2.50 s")],
)
def test_latency_has_the_unit_that_the_pages_give_it(p99_us, said):
    """No figure is told in two ways on one page."""
    own = Performance(capacity_rps=Figure(mean=21_000), load_rps=9_000, p99_us=Figure(mean=p99_us))
    assert f"At 9,000 requests/s: p99 {said}." in in_words("w=2", own, None)
