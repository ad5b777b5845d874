"""What the hosts of a confirmation say together, in words."""

import math

import pytest
from trimtab_agent.study.fleet_confirmation import sentence_of
from trimtab_tuner.fleet.across_hosts import across_hosts


def said(*gains):
    """Of hosts with these gains in each of two blocks."""
    logs = {f"host{number}": [math.log1p(gain)] * 2 for number, gain in enumerate(gains, start=1)}
    return sentence_of(across_hosts(logs, {}), unseen=False)


@pytest.mark.parametrize(
    ("gains", "told", "expected"),
    [
        ((0.1, 0.11, 0.12), "the gain was +11 % in the mean (+8.5 % to +14 %)", "expect +6.1 % to +16 %."),
        ((0.1, 0.2), "the gain was +15 % in the mean.", "too few to say what to expect on another one."),
        ((0.1, 0.3, -0.1), "the gain was +8.8 % in the mean (", "differ too much to say what to expect"),
        ((0.1, 5.0, -0.8), "the gain in the mean is unknown, as they differ", "differ too much to say"),
    ],
)
def test_hosts_tell_no_figure_whose_interval_says_nothing(gains, told, expected):
    """Neither of the mean, nor of what to expect on another one."""
    assert told in said(*gains)
    assert expected in said(*gains)
