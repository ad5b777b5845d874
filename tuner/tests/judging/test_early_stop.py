"""Stopping up the ladder: only what cannot reach the leader."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimtab_trials.measurement import Latency, Measurement
from trimtab_trials.trial import Trial, Verdict
from trimtab_tuner.certainty.noise import Noise
from trimtab_tuner.judging.early_stop import find_leader, stop_early
from trimtab_tuner.judging.limits import parse_limit
from trimtab_tuner.judging.score import score
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.strategies import STRATEGIES, make_strategy

LADDER = (1000.0, 2000.0, 3000.0, 4000.0)
BEST = (10.0, 20.0, 30.0, 28.0)
GOODPUTS = st.lists(st.floats(0, 50), min_size=4, max_size=4)


def curve(goodputs, p99_us=()):
    """Measurements at the first rates of the ladder."""
    tails = p99_us or [1000.0] * len(goodputs)
    return [
        Measurement(rate_rps=rate, goodput_mbps=g, reply_rate_rps=rate, reply_latency=Latency(p99_us=tail))
        for rate, g, tail in zip(LADDER, goodputs, tails, strict=False)
    ]


def climbed(goodputs, objective="condensed-area", name="a", limit=None):
    """A verified trial of the search."""
    measurements = tuple(curve(goodputs))
    return Trial(
        configuration={"name": name},
        verdict=Verdict.VERIFIED,
        score=score(objective, measurements, limit),
        measurements=measurements,
    )


def leader_of(trials, noise, drift=0.0):
    """The leader of these trials, with their curves."""
    numbered = [replace(trial, number=number) for number, trial in enumerate(trials, 1)]
    curves = {t.number: {m.rate_rps: m.goodput_mbps for m in t.measurements} for t in numbered}
    return find_leader(numbered, curves, Noise(share=noise, measured=0, drift_per_trial=drift))


def stopped(objective, goodputs, *others, noise=0.0, best=BEST, p99_us=(), limit=None):
    """Whether a trial with these first goodputs is stopped, against a leader and others."""
    climbs = [climbed(best, objective, limit=limit)]
    climbs += [climbed(other, objective, f"other {n}", limit=limit) for n, other in enumerate(others)]
    left = LADDER[len(goodputs) :]
    return stop_early(objective, curve(goodputs, p99_us), left, leader_of(climbs, noise), limit)


def test_area_that_cannot_reach_the_leader_is_stopped_with_both_figures():
    """By hand: (5 + 5)/2 + (5 + 30)/2 + (30 + 28)/2 over 3 is 17.2, the leader has 23."""
    stop = stopped("condensed-area", (5.0, 5.0))
    assert stop.bound_mbps == pytest.approx((5 + 17.5 + 29) / 3)
    assert stop.leader_mbps == pytest.approx((15 + 25 + 29) / 3)
    assert stop.sentence("2000 requests/s") == (
        "Stopped at 2000 requests/s: it could have reached at most 17.2 Mbps; the leader has 23.0 Mbps."
    )


def test_area_that_still_may_reach_the_leader_goes_on():
    """It has kept up so far, or others show that more is possible at the rates left."""
    assert stopped("condensed-area", (10.0, 20.0)) is None
    assert stopped("condensed-area", (10.0, 17.0)) is not None
    assert stopped("condensed-area", (10.0, 17.0), (1.0, 2.0, 33.0, 33.0)) is None


def test_noise_widens_what_may_still_be_reached():
    """With 5 % noise a loss of 7 % is no proof."""
    assert stopped("condensed-area", (9.5, 17.0), noise=0.0) is not None
    assert stopped("condensed-area", (9.5, 17.0), noise=0.05) is None


def test_peak_is_stopped_only_where_no_rate_left_can_bring_one():
    """The leader's peak is at the third rate: a trial that lags there has lost, one before it has not."""
    assert stopped("peak", (1.0, 1.0)) is None
    stop = stopped("peak", (10.0, 20.0, 25.0))
    assert (stop.bound_mbps, stop.leader_mbps, stop.collapsed) == (28.0, 30.0, False)


def test_trial_that_has_given_way_is_granted_no_more_than_it_had():
    """At 2,000 asked it answered 1,500: more load will not bring more goodput."""
    driven = curve((10.0, 15.0))
    leader = leader_of([climbed((10.0, 20.0, 30.0, 40.0), "peak")], 0.0)
    assert stop_early("peak", driven, LADDER[2:], leader) is None
    driven[1] = replace(driven[1], reply_rate_rps=1500.0)
    stop = stop_early("peak", driven, LADDER[2:], leader)
    assert (stop.bound_mbps, stop.leader_mbps) == (15.0, 40.0)


