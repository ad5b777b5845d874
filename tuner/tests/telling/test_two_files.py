"""An old file of a server against a new one: what the blocks show of a loss of capacity."""

import pytest
from trimtab_trials.measurement import Measurement
from trimtab_tuner.space import SpaceError
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.telling.two_files import judged, space_of_two, with_file, without_file


def climb(capacity_rps, *rates, **changes):
    """What a server of that capacity answers at these rates."""
    return [
        Measurement(rate_rps=rate, reply_rate_rps=min(rate, capacity_rps), goodput_mbps=rate / 100, **changes)
        for rate in rates
    ]


def blocks(*climbs):
    """Each climb as a block of its own."""
    return dict(enumerate(climbs, start=1))


FINE = (1030.0, 1040.0, 1050.0, 1060.0)  # steps of the climb below the loss that is allowed
OLD = blocks(*[climb(1000, *FINE)] * 3)


def test_same_capacity_within_the_steps_of_the_climb_is_kept():
    """The interval lies above what may be lost, and the sentence says so."""
    loss = judged(OLD, OLD, 0.02)
    assert loss.verdict == "kept"
    assert loss.gain.gain == 0
    assert loss.sentence == "The new file loses no more than 2 % of the old one's capacity."


def test_capacity_below_what_may_be_lost_is_lost():
    """A third less is more than 2 %, and less than half."""
    new = blocks(*[climb(650, 680.0, 690.0)] * 3)
    assert judged(OLD, new, 0.02).verdict == "lost"
    assert judged(OLD, new, 0.5).verdict == "kept"


def test_steps_wider_than_what_may_be_lost_leave_it_undecided():
    """What was followed is the same, but the new one may lie a tenth lower; the sentence says what helps."""
    collapse = [*climb(1000, 1000.0), *climb(900, 1100.0)]
    wide = blocks(*[collapse] * 3)
    loss = judged(wide, wide, 0.02)
    assert loss.verdict == "undecided"
    assert "--set confirmation_repeats=NUMBER" in loss.sentence


def test_file_that_follows_nothing_in_most_blocks_loses_everything():
    """No ratio can be stated; the verdict needs none."""
    loss = judged(OLD, blocks(climb(10, 980.0), climb(10, 980.0), climb(1000, *FINE)), 0.02)
    assert (loss.verdict, loss.gain, loss.follows_nothing) == ("lost", None, True)
    assert "follows none of the rates" in loss.sentence


def test_block_without_any_measurement_counts_as_nothing_followed():
    """As of a server that crashed before the first rate."""
    assert judged(OLD, blocks([], [], []), 0.02).follows_nothing


def test_generator_that_gave_out_shows_no_loss_of_the_server():
    """Not even where no rate is left to tell from."""
    limited = blocks(*[climb(10, 980.0, generator_limited=True)] * 3)
    loss = judged(OLD, limited, 0.02)
    assert (loss.verdict, loss.follows_nothing) == ("undecided", False)


def test_loss_against_an_old_file_known_only_from_below_is_lost():
    """It follows at least 1,000, and the new one not 690: no percentage, but a loss."""
    old = blocks(*[climb(2000, 990.0, 1000.0)] * 3)
    loss = judged(old, blocks(*[climb(650, 680.0, 690.0)] * 3), 0.02)
    assert (loss.verdict, loss.gain) == ("lost", None)


def test_space_of_two_files_leaves_nothing_free_but_the_file():
    """The old one's values are the default; the new one's belong to it although they are fixed otherwise."""
    space = TARGETS["nginx"].space(cpus=1).with_defaults({"worker_connections": 512})
    both = space_of_two(space)
    assert [knob.name for knob in both.free] == ["file"]
    new = with_file(both, {"worker_connections": 16})
    assert (new["file"], new["worker_connections"]) == ("new", 16)
    assert without_file(both.default()) == space.default()
    with pytest.raises(SpaceError, match="file = 'other': expected one of old, new"):
        both.check({"file": "other"})
