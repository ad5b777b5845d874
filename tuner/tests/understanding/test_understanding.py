"""Importance, interaction and stability, on scores whose cause is known."""

import itertools
import math
import random
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.certainty.noise import USUAL_NOISE
from trimtab_tuner.certainty.stability import MOST_LISTED, stability
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.understanding.analysis import analyse
from trimtab_tuner.understanding.importance import MOST_TRIALS, importance


def knob(name, high=64):
    """An integer knob from 1, on a log scale."""
    return Knob(name=name, kind="integer", scale="log", low=1, high=high, default=1, help="A knob.")


SPACE = Space(knobs=(knob("strong"), knob("weak"), knob("idle")))
VALUES = (1, 4, 16, 64)


def trials(score):
    """A grid of trials; a score of None is a failed verification."""
    results = []
    for strong, weak, idle in itertools.product(VALUES, VALUES, (1, 64)):
        configuration = {"strong": strong, "weak": weak, "idle": idle}
        value = score(**configuration)
        verdict = Verdict.FAILED_VERIFICATION if value is None else Verdict.VERIFIED
        results.append(Trial(configuration=configuration, verdict=verdict, score=value))
    return results


def additive(strong, weak, idle):
    """Each knob by itself; `idle` does nothing."""
    return 100 + 10 * math.log2(strong) + 2 * math.log2(weak)


def joint(strong, weak, idle):
    """Good only where both are equal: neither matters alone."""
    return 100.0 - 5 * abs(math.log2(strong) - math.log2(weak))


def test_importance_ranks_knobs_by_what_they_explain():
    """The strong knob explains nearly all, the idle one nothing, and no pair anything together."""
    found = importance(SPACE, trials(additive))
    assert [k.knob for k in found.knobs] == ["strong", "weak", "idle"]
    assert found.knobs[0].share > 0.8
    assert found.knobs[2].share < 0.02
    assert found.interactions[0].share < 0.1
    assert found.r_squared > 0.8


def test_what_the_generator_cut_off_does_not_count():
    """A lower bound is no score: beyond what can be offered nothing would seem to matter any more."""
    exact = [trial for trial in trials(additive) if trial.score < 150]
    cut_off = [
        replace(trial, verdict=Verdict.GENERATOR_LIMITED, score=None, estimated_score=150.0)
        for trial in trials(additive)
        if trial.score >= 150
    ]
    assert cut_off
    assert importance(SPACE, [*exact, *cut_off]) == importance(SPACE, exact)


def test_curve_of_a_knob_follows_the_score():
    """It rises with the knob, at the values that were measured."""
    curve = importance(SPACE, trials(additive)).knobs[0].curve
    assert [point.value for point in curve] == list(VALUES)
    assert [point.score for point in curve] == sorted(point.score for point in curve)


def test_interval_of_a_curve_holds_the_mean_as_often_as_it_says():
    """On scores that nothing but 3 % noise tells apart; trees of one set of trials alone held 80 %."""
    held = []
    for seed in range(12):
        chance = random.Random(seed)
        noisy = importance(SPACE, trials(lambda **_: 100 * math.exp(chance.gauss(0, 0.03))))  # noqa: B023 - at once
        held += [abs(p.score - 100) <= p.spread for k in noisy.knobs for p in k.curve]
    assert 0.9 <= sum(held) / len(held) <= 1.0


def test_interaction_shows_what_two_knobs_do_together():
    """Knobs that must rise together share more than either has alone, and the diagonal is highest."""
    pair = importance(SPACE, trials(joint)).interactions[0]
    assert {pair.knob_one, pair.knob_two} == {"strong", "weak"}
    assert pair.share > 0.3
    for row, scores in enumerate(pair.scores):
        assert max(scores) == scores[row]


def test_importance_is_silent_without_differences_or_with_few_trials():
    """There is no variance to divide."""
    assert importance(SPACE, trials(lambda **_: 5.0)) is None
    assert importance(SPACE, trials(additive)[:7]) is None
    assert importance(SPACE, trials(lambda **_: None)) is None


def test_flat_optimum_is_told_from_a_sharp_one_and_from_one_with_failing_neighbours():
    """Within 2 % counts; a neighbour that failed verification does not."""
    best = {"strong": 16, "weak": 16, "idle": 1}
    space = Space(knobs=tuple(knob(name, 256) for name in ("strong", "weak", "idle")))
    flat = stability(space, trials(lambda **_: 100.0), best, noise=0.0)
    assert (flat.kind, flat.within) == ("flat", len(flat.neighbours))
    sharp = stability(space, trials(lambda **c: 100.0 if c == best else 90.0), best, noise=0.0)
    assert sharp.kind == "sharp"
    failing = stability(
        space, trials(lambda **c: 100.0 if c["strong"] <= 16 and c["weak"] == 16 else None), best, noise=0.0
    )
    assert failing.kind == "sharp"
    assert any(n.relative_score is None for n in failing.neighbours)