def test_collapsed_tail_is_granted_no_recovery():
    """Two rates far below the own peak: later ones bring at most what the better of the two had."""
    best = (10.0, 20.0, 28.0, 30.0)
    stop = stopped("peak", (10.0, 4.0, 5.0), best=best)
    assert (stop.bound_mbps, stop.collapsed) == (10.0, True)
    assert "as its goodput has collapsed" in stop.sentence("3000 requests/s")
    assert stopped("peak", (10.0, 12.0, 5.0), best=best) is None, "one rate is no collapse"
    assert stopped("sustained", (10.0, 4.0, 5.0), best=best).bound_mbps == 5.0
    assert stopped("sustained", (1.0, 2.0, 3.0), best=best) is None, "a late riser may still sustain most"


def test_broken_latency_limit_settles_mat():
    """Later rates do not count any more; as long as it holds they may bring everything."""
    limit = parse_limit("p99 <= 2ms")
    late = stopped("mat", (10.0, 20.0), p99_us=(1000.0, 3000.0), limit=limit)
    assert (late.bound_mbps, late.leader_mbps) == (10.0, 30.0)
    assert stopped("mat", (1.0, 2.0), p99_us=(1000.0, 1500.0), limit=limit) is None
    assert stopped("mat: p99 <= 2ms", (10.0, 20.0), p99_us=(1.0, 3000.0)) is not None


def test_nothing_is_stopped_without_a_leader_rates_left_or_a_common_ladder():
    """There is nothing to compare with, or nothing to save."""
    leader = leader_of([climbed(BEST)], 0.0)
    assert leader_of([], 0.03) is None
    assert stop_early("peak", curve((1.0,)), LADDER[1:], None) is None
    assert stop_early("peak", curve((1.0, 1.0, 1.0, 1.0)), (), leader) is None
    assert stop_early("peak", curve((1.0,)), (2500.0,), leader) is None


def test_rung_that_is_not_driven_is_granted_what_others_have_shown_there():
    """With the lowest rung and the highest alone, the curve between may be the leader's all the same."""
    leader = leader_of([climbed(BEST)], 0.0)
    assert stop_early("condensed-area", curve((10.0,)), LADDER[3:], leader, ladder=LADDER) is None
    hopeless = stop_early("condensed-area", curve((1.0,)), LADDER[3:], leader, ladder=LADDER)
    assert hopeless.bound_mbps == pytest.approx((10.5 + 25 + 29) / 3)


def test_number_of_connections_is_no_rate_that_replies_could_fail_to_follow():
    """1,000 connections with 50 replies a second have not given way."""
    leader = leader_of([climbed((10.0, 20.0, 30.0, 40.0), "peak")], 0.0)
    slow = [replace(m, reply_rate_rps=50.0) for m in curve((10.0, 15.0))]
    assert stop_early("peak", slow, LADDER[2:], leader) is not None
    assert stop_early("peak", slow, LADDER[2:], leader, loop="closed") is None


def test_leader_is_the_best_mean_and_not_the_luckiest_trial():
    """A configuration measured at 20 and 30 Mbps does not set a bar of 30."""
    climbs = [climbed((20.0,) * 4, name="a"), climbed((30.0,) * 4, name="a"), climbed((26.0,) * 4, name="b")]
    leader = leader_of(climbs, 0.03)
    assert (leader.score_mbps, leader.highest_mbps[1000.0]) == (26.0, 30.0)


@given(st.sampled_from(["condensed-area", "peak", "sustained"]), GOODPUTS, st.lists(GOODPUTS, min_size=1))
def test_estimate_is_below_the_bound_and_the_bound_below_the_leader(objective, own, others):
    """Whatever the curves are: so an estimate can never pass for the best."""
    leader = leader_of([climbed(other, objective, str(n)) for n, other in enumerate(others)], 0.03)
    for rates in (1, 2, 3):
        stop = stop_early(objective, curve(own[:rates]), LADDER[rates:], leader)
        if stop is not None:
            estimate_mbps = score(objective, curve(own[:rates]), ladder=LADDER)
            assert estimate_mbps <= stop.bound_mbps * (1 + 1e-9)
            assert stop.bound_mbps < stop.leader_mbps


