"""Episodes on simulated traffic: a candidate that is equal, better, worse, failing, hanging."""

import sys
from pathlib import Path

import pytest
from pydantic import ValidationError
from trimtab_tuner.live.episode import Action, Episode, Rules
from trimtab_tuner.live.observed import SIZE_CLASSES, ArmPeriod, Served, size_class

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from live_traffic import Traffic


def decide(seed, rules=None, **candidate):
    """The decision that ends an episode, and after how many periods."""
    episode = Episode(rules or Rules(most_periods=800))
    for number, arms in enumerate(Traffic(seed).periods(episode, **candidate), 1):
        decision = episode.told(*arms)
        if decision.action not in (Action.GO_ON, Action.NEXT_STEP):
            return decision, number, episode
    raise AssertionError("unreachable")


def test_equal_candidate_is_neither_promoted_nor_found_harmful():
    """Whatever it is judged by is chance."""
    ends = [decide(seed, Rules(most_periods=200))[0].action for seed in range(16)]
    assert sum(end is not Action.GIVE_UP for end in ends) <= 1


def test_cheaper_candidate_is_promoted_and_its_gain_told():
    """With an interval that holds the truth."""
    for seed in range(4):
        decision, _, episode = decide(seed, cost=0.85)
        assert decision.action is Action.PROMOTE, decision.reason
        low, high = episode.change("cost")
        assert low < -0.15 < high < 0


@pytest.mark.parametrize("harm", [{"cost": 2.0}, {"time": 2.0}, {"errors": 0.01}, {"errors": 0.5}])
def test_harmful_candidate_is_rolled_back_within_twenty_periods(harm):
    """Ten seconds of half a second each, at a share of 5 %."""
    took = [decide(seed, **harm) for seed in range(20)]
    assert {decision.action for decision, _, _ in took} == {Action.ROLL_BACK}
    assert sorted(number for _, number, _ in took)[18] <= 20


def test_slightly_worse_candidate_is_not_promoted():
    """Whether or not the harm can be shown in time."""
    ends = [decide(seed, Rules(most_periods=200), cost=1.05)[0].action for seed in range(8)]
    assert Action.PROMOTE not in ends


def test_faster_candidate_that_costs_more_than_the_margin_is_not_promoted():
    """One gain does not pay for another loss."""
    rules = Rules(objective="time", most_periods=800)
    decision, _, _ = decide(1, rules, cost=1.3, time=0.7)
    assert decision.action is Action.ROLL_BACK
    assert "CPU time per request" in decision.reason


def test_candidate_that_hangs_is_rolled_back_after_four_periods():
    """Nothing is answered, so nothing can be compared."""
    traffic, episode = Traffic(1), Episode(Rules())
    hung = ArmPeriod(served=(Served(),) * SIZE_CLASSES, waiting=20)
    actions = [episode.told(traffic.arm(0.9), traffic.arm(0.05), hung).action for _ in range(4)]
    assert actions == [Action.GO_ON] * 3 + [Action.ROLL_BACK]


def test_idle_traffic_ends_with_too_little_evidence():
    """No comparison comes about, and the step has an end."""
    episode = Episode(Rules(most_periods=5))
    idle = ArmPeriod(served=(Served(),) * SIZE_CLASSES)
    for _ in range(4):
        assert episode.told(idle, idle, idle).action is Action.GO_ON
    decision = episode.told(idle, idle, idle)
    assert decision.action is Action.GIVE_UP
    assert "not enough evidence" in decision.reason


def test_each_step_has_to_show_for_itself_that_the_candidate_is_not_worse():
    """A step begins without evidence."""
    traffic, episode = Traffic(3), Episode(Rules())
    while episode.share == 0.05:
        episode.told(traffic.arm(0.9), traffic.arm(0.05), traffic.arm(0.05, cost=0.8))
    decision = episode.told(traffic.arm(0.7), traffic.arm(0.15), traffic.arm(0.15, cost=0.8))
    assert (decision.action, decision.share) == (Action.GO_ON, 0.15)


@pytest.mark.parametrize("steps", [(), (0.6,), (0.0, 0.5), (0.5, 0.05)])
def test_steps_that_cannot_be_taken_are_refused(steps):
    """The baseline gets as much as the canary, and a step is more than the one before."""
    with pytest.raises(ValidationError):
        Rules(steps=steps)


@pytest.mark.parametrize(
    ("reply_bytes", "expected"), [(0, 0), (1024, 0), (1025, 1), (8192, 1), (8193, 2), (1 << 40, 5)]
)
def test_replies_are_classed_by_their_size(reply_bytes, expected):
    """A limit belongs to the smaller class."""
    assert size_class(reply_bytes) == expected
