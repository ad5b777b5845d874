"""Which slots of a confirmation are left, and which of its blocks count."""

import random
from dataclasses import replace

from trimtab_trials.configuration import configuration_hash
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.certainty.blocks import Blocks, seed_of_block
from trimtab_tuner.certainty.statistics import paired_gain

FINALISTS = ({"workers": 1}, {"workers": 4}, {"workers": 8})


def measured(judge, repeats, finalists=FINALISTS, most=1000):
    """Carries out a confirmation; `judge(block, workers, attempt)` gives each trial its verdict."""
    trials, attempts = [], {}
    while (blocks := Blocks(finalists, repeats, 1, trials)).next_slot is not None and len(trials) < most:
        block, configuration = blocks.next_slot
        slot = (block, configuration["workers"])
        attempts[slot] = attempts.get(slot, 0) + 1
        trials.append(
            Trial(
                configuration=configuration,
                verdict=judge(*slot, attempts[slot]),
                purpose=TrialPurpose.CONFIRMATION,
                block=block,
            )
        )
    return blocks, trials


def test_quiet_host_needs_each_slot_once():
    """As many blocks as wanted, each finalist once in each; a failure is a verdict like any other."""
    blocks, trials = measured(lambda *_: Verdict.FAILED_VERIFICATION, 3)
    assert (blocks.whole, blocks.spoilt, blocks.trials_left) == ([1, 2, 3], [], 0)
    slots = [(t.block, t.configuration_hash) for t in trials]
    assert len(slots) == len(set(slots)) == 9


def test_spoilt_trial_is_carried_out_once_more():
    """One moment of somebody else costs one trial, and no block."""
    blocks, trials = measured(
        lambda block, workers, attempt: (
            Verdict.DISTURBED if (block, workers, attempt) == (2, 4, 1) else Verdict.VERIFIED
        ),
        3,
    )
    assert (blocks.whole, blocks.spoilt, len(trials)) == ([1, 2, 3], [], 10)


def test_spoilt_block_is_made_up_for_by_a_further_one():
    """What is left of it is not measured any more."""
    blocks, trials = measured(
        lambda block, workers, _: Verdict.DISTURBED if (block, workers) == (2, 4) else Verdict.VERIFIED, 3
    )
    assert (blocks.whole, blocks.spoilt) == ([1, 3, 4], [2])
    of_spoilt = [t.configuration_hash for t in trials if t.block == 2]
    assert of_spoilt[-1] == of_spoilt[-2] == configuration_hash({"workers": 4})


def test_host_that_is_never_quiet_ends_the_confirmation_all_the_same():
    """After twice as many blocks as were wanted."""
    blocks, trials = measured(lambda *_: Verdict.DISTURBED, 3)
    assert (blocks.whole, blocks.spoilt, len(trials)) == ([], [1, 2, 3, 4, 5, 6], 12)


def test_configuration_that_is_too_fast_for_the_generator_spoils_nothing():
    """The others are compared all the same."""
    blocks, trials = measured(
        lambda _block, workers, _attempt: Verdict.GENERATOR_LIMITED if workers == 8 else Verdict.VERIFIED, 3
    )
    assert (blocks.whole, blocks.spoilt) == ([1, 2, 3], [])
    assert len(trials) == 9, "what it followed until then is known the first time"


def test_trials_left_are_counted_down():
    """For the progress bar: what is missing if nothing is spoilt."""
    left = [Blocks(FINALISTS, 2, 1, []).trials_left]
    for done in range(1, 7):
        _, trials = measured(lambda *_: Verdict.VERIFIED, 2, most=done)
        left.append(Blocks(FINALISTS, 2, 1, trials).trials_left)
    assert left == [6, 5, 4, 3, 2, 1, 0]


def test_single_finalist_is_measured_as_often_as_several_and_none_never():
    """It has nothing to be compared with, but what it does is told all the same, with an interval."""
    blocks, trials = measured(lambda *_: Verdict.VERIFIED, 3, FINALISTS[:1])
    assert (blocks.whole, blocks.wanted, len(trials)) == ([1, 2, 3], 3, 3)
    nothing = Blocks((), 3, 1, [])
    assert (nothing.next_slot, nothing.wanted, nothing.trials_left) == (None, 0, 0)


def test_no_repeats_are_no_blocks():
    """Whoever wants none gets none."""
    assert Blocks(FINALISTS, 0, 1, []).next_slot is None


def test_trial_outside_the_blocks_or_cut_short_fills_no_slot():
    """A repeat that somebody asked for, a trial of the search, and one that a stop ended are all left out."""
    first, configuration = Blocks(FINALISTS, 2, 1, []).next_slot
    trial = Trial(
        configuration=configuration, verdict=Verdict.VERIFIED, purpose=TrialPurpose.CONFIRMATION, block=first
    )
    for changed in ({"block": 0}, {"purpose": TrialPurpose.SEARCH}, {"verdict": Verdict.ABORTED}):
        assert Blocks(FINALISTS, 2, 1, [replace(trial, **changed)]).next_slot == (first, configuration)
    assert Blocks(FINALISTS, 2, 1, [trial]).next_slot != (first, configuration)


def score(configuration, arrivals, chance):
    """A configuration's score with these arrivals: they suit one better than the other, by chance (3 %)."""
    suits = random.Random(f"{configuration} {arrivals}").gauss(0, 0.03)
    return 100 * (1 + suits) * (1 + chance.gauss(0, 0.005))


def test_intervals_hold_for_more_than_one_realisation_of_the_arrivals():
    """Two equal configurations, 300 confirmations: with one seed for all blocks most told a difference."""
    chance, runs, told = random.Random(5), 300, {"each": 0, "one": 0}
    for seed in range(1, runs + 1):
        for seeds, name in ((seed_of_block, "each"), (lambda own, _block: own, "one")):
            rows = [
                [score(which, seeds(seed, block), chance) for block in range(1, 7)] for which in ("a", "b")
            ]
            told[name] += paired_gain(*rows).significant
    assert told["each"] <= 0.08 * runs
    assert told["one"] > 0.5 * runs  # what the seeds are for


def test_no_arrivals_of_one_block_are_those_of_another():
    """Each rate of a trial adds itself to the seed."""
    used = [seed_of_block(seed, block) + rate for seed in (1, 2) for block in range(9) for rate in (1, 10**7)]
    assert len(set(used)) == len(used)
