"""Gains and prediction intervals, on fixed seeds."""

import math

import numpy as np
import pytest
from trimtab_tuner.certainty.statistics import Gain, paired_gain, prediction_interval, says_nothing


def test_paired_gain_worked_by_hand():
    """Ratios 1.1, 1.2, 1.3: geometric mean 1.19722, t(0.975, 2) = 4.3027."""
    gain = paired_gain([100, 200, 50], [110, 240, 65])
    logs = np.log([1.1, 1.2, 1.3])
    margin = 4.30265 * logs.std(ddof=1) / math.sqrt(3)
    assert gain.gain == pytest.approx(1.19722 - 1, abs=1e-5)
    assert gain.low == pytest.approx(math.exp(logs.mean() - margin) - 1, abs=1e-5)
    assert gain.high == pytest.approx(math.exp(logs.mean() + margin) - 1, abs=1e-5)
    assert not gain.significant
    assert gain.blocks == 3


def test_drift_common_to_a_block_cancels():
    """A machine that slows down tenfold from block to block still shows a steady gain of 10 %."""
    drift = np.array([1000, 300, 100, 10])
    gain = paired_gain(drift.tolist(), (drift * [1.101, 1.099, 1.100, 1.102]).tolist())
    assert gain.significant
    assert gain.gain == pytest.approx(0.1005, abs=1e-4)


def test_blocks_with_a_missing_or_zero_score_are_left_out():
    """Only pairs count."""
    gain = paired_gain([100, None, 100, 100, 0], [120, 120, None, 121, 100])
    assert gain.blocks == 2
    assert gain.gain == pytest.approx(0.205, abs=1e-3)


def test_one_block_gives_a_gain_without_interval():
    """One pair says nothing about spread, so nothing is significant."""
    gain = paired_gain([100], [200])
    assert (pytest.approx(gain.gain), gain.low, gain.high, gain.significant) == (1.0, None, None, False)
    assert str(gain) == "+100 % (too few repeats for an interval)"


def test_no_common_block_gives_no_gain():
    """There is nothing to compare."""
    assert paired_gain([100, None], [None, 100]) is None
    assert paired_gain([], []) is None


def test_equal_scores_without_spread_are_no_gain():
    """Zero variance and zero difference: not significant, and no division by zero."""
    gain = paired_gain([100, 100, 100], [100, 100, 100])
    assert (gain.gain, gain.low, gain.high, gain.significant) == (0, 0, 0, False)


def test_unequal_lengths_are_refused():
    """Scores are paired by block."""
    with pytest.raises(ValueError, match="2 default scores against 1"):
        paired_gain([1, 2], [1])


def test_gain_reads_as_a_sentence_part():
    """The form used in exports and tables."""
    gain = paired_gain([100, 100, 100, 100], [120, 121, 119, 120])
    assert str(gain) == "+20 % (95 % interval +19 % to +21 %)"


def test_identical_configurations_are_told_apart_in_at_most_six_percent():
    """A/A: 2,000 confirmations of 4 blocks, two configurations of the same score with 5 % noise."""
    rng = np.random.default_rng(20)
    claims = 0
    for _ in range(2000):
        block = rng.normal(0, 0.1, 4)
        a, b = (np.exp(block + rng.normal(0, 0.05, 4)) * 1000 for _ in range(2))
        claims += paired_gain(a.tolist(), b.tolist()).significant
    assert 0.04 <= claims / 2000 <= 0.06


def test_ten_percent_gain_is_found_in_nine_of_ten_confirmations():
    """Power: 6 blocks, 3 % noise within blocks, 10 % between them."""
    rng = np.random.default_rng(21)
    found = 0
    for _ in range(500):
        block = rng.normal(0, 0.1, 6)
        a, b = (np.exp(block + rng.normal(0, 0.03, 6)) for _ in range(2))
        gain = paired_gain(a.tolist(), (b * 1.1).tolist())
        found += gain.significant and gain.gain > 0
    assert found >= 450


def test_prediction_interval_holds_the_next_score_as_often_as_it_says():
    """95 % of the time, from as few as four scores; one score, or none above 0, says nothing."""
    draw = np.random.default_rng(7)
    held = beside_held = 0
    for _ in range(2000):
        *scores, following, neighbour = np.exp(draw.normal(5.0, 0.04, size=6))
        low, high = prediction_interval(scores)
        held += low <= following <= high
        # The machine has become slower by a fifth; what is measured side by side does not notice.
        low, high = prediction_interval(scores, beside=0.8 * neighbour)
        beside_held += low <= 0.8 * following <= high
    assert 0.935 <= held / 2000 <= 0.965
    assert 0.935 <= beside_held / 2000 <= 0.965
    assert prediction_interval([100.0]) is None
    assert prediction_interval([10.0, 1_000.0]) is None  # else from 0.0 to beyond any number
    assert prediction_interval([100.0, 105.0]) is None  # 60 to 174
    assert prediction_interval([100.0, 101.0]) is not None
    assert prediction_interval([0.0, 0.0, 100.0]) is None


def test_gain_of_too_few_repeats_is_told_without_its_interval():
    """An interval wider than what it is of says nothing; one that shows a gain, or narrows it down, does."""
    assert str(paired_gain([100, 100], [101, 130])) == "unknown (the repeats differ too much)"
    assert "95 % interval" in str(paired_gain([100, 100], [101, 102]))
    doubled = paired_gain([100, 100, 100], [150, 200, 290])
    assert doubled.significant is False
    assert str(doubled) == "unknown (the repeats differ too much)"
    tenfold = paired_gain([100, 100, 100], [800, 1_000, 1_300])
    assert tenfold.significant
    assert "95 % interval" in str(tenfold)


@pytest.mark.parametrize(
    ("gain", "low", "high", "nothing"),
    [
        (0.05, -1.0, 3e7, True),
        (0.05, -0.6, 1.7, True),
        (0.05, -0.2, 0.4, False),
        (4.0, 0.1, 300.0, False),  # shows a gain
        (-0.9, -0.999, -0.1, False),  # shows a loss
        (0.05, -0.6, None, True),
        (0.05, -0.2, None, False),
        (0.05, None, None, False),  # seen once: told so
    ],
)
def test_interval_too_wide_says_nothing_and_no_figure_is_told(gain, low, high, nothing):
    """Neither alone nor with its interval, nor where it may be more."""
    significant = low is not None and (low > 0 or (high is not None and high < 0))
    told = Gain(gain=gain, low=low, high=high, significant=significant, blocks=2)
    assert says_nothing(gain, low, high) is nothing
    assert told.says_nothing is nothing
    for text in (str(told), told.told(at_least=True), told.in_short(), told.in_short(at_least=True)):
        assert ("%" not in text) is nothing
        assert text.startswith("unknown") is nothing
    assert Gain.model_validate(told.model_dump(mode="json")) == told
