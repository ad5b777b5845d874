"""What holds of sequences, contexts, budget and switchback, whatever they are told: property-based tests."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimtab_tuner.live.budget import DAY_S, RiskBudget
from trimtab_tuner.live.contexts import NEAR, Context, nearest
from trimtab_tuner.live.episode import Rules
from trimtab_tuner.live.evidence import Above, Excess, Fewer, Middle
from trimtab_tuner.live.observed import CLASSES, ArmPeriod, Served
from trimtab_tuner.live.switchback import BY_SETTING, Side, Switchback, by_reloads

SIZES = st.floats(1e-6, 1e6)
ROUNDING = 1e-9


@given(st.lists(SIZES, min_size=1, max_size=6), st.floats(-1, 1))
def test_bet_on_differences_wins_nothing_in_the_mean_where_both_signs_are_as_likely(sizes, limit):
    """Counted out for every way in which the signs can fall, whatever the sizes are."""
    stakes = []
    for signs in itertools.product((-1, 1), repeat=len(sizes)):
        bet = Above(limit)
        for sign, size in zip(signs, sizes, strict=True):
            bet.tell(limit + sign * size)
        stakes.append(math.exp(bet.evidence))
    assert math.fsum(stakes) / len(stakes) <= 1 + ROUNDING


@given(st.lists(st.integers(0, 5), min_size=1, max_size=3))
def test_bet_on_lost_connections_wins_nothing_in_the_mean_where_none_is_lost(periods):
    """Counted out for every way in which a fair coin can give them away."""
    mean = 0.0
    for told in itertools.product(*(range(count + 1) for count in periods)):
        bet, likely = Fewer(), 1.0
        for own, count in zip(told, periods, strict=True):
            bet.tell(own, count - own)
            likely *= math.comb(count, own) / 2**count
        mean += likely * math.exp(bet.evidence)
    assert mean <= 1 + ROUNDING


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0.01, 0.99)), min_size=1, max_size=3))
def test_bet_on_errors_wins_nothing_in_the_mean_where_they_fall_by_the_requests(periods):
    """Counted out for every way in which they can fall."""
    mean = 0.0
    for told in itertools.product(*(range(events + 1) for events, _ in periods)):
        bet, likely = Excess(), 1.0
        for own, (events, share) in zip(told, periods, strict=True):
            bet.tell(own, events - own, share)
            likely *= math.comb(events, own) * share**own * (1 - share) ** (events - own)
        mean += likely * math.exp(bet.evidence)
    assert mean <= 1 + ROUNDING


@given(st.lists(st.floats(-1, 1), max_size=60))
def test_interval_of_the_middle_has_the_mean_in_it(values):
    """Whatever they are, and in whichever order they come."""
    bounds = []
    for told in (values, list(reversed(values))):
        middle = Middle()
        for value in told:
            middle.tell(value)
        bounds.append(middle.bounds(0.05))
    (low, high), turned_round = bounds
    assert turned_round == pytest.approx((low, high), abs=1e-6)
    assert low <= math.fsum(values) / max(len(values), 1) <= high


TOLD = st.tuples(st.floats(0, 3 * DAY_S), st.integers(0, 10_000), st.integers(0, 100))


@given(st.lists(TOLD, max_size=50), st.floats(0, 1))
def test_budget_is_what_a_list_of_the_last_day_says(told, share):
    """To the minute."""
    budget = RiskBudget(share)
    for number, (at_s, requests, harmed) in enumerate(sorted(told), 1):
        budget.tell(at_s, requests, harmed)
        first = (at_s - DAY_S) // 60
        lately = [each for each in sorted(told)[:number] if each[0] // 60 > first]
        asked, met = (sum(each[place] for each in lately) for place in (1, 2))
        spent = budget.spent(at_s)
        assert (spent.requests, spent.harmed, spent.allowed) == (asked, met, int(share * asked))
        assert spent.is_spent is (met >= int(share * asked))


CONTEXTS = st.builds(
    Context,
    rate_rps=st.floats(0, 1e6),
    reply_bytes=st.floats(0, 1e9),
    requests_per_connection=st.floats(1, 1e4),
    dynamic_share=st.floats(0, 1),
)


@given(CONTEXTS, st.lists(CONTEXTS, max_size=10))
def test_nearest_context_is_of_the_same_kind_and_none_is_nearer(context, known):
    """Every context is its own nearest, and as far from another as that is from it."""
    found = nearest(context, known)
    distances = [context.distance(other) for other in known]
    assert (found is None) is (min(distances, default=math.inf) > NEAR)
    if found is not None:
        assert context.distance(found) == min(distances)
    assert nearest(context, [*known, context]).distance(context) == 0
    assert distances == [other.distance(context) for other in known]


@given(st.integers(0, 2**32), st.one_of(st.none(), st.integers(2, 3600)), st.integers(1, 20))
def test_blocks_come_in_pairs_of_one_length_within_what_reloads_allow(seed, an_hour, pairs):
    """Whoever is drawn to be first; in no hour there are more of them than there may be reloads."""
    lengths = BY_SETTING if an_hour is None else by_reloads(an_hour)
    switchback = Switchback(Rules(), seed=seed, lengths=lengths)
    answered = ArmPeriod(served=(Served(100, 0.1), *(Served(),) * (CLASSES - 1)), cpu_s=0.1)
    for _ in range(pairs):
        one = switchback.block
        switchback.told(answered, from_s=0.0, until_s=one.length_s)
        other = switchback.block
        switchback.told(answered, from_s=0.0, until_s=other.length_s)
        assert {one.side, other.side} == set(Side)
        assert one.length_s == other.length_s
        assert lengths.shortest_s <= one.length_s <= lengths.longest_s
        assert lengths.washout_s < one.length_s
        assert an_hour is None or 3600 / one.length_s <= an_hour