@given(st.sampled_from(["condensed-area", "peak", "sustained"]), GOODPUTS, st.lists(GOODPUTS, min_size=1))
def test_no_winner_within_what_has_been_seen_is_ever_stopped(objective, own, others):
    """A trial that would beat the leader, at no rate better than the best seen, climbs to the top."""
    ceiling = [max(column) for column in zip(*others, strict=True)]
    own = [min(goodput, high) for goodput, high in zip(own, ceiling, strict=True)]
    falls = any(b < a for a, b in itertools.pairwise(own))  # the one assumption: no recovery from a collapse
    leader = leader_of([climbed(other, objective, str(n)) for n, other in enumerate(others)], 0.0)
    if score(objective, curve(own)) >= leader.score_mbps and not falls:
        for rates in (1, 2, 3):
            assert stop_early(objective, curve(own[:rates]), LADDER[rates:], leader) is None


def test_equal_configuration_is_hardly_ever_stopped_on_a_noisy_host():
    """As good as the leader, with 3 % noise of whole trials: stopped in under 5 % of them."""
    generator = np.random.default_rng(1)
    stops = 0
    for _ in range(400):
        ahead, own = generator.normal(1.0, 0.03, 2)
        leader = leader_of([climbed([ahead * g for g in BEST])], 0.03)
        driven = [own * g for g in BEST]
        stops += any(
            stop_early("condensed-area", curve(driven[:rates]), LADDER[rates:], leader) for rates in (1, 2, 3)
        )
    assert stops < 20


@pytest.mark.parametrize("name", STRATEGIES)
def test_strategies_take_estimates_for_information_and_never_recommend_one(name):
    """Half of the space is stopped early: it is not asked again, nor the best however it was estimated."""
    space = Space(knobs=(Knob(name="n", kind="integer", low=1, high=30, default=5, help="", unit=""),))
    strategy = make_strategy(name, space, seed=1, budget_trials=12, coarse_grid={"n": 8}, noise=0.03)
    asked = []
    while (proposal := strategy.ask()) is not None:
        n = proposal.configuration["n"]
        assert proposal.repeat or n not in asked
        asked.append(n)
        measured = (
            {"verdict": Verdict.STOPPED_EARLY, "estimated_score": 1000.0 + n}
            if n > 15
            else {"verdict": Verdict.VERIFIED, "score": 100.0 + n}
        )
        strategy.tell(Trial(configuration=proposal.configuration, **measured))
    assert len(asked) > 3
    assert strategy.best().configuration["n"] <= 15
    assert strategy.best().verdict is Verdict.VERIFIED


def test_model_learns_from_estimates_where_not_to_look():
    """Told that large values score half, the default strategy looks there less than when told nothing."""
    space = Space(knobs=(Knob(name="n", kind="integer", low=1, high=100, default=20, help="", unit=""),))

    def asks_beyond_half(estimates):
        strategy = make_strategy("surrogate-race", space, seed=1, budget_trials=40)
        for n in (10, 20, 30):
            strategy.tell(Trial(configuration={"n": n}, verdict=Verdict.VERIFIED, score=100.0 - abs(n - 20)))
        for n in (60, 80, 95):
            strategy.tell(
                Trial(
                    configuration={"n": n},
                    verdict=Verdict.STOPPED_EARLY,
                    estimated_score=50.0 if estimates else None,
                )
            )
        return sum(strategy.ask().configuration["n"] > 50 for _ in range(8))

    assert asks_beyond_half(estimates=True) < asks_beyond_half(estimates=False)


def test_machine_that_has_become_slower_does_not_stop_what_is_as_good_as_the_leader():
    """It loses 1 % with every trial: after thirty the leader's own curve lies a quarter below."""
    slower = [tuple(goodput * math.exp(-0.01 * place) for goodput in BEST) for place in range(31)]
    climbs = [climbed(slower[0]), *(climbed(each, name="other") for each in slower[1:30])]
    driven, left = curve(slower[30][:2]), LADDER[2:]
    leader = leader_of(climbs, 0.01, drift=-0.01)
    assert stop_early("condensed-area", driven, left, leader) is None
    assert stop_early("condensed-area", driven, left, leader_of(climbs, 0.01)) is not None
    assert leader.score_mbps == pytest.approx(climbed(slower[30]).score)


def test_leader_is_the_best_without_drift_and_not_the_latest_of_a_machine_that_becomes_faster():
    """The last has the highest score, for its time alone; the first is 5 % better than others."""
    factors = [math.exp(0.01 * place) * (1.05 if place == 0 else 1) for place in range(20)]
    climbs = [
        climbed([goodput * factor for goodput in BEST], name=str(place))
        for place, factor in enumerate(factors)
    ]
    leader = leader_of(climbs, 0.01, drift=0.01)
    assert leader.score_mbps == pytest.approx(climbs[0].score * math.exp(0.2))
    assert leader.highest_mbps[3000.0] == pytest.approx(30.0 * 1.05 * math.exp(0.2))
