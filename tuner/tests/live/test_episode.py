"""Episodes on simulated traffic: a candidate that is equal, better, worse, failing, hanging."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError
from trimtab_tuner.live.episode import Action, Episode, Rules
from trimtab_tuner.live.observed import CLASSES, ArmPeriod, Served

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
        decision, _, episode = decide(seed, Rules(), cost=0.85)
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
    hung = ArmPeriod(served=(Served(),) * CLASSES, waiting=20)
    actions = [episode.told(traffic.arm(0.9), traffic.arm(0.05), hung).action for _ in range(4)]
    assert actions == [Action.GO_ON] * 3 + [Action.ROLL_BACK]


@pytest.mark.parametrize(("of_baseline", "ends_with"), [(0, Action.ROLL_BACK), (3, Action.GO_ON)])
def test_candidate_for_which_connections_wait_is_rolled_back_unless_they_wait_for_all(of_baseline, ends_with):
    """It answers some, as behind a limit of connections."""
    traffic, episode = Traffic(1), Episode(Rules())
    for _ in range(8):
        queues = (replace(traffic.arm(0.05), waiting=waiting) for waiting in (of_baseline, 12))
        decision = episode.told(traffic.arm(0.9), *queues)
    assert decision.action is ends_with


def test_candidate_that_loses_connections_is_rolled_back_within_ten_seconds():
    """Those that it has are answered as well as ever."""
    traffic, episode = Traffic(1), Episode(Rules())
    for number in range(20):  # noqa: B007 - asked after the loop
        arms = (replace(traffic.arm(0.05), connections=taken) for taken in (20, 8))
        decision = episode.told(traffic.arm(0.9), *arms)
        if decision.action is Action.ROLL_BACK:
            break
    assert "fewer of its connections" in decision.reason
    assert number < 20


def test_interval_of_errors_is_that_of_the_difference_of_their_shares():
    """It becomes narrower with the requests."""
    traffic, episode = Traffic(1), Episode(Rules(most_periods=10_000))
    assert episode.change("errors") == (-1.0, 1.0)
    for _ in range(100):
        episode.told(traffic.arm(0.5), traffic.arm(0.25), traffic.arm(0.25))
    low, high = episode.change("errors")
    assert -0.01 < low < 0 < high < 0.01


def test_candidate_that_closes_connections_which_others_keep_is_rolled_back():
    """Its places are too few, so idle clients give way: no reply is late, none is an error, and clients that
    were about to ask again fail.
    """
    traffic, episode = Traffic(1), Episode(Rules())
    decisions = [
        episode.told(traffic.arm(0.9), traffic.arm(0.05), replace(traffic.arm(0.05), closed=3))
        for _ in range(10)
    ]
    assert decisions[-1].action is Action.ROLL_BACK
    assert decisions[-1].reason == "more connections closed by it than by the baseline"


def test_candidate_that_accepts_and_answers_nothing_is_rolled_back_within_five_seconds():
    """A worker that blocks leaves nobody in the queue."""
    traffic, episode = Traffic(1), Episode(Rules())
    silent = ArmPeriod(served=(Served(),) * CLASSES, cpu_s=0.001)
    decisions = [episode.told(traffic.arm(0.9), traffic.arm(0.05), silent) for _ in range(10)]
    assert Action.ROLL_BACK in [decision.action for decision in decisions]
    assert "it answered nothing in" in decisions[-1].reason


def test_candidate_without_connections_beside_a_few_busy_ones_is_not_called_silent():
    """One connection of the baseline may bring all its requests; ten a period are not many."""
    production, episode = Traffic(1).arm(0.9), Episode(Rules())
    idle = ArmPeriod(served=(Served(),) * CLASSES)
    thin = ArmPeriod(served=(Served(10, 0.01), *(Served(),) * (CLASSES - 1)), cpu_s=0.001)
    assert all(episode.told(production, thin, idle).action is Action.GO_ON for _ in range(15))


def test_periods_in_which_the_baseline_was_not_asked_do_not_undo_a_hang():
    """Where the traffic is thin, they come between those that show it; one answer of the canary undoes it."""
    production, same = Traffic(1).arm(0.9), Traffic(2).arm(0.05)
    idle = ArmPeriod(served=(Served(),) * CLASSES)
    hung = ArmPeriod(served=(Served(),) * CLASSES, waiting=1)
    for canary, ends_with in ((hung, Action.ROLL_BACK), (same, Action.GO_ON)):
        episode = Episode(Rules())
        for baseline, beside in ((same, hung), (idle, hung), (same, hung), (same, canary), (same, hung)):
            decision = episode.told(production, baseline, beside)
        assert decision.action is ends_with


def test_idle_traffic_ends_with_too_little_evidence():
    """No comparison comes about, and the step has an end."""
    episode = Episode(Rules(most_periods=5))
    idle = ArmPeriod(served=(Served(),) * CLASSES)
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


def test_periods_of_harm_are_those_without_a_break_up_to_now():
    """What spoke for harm is forgotten with the first period after which nothing does."""
    episode, production, same = Episode(Rules()), Traffic(1).arm(0.9), Traffic(2).arm(0.05)
    hung = ArmPeriod(served=(Served(),) * CLASSES, waiting=20)
    counts = []
    for canary in (same, hung, hung, same, *[hung] * 4):
        decision = episode.told(production, same, canary)
        counts.append(episode.periods_of_harm)
    assert (counts, decision.action) == ([0, 1, 2, 0, 1, 2, 3, 4], Action.ROLL_BACK)


def test_periods_of_harm_begin_before_the_harm_is_shown_and_not_before_it_is_there():
    """Of an episode whose candidate begins to fail in the middle."""
    traffic, episode = Traffic(2), Episode(Rules(most_periods=800))
    for _ in range(10):
        episode.told(traffic.arm(0.9), traffic.arm(0.05), traffic.arm(0.05, cost=0.8))
    assert episode.periods_of_harm == 0
    failing, decision = 0, None
    while decision is None or decision.action is not Action.ROLL_BACK:
        failing += 1
        assert failing < 50
        decision = episode.told(traffic.arm(0.9), traffic.arm(0.05), traffic.arm(0.05, cost=0.8, errors=0.5))
    assert 1 <= episode.periods_of_harm <= failing
