"""The backward elimination as a state machine: what it measures next, what it leaves out, what it keeps."""

import math
import random

import pytest
from trimtab_trials.configuration import configuration_hash
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.certainty.elimination import Elimination
from trimtab_tuner.certainty.elimination_judge import MOST_LOSS, KnownNoise
from trimtab_tuner.certainty.setting_effects import SettingEffect, effect_sentences, with_the_last
from trimtab_tuner.certainty.statistics import Gain
from trimtab_tuner.space import Knob, OnlyWith, Space

NAMES = ("a", "b", "c", "d", "e", "f")
SPACE = Space(
    knobs=tuple(
        Knob(name=name, kind="integer", low=0, high=9, default=0, help="a knob of the test") for name in NAMES
    )
)
WINNER = dict.fromkeys(NAMES, 1)
KNOWN = KnownNoise(2 * 0.007**2, 2)


def carried_out(
    capacity, *, space=SPACE, winner=WINNER, budget=30, seed=1, noise=0.0, known=KNOWN, judge=None, **hints
):
    """The elimination at its end, and its trials; `capacity` of a configuration, `judge` its verdict."""
    chance, trials = random.Random(seed), []
    while True:
        so_far = Elimination(
            space,
            winner,
            trials,
            worth=hints.get("worth", {}),
            suspects=hints.get("suspects", ()),
            alone=hints.get("alone", ()),
            figure=lambda trial: trial.score,
            cpu=hints.get("cpu"),
            budget_trials=budget,
            seed=seed,
            noise=known,
        )
        if so_far.next_slot is None:
            return so_far, trials
        block, configuration = so_far.next_slot
        verdict = Verdict.VERIFIED if judge is None else judge(configuration, len(trials))
        score = capacity(configuration) * math.exp(chance.gauss(0, noise))
        trials.append(
            Trial(
                configuration=configuration,
                verdict=verdict,
                score=score if verdict is Verdict.VERIFIED else None,
                purpose=TrialPurpose.ELIMINATION,
                block=block,
                number=len(trials) + 1,
            )
        )
        assert len(trials) <= budget


def changed(configuration):
    """The knobs that differ from the default."""
    return {name for name, value in configuration.items() if value}


def two_of_six(configuration):
    """Two knobs that are worth something each, four that are worth nothing."""
    return 1000 * (1 + 0.9 * configuration["a"]) * (1 + 0.15 * configuration["b"])


def test_what_is_worth_nothing_goes_back_to_its_default_in_one_check():
    """The others are kept, each with what it gives; what was left out is told last."""
    found, trials = carried_out(two_of_six, noise=0.005)
    assert changed(found.current) == {"a", "b"}
    kept = {effect.knob: effect for effect in found.effects if effect.kept}
    assert kept["a"].gain.gain == pytest.approx(0.9, abs=0.05)
    assert kept["b"].gain.gain == pytest.approx(0.15, abs=0.03)
    assert all(effect.shown for effect in kept.values())
    dropped = [effect for effect in found.effects if not effect.kept]
    assert [effect.knob for effect in found.effects[:2]] == ["a", "b"]
    assert {effect.knob for effect in dropped} == {"c", "d", "e", "f"}
    assert all(set(effect.together) == {"c", "d", "e", "f"} - {effect.knob} for effect in dropped)
    first = [trial.configuration_hash for trial in trials if trial.block == 1]
    assert len(first) == len(set(first)) == 8  # with all, without each, without all that seemed worth nothing


def only(**values):
    """The default with these values."""
    return {**dict.fromkeys(NAMES, 0), **values}


def test_first_change_that_gives_the_gain_alone_ends_the_question():
    """Two blocks of it and of the whole are enough; all the rest was worth nothing together."""

    def one_of_six(configuration):
        return 1000 * (1 + 0.9 * configuration["a"])

    found, trials = carried_out(one_of_six, noise=0.003, alone=[only(a=1)])
    assert changed(found.current) == {"a"}
    assert len(trials) == 4
    assert {trial.configuration_hash for trial in trials} == {
        configuration_hash(WINNER),
        configuration_hash(only(a=1)),
    }
    dropped = [effect for effect in found.effects if not effect.kept]
    assert [effect.knob for effect in dropped] == ["b", "c", "d", "e", "f"]
    assert all(len(effect.together) == 4 and effect.gain for effect in dropped)
    assert len(carried_out(one_of_six, noise=0.003)[1]) > len(trials)


