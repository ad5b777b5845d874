"""Switchbacks on simulated traffic: which block comes when, what is compared, and what is decided."""

import numpy as np
import pytest
from trimtab_tuner.live.episode import Action, Rules
from trimtab_tuner.live.observed import CLASSES, ArmPeriod, Served
from trimtab_tuner.live.switchback import (
    BY_SETTING,
    MOST_PAIRS,
    NOTHING,
    Side,
    Switchback,
    by_reloads,
)

RATE_RPS = 1000
CPU_S, SERVICE_S = 50e-6, 1e-3
NOISE = 0.03  # of a block: what its seconds have in common


class Server:
    """Simulated traffic of one server whose values change from block to block.

    Each block differs from the others by NOISE, in cost and in time; the level of both wanders over minutes.
    """

    def __init__(self, seed, **candidate):
        self.chance = np.random.default_rng(seed)
        self.candidate = {"cost": 1.0, "time": 1.0, "errors": 0.0, **candidate}
        self.level = 1.0

    def block(self, side):
        """How this block differs."""
        self.level *= float(self.chance.lognormal(0, 0.01))
        factors = self.candidate if side is Side.CANDIDATE else {"cost": 1.0, "time": 1.0, "errors": 0.0}
        cost, time = self.level * self.chance.lognormal(0, NOISE, 2)
        return factors["cost"] * cost, factors["time"] * time, factors["errors"]

    def period(self, seconds, cost, time, errors):
        """So many seconds of it."""
        requests = int(self.chance.poisson(RATE_RPS * seconds))
        served = (Served(requests, requests * SERVICE_S * time), *(Served(),) * (CLASSES - 1))
        return ArmPeriod(
            served=served, cpu_s=requests * CPU_S * cost, errors=int(self.chance.poisson(errors * requests))
        )


def decide(seed, rules=None, **candidate):
    """The decision that ends a switchback, after how many blocks, and the switchback."""
    switchback, server = Switchback(rules or Rules(), seed=seed), Server(seed + 1000, **candidate)
    for number in range(1, 2 * MOST_PAIRS + 1):
        block = switchback.block
        factors = server.block(block.side)
        # What is left of the other side's value spoils the washout.
        spoilt = server.period(BY_SETTING.washout_s, 3.0, 3.0, 0.0)
        switchback.told(spoilt, from_s=0.0, until_s=BY_SETTING.washout_s)
        seen = server.period(block.length_s - BY_SETTING.washout_s, *factors)
        decision = switchback.told(seen, from_s=BY_SETTING.washout_s, until_s=block.length_s)
        if decision.action is not Action.GO_ON:
            return decision, number, switchback
    raise AssertionError("unreachable")


@pytest.mark.parametrize("margin", [0.02, 0.001])
def test_equal_values_are_seldom_told_apart(margin):
    """Neither promoted nor rolled back in 95 of 100 cases, however small the margin is."""
    rules = Rules(margin=margin)
    ends = [decide(seed, rules)[0].action for seed in range(100)]
    assert sum(end is not Action.GIVE_UP for end in ends) <= 5


def test_gain_of_a_twentieth_is_found_in_most_cases():
    """With noise of 3 % a block, within half an hour."""
    took = [decide(seed, cost=0.95) for seed in range(30)]
    found = [number for decision, number, _ in took if decision.action is Action.PROMOTE]
    assert len(found) >= 24
    assert np.median(found) <= 2 * 80
    low, high = took[0][2].episode.change("cost")
    assert low < -0.05 < high < 0


@pytest.mark.parametrize("harm", [{"cost": 1.5}, {"time": 2.0}, {"errors": 0.02}])
def test_harmful_value_is_rolled_back_within_thirty_blocks(harm):
    """Less than four minutes, of which the candidate has half."""
    took = [decide(seed, **harm) for seed in range(20)]
    assert {decision.action for decision, _, _ in took} == {Action.ROLL_BACK}
    assert sorted(number for _, number, _ in took)[18] <= 30


def test_what_is_cheaper_but_slower_is_not_promoted():
    """One gain does not pay for another loss."""
    ends = [decide(seed, cost=0.9, time=1.1)[0].action for seed in range(10)]
    assert Action.PROMOTE not in ends


