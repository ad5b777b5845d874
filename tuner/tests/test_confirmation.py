"""Finalists, schedule and outcome."""

import numpy as np
import pytest
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.confirmation import choose_finalists, conclude, confirmation_schedule
from trimtab_tuner.space import Knob, Space

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


@pytest.mark.parametrize(
    ("results", "recommended", "why"),
    [
        ((), 300, "Of 3 that cannot be told apart it needs the least resources."),
        (neighbourhood(w600=1.0), 300, "needs the least resources."),
        (neighbourhood(w300=0.8, w900=1.0), 600, "what needs less loses more than 2 % a step away."),
        (neighbourhood(w300=0.8, w600=0.8), 900, "what needs less loses more than 2 % a step away."),
        (neighbourhood(w300=0.8, w600=0.8, w900=0.8), 300, "needs the least resources."),
    ],
)
def test_least_resources_decide_unless_the_optimum_is_sharp(results, recommended, why):
    """Among those that cannot be told apart; where all are sharp, or nothing is known, resources alone."""
    outcome = conclude(WIDE, LEVEL, LEVEL_SCORES, results)
    assert outcome.recommended == workers(recommended)
    assert outcome.sentence.endswith(why)


def test_share_of_stable_neighbours_decides_between_equal_costs():
    """The two sendfile modes cost the same; round one of them most neighbours hold."""
    modes = Knob(name="mode", kind="categorical", choices=("a", "b"), default="a", help="Modes.")
    connections = Knob(name="connections", kind="integer", low=1, high=10, default=5, help="Connections.")
    space = Space(knobs=(modes, connections, *SPACE.knobs))
    default = space.default()

    def at(mode, around=5):
        return {"mode": mode, "connections": around, "workers": 4}

    results = [
        Trial(configuration=at(mode, around), verdict=Verdict.VERIFIED, score=score)
        for mode, scores in (("a", (120, 119, 119, 60)), ("b", (120, 119, 119, 119)))
        for around, score in zip((5, 4, 6, 7), scores, strict=True)
    ]
    scores = [
        in_block(c, block, score + noise)
        for c, score in ((default, 100), (at("a"), 120), (at("b"), 120))
        for block, noise in enumerate((0, 1, -1, 2), 1)
    ]
    outcome = conclude(space, (default, at("a"), at("b")), scores, results)
    assert outcome.recommended == at("b")
    assert set(outcome.stability.values()) == {"flat", "unknown"}


def test_default_as_best_is_the_only_finalist():
    """There is nothing to compare it with, so no block is scheduled."""
    results = [trial(1, 100), trial(2, 50)]
    finalists = choose_finalists(results, results[0], DEFAULT)
    assert finalists == (DEFAULT,)
    assert confirmation_schedule(finalists, 4, seed=1) == ()
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
    expected = "workers=4 is 20.0 % better than the default (95 % interval 18.7 to 21.3 %)."
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


def test_cheapest_of_the_indistinguishable_leaders_is_recommended():
    """Eight workers are a hair better than two, but not significantly."""
    scores = confirmed(w1=[100, 101, 99, 100], w8=[121, 122, 123, 121], w2=[120, 122, 122, 121])
    outcome = conclude(SPACE, (workers(1), workers(8), workers(2)), scores)
    assert workers(2) == outcome.recommended
    assert workers(8) == outcome.challengers[0].configuration


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
        "workers=4 passed verification in 3 of 4 blocks and the default in none"
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
        "No gain over the default can be stated: workers=4 passed verification in 2 of 3 blocks "
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