def test_first_change_may_have_another_value_than_the_search_has_found():
    """What is left is what was measured, and is told with its value; here the search's needs another knob."""

    def both_or_more(configuration):
        return 2000 if configuration["a"] * (1 + configuration["b"]) >= 2 else 1000

    found, _ = carried_out(both_or_more, noise=0.003, alone=[only(a=1), only(a=2)])
    assert found.current == only(a=2)
    assert {(e.knob, e.value, e.kept) for e in found.effects if e.knob in "ab"} == {
        ("a", 2, True),
        ("b", 1, False),
    }


def test_first_change_that_does_not_give_the_gain_costs_one_trial():
    """It is asked of in the block of screening; what follows is as without it."""
    asked, trials = carried_out(two_of_six, noise=0.003, alone=[only(a=1)])
    as_ever, others = carried_out(two_of_six, noise=0.003)
    assert asked.current == as_ever.current
    assert len(trials) == len(others) + 1
    assert [trial.configuration for trial in trials if trial.block == 1].count(WINNER) == 1


def first_change_is_left(seed, noise, *, lost=0.0, cpu=1.0):
    """Whether a first change alone is recommended where another setting does the same, and the search's best
    holds both and a third that does nothing: with the trials of a quick run on a host whose climbs differ by
    `noise`. What the search has seen of noise is its default's, which a limit keeps from straying. `lost` is
    what the first change does less than the other, as a share, and `cpu` its CPU time a request, as a
    multiple.
    """
    chance = random.Random(f"CPU time {seed}")

    def either(configuration):
        return 1000 * (1.9 if configuration["b"] else 1.9 * (1 - lost) if configuration["a"] else 1)

    def times(one, other):
        true = {True: 1.0, False: cpu}
        ratio = true[bool(other.configuration["b"])] / true[bool(one.configuration["b"])]
        return ratio * math.exp(chance.gauss(0, 0.07))

    found, _ = carried_out(
        either,
        winner=only(a=1, b=1, c=1),
        alone=[only(a=1)],
        worth={"a": 0.1, "b": 0.1},
        cpu=times,
        budget=10,
        seed=seed,
        noise=noise,
        known=KnownNoise(),
    )
    return changed(found.current) == {"a"}


@pytest.mark.parametrize(("noise", "least"), [(0.01, 190), (0.03, 180), (0.06, 150), (0.09, 130)])
def test_one_noisy_block_does_not_take_a_setting_for_more_than_the_first_change(noise, least):
    """Of 200 hosts: where the first change alone does as much for less CPU time, it is left on most."""
    assert sum(first_change_is_left(seed, noise, cpu=0.85) for seed in range(3000, 3200)) >= least


def test_first_change_that_does_a_quarter_less_is_not_left():
    """However noisy the host."""
    assert sum(first_change_is_left(seed, 0.06, lost=0.25) for seed in range(3000, 3200)) <= 4


def three_with_a_small_one(configuration):
    """One setting gives nearly all, one a little more than may be lost, and the rest nothing."""
    return 1000 * (1 + 0.9 * configuration["a"]) * (1 + 0.035 * configuration["b"])


@pytest.mark.parametrize("seed", range(10))
def test_first_change_that_is_just_not_enough_leaves_trials_for_the_rest(seed):
    """What the question has measured is not measured again: the little that the rest gives is found in it."""
    found, trials = carried_out(
        three_with_a_small_one,
        winner=only(a=1, b=1, c=1),
        suspects=("b", "c"),
        alone=[only(a=1)],
        budget=10,
        noise=0.003,
        seed=seed,
    )
    assert changed(found.current) == {"a", "b"}
    asked = [trial for trial in trials if trial.configuration == only(a=1)]
    # The question takes two or three blocks; beside what is recommended the setting may lack once more.
    assert len([trial for trial in asked if trial.block <= 3]) == len(asked) <= 3


