"""Two objectives: the front holds what no other beats, and steering looks along the whole of it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimtab_trials.trial import Trial, Verdict
from trimtab_tuner.certainty.pareto import Point, front, places, steered, worth_confirming
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.strategies import make_strategy

FIGURES = st.floats(min_value=0.1, max_value=1e4)
POINTS = st.lists(st.tuples(FIGURES, FIGURES), max_size=30)


def points(*figures):
    """Points of configurations numbered from 0."""
    return [Point(configuration={"n": n}, first=a, second=b) for n, (a, b) in enumerate(figures)]


def beats(a, b, minimised):
    """Whether `a` is at least as good in both and better in one."""
    first, second = a.first - b.first, (b.second - a.second) if minimised else (a.second - b.second)
    return first >= 0 and second >= 0 and first + second > 0


@given(POINTS, st.booleans())
def test_front_is_what_no_other_beats(figures, minimised):
    """By the definition, over all pairs; what is equal in both stands there once."""
    given_points = points(*figures)
    members = front(given_points, minimised=minimised)
    unbeaten = {
        (p.first, p.second) for p in given_points if not any(beats(q, p, minimised) for q in given_points)
    }
    assert {(m.first, m.second) for m in members} == unbeaten
    assert len(members) == len(unbeaten)
    assert [m.first for m in members] == sorted((m.first for m in members), reverse=True)


def test_knee_is_where_a_little_more_begins_to_cost_much():
    """The member farthest from the line between the ends, whichever way is better."""
    costly = front(points((100, 90), (98, 40), (70, 30), (50, 20)), minimised=True)
    assert places(costly) == ("best-first", "knee", "between", "best-second")
    both = front(points((100, 10), (98, 60), (70, 70), (50, 80)), minimised=False)
    assert places(both) == ("best-first", "knee", "between", "best-second")
    assert [c["n"] for c in worth_confirming(costly)] == [0, 1, 3]


@pytest.mark.parametrize(
    ("figures", "expected"),
    [((), ()), (((5, 1),), ("best-first",)), (((5, 2), (4, 1)), ("best-first", "best-second"))],
)
def test_short_fronts_have_ends_and_no_knee(figures, expected):
    """Nothing lies between two."""
    assert places(front(points(*figures), minimised=True)) == expected


def results(*figures):
    """Verified results with both figures."""
    return [
        Trial(configuration={"n": n}, verdict=Verdict.VERIFIED, score=a, second_score=b)
        for n, (a, b) in enumerate(figures)
    ]


def test_steering_prefers_each_end_and_the_middle_at_times():
    """Over the seeds every member of a convex front is the best once, and what is beaten never is."""
    told = results((100, 90), (90, 45), (50, 20), (60, 80))
    winners = set()
    for seed in range(60):
        scored = steered(told, minimised=True, seed=seed)
        winners.add(max(scored, key=lambda r: r.score).configuration["n"])
    assert winners == {0, 1, 2}


def test_steering_is_the_same_for_the_same_seed_and_history():
    """A resumed run goes on as it would have."""
    told = results((100, 90), (90, 45))
    assert steered(told, minimised=True, seed=3) == steered(told, minimised=True, seed=3)
    assert steered(told, minimised=True, seed=3) != steered(told, minimised=True, seed=4)


def test_steered_scores_range_as_the_first_objective_does():
    """So the noise that is known of the first objective means the same for the steered score."""
    told = results((100, 20), (80, 90))
    scores = [r.score for r in steered(told, minimised=True, seed=1)]
    assert min(scores) >= 0.8 * math.exp(-0.05 * math.log(100 / 80)) - 1e-9
    assert max(scores) == 1.0


def test_failed_trials_stay_failed_and_missing_figures_count_as_the_worst():
    """Steering makes no verified trial of one that was not."""
    failed = Trial(configuration={"n": 7}, verdict=Verdict.FAILED_VERIFICATION)
    unmeasured = Trial(configuration={"n": 8}, verdict=Verdict.VERIFIED, score=90.0)
    told = steered([*results((90, 20), (80, 90)), unmeasured, failed], minimised=True, seed=1)
    assert told[-1] == failed
    assert told[2].score <= told[0].score
    assert steered([], minimised=True, seed=1) == []


def test_steered_search_covers_a_front_that_a_search_by_the_first_leaves_out():
    """Score grows with the knob and so does the cost: one search finds an end, the other the trade-off."""
    space = Space(knobs=(Knob(name="n", kind="integer", low=1, high=100, default=60, help="", unit=""),))

    def measure(configuration):
        n = configuration["n"]
        return Trial(
            configuration=configuration, verdict=Verdict.VERIFIED, score=100 * n**0.2, second_score=float(n)
        )

    def searched(steer):
        told = []
        while True:
            strategy = make_strategy("surrogate-race", space, seed=1, budget_trials=20)
            for result in steered(told, minimised=True, seed=1) if steer else told:
                strategy.tell(result)
            proposal = strategy.ask()
            if proposal is None:
                return sorted({r.configuration["n"] for r in told})
            told.append(measure(proposal.configuration))

    by_first, along_front = searched(steer=False), searched(steer=True)
    assert sum(n <= 50 for n in along_front) > sum(n <= 50 for n in by_first)
    assert along_front[0] <= 10
    assert along_front[-1] >= 90