def judged(level, noise, seed):
    """The kind of a surface of 25 points round its best, and whether the best was confirmed in six blocks.

    `level` is that of a neighbour, the best and the default having 100 and 90; the best is the luckiest of
    those that have no less than any other.
    """
    chance = random.Random(seed)
    space = Space(knobs=(knob("strong", 256), knob("weak", 256)))
    default = space.default()

    def measured(configuration, score, **more):
        return Trial(
            configuration=configuration,
            verdict=Verdict.VERIFIED,
            score=score * math.exp(chance.gauss(0, noise)),
            **more,
        )

    around = [
        {"strong": strong, "weak": weak} for strong in (10, 13, 16, 20, 25) for weak in (10, 13, 16, 20, 25)
    ]
    tops = around if level == 100.0 else [{"strong": 16, "weak": 16}]
    searched = [measured(default, 90.0) for _ in range(5)]
    searched += [measured(each, 100.0 if each in tops else level) for each in around]
    best = max((t for t in searched if t.configuration in tops), key=lambda t: t.score).configuration
    blocks = [
        measured(one, score, purpose=TrialPurpose.CONFIRMATION, block=block)
        for block in range(1, 7)
        for one, score in ((default, 90.0), (best, 100.0))
    ]
    unconfirmed = stability(space, searched, best, noise=noise)
    return unconfirmed.kind, stability(space, searched, best, noise=noise, confirmed=blocks).kind


@pytest.mark.parametrize(
    ("level", "noise", "told", "denied"),
    [(100.0, 0.03, "", "sharp"), (100.0, 0.01, "flat", "sharp"), (90.0, 0.03, "sharp", "flat"),
     (95.0, 0.01, "sharp", "flat")],
)  # fmt: skip
def test_noise_does_not_make_a_flat_optimum_sharp(level, noise, told, denied):
    """Of 60 of each kind at most 3 are taken for the other one; and most are told where noise lets them be.

    Against the luckiest trial, all of 60 flat ones at 3 % noise were called sharp.
    """
    before, after = zip(*(judged(level, noise, seed) for seed in range(60)), strict=True)
    assert max(before.count(denied), after.count(denied)) <= 3
    if told:
        assert after.count(told) >= 40


def test_disturbed_neighbour_says_nothing():
    """It was the host, and not the configuration."""
    best = {"strong": 16, "weak": 16, "idle": 1}
    spoilt = [
        replace(t, verdict=Verdict.DISTURBED, score=None) if t.configuration != best else t
        for t in trials(lambda **_: 100.0)
    ]
    space = Space(knobs=tuple(knob(name, 256) for name in ("strong", "weak", "idle")))
    assert stability(space, spoilt, best, noise=0.0).kind == "unknown"


def test_of_many_neighbours_those_that_differ_least_are_listed():
    """All of them count; a table of thousands tells nobody anything."""
    best = {"strong": 16, "weak": 16, "idle": 1}
    space = Space(knobs=tuple(knob(name, 1024) for name in best))
    near = [{"strong": strong, "weak": weak, "idle": 1} for strong in range(12, 22) for weak in range(12, 22)]
    results = [Trial(configuration=each, verdict=Verdict.VERIFIED, score=100.0) for each in near]
    found = stability(space, results, best, noise=0.0)
    assert (found.within, found.sentence[:9], len(found.neighbours)) == (99, "99 of 99 ", MOST_LISTED)
    apart = [sum(n.configuration[name] != best[name] for name in best) for n in found.neighbours]
    assert apart == [1] * 18 + [2] * (MOST_LISTED - 18)


def test_stability_of_an_isolated_best_is_not_known():
    """Too few neighbours are no evidence."""
    alone = [Trial(configuration={"strong": 1, "weak": 1, "idle": 1}, verdict=Verdict.VERIFIED, score=1.0)]
    assert stability(SPACE, alone, alone[0].configuration, noise=0.0).kind == "unknown"


def test_analysis_of_a_run_without_a_verified_trial_says_so():
    """No importance, no stability, no findings, and why."""
    analysis = analyse(SPACE, trials(lambda **_: None), None, None)
    assert (analysis.importance, analysis.stability, analysis.findings) == (None, None, ())
    assert len(analysis.notes) == 2
    assert (analysis.noise.share, analysis.noise.measured) == (USUAL_NOISE, 0)


def test_two_analyses_at_once_find_the_same_and_warn_of_nothing():
    """The daemon answers several pages at a time; what is not thread-safe would be on its stderr."""
    alone = importance(SPACE, trials(additive))
    with warnings.catch_warnings(record=True) as caught, ThreadPoolExecutor(2) as pool:
        warnings.simplefilter("always")
        found = list(pool.map(lambda _: importance(SPACE, trials(additive)), range(4)))
    assert found == [alone] * 4
    assert [str(warning.message) for warning in caught] == []


def test_importance_of_a_large_run_is_drawn_from_its_trials():
    """Thousands of trials cost no more than `MOST_TRIALS`, and say the same of what mattered."""
    many = [result for _ in range(40) for result in trials(additive)]
    assert len(many) > MOST_TRIALS
    found, small = importance(SPACE, many), importance(SPACE, trials(additive))
    assert found.trials == MOST_TRIALS
    assert [knob.knob for knob in found.knobs] == [knob.knob for knob in small.knobs]
    assert found == importance(SPACE, many)