def test_what_the_question_has_shown_to_matter_is_not_left_out_together_again():
    """Also where the first change has another value than the search's best: then its blocks do not count."""

    def at_any_value(configuration):
        return 1000 * (1.9 if configuration["a"] else 1) * (1 + 0.035 * configuration["b"])

    found, trials = carried_out(
        at_any_value,
        winner=only(a=2, b=1, c=1, d=1),
        suspects=("b", "c", "d"),
        alone=[only(a=1)],
        budget=10,
        noise=0.002,
    )
    assert changed(found.current) == {"a", "b"}
    assert only(a=2) not in [trial.configuration for trial in trials]


def test_where_trials_are_few_what_calibration_and_model_agree_on_needs_none():
    """The others are screened one at a time in their place."""
    found, trials = carried_out(
        two_of_six,
        winner=only(a=1, b=1, c=1, d=1),
        alone=[only(a=1)],
        worth={"a": 0.5, "b": 0.1},
        budget=8,
        noise=0.003,
    )
    assert changed(found.current) == {"a", "b"}
    assert [each.knob for each in found.effects if each.kept and each.gain] == ["b"]
    assert all(trial.configuration["a"] for trial in trials)


def test_of_a_check_that_fails_what_cost_most_in_the_screening_is_set_apart():
    """Two settings seem to cost little, and together cost too much: the dearer one is kept."""

    def two_small_ones(configuration):
        return (
            1000 * (1 + 0.9 * configuration["a"]) * 1.004 ** configuration["b"] * 1.028 ** configuration["c"]
        )

    found, _ = carried_out(two_small_ones, noise=0.0005, known=KnownNoise(2 * 0.0005**2, 2))
    assert changed(found.current) == {"a", "c"}
    dropped = [effect for effect in found.effects if not effect.kept]
    assert all({effect.knob, *effect.together} == {"b", "d", "e", "f"} for effect in dropped)


def test_first_change_without_which_a_rule_breaks_is_not_enough():
    """However fast it is."""

    def breaks(configuration, _number):
        return Verdict.VERIFIED if configuration["c"] else Verdict.FAILED_VERIFICATION

    found, _ = carried_out(lambda c: 1000 + c["a"], judge=breaks, noise=0.003, alone=[only(a=1)])
    assert found.current["c"] == 1


def test_two_knobs_that_only_help_together_are_both_kept():
    """Without either of them the gain is gone."""
    found, _ = carried_out(lambda c: 1500 if c["a"] and c["b"] else 1000, noise=0.005)
    assert changed(found.current) == {"a", "b"}


def test_of_two_knobs_that_do_the_same_one_is_kept():
    """Each seems worth nothing beside the other; without both the gain is gone."""
    found, _ = carried_out(lambda c: 1500 if c["a"] or c["b"] else 1000, noise=0.005, budget=60)
    assert len(changed(found.current)) == 1
    assert changed(found.current) <= {"a", "b"}


def test_last_setting_needs_no_trial():
    """The confirmation measures it beside the default; so is a default that has nothing to lose."""
    one = {**dict.fromkeys(NAMES, 0), "a": 1}
    for winner in (one, dict.fromkeys(NAMES, 0)):
        found, trials = carried_out(two_of_six, winner=winner)
        assert (found.current, trials) == (winner, [])
    assert carried_out(two_of_six, winner=one)[0].effects[0].told == "not measured by itself"


def test_of_two_settings_what_the_model_suspects_is_checked_at_once():
    """Two blocks with it and without it are enough where they agree."""
    two = {**dict.fromkeys(NAMES, 0), "a": 1, "c": 1}
    found, trials = carried_out(two_of_six, winner=two, suspects=("c",))
    assert changed(found.current) == {"a"}
    assert len(trials) == 4


