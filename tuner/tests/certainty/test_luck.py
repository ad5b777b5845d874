"""What the best of a noisy search would score again, by simulation on fixed seeds."""

import numpy as np
import pytest
from trimtab_trials.trial import Trial, Verdict
from trimtab_tuner.certainty.luck import expected_score, rival_of

NOISE = 0.03


def searched(scores):
    """A trial of the search for each score; a row of scores is of one configuration."""
    return [
        Trial(configuration={"workers": number}, verdict=Verdict.VERIFIED, score=float(score))
        for number, row in enumerate(scores)
        for score in np.atleast_1d(row)
    ]


@pytest.mark.parametrize(
    ("levels", "lucky_by"),
    [
        (np.zeros(30), 0.06),  # a flat surface
        (np.concatenate((-np.linspace(0.1, 0.6, 18), np.zeros(12))), 0.045),  # a plateau above a slope
        (np.concatenate((np.zeros(30), [0.3])), -0.01),  # one far above all others, and no luck
    ],
)
def test_best_of_a_search_is_expected_to_score_what_it_would_score_again(levels, lucky_by):
    """Its own score flatters it by up to 6 %; what is expected errs by less than 1.5 % on average."""
    chance = np.random.default_rng(8)
    errors, luck = [], []
    for _ in range(300):
        scores = 100 * np.exp(levels + chance.normal(0, NOISE, len(levels)))
        best = int(scores.argmax())
        true = 100 * np.exp(levels[best])
        errors.append(expected_score(searched(scores), {"workers": best}, NOISE) / true - 1)
        luck.append(scores[best] / true - 1)
    assert np.mean(luck) > lucky_by
    assert abs(np.mean(errors)) < 0.015


def test_repeats_of_the_best_count_for_more():
    """What was measured eight times keeps more of its lead than what was measured once."""
    others = [100.0, 101.0, 99.0, 103.0]
    once = expected_score(searched([*others, 106.0]), {"workers": 4}, NOISE)
    often = expected_score(searched([*others, [106.0] * 8]), {"workers": 4}, NOISE)
    assert 100 < once < often <= 106


def test_configuration_without_a_score_is_expected_to_score_nothing_known():
    """As where it was stopped early, or never verified."""
    assert expected_score([], {"workers": 1}, NOISE) is None
    assert expected_score(searched([0.0]), {"workers": 0}, NOISE) is None


def test_what_may_be_as_good_as_the_default_is_its_rival():
    """Within three standard deviations; the best of those that are."""
    rival = rival_of({"workers": 0}, searched([[100.0, 104.0], 95.0, 98.0, 60.0]), NOISE)
    assert rival.configuration == {"workers": 2}


@pytest.mark.parametrize("scores", [[100.0, 88.0], [100.0], []])
def test_default_far_above_all_others_has_no_rival(scores):
    """Nor has one that nothing was measured beside, or that has no score."""
    assert rival_of({"workers": 0}, searched(scores), NOISE) is None
