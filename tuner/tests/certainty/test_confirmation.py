"""Finalists, schedule and outcome."""

from dataclasses import replace

import numpy as np
import pytest
from trimtab_trials.configuration import configuration_hash
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.certainty.confirmation import Capacities, choose_finalists, conclude, confirmation_schedule
from trimtab_tuner.certainty.cost import Cost
from trimtab_tuner.certainty.statistics import Gain
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.targets.kernel import kernel_knob, with_kernel

SPACE = Space(
    knobs=(
        Knob(name="workers", kind="integer", low=1, high=64, default=1, resource_weight=1, help="Processes."),
    )
)
DEFAULT = SPACE.default()


def workers(count):
    """A configuration."""
    return {"workers": count}


def trial(count, score, verdict=Verdict.VERIFIED):
    """A trial's result."""
    return Trial(configuration=workers(count), verdict=verdict, score=score)


def confirmed(**rows):
    """Confirmed scores from rows named w1, w4 … (one score per block)."""
    return [
        in_block(workers(int(name[1:])), block, score)
        for name, row in rows.items()
        for block, score in enumerate(row, 1)
    ]


def in_block(configuration, block, score):
    """The trial of a configuration in a block; without a score it was not verified."""
    return Trial(
        configuration=configuration,
        verdict=Verdict.FAILED_VERIFICATION if score is None else Verdict.VERIFIED,
        score=score,
        purpose=TrialPurpose.CONFIRMATION,
        block=block,
    )


def test_finalists_are_default_best_and_runners_up():
    """The recommendation may be a cheaper one than the highest score, which is then a runner-up."""
    results = [trial(1, 100), trial(2, 199), trial(8, 200), trial(4, 150), trial(16, None, Verdict.CRASHED)]
    assert (workers(1), workers(2)) == choose_finalists(results, results[1], DEFAULT)
    assert (workers(1), workers(2), workers(8)) == choose_finalists(
        results, results[1], DEFAULT, runners_up=1
    )


def test_where_everything_scores_0_only_the_default_is_a_finalist():
    """Under `mat`, when the limit is never held: there is nothing to tell apart."""
    results = [trial(1, 0.0), trial(2, 0.0)]
    assert (workers(1),) == choose_finalists(results, results[1], DEFAULT, runners_up=1)


WIDE = Space(knobs=(SPACE.knobs[0].model_copy(update={"high": 1000}),))
LEVEL = (workers(1), workers(300), workers(600), workers(900))
LEVEL_SCORES = confirmed(
    w1=(100, 101, 99, 100), w300=(121, 120, 119, 122), w600=(120, 121, 120, 121), w900=(121, 121, 119, 121)
)


def neighbourhood(**relative):
    """The search's results: each finalist at 120, and three neighbours of some at a share of that."""
    results = [trial(1, 100), *(trial(n, 120) for n in (300, 600, 900))]
    near = {name: [int(name[1:]) + step for step in (-30, 15, 30)] for name in relative}
    return results + [trial(n, 120 * share) for name, share in relative.items() for n in near[name]]


def costing(**cpu_s):
    """Costs by hash, from the CPU seconds for 1000 requests at a rate that all followed, in four blocks."""
    return {
        configuration_hash(workers(int(name[1:]))): Cost(
            cpu_s_per_1000_requests={1000.0: tuple(value * step for step in (1, 1.01, 0.99, 1))},
            memory_bytes={},
            level_unit="requests/s",
        )
        for name, value in cpu_s.items()
    }


LEAST_CPU = "it used the least CPU time: {} ms for 1,000 requests at 1,000 requests/s, the next {} ms."
SHARP = "those that lose more than 2 % a step away were passed over"


