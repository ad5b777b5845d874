"""What a configuration does, in a sentence."""

import pytest
from trimtab_tuner.certainty.statistics import Gain
from trimtab_tuner.telling.people import in_words
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
        (0.1, True, "at least 10 % more"),
        (-0.09, True, "at most 9 % less"),
        (-0.09, False, ": 9 % less"),
        (0.1, False, ": 10 % more"),
        (11.0, True, "at least 12 times as much"),
    ],
)
def test_what_is_only_bounded_from_below_may_gain_more_and_lose_less(gain, at_least, said):
    """A bound from below of what is less than the default bounds the loss from above."""
    assert f"{said}." in compared(gain, at_least=at_least)
