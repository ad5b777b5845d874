"""Which rates a job drives, against simulated servers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimtab_trials.measurement import Latency, Measurement
from trimtab_tuner.judging.climbing import Climbing, next_rung
from trimtab_tuner.judging.ladder import RUNG_RISE, grown, rungs_to_search
from trimtab_tuner.judging.score import on_ladder, score
from trimtab_tuner.telling.capacity import capacity_of

LADDER = (1000.0, 1600.0, 2000.0, 2600.0)


def driven(climbing, capacity_rps, limit_rps=float("inf")):
    """The rates that a climb drives into a server of that capacity."""
    rates = []
    while (rate := climbing.next_rate()) is not None:
        rates.append(rate)
        climbing.tell(rate, good=rate <= capacity_rps, limited=rate > limit_rps)
    return rates


def measured(rate_rps, capacity_rps, **changes):
    """What a server of that capacity answers, at 1 Mbps a 100 requests."""
    replies = min(rate_rps, capacity_rps)
    return Measurement(
        **{"rate_rps": rate_rps, "reply_rate_rps": replies, "goodput_mbps": replies / 100, **changes}
    )


def test_server_that_follows_the_ladder_is_driven_on_until_it_does_not():
    """From rung to rung by the same factor."""
    assert driven(Climbing(LADDER, rise=RUNG_RISE), 3300) == [*LADDER, 3250, 4062]


def test_server_far_beyond_its_default_is_found_in_few_steps():
    """Rungs are passed over, and come back to where it matters; they are the same for every trial."""
    climbing = Climbing(LADDER, rise=RUNG_RISE)
    rates = driven(climbing, 200_000)[len(LADDER) :]
    assert len(rates) <= 12
    assert climbing.lost_rps == pytest.approx(RUNG_RISE * climbing.followed_rps, abs=1)
    rungs = [LADDER[-1]]
    while rungs[-1] < max(rates):
        rungs.append(float(round(rungs[-1] * RUNG_RISE)))
    assert set(rates) <= set(rungs)


def test_ladder_ends_with_the_first_rung_that_the_best_did_not_follow():
    """What a long stride has overshot is no part of it."""
    climbing = Climbing(LADDER, rise=RUNG_RISE)
    rates = driven(climbing, 200_000)
    ladder = grown(LADDER, [measured(rate, 200_000) for rate in rates])
    assert ladder[-1] == climbing.lost_rps
    assert ladder[-2] == climbing.followed_rps
    assert set(ladder) <= set(rates)


def test_climb_that_is_only_told_what_was_measured_comes_to_the_same_end():
    """As a run does that goes on from what is recorded."""
    climbing, told = (Climbing(LADDER, rise=RUNG_RISE, refinements=2) for _ in range(2))
    for rate in driven(climbing, 60_000):
        told.tell(rate, good=rate <= 60_000)
    assert (told.followed_rps, told.lost_rps) == (climbing.followed_rps, climbing.lost_rps)
    assert told.next_rate() is None


def test_ladder_that_shall_not_be_left_is_not():
    """A run with a fixed ladder compares with others on it."""
    assert driven(Climbing(LADDER), 1e6) == [*LADDER]


def test_server_that_gives_way_below_the_top_is_driven_to_the_top_and_not_beyond():
    """What it does in overload is part of what is measured."""
    assert driven(Climbing(LADDER, rise=RUNG_RISE), 1700) == [*LADDER]


@given(st.floats(1200, 50_000))
def test_capacity_is_bracketed_within_three_percent_by_three_halvings(capacity_rps):
    """A step of 1.25, halved three times."""
    climbing = Climbing(LADDER, rise=RUNG_RISE, refinements=3)
    driven(climbing, capacity_rps)
    assert climbing.followed_rps <= capacity_rps < climbing.lost_rps
    assert climbing.lost_rps <= climbing.followed_rps * 1.61 ** (1 / 8) + 2


def test_server_that_follows_no_rung_is_asked_for_less():
    """A default that fails everywhere on the ladder still has a capacity."""
    climbing = Climbing(LADDER, rise=RUNG_RISE, refinements=2)
    driven(climbing, 300)
    assert climbing.followed_rps == pytest.approx(300, rel=0.3)


def test_generator_that_gives_out_ends_the_climb():
    """Rates that cannot be offered are not measured."""
    climbing = Climbing(LADDER, rise=RUNG_RISE, refinements=2)
    assert driven(climbing, 1e6, limit_rps=3000) == [*LADDER, 3250]
    assert climbing.limited


def test_capacity_is_the_highest_rate_that_was_followed_and_held():
    """A rule that broke ends it as much as replies that did not follow."""
    rates = [measured(rate, 2500) for rate in LADDER]
    told = capacity_of(rates)
    assert (told.rate_rps, told.goodput_mbps, told.lost_rps) == (2600, 25.0, None)
    broken = capacity_of([*rates[:3], measured(2600, 2500, held=False)])
    assert (broken.rate_rps, broken.goodput_mbps, broken.lost_rps) == (2000, 20.0, 2600)
    assert capacity_of([measured(1000, 10)]) is None


def test_capacity_is_only_bounded_where_the_generator_gave_out():
    """What it could not offer says nothing about the server."""
    limited = [measured(1000, 5000), measured(1600, 900, generator_limited=True)]
    told = capacity_of(limited)
    assert (told.rate_rps, told.goodput_mbps, told.lost_rps, told.high_rps) == (1000, 10.0, None, None)


def test_ladder_grows_past_the_highest_rate_that_a_trial_followed():
    """With what it was driven at beyond, and not with what lies between."""
    beyond = [measured(rate, 3300) for rate in (*LADDER, 3250, 4062, 3633)]
    assert grown(LADDER, beyond) == (*LADDER, 3250, 4062)


def test_ladder_does_not_grow_where_a_rule_broke_or_the_generator_gave_out():
    """A rate that nothing passes fairly would fail the best of all."""
    assert grown(LADDER, [measured(2600, 3000), measured(3250, 3000, held=False)]) == LADDER
    assert grown(LADDER, [measured(3250, 3000, generator_limited=True)]) == LADDER


def test_trials_of_the_search_leave_out_what_every_contender_follows():
    """They keep the lowest rung, where tails are read, and the highest."""
    assert rungs_to_search(LADDER, 4, ["peak"]) == LADDER
    assert rungs_to_search((*LADDER, 3250, 4062), 4, ["peak", "rss"]) == (1000, 2600, 3250, 4062)


@pytest.mark.parametrize("objectives", [["mat: p999 <= 4ms"], ["condensed-area", "mat"]])
def test_under_mat_configurations_that_break_the_limit_at_different_rates_score_differently(objectives):
    """Driven at the lowest and the highest alone, all would score what they have at the lowest."""
    ladder = (5000.0, 8000.0, 10_000.0, 13_000.0, 16_250.0, 20_313.0)
    scores = []
    for holds_rps in (8000, 10_000, 13_000):
        tails = {rate: 1e3 if rate <= holds_rps else 9e3 for rate in ladder}
        trial = [
            measured(rate, 1e5, reply_latency=Latency(p999_us=tails[rate]))
            for rate in rungs_to_search(ladder, 4, objectives)
        ]
        scores.append(score("mat: p999 <= 4ms", trial, ladder=ladder))
    assert scores == [80, 100, 130]


@pytest.mark.parametrize(("rate_rps", "rise", "above_rps"), [
    (10, 1.04, 11), (2, 1.25, 3), (1, 1.25, 2), (1.4, 1.05, 2), (0.5, 1.25, 0.625), (0.9, 1.25, 1),
])  # fmt: skip
def test_next_rung_is_a_higher_one_however_it_is_rounded(rate_rps, rise, above_rps):
    """Whole requests per second are a wide step for a slow server; below one there are parts of them."""
    assert next_rung(rate_rps, rise) == above_rps


def test_climb_and_ladder_go_on_at_rates_whose_rise_rounds_to_nothing():
    """By one request per second then."""
    assert driven(Climbing((10.0,), rise=1.04), 12) == [10, 11, 12, 13]
    assert grown((1.0, 2.0), [measured(3, 10), measured(4, 3)]) == (1, 2, 3, 4)


def test_rungs_that_were_not_driven_count_with_what_the_others_show():
    """Below a measured rung the server answers what is offered; above the highest it keeps its goodput."""
    ladder = (*LADDER, 3250.0)
    trial = [measured(1000, 2200), measured(2000, 2200), measured(2600, 2200)]
    goodputs = [m.goodput_mbps for m in on_ladder(trial, ladder).values()]
    assert goodputs == pytest.approx([10, 16, 20, 22, 22])


@given(st.floats(900, 5000))
def test_score_hardly_depends_on_which_rungs_were_driven(capacity_rps):
    """A server that answers up to its capacity and no more, driven everywhere or at some rungs."""
    ladder = (*LADDER, 3250.0, 4062.0)
    everywhere = score("condensed-area", [measured(r, capacity_rps) for r in ladder], ladder=ladder)
    some = [measured(r, capacity_rps) for r in (1000, 2600, 3250, 4062)]
    assert score("condensed-area", some, ladder=ladder) == pytest.approx(everywhere)


def test_what_was_measured_between_the_rungs_does_not_count():
    """Rates that refine a capacity are no part of the score."""
    trial = [measured(r, 1800) for r in LADDER]
    with_more = [*trial, measured(1789, 1800)]
    assert score("condensed-area", with_more, ladder=LADDER) == score("condensed-area", trial)