def blocks_of(switchback, pairs):
    """The blocks that come, told only of answers that are not compared: they begin in the washout."""
    answered = ArmPeriod(served=(Served(1000, 1.0), *(Served(),) * (CLASSES - 1)))
    for _ in range(2 * pairs):
        block = switchback.block
        switchback.told(answered, from_s=0.0, until_s=block.length_s)
        yield block


def test_pairs_have_both_sides_in_random_order_and_one_length():
    """Of five to ten seconds, drawn by the seed."""
    blocks = list(blocks_of(Switchback(Rules(), seed=1), 60))
    pairs = list(zip(blocks[::2], blocks[1::2], strict=True))
    assert all({one.side, other.side} == set(Side) for one, other in pairs)
    assert all(one.length_s == other.length_s for one, other in pairs)
    assert all(BY_SETTING.shortest_s <= block.length_s <= BY_SETTING.longest_s for block in blocks)
    assert 15 < sum(one.side is Side.CANDIDATE for one, _ in pairs) < 45
    assert len({block.length_s for block in blocks}) == 60
    assert blocks == list(blocks_of(Switchback(Rules(), seed=1), 60))
    assert blocks != list(blocks_of(Switchback(Rules(), seed=2), 60))


def test_washout_is_not_compared():
    """Nor a period that begins in it: the candidate seems to cost a hundred times as much there."""
    switchback = Switchback(Rules(), seed=1)
    served = (Served(1000, 1.0), *(Served(),) * (CLASSES - 1))
    for _ in range(2 * MOST_PAIRS):
        block = switchback.block
        spoilt = 5.0 if block.side is Side.CANDIDATE else 0.05
        switchback.told(ArmPeriod(served=served, cpu_s=spoilt), from_s=1.9, until_s=2.4)
        decision = switchback.told(ArmPeriod(served=served, cpu_s=0.05), from_s=2.4, until_s=block.length_s)
    assert decision.action is Action.GIVE_UP


def test_block_in_which_nothing_was_seen_says_nothing():
    """A timer that was late is no harm."""
    switchback = Switchback(Rules(), seed=1)
    served = (Served(1000, 1.0), *(Served(),) * (CLASSES - 1))
    for _ in range(2 * MOST_PAIRS):
        block = switchback.block
        period = ArmPeriod(served=served, cpu_s=0.05) if block.side is Side.INCUMBENT else NOTHING
        decision = switchback.told(period, from_s=3.0, until_s=block.length_s)
    assert decision.action is Action.GIVE_UP


def test_candidate_that_hangs_is_rolled_back_within_four_periods():
    """Even in the washout; production has no other arm meanwhile."""
    switchback = Switchback(Rules(), seed=1)
    answered = ArmPeriod(served=(Served(1000, 1.0), *(Served(),) * (CLASSES - 1)))
    sides = []
    while sides[-2:] != [Side.INCUMBENT, Side.CANDIDATE]:
        sides.append(switchback.block.side)
        if sides[-2:] != [Side.INCUMBENT, Side.CANDIDATE]:
            switchback.told(answered, from_s=3.0, until_s=switchback.block.length_s)
    hung = ArmPeriod(served=(Served(),) * CLASSES, waiting=5)
    actions = [switchback.told(hung, from_s=i / 2, until_s=(i + 1) / 2).action for i in range(4)]
    assert actions == [Action.GO_ON] * 3 + [Action.ROLL_BACK]


def test_traffic_that_stops_is_no_hang():
    """Nobody waits, or nobody was ever answered."""
    switchback = Switchback(Rules(), seed=1)
    hung = ArmPeriod(served=(Served(),) * CLASSES, waiting=5)
    for _ in range(20):
        decision = switchback.told(hung, from_s=3.0, until_s=switchback.block.length_s)
        assert decision.action is Action.GO_ON


@pytest.mark.parametrize(("an_hour", "shortest_s"), [(4, 900.0), (60, 60.0), (3600, 60.0)])
def test_blocks_of_reloads_are_as_long_as_their_number_in_an_hour_asks_for(an_hour, shortest_s):
    """And never so short that most of them is what follows a reload."""
    lengths = by_reloads(an_hour)
    assert lengths.shortest_s == shortest_s
    assert lengths.washout_s <= lengths.shortest_s / 4
    switchback = Switchback(Rules(), seed=1, lengths=lengths)
    assert lengths.shortest_s <= switchback.block.length_s <= lengths.longest_s
