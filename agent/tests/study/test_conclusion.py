"""What a run recommends from what it has recorded, and how it says so."""

from dataclasses import replace

import pytest
from recorded_trials import DEFAULT, SPACE, climbed, concluded, confirmation, history_of, recorded_run, trial
from trimtab_agent.results.front import finalists_of_front, run_front
from trimtab_agent.results.rows import legend, table_rows
from trimtab_agent.study.conclusion import unfinished_outcome
from trimtab_trials.configuration import configuration_hash
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import TrialPurpose, Verdict
from trimtab_tuner.targets.in_force import noted


def test_of_two_that_cannot_be_told_apart_the_one_that_used_less_cpu_time_is_recommended():
    """By what was measured in the blocks at the highest rate that both followed."""
    one, other = {**DEFAULT, "workers": 2}, {**DEFAULT, "workers": 4}
    used = {configuration_hash(DEFAULT): 40.0, configuration_hash(one): 60.0, configuration_hash(other): 50.0}
    trials = [
        replace(
            trial(10 * block + place, TrialPurpose.CONFIRMATION, configuration, score, block=block),
            measurements=(
                Measurement(
                    rate_rps=1000.0,
                    goodput_mbps=1.0,
                    reply_rate_rps=1000.0,
                    duration_s=1.0,
                    counters={
                        "server_processes": {
                            "cpu_s": (used[configuration_hash(configuration)] + block % 2) / 100
                        }
                    },
                ),
            ),
        )
        for block, scores in enumerate(((100, 120, 121), (101, 122, 121), (99, 119, 119), (100, 121, 120)), 1)
        for place, (configuration, score) in enumerate(zip((DEFAULT, one, other), scores, strict=True))
    ]
    outcome = concluded((DEFAULT, one, other), trials)
    assert outcome.best == other
    least = "used the least CPU time: 505 ms for 1,000 requests at 1,000 requests/s, the next 605 ms."
    assert least in outcome.sentence


def test_clear_winner_is_recommended_with_its_gain():
    """Ranked first, alone in its group."""
    other = {**DEFAULT, "workers": 4}
    trials = confirmation([(100, 120), (101, 122), (99, 119), (100, 121)], other)
    outcome = concluded((DEFAULT, other), trials)
    assert outcome.confirmed
    assert outcome.best == other
    assert outcome.gain is not None
    assert outcome.gain.gain == pytest.approx(0.205, abs=0.01)
    assert [(r.rank, r.is_default) for r in outcome.ranking] == [(1, False), (2, True)]
    assert outcome.ranking[0].scores_mbps == (120, 122, 119, 121)
    assert outcome.verdicts == {"verified": 8}


def test_outcome_is_told_in_peoples_terms():
    """Twice the load; the latency where both still follow."""
    other = {**DEFAULT, "workers": 4}
    blocks = confirmation([(100, 120), (101, 122), (99, 119), (100, 121)], other)
    trials = [
        replace(each, measurements=climbed(1500.0 if each.configuration == DEFAULT else 3500.0))
        for each in blocks
    ]
    outcome = concluded((DEFAULT, other), trials)
    assert outcome.sentence.startswith(
        "workers=4 follows 3,684 requests/s (3,684 to 3,924), the default 1,579 requests/s (1,579 to 1,899)"
    )
    assert "+133 %" in outcome.sentence
    assert "At 1,000 requests/s: p99 1.00 ms (the default 1.00 ms)" in outcome.sentence
    own = outcome.ranking[0].performance
    assert (own.capacity_rps.mean, own.load_rps, own.at_least) == (pytest.approx(3500 / 0.95), 1000.0, False)


def test_default_that_is_never_verified_has_a_capacity_all_the_same():
    """What can be stated is stated: the gain in capacity, where there is none in score."""
    other = {**DEFAULT, "workers": 4}
    trials = [
        replace(
            each,
            measurements=climbed(1500.0 if each.configuration == DEFAULT else 3500.0),
            **(
                {"verdict": Verdict.FAILED_VERIFICATION, "score": None}
                if each.configuration == DEFAULT
                else {}
            ),
        )
        for each in confirmation([(100, 120), (101, 122), (99, 119), (100, 121)], other)
    ]
    outcome = concluded((DEFAULT, other), trials)
    assert outcome.best == other
    assert "+133 %" in outcome.sentence


def test_no_significant_gain_keeps_the_default():
    """An honest outcome: both share a rank."""
    other = {**DEFAULT, "workers": 4}
    outcome = concluded((DEFAULT, other), confirmation([(100, 90), (90, 100), (95, 96), (96, 94)], other))
    assert outcome.best == DEFAULT
    assert {r.rank for r in outcome.ranking} == {1}
    assert "No significant gain" in outcome.sentence


