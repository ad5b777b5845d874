"""Ranking groups: worked by hand, and by simulation on fixed seeds."""

import math

import numpy as np
import pytest
from trimtab_tuner.certainty.ranking import RankGroup, rank_blocks, rank_samples


def groups_of(**rows):
    """Members of each group, by rank."""
    return [(group.rank, set(group.members)) for group in rank_blocks(rows)]


def drawn(chance, levels, *, blocks, noise, drift):
    """Scores by name at levels that are shares above 100, in blocks that drift together."""
    shared = chance.normal(0, drift, blocks)
    return {
        name: (100 * (1 + level) * np.exp(shared + chance.normal(0, noise, blocks))).tolist()
        for name, level in levels.items()
    }


def test_groups_share_a_rank_when_not_told_apart():
    """Two close leaders, then a clear loser: ranks 1, 1 and 3."""
    expected = [(1, {"a", "b"}), (3, {"c"})]
    assert expected == groups_of(a=[10.0, 10.2, 9.8], b=[10.1, 9.9, 9.7], c=[5.0, 5.1, 4.9])


def test_best_of_a_group_comes_first():
    """Members are ordered by level."""
    assert (RankGroup(rank=1, members=("b", "a")),) == rank_blocks({"a": [1.0, 2.0], "b": [1.5, 1.9]})


def test_row_with_fewer_than_two_scores_is_left_out():
    """One score cannot be tested; 0 has no logarithm and is none."""
    assert groups_of(a=[1.0, 1.1], b=[3.0, None], c=[None, 0.0]) == [(1, {"a"})]
    assert groups_of(a=[1.0]) == []


def test_rows_without_spread_are_ranked_by_value():
    """Zero variance everywhere: equal values share a rank, others do not."""
    assert groups_of(a=[1.0, 1.0], b=[2.0, 2.0], c=[2.0, 2.0]) == [(1, {"b", "c"}), (3, {"a"})]


def test_drift_between_blocks_does_not_make_rows_alike():
    """1 % noise within blocks and 10 % between them: +20 % is always told from +5 %."""
    chance = np.random.default_rng(31)
    levels = {"default": 0.0, "some": 0.05, "more": 0.2}
    hidden = sum(
        rank_blocks(drawn(chance, levels, blocks=4, noise=0.01, drift=0.1))[0].members != ("more",)
        for _ in range(300)
    )
    assert hidden == 0


def test_missing_score_is_made_up_for_by_the_other_rows_of_its_block():
    """In the fast block only one was verified; its mean is higher for that alone."""
    rows = {"a": [100, 101, 99, 200], "b": [105, 106, 104, None], "c": [100.5, 100.5, 99, 199]}
    assert [group.members for group in rank_blocks(rows)] == [("b",), ("a", "c")]


def test_rows_that_no_block_links_are_never_told_apart():
    """Whatever they differ by may be drift."""
    assert groups_of(a=[1.0, 1.1, None, None], b=[None, None, 5.0, 5.1]) == [(1, {"a", "b"})]


@pytest.mark.parametrize(("count", "blocks"), [(2, 4), (3, 4), (4, 6)])
def test_identical_rows_are_split_in_at_most_five_percent(count, blocks):
    """A/A at 5 % noise, 10 % drift: of 1,000 rankings; twice the standard error is granted."""
    chance = np.random.default_rng(22)
    levels = dict.fromkeys("abcd"[:count], 0.0)
    split = sum(
        len(rank_blocks(drawn(chance, levels, blocks=blocks, noise=0.05, drift=0.1))) > 1 for _ in range(1000)
    )
    assert split / 1000 <= 0.05 + 0.014


def test_unequal_variances_do_not_make_a_noisy_row_hide_a_clear_difference():
    """Two steady rows are told apart although a third, noisy one would blur the common variance."""
    steady = {
        "a": [100.0, 100.1, 99.9, 100.05, 99.95, 100.0],
        "b": [101.0, 101.1, 100.9, 101.05, 100.95, 101.0],
    }
    noisy = {"c": [60.0, 140.0, 90.0, 110.0, 70.0, 125.0]}
    ranks = {m: g.rank for g in rank_blocks({**steady, **noisy}) for m in g.members}
    assert ranks["b"] < ranks["a"]


def test_independent_samples_are_split_in_about_five_percent_and_told_apart_by_their_means():
    """Of gains of different runs, with spreads of their own; one without any spread is no trouble."""
    chance = np.random.default_rng(23)
    split = sum(
        len(
            rank_samples(
                {name: chance.normal(0, spread, 6).tolist() for name, spread in (("a", 0.01), ("b", 0.05))}
            )
        )
        > 1
        for _ in range(1000)
    )
    assert split / 1000 <= 0.065
    steps = {"more": [0.2, 0.21, 0.19], "none": [0.0, 0.0, 0.0], "too few": [math.log(2)]}
    assert [group.members for group in rank_samples(steps)] == [("more",), ("none",)]