@pytest.mark.parametrize(
    ("results", "recommended", "why"),
    [
        ((), 300, f"Of 3 that cannot be told apart {LEAST_CPU.format(200, 300)}"),
        (neighbourhood(w600=1.0), 300, LEAST_CPU.format(200, 300)),
        (neighbourhood(w300=0.8, w900=1.0), 600, f"{SHARP}; of the rest {LEAST_CPU.format(300, 400)}"),
        (neighbourhood(w300=0.8, w600=0.8), 900, f"{SHARP}."),
        (neighbourhood(w300=0.8, w600=0.8, w900=0.8), 300, LEAST_CPU.format(200, 300)),
    ],
)
def test_least_cost_decides_unless_the_optimum_is_sharp(results, recommended, why):
    """Among those that cannot be told apart; where all are sharp, or nothing is known, the cost alone."""
    outcome = conclude(WIDE, LEVEL, LEVEL_SCORES, results, costs=costing(w300=0.2, w600=0.3, w900=0.4))
    assert outcome.recommended == workers(recommended)
    assert outcome.sentence.endswith(why)


def test_the_only_one_that_is_not_sharp_is_the_cheapest_if_it_was_measured_to_be():
    """It is the farthest from the default, and was compared with those that it would have been passed over
    for.
    """
    sharp = neighbourhood(w300=0.8, w600=0.8)
    outcome = conclude(WIDE, LEVEL, LEVEL_SCORES, sharp, costs=costing(w300=0.4, w600=0.3, w900=0.2))
    assert outcome.recommended == workers(900)
    assert outcome.sentence.endswith(f"Of 3 that cannot be told apart {LEAST_CPU.format(200, 300)}")


def test_default_as_best_is_the_only_finalist():
    """There is nothing to compare it with; it is measured again for what it does."""
    results = [trial(1, 100), trial(2, 50)]
    finalists = choose_finalists(results, results[0], DEFAULT)
    assert finalists == (DEFAULT,)
    assert confirmation_schedule(finalists, 2, seed=1) == ((DEFAULT,), (DEFAULT,))
    assert conclude(SPACE, finalists, []).sentence == "The default itself is the best configuration found."


def test_nothing_verified_gives_no_finalists():
    """And the outcome says so."""
    assert choose_finalists([trial(1, None, Verdict.FAILED_VERIFICATION)], None, DEFAULT) == ()
    outcome = conclude(SPACE, (), [])
    assert outcome.recommended is None
    assert outcome.sentence == "No configuration passed verification, so there is nothing to recommend."


def test_every_block_holds_every_finalist_once_in_changing_order():
    """Interleaved and randomised, the same for the same seed."""
    finalists = (workers(1), workers(2), workers(4))
    schedule = confirmation_schedule(finalists, 20, seed=3)
    assert len(schedule) == 20
    for block in schedule:
        assert sorted(c["workers"] for c in block) == [1, 2, 4]
    assert len({tuple(c["workers"] for c in block) for block in schedule}) > 1
    assert schedule == confirmation_schedule(finalists, 20, seed=3)


def test_significant_gain_is_announced_with_its_interval():
    """The sentence names the change, the gain and the interval."""
    outcome = conclude(SPACE, (workers(1), workers(4)), confirmed(w1=[100] * 4, w4=[120, 121, 119, 120]))
    expected = "In score workers=4 gains +20 % (95 % interval +19 % to +21 %)."
    assert expected == outcome.sentence
    assert workers(4) == outcome.recommended
    assert [group.rank for group in outcome.groups] == [1, 2]


def test_gain_within_noise_is_not_announced():
    """The default is kept."""
    outcome = conclude(
        SPACE, (workers(1), workers(4)), confirmed(w1=[100, 90, 110, 95], w4=[105, 80, 120, 90])
    )
    assert outcome.is_default
    assert outcome.recommended == DEFAULT
    assert outcome.sentence.startswith(
        "No significant gain over the default: the best other configuration, workers=4"
    )


def test_significant_loss_keeps_the_default():
    """A winner of the search by luck turns out worse."""
    outcome = conclude(SPACE, (workers(1), workers(4)), confirmed(w1=[100] * 4, w4=[80, 81, 79, 80]))
    assert outcome.is_default