def test_with_too_few_trials_what_the_model_says_is_worth_least_is_screened_together():
    """Of six settings no more than the budget has room for are left out one at a time."""
    worth = {name: number / 100 for number, name in enumerate(reversed(NAMES))}
    _, trials = carried_out(two_of_six, budget=8, worth=worth, noise=0.003)
    without = [set(NAMES) - changed(trial.configuration) for trial in trials if trial.block == 1]
    assert {"f", "e"} in without
    assert len(trials) <= 8


def test_no_trial_without_a_budget():
    """Then the search's best stays as it is."""
    for budget in (0, 1, 3):
        found, trials = carried_out(two_of_six, budget=budget)
        assert (found.current, trials) == (WINNER, [])


def test_setting_without_which_a_rule_breaks_is_kept():
    """Whatever the capacity without it seems to be."""

    def breaks(configuration, _number):
        return Verdict.VERIFIED if configuration["c"] else Verdict.FAILED_VERIFICATION

    found, _ = carried_out(two_of_six, judge=breaks, noise=0.005)
    assert changed(found.current) == {"a", "b", "c"}


def test_on_a_noisy_host_what_cannot_be_told_apart_is_left_out_by_its_mean():
    """Its bound is too wide for 2 %; what costs more than that in the mean stays."""
    loose = KnownNoise(2 * 0.03**2, 2)
    kept = [carried_out(two_of_six, noise=0.03, known=loose, seed=seed)[0].current for seed in range(30)]
    assert sum(changed(each) >= {"a", "b"} for each in kept) >= 28
    assert sum(changed(each) == {"a", "b"} for each in kept) >= 15


def second_setting_stays(worth, seed, noise=0.03):
    """Whether a second setting that is worth so much is left beside a first one that is worth 90 %, with the
    trials of a quick run on a host whose trials differ by `noise`, as three of the default have shown.
    """
    chance = random.Random(f"the default's trials {seed}")
    logs = [chance.gauss(0, noise) for _ in range(3)]
    found, _ = carried_out(
        lambda c: 1000 * (1 + 0.9 * c["a"]) * (1 + worth * c["b"]),
        winner=only(a=1, b=1),
        budget=10,
        seed=seed,
        noise=noise,
        known=KnownNoise(sum((each - sum(logs) / 3) ** 2 for each in logs), 2),
    )
    assert found.current["a"]
    return bool(found.current["b"])


@pytest.mark.parametrize(("worth", "least", "most"), [(0.0, 0, 20), (0.15, 198, 200)])
def test_on_a_noisy_host_a_second_setting_earns_its_place(worth, least, most):
    """Of 200 hosts: one that is worth nothing stays on few, one that is worth 15 % nearly everywhere."""
    assert least <= sum(second_setting_stays(worth, seed) for seed in range(1000, 1200)) <= most


def test_setting_not_told_from_nothing_stays_only_if_it_seems_to_be_worth_4_percent():
    """The same mean of five blocks is enough where they agree, and not where they do not."""

    def in_turn(*losses):
        """What is lost without the second setting in one block after another."""

        def capacity(configuration):
            seen.append(configuration)
            blocks = sum(each == only(a=1) for each in seen) - 1
            return 1000.0 if configuration["b"] else 1000.0 * math.exp(-losses[blocks % len(losses)])

        seen = []
        return capacity

    agreeing, apart = (0.030, 0.032), (-0.02, 0.082, 0.031)
    for losses, stays in ((agreeing, {"a", "b"}), (apart, {"a"}), (tuple(2 * x for x in apart), {"a", "b"})):
        found, _ = carried_out(
            in_turn(*losses), winner=only(a=1, b=1), suspects=("b",), budget=6, known=KnownNoise()
        )
        assert changed(found.current) == stays


def three_of_six(configuration):
    """Two knobs that are worth much, and one without which the rest cannot be left out in one check."""
    return two_of_six(configuration) * (1 + 0.028 * configuration["c"])


def test_last_trials_go_to_single_settings_where_a_group_would_need_more():
    """Seven trials screen, and three find that the rest is worth something together. One is too few for a
    group; for a single setting it is the second block.
    """
    quiet = KnownNoise(2 * 0.0005**2, 2)
    found, trials = carried_out(three_of_six, noise=0.0005, known=quiet, budget=11)
    assert len(trials) == 11
    assert changed(trials[10].configuration) >= {"a", "b", "c"}
    assert len(changed(trials[10].configuration)) == len(NAMES) - 1
    assert found.current == trials[10].configuration
    assert next(effect.gain.blocks for effect in found.effects if not effect.kept) == 2


