"""Sentences count as people do."""

import pytest
from trimtab_tuner.wording import counted, in_mbps


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 processes"), (1, "1 process"), (2, "2 processes"), (30, "30 processes")]
)
def test_only_one_is_singular(number, words):
    """Also where the plural is no mere s."""
    assert counted(number, "process", "processes") == words
    assert counted(number, "run") == f"{number} run{'s' * (number != 1)}"


@pytest.mark.parametrize(
    ("goodput_mbps", "text"),
    [(1321.4, "1,321 Mbps"), (99.96, "100 Mbps"), (99.0, "99.0 Mbps"), (1.5, "1.50 Mbps")],
)
def test_goodput_has_the_digits_that_the_web_ui_shows(goodput_mbps, text):
    """A sentence stands beside the figures that it is about."""
    assert in_mbps(goodput_mbps) == text
