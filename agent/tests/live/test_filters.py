"""Which socket of a group a new connection falls to: by weight for the public, by its port for us."""

import pytest
from trimtab_agent.live import filters
from trimtab_agent.live.filters import by_weight


@pytest.mark.parametrize("shares", [(-0.1,), (0.6, 0.5)])
def test_shares_that_are_no_parts_of_a_whole_are_refused(shares):
    """Before anything reaches the kernel."""
    with pytest.raises(ValueError, match="expected none negative"):
        by_weight(shares)


def chosen(shares, drawn):
    """What the program returns for a random number, by the rules of its three instructions."""
    program = by_weight(shares)
    at = 1
    while True:
        code, if_true, if_false, constant = program[at]
        if code == filters.RETURN:
            return constant
        at += 1 + (if_true if drawn >= constant else if_false)


@pytest.mark.parametrize(
    ("shares", "drawn", "expected"),
    [
        ((), 0, 0),
        ((0.25,), 0, 1),
        ((0.25,), (1 << 30) - 1, 1),
        ((0.25,), 1 << 30, 0),
        ((0.25, 0.25), 1 << 30, 2),
        ((0.0, 0.25), 0, 2),
        ((1.0,), (1 << 32) - 1, 1),
        ((0.5, 0.5), (1 << 32) - 1, 2),
    ],
)
def test_random_number_falls_to_the_share_that_it_lies_in(shares, drawn, expected):
    """At both ends of each range."""
    assert chosen(shares, drawn) == expected