def test_of_what_no_trials_are_left_for_one_setting_that_gave_nothing_is_left_out():
    """By its block of the screening. The others may matter beside what is left then; without any known noise
    one block tells of none.
    """
    quiet = KnownNoise(2 * 0.0005**2, 2)
    for known, left_out in ((quiet, 1), (KnownNoise(), 0)):
        found, trials = carried_out(three_of_six, noise=0.0005, known=known, budget=10)
        assert len(trials) == 10
        assert changed(found.current) >= {"a", "b", "c"}
        assert len(found.current) - len(changed(found.current)) == left_out


def test_losses_that_add_up_are_left_out_only_up_to_the_limit():
    """Each of six costs 0.9 %: not all of them go."""

    def each_a_little(configuration):
        return 1000 * 1.009 ** len(changed(configuration))

    found, _ = carried_out(each_a_little, budget=200, noise=0.0005, known=KnownNoise(2 * 0.0005**2, 2))
    assert 1 - each_a_little(found.current) / each_a_little(WINNER) <= MOST_LOSS
    assert 4 <= len(changed(found.current)) < 6


def test_setting_that_others_need_goes_with_them_or_not_at_all():
    """A knob that only exists with another one goes back to its default together with it."""
    space = SPACE.model_copy(
        update={"constraints": (OnlyWith(knob="d", otherwise=0, other="c", among=(1,)),)}
    )
    found, trials = carried_out(two_of_six, space=space, noise=0.003)
    assert changed(found.current) == {"a", "b"}
    assert all(space.allows(trial.configuration) for trial in trials)


def test_stopped_and_disturbed_trials_are_measured_again():
    """One that was cut short does not count; one that was disturbed has a second try in its block."""

    def spoils(_configuration, number):
        return {1: Verdict.ABORTED, 4: Verdict.DISTURBED}.get(number, Verdict.VERIFIED)

    found, trials = carried_out(two_of_six, judge=spoils, noise=0.003)
    assert changed(found.current) == {"a", "b"}
    assert trials[2].configuration == trials[1].configuration
    assert trials[5].configuration == trials[4].configuration
    assert trials[5].block == trials[4].block
    assert found.spent == len(trials) - 1


def test_block_whose_trial_was_disturbed_twice_is_made_up_for():
    """The next block takes its place."""
    first = []

    def spoils(configuration, _number):
        digest = configuration_hash(configuration)
        if len(first) < 2 and (not first or first[0] == digest):
            first.append(digest)
            return Verdict.DISTURBED
        return Verdict.VERIFIED

    found, trials = carried_out(two_of_six, judge=spoils, noise=0.003)
    assert changed(found.current) == {"a", "b"}
    assert [trial.block for trial in trials[:3]] == [1, 1, 2]


def test_effects_are_told_as_an_administrator_reads_them():
    """With the interval; small ones with a decimal; what was left out with the value that it has again."""
    gain = Gain(gain=0.912, low=0.831, high=0.99, significant=True, blocks=3)
    none = Gain(gain=-0.004, low=-0.02, high=0.012, significant=False, blocks=3)
    kept = SettingEffect(knob="worker_connections", value=13000, default=512, kept=True, gain=gain)
    dropped = SettingEffect(knob="worker_processes", value=11, default=1, kept=False)
    assert kept.in_words == "worker_connections 13000: +91 % (+83 % to +99 %)"
    assert dropped.in_words == "worker_processes 11: no effect, left at 1"
    shown = dropped.model_copy(update={"gain": none, "together": ("sendfile",)})
    assert shown.told == "no effect (-0.4 %, -2.0 % to +1.2 % together with sendfile), left at 1"
    assert list(effect_sentences([kept, dropped])) == [
        "What each setting gives: worker_connections 13000: +91 % (+83 % to +99 %).",
        "Tried, and found worth nothing: worker_processes 11: no effect, left at 1.",
    ]
    assert SettingEffect.model_validate(kept.model_dump(mode="json")) == kept
    by_score = kept.model_copy(update={"measure": "score"})
    assert by_score.told == "+91 % (+83 % to +99 %) in score"
    assert kept.model_copy(update={"gain": none}).told == "not told from nothing, -0.4 % (-2.0 % to +1.2 %)"
    wide = Gain(gain=0.023, low=-0.8, high=4.18, significant=False, blocks=2)
    assert kept.model_copy(update={"gain": wide}).told == "not told from nothing"
    assert dropped.model_copy(update={"gain": wide}).told == "no effect, left at 1"
    once = Gain(gain=2.23, low=None, high=None, significant=False, blocks=1)
    assert kept.model_copy(update={"gain": once}).told == "+223 %, seen once"


