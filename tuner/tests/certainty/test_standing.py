"""Which of a configuration's trials count, in search and confirmation."""

import pytest
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.certainty.standing import standings


def searched(workers, score, verdict=Verdict.VERIFIED, **changed):
    """A trial of the search."""
    return Trial(configuration={"workers": workers}, verdict=verdict, score=score, **changed)


def confirmed(workers, block, score, verdict=Verdict.VERIFIED, **changed):
    """A trial in a block of the confirmation, or beside the blocks in block 0."""
    return searched(workers, score, verdict, purpose=TrialPurpose.CONFIRMATION, block=block, **changed)


def only(*trials):
    """The standing of the one configuration that these trials are of."""
    (standing,) = standings(trials).values()
    return standing


def test_confirmation_counts_in_place_of_the_search_as_soon_as_it_has_a_score():
    """The score by which the search chose it is the luckiest of many."""
    trials = [searched(1, 110.0), confirmed(1, 1, None, Verdict.DISTURBED), confirmed(1, 2, 100.0)]
    assert only(*trials[:2]).score == 110.0
    assert only(*trials).score == 100.0
    assert only(*trials).search_score == 110.0


def test_slot_that_was_measured_again_counts_with_its_last_trial():
    """The first was spoilt by something else."""
    standing = only(confirmed(1, 1, None, Verdict.GENERATOR_LIMITED), confirmed(1, 1, 90.0))
    assert standing.blocks[1].score == 90.0
    assert not standing.failed


def test_failing_once_is_failing():
    """Whatever the other trials were, and in the search as in the confirmation."""
    assert only(searched(1, 100.0), searched(1, None, Verdict.FAILED_VERIFICATION)).failed
    assert only(searched(1, 100.0), confirmed(1, 1, None, Verdict.CRASHED)).failed
    assert not only(searched(1, None, Verdict.STOPPED_EARLY)).failed


@pytest.mark.parametrize(
    "trial",
    [
        searched(1, None, Verdict.ABORTED),
        searched(1, None, purpose=TrialPurpose.CALIBRATION),
        confirmed(1, 0, 100.0),
    ],
)
def test_trial_that_is_part_of_neither_changes_nothing(trial):
    """One that was cut short, a calibration, and a repeat beside the blocks."""
    assert standings([trial]) == {}


def test_second_score_is_a_mean_over_the_same_trials():
    """Of what was measured."""
    standing = only(
        searched(1, 100.0, second_score=7.0),
        confirmed(1, 1, 90.0, second_score=5.0),
        confirmed(1, 2, 92.0, second_score=3.0),
    )
    assert (standing.score, standing.second_score) == (91.0, 4.0)