def test_of_indistinguishable_leaders_without_measured_costs_the_nearest_to_the_default_is_recommended():
    """Eight workers are a hair better than two, but not significantly."""
    scores = confirmed(w1=[100, 101, 99, 100], w8=[121, 122, 123, 121], w2=[120, 122, 122, 121])
    outcome = conclude(SPACE, (workers(1), workers(8), workers(2)), scores)
    assert workers(2) == outcome.recommended
    assert workers(8) == outcome.challengers[0].configuration
    why = "it is nearest to the default; what they cost could not be compared."
    assert outcome.sentence.endswith(f" Of 2 that cannot be told apart {why}")


def test_drift_between_blocks_does_not_recommend_a_smaller_gain_that_costs_less():
    """1 % noise within blocks, 10 % between them: +5 % was recommended over +20 % in 194 of 300."""
    chance = np.random.default_rng(33)
    levels = {1: 0.0, 8: 0.2, 2: 0.05}
    finalists = tuple(workers(n) for n in levels)
    smaller = 0
    for _ in range(300):
        block = chance.normal(0, 0.1, 4)
        rows = {
            f"w{n}": (100 * (1 + gain) * np.exp(block + chance.normal(0, 0.01, 4))).tolist()
            for n, gain in levels.items()
        }
        outcome = conclude(SPACE, finalists, confirmed(**rows), costs=costing(w1=0.1, w2=0.1, w8=0.3))
        smaller += outcome.recommended != workers(8)
    assert smaller == 0


def test_challenger_that_fails_verification_is_not_recommended():
    """Faster in one block, but not fair in the others."""
    outcome = conclude(SPACE, (workers(1), workers(4)), confirmed(w1=[100] * 4, w4=[200, None, None, 210]))
    assert outcome.is_default
    expected = "No gain over the default: workers=4 passed verification in 2 of 4 blocks, the default in 4."
    assert expected == outcome.sentence


def test_default_that_never_verifies_loses_without_a_percentage():
    """A configuration that works beats one that does not, though there is no ratio to state."""
    outcome = conclude(SPACE, (workers(1), workers(4)), confirmed(w1=[None] * 4, w4=[100, 110, None, 105]))
    assert workers(4) == outcome.recommended
    assert outcome.gain is None
    assert outcome.sentence.startswith(
        "Over all rates of the ladder workers=4 kept every rule of the verification in 3 of 4 blocks. "
        "The default did in none, so their scores are not compared."
    )


def test_block_in_which_a_configuration_achieved_nothing_counts_against_it():
    """As with `mat` where the limit never held: the other blocks alone would make it the winner."""
    scores = confirmed(w1=[100, 101, 99, 100, 100], w4=[0, 120, 0, 121, 120])
    outcome = conclude(SPACE, (workers(1), workers(4)), scores)
    assert outcome.is_default
    assert outcome.challengers[0].verified_blocks == 3


def test_two_that_were_never_verified_in_the_same_block_are_not_compared():
    """There is no pair of scores, and the sentence says so."""
    scores = confirmed(w1=[100, None, None], w4=[None, 120, 121])
    outcome = conclude(SPACE, (workers(1), workers(4)), scores)
    assert outcome.is_default
    assert outcome.sentence == (
        "No score to compare with the default's: workers=4 passed verification in 2 of 3 blocks "
        "and the default in 1, but never both in the same."
    )


def test_default_that_won_the_search_stays_recommended_without_confirmation():
    """Whoever else is among the finalists, such as the expert baseline, was not the best of the search."""
    outcome = conclude(SPACE, (workers(1), workers(4)), [], best=workers(1))
    assert workers(1) == outcome.recommended
    assert outcome.is_default
    assert outcome.sentence == "The default was the best of the search; it has not been confirmed."


def test_unconfirmed_winner_is_called_so():
    """No block at all, as when confirmation is switched off."""
    outcome = conclude(SPACE, (workers(1), workers(4)), [])
    assert workers(4) == outcome.recommended
    assert outcome.sentence == "workers=4 was the best of the search; it has not been confirmed."