def kept_setting(knob, gain=None, **values):
    """A setting that is recommended."""
    return SettingEffect(knob=knob, value=2, default=1, kept=True, gain=gain, **values)


MUCH = Gain(gain=0.912, low=0.831, high=0.99, significant=True, blocks=3)
SMALL = Gain(gain=0.15, low=0.1, high=0.2, significant=True, blocks=2)


def test_only_setting_that_is_kept_gives_what_the_confirmation_measures():
    """Also where a block has told of it before; what was left out stays as it is."""
    dropped = SettingEffect(knob="b", value=2, default=1, kept=False, gain=SMALL)
    for before in (None, SMALL):
        told = with_the_last((kept_setting("a", before), dropped), MUCH, "score")
        assert told == (kept_setting("a", MUCH, measure="score"), dropped)
    assert told[0].told == "+91 % (+83 % to +99 %) in score"
    alone = (kept_setting("a", SMALL), dropped)
    assert with_the_last(alone, None, "capacity") == alone


def test_setting_of_several_that_was_not_measured_is_told_with_all_others():
    """The confirmation measures all together; what was measured by itself keeps its own effect."""
    told = with_the_last((kept_setting("a"), kept_setting("b", SMALL)), MUCH, "capacity")
    assert told[0].in_words == "a 2: not measured by itself, +91 % (+83 % to +99 %) together with b"
    assert told[1] == kept_setting("b", SMALL)
    unsure = SMALL.model_copy(update={"low": -0.1, "significant": False})
    assert with_the_last((kept_setting("a"), kept_setting("b")), unsure, "capacity")[0].told == (
        "not measured by itself"
    )


def test_effect_of_which_only_a_lower_bound_is_known_is_at_least_so_much():
    """The ladder ended before the server gave way."""
    least = Gain(gain=0.47, low=0.12, high=None, significant=True, blocks=3)
    assert kept_setting("a", least).told == "at least +47 % (from +12 %)"
    may_be_none = Gain(gain=0.05, low=-0.03, high=None, significant=False, blocks=3)
    assert kept_setting("a", may_be_none).told == "not told from nothing, at least +5.0 % (from -3.0 %)"
    dropped = kept_setting("a", may_be_none).model_copy(update={"kept": False})
    assert dropped.told == "no effect (at least +5.0 %, from -3.0 %), left at 1"
    wide = may_be_none.model_copy(update={"low": -0.8})
    assert kept_setting("a", wide).told == "not told from nothing"


@pytest.mark.parametrize("budget", [6, 9, 12, 20])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 1.0])
def test_however_many_trials_other_programs_spoil_there_is_an_end(share, budget):
    """Within the budget; and what was never measured beside what has it is kept."""
    for seed in range(25):
        chance = random.Random(f"spoilt {seed}")

        def judge(*_, chance=chance):
            return Verdict.DISTURBED if chance.random() < share else Verdict.VERIFIED

        found, trials = carried_out(
            two_of_six, alone=[only(a=1)], budget=budget, noise=0.01, seed=seed, judge=judge
        )
        assert len(trials) <= budget
        if all(trial.verdict is Verdict.DISTURBED for trial in trials):
            assert found.current == WINNER