def test_nothing_verified_says_which_rule_failed_and_what_to_lower():
    """The most frequent verdict, an example, and advice."""
    reason = "At 8000 requests/s, 4.2 % of the requests for files of 921600 B timed out."
    trials = [
        trial(1, TrialPurpose.SEARCH, DEFAULT, None, "failed-verification", reason=reason),
        trial(2, TrialPurpose.SEARCH, {**DEFAULT, "workers": 2}, None, "crashed", reason="x"),
        trial(3, TrialPurpose.SEARCH, {**DEFAULT, "workers": 4}, None, "failed-verification", reason=reason),
    ]
    outcome = concluded((), trials)
    assert outcome.best is None
    assert "2 of 3 trials: failed-verification, for instance trial 1" in outcome.sentence
    assert "921600 B" in outcome.sentence
    assert "--knob max_connections" in outcome.sentence


def test_blocks_that_were_spoilt_do_not_count_against_a_configuration():
    """Otherwise a noisy host would make the winner look as if it had failed."""
    other = {**DEFAULT, "workers": 4}
    scores = [(100, 120), (101, 122), (99, 119), (100, 121), (100, 120)]
    trials = confirmation(scores, other)
    for slot in (3, 5):  # blocks 2 and 3 of the other
        trials[slot] = replace(trials[slot], score=None, verdict=Verdict.DISTURBED)
    trials += [replace(trials[slot], number=20 + slot) for slot in (3, 5)]  # the second try of each
    outcome = concluded((DEFAULT, other), trials, repeats=3)
    assert outcome.best == other
    assert outcome.ranking[0].scores_mbps == (120, 121, 120)
    assert outcome.gain.blocks == 3
    assert "spoilt" not in outcome.sentence


def test_confirmation_that_was_spoilt_too_often_says_how_much_of_it_there_is():
    """One block of three tells no gain, and the sentence says why there is only one."""
    other = {**DEFAULT, "workers": 4}
    trials = confirmation([(100, 120)] * 6, other)
    for slot in (3, 5, 7, 9, 11):
        trials[slot] = replace(trials[slot], score=None, verdict=Verdict.DISTURBED)
    trials += [replace(trials[slot], number=20 + slot) for slot in (3, 5, 7, 9, 11)]
    outcome = concluded((DEFAULT, other), trials, repeats=3)
    assert (outcome.best, outcome.gain, outcome.confirmed) == (None, None, False)
    assert outcome.sentence.startswith("No answer: other programs disturbed 10 of 17 trials.")
    assert "Of its confirmation 1 of the 3 blocks wanted could be measured." in outcome.sentence


def test_unfinished_run_tells_its_best_and_how_much_there_is_to_it():
    """Best so far, beside the default and the noise; not confirmed."""
    best = trial(2, TrialPurpose.SEARCH, {**DEFAULT, "workers": 4}, 120.0)
    trials = [trial(1, TrialPurpose.SEARCH, DEFAULT, 100.0), best]
    trials += [trial(n, TrialPurpose.SEARCH, DEFAULT, score) for n, score in ((3, 102.0), (4, 98.0))]
    outcome = unfinished_outcome(recorded_run(), best, history_of(trials))
    assert (outcome.best, outcome.confirmed, outcome.gain) == (best.configuration, False, None)
    assert outcome.sentence == (
        "Best so far is workers=4 with 120 Mbps; the default has 100 Mbps. That is not confirmed: single "
        "trials are taken to differ by 2.5 % (standard deviation, from an assumed 3 % and 3 measurements of "
        "the default that differ by 2.0 %), and the best of several is also the luckiest."
    )


def test_unfinished_run_in_which_the_default_leads_says_that_nothing_was_shown_to_be_better():
    """The strategy may prefer what is cheaper; sentence and table have the same figure of the default."""
    cheaper = trial(2, TrialPurpose.SEARCH, {**DEFAULT, "workers": 4}, 8.82)
    trials = [
        trial(1, TrialPurpose.SEARCH, DEFAULT, 8.14),
        cheaper,
        trial(3, TrialPurpose.SEARCH, DEFAULT, 9.64),
    ]
    outcome = unfinished_outcome(recorded_run(), cheaper, history_of(trials))
    assert outcome.best == DEFAULT
    assert outcome.sentence.startswith(
        "So far nothing has been shown to be better than the default, which has 8.89 Mbps. That is not "
    )
    first, second = table_rows(SPACE, outcome, trials)
    assert (first.is_default, first.is_best, first.score_mbps) == (True, True, pytest.approx(8.89))
    assert (second.is_best, second.score_mbps) == (False, 8.82)


def test_nothing_has_the_star_of_what_is_recommended_before_a_confirmation():
    """It leads; and where there is no outcome yet, there is no star to explain."""
    best = trial(2, TrialPurpose.SEARCH, {**DEFAULT, "workers": 4}, 120.0)
    trials = [trial(1, TrialPurpose.SEARCH, DEFAULT, 100.0), best]
    assert legend(unfinished_outcome(recorded_run(), best, history_of(trials))).startswith(
        "*: leads so far, not confirmed; rank: "
    )
    confirmed = concluded((DEFAULT, best.configuration), confirmation([(100, 120)] * 4, best.configuration))
    assert legend(confirmed).startswith("*: recommended; rank: ")
    assert legend(None).startswith("rank: ")