def test_more_challengers_need_wider_intervals():
    """Each of three intervals has 98.3 % confidence, so that all hold together with 95 %."""
    scores = confirmed(w1=[100] * 4, w2=[101, 99, 100, 102], w4=[105, 106, 104, 105], w8=[90, 91, 92, 93])
    outcome = conclude(SPACE, tuple(workers(n) for n in (1, 2, 4, 8)), scores)
    assert all(c.gain.confidence == pytest.approx(1 - 0.05 / 3) for c in outcome.challengers)


def test_three_identical_challengers_are_rarely_announced():
    """A/A: of 100 confirmations with three challengers like the default, at most 4 claim a gain."""
    rng = np.random.default_rng(5)
    claims = 0
    for _ in range(100):
        rows = {f"w{n}": rng.normal(100, 5, 4).tolist() for n in (1, 2, 4, 8)}
        claims += not conclude(SPACE, tuple(workers(n) for n in (1, 2, 4, 8)), confirmed(**rows)).is_default
    assert claims / 100 <= 0.04


def bounded(trials, count):
    """The same, with the configuration of so many workers at the generator's limit in every block."""
    return [
        replace(t, verdict=Verdict.GENERATOR_LIMITED, score=None, estimated_score=t.score)
        if t.configuration == workers(count)
        else t
        for t in trials
    ]


def test_winner_for_which_the_generator_gave_out_is_announced_as_at_least():
    """It has passed in every block as far as could be offered; the gain is a lower bound."""
    trials = bounded(confirmed(w1=[100, 101, 99, 100], w4=[120, 122, 119, 121]), 4)
    result = conclude(SPACE, (DEFAULT, workers(4)), trials)
    assert result.recommended == workers(4)
    assert "In score workers=4 gains at least +20 %" in result.sentence


def test_default_for_which_the_generator_gave_out_makes_no_gain():
    """What it can do at least would flatter every other, and the sentence says what is missing."""
    trials = bounded(confirmed(w1=[100, 101, 99, 100], w4=[120, 122, 119, 121]), 1)
    result = conclude(SPACE, (DEFAULT, workers(4)), trials)
    assert result.is_default
    assert result.gain is None
    assert result.sentence == (
        "No gain over the default can be told: wherever workers=4 and the default both passed "
        "verification, the load generator gave out before the default did."
    )


def taking(*more, **changes):
    """What configurations of so many workers take, in requests/s, a little more in each block."""
    gain = Gain(gain=0.47, low=0.3, high=0.6, significant=True, blocks=4).model_copy(update=changes)
    return {
        configuration_hash(workers(count)): Capacities(
            gain, {block: rps + block for block in range(1, gain.blocks + 1)}
        )
        for count, rps in more
    }


def test_more_capacity_outweighs_a_rule_that_broke_once_high_on_the_ladder():
    """Lighttpd took 47 % more load in all four blocks, and for 5 late replies in one it was called no
    gain.
    """
    trials = confirmed(w1=(100, 101, 99, 100), w4=(120, 121, 119, None))
    without = conclude(SPACE, (workers(1), workers(4)), trials)
    assert without.is_default
    outcome = conclude(SPACE, (workers(1), workers(4)), trials, capacities=taking((4, 1470)))
    assert outcome.recommended == workers(4)
    assert "In 1 of 4 blocks it broke a rule of verification" in outcome.sentence


@pytest.mark.parametrize("change", [{"blocks": 3}, {"significant": False}, {"gain": -0.47}])
def test_capacity_that_is_not_surely_more_in_every_block_outweighs_nothing(change):
    """The configuration fails where the default does not."""
    trials = confirmed(w1=(100, 101, 99, 100), w4=(120, 121, 119, None))
    capacities = taking((4, 1470), **change)
    assert conclude(SPACE, (workers(1), workers(4)), trials, capacities=capacities).is_default


def test_configuration_that_fails_in_half_of_the_blocks_is_not_recommended_for_its_capacity():
    """Whatever it takes when it holds."""
    trials = confirmed(w1=(100, 101, 99, 100), w4=(120, 121, None, None))
    assert conclude(SPACE, (workers(1), workers(4)), trials, capacities=taking((4, 1470))).is_default


@pytest.mark.parametrize(
    ("default", "other"),
    [
        ((100, None, None, None), (120, 121, 119, 120)),
        ((None, None, None, None), (None, 121, None, None)),
        ((None, None, None, None), (None, None, None, None)),
    ],
)
def test_capacity_decides_where_scores_can_hardly_be_compared(default, other):
    """A default that fails the whole ladder in most blocks has a capacity too."""
    trials = confirmed(w1=default, w4=other)
    assert conclude(
        SPACE, (workers(1), workers(4)), trials, capacities=taking((4, 1470), significant=False)
    ).is_default
    outcome = conclude(SPACE, (workers(1), workers(4)), trials, capacities=taking((4, 1470)))
    assert (outcome.recommended, outcome.gain) == (workers(4), None)
    assert "workers=4 is recommended for its capacity" in outcome.sentence


def test_capacity_does_not_overrule_scores_that_were_compared():
    """In three blocks both passed, and the other scored no more."""
    trials = confirmed(w1=(100, 101, 99, None), w4=(100, 101, 98, 99))
    assert conclude(SPACE, (workers(1), workers(4)), trials, capacities=taking((4, 1470))).is_default


def test_of_those_that_take_as_much_the_cheapest_is_recommended():
    """Eight workers take less, sixteen as much as four at twice the CPU time."""
    trials = confirmed(w1=(None,) * 4, w4=(None,) * 4, w8=(None,) * 4, w16=(None,) * 4)
    costs = {
        configuration_hash(workers(count)): Cost(
            cpu_s_per_1000_requests={1000.0: [cpu_s, 1.01 * cpu_s, cpu_s, 0.99 * cpu_s]},
            memory_bytes={},
            level_unit="requests/s",
        )
        for count, cpu_s in ((4, 1.0), (8, 0.5), (16, 2.0))
    }
    outcome = conclude(
        SPACE,
        [workers(count) for count in (1, 4, 8, 16)],
        trials,
        costs=costs,
        capacities=taking((4, 1470), (8, 1200), (16, 1470)),
    )
    assert outcome.recommended == workers(4)


KERNEL = with_kernel(SPACE, [kernel_knob("swappiness").here(60)], free=("swappiness",))


def crossed(**rows):
    """Confirmed scores of the four cells: rows by what is changed."""
    cells = {
        "neither": {"workers": 1, "swappiness": 60},
        "server": {"workers": 4, "swappiness": 60},
        "kernel": {"workers": 1, "swappiness": 10},
        "both": {"workers": 4, "swappiness": 10},
    }
    trials = [in_block(cells[name], b, score) for name, row in rows.items() for b, score in enumerate(row, 1)]
    return conclude(KERNEL, list(cells.values()), trials)


def test_the_kernel_is_not_changed_for_a_gain_that_is_not_shown():
    """Of two that cannot be told apart the one that leaves it alone, although the other scores more."""
    found = crossed(
        neither=(100, 101, 99, 100),
        server=(120, 122, 119, 121),
        kernel=(100, 99, 101, 100),
        both=(122, 120, 121, 122),
    )
    assert found.recommended == {"workers": 4, "swappiness": 60}
    assert "those that change the kernel were passed over; this one leaves it as it is" in found.sentence


def test_the_kernel_is_changed_where_that_gains():
    """Both together beat the server's knobs alone beyond the noise."""
    found = crossed(
        neither=(100, 101, 99, 100),
        server=(120, 122, 119, 121),
        kernel=(115, 114, 116, 115),
        both=(140, 141, 139, 141),
    )
    assert found.recommended == {"workers": 4, "swappiness": 10}
    assert "passed over" not in found.sentence