def test_unfinished_run_without_a_verified_trial_says_why():
    """Before the search nothing has been measured; in it, the most frequent verdict is named."""
    outcome = unfinished_outcome(recorded_run(), None, history_of([]))
    assert outcome.sentence == "The run ended before any configuration had been measured."
    cut_short = trial(1, TrialPurpose.SEARCH, DEFAULT, None, "aborted", reason="Stopped.")
    assert outcome.sentence == unfinished_outcome(recorded_run(), None, history_of([cut_short])).sentence
    failed = trial(1, TrialPurpose.SEARCH, DEFAULT, None, "failed-verification", reason="All timed out.")
    outcome = unfinished_outcome(recorded_run(), None, history_of([failed]))
    assert outcome.best is None
    assert "Nothing has been verified so far. 1 of 1 trial: failed-verification" in outcome.sentence
    assert "--knob max_connections" in outcome.sentence


def test_front_is_of_what_never_failed_by_the_confirmation_where_there_was_one():
    """Its ends and knee are confirmed; what fails once is left out, repeats on request count for nothing."""

    def searched(number, workers, score, resident_mb, **fields):
        made = trial(number, TrialPurpose.SEARCH, {**DEFAULT, "workers": workers}, score, **fields)
        return replace(made, second_score=resident_mb)

    run = recorded_run("rss")
    search = [
        searched(1, 1, 80.0, 10.0),
        searched(2, 2, 98.0, 12.0),
        searched(3, 3, 90.0, 30.0),  # beaten by the second
        searched(4, 8, 100.0, 40.0),
        searched(5, 16, 120.0, 50.0),
        searched(6, 16, None, None, verdict="failed-verification"),
        searched(7, 32, 130.0, None),
    ]
    assert [c["workers"] for c in finalists_of_front(run, search)] == [8, 2, 1]
    assert finalists_of_front(recorded_run(), search) == ()
    again = [
        replace(searched(8, 2, 96.0, 13.0), purpose=TrialPurpose.CONFIRMATION, block=1),
        replace(searched(9, 2, 94.0, 15.0), purpose=TrialPurpose.CONFIRMATION, block=2),
        replace(searched(10, 2, 999.0, 1.0), purpose=TrialPurpose.CONFIRMATION, block=0),
    ]
    found = run_front(run, search[1].configuration, [*search, *again])
    assert [(m.configuration["workers"], m.score_mbps, m.second_score) for m in found.members] == [
        (8, 100.0, 40.0),
        (2, 95.0, 14.0),
        (1, 80.0, 10.0),
    ]
    assert [(m.place, m.confirmed, m.is_best, m.is_default) for m in found.members] == [
        ("best-first", False, False, False),
        ("knee", True, True, False),
        ("best-second", False, False, True),
    ]
    assert "it is the knee" in found.sentence_on(configuration_hash(search[1].configuration))
    assert "least rss" in found.sentence_on(configuration_hash(search[0].configuration))
    assert "beside the front" in found.sentence_on(configuration_hash(search[2].configuration))
    assert run_front(recorded_run(), None, search) is None


@pytest.mark.parametrize(
    ("winner_scores", "said"), [((108, 120, 104, 116), True), ((140, 141, 139, 140), False)]
)
def test_better_rank_than_the_recommended_one_is_explained(winner_scores, said):
    """Tukey's test knows the noise by all three, and sees another rank before its own pairs show a gain."""
    other, third = {**DEFAULT, "workers": 4}, {**DEFAULT, "workers": 2}
    trials = confirmation([(100, score) for score in winner_scores], other)
    trials += [
        trial(20 + block, TrialPurpose.CONFIRMATION, third, score, block=block)
        for block, score in enumerate((80, 81, 80, 79), start=1)
    ]
    outcome = concluded((DEFAULT, other, third), trials)
    ranks = {
        row.trial.configuration["workers"]: row.ranked.rank for row in table_rows(SPACE, outcome, trials)
    }
    assert ranks == {4: 1, DEFAULT["workers"]: 2, 2: 3}
    assert (outcome.best == DEFAULT) is said
    assert ("a better rank alone is not enough" in outcome.remark_on_ranks) is said


def test_what_was_in_force_instead_of_what_the_file_asks_is_one_line_of_the_outcome():
    """Once, of the default and what is recommended; nothing where all was as it says."""
    other = {**DEFAULT, "workers": 4}
    trials = confirmation([(100, 130), (101, 131), (99, 129), (100, 130)], other)
    assert "In force" not in concluded((DEFAULT, other), trials).sentence
    note = "4,096 open files in place of worker_rlimit_nofile 65000: the system allows no more"
    noted_trials = [replace(one, server_config=noted("events {}\n", [note])) for one in trials]
    sentence = concluded((DEFAULT, other), noted_trials).sentence
    assert sentence.endswith(f" In force was not what the file asks for: {note}.")
    assert sentence.count("In force") == 1
