"""Parts of a run that need no server: progress, conclusion, quiet, the evidence of exports."""

import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from trimtab_agent.broadcast import Broadcaster
from trimtab_agent.counters.cpu import CpuReading
from trimtab_agent.errors import HostError
from trimtab_agent.results.exporting import tail_gain
from trimtab_agent.results.front import finalists_of_front, run_front
from trimtab_agent.results.rows import table_rows
from trimtab_agent.station.disturbance import busy_percent
from trimtab_agent.station.server.checking import check_file
from trimtab_agent.study.calibration import calibration_sentence, new_calibration, recorded_calibration
from trimtab_agent.study.conclusion import confirmed_outcome, unfinished_outcome
from trimtab_agent.study.history import History
from trimtab_agent.study.progress import RunProgress
from trimtab_agent.study.remeasuring import judged, not_driven, require_accepted, with_remeasured
from trimtab_agent.study.specification import RunSpec, check
from trimtab_db.records import RunPhase, RunState
from trimtab_trials.configuration import configuration_hash
from trimtab_trials.measurement import Latency, Measurement
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.certainty.blocks import Blocks
from trimtab_tuner.clients import Clients
from trimtab_tuner.exports import Check

PLAN = check(RunSpec())
SPACE = PLAN.space
DEFAULT = SPACE.default()
NOW = datetime(2026, 11, 21, tzinfo=UTC)


def trial(number, purpose, configuration, score, verdict="verified", block=0, reason=""):
    """A recorded trial."""
    return Trial(
        run_id=1,
        number=number,
        purpose=purpose,
        block=block,
        configuration=configuration,
        verdict=Verdict(verdict),
        reason=reason,
        score=score,
        server_config="",
        started_at=NOW,
        finished_at=NOW,
    )


def measured(rate_rps, replies_rps, cpu_share=0.5):
    """What a calibration and a remark look at in a measurement."""
    return Measurement(
        rate_rps=rate_rps, goodput_mbps=1.0, reply_rate_rps=replies_rps, health={"cpu_share": cpu_share}
    )


def recorded_run(second_objective=None, **settings):
    """A run, as far as a conclusion looks at it."""
    return SimpleNamespace(
        space=SPACE.model_dump(mode="json"),
        settings={**PLAN.settings.model_dump(mode="json"), **settings},
        objective="condensed-area",
        second_objective=second_objective,
        workload_parameters={},
    )


def history_of(trials, ladder=(1000.0, 2000.0, 3000.0, 4000.0)):
    """The history of a run with these trials."""
    recorded = SimpleNamespace(
        run=lambda _: SimpleNamespace(ladder=ladder, space=SPACE.model_dump(mode="json")),
        trials_with_curves=lambda _: trials,
        proposals_of=lambda _: [],
        whole_trials=lambda _, *, after=0, limit=None, numbers=None, size_classes: [
            t for t in trials if t.number > after and (numbers is None or t.number in numbers)
        ][:limit],
        trial=lambda _, number: next(t for t in trials if t.number == number),
    )
    return History(recorded, 1)


def confirmation(scores, other):
    """Four blocks of default and other."""
    trials = []
    for block, (a, b) in enumerate(scores, start=1):
        trials.append(trial(2 * block, TrialPurpose.CONFIRMATION, DEFAULT, a, block=block))
        trials.append(trial(2 * block + 1, TrialPurpose.CONFIRMATION, other, b, block=block))
    return trials


def concluded(finalists, trials, repeats=4):
    """The outcome of a confirmation of so many blocks."""
    blocks = Blocks(finalists, repeats, 1, trials)
    return confirmed_outcome(recorded_run(), finalists, history_of(trials), blocks, None)


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
        "workers=4 follows 3,000 requests/s (3,000 to 4,000), the default 1,000"
    )
    assert "+200 %" in outcome.sentence
    assert "At 1,000 requests/s: p99 1.00 ms (the default 1.00 ms)" in outcome.sentence
    own = outcome.ranking[0].performance
    assert (own.capacity_rps.mean, own.load_rps, own.at_least) == (3000.0, 1000.0, False)


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
    assert "+200 %" in outcome.sentence


def climbed(capacity_rps):
    """What a server of that capacity measures up a ladder."""
    return tuple(
        replace(measured(rate, min(rate, capacity_rps)), reply_latency=Latency(p99_us=1000.0))
        for rate in (1000.0, 2000.0, 3000.0, 4000.0)
    )


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
        "trials differ by 2.5 % (standard deviation, by 3 of the default), and the best of several is also "
        "the luckiest."
    )


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


@pytest.mark.parametrize(("cpu_share", "limited"), [(0.97, True), (0.93, False)])
def test_full_generator_is_not_taken_for_a_saturated_server(cpu_share, limited):
    """It offered 85,899 requests/s at 99 % of a CPU, was not late, and half of them were answered."""
    calibrated = trial(1, TrialPurpose.CALIBRATION, DEFAULT, None)
    both = (measured(2_000.0, 2_000.0), measured(3_200.0, 1_500.0, cpu_share=cpu_share))
    calibration = recorded_calibration(PLAN.settings, history_of([replace(calibrated, measurements=both)]))
    assert calibration.generator_limited is limited
    assert (calibration.next_rate() is None) is limited


def test_calibration_that_met_no_rate_too_high_does_not_speak_of_saturation():
    """A server that follows everything has not been seen at its limit."""
    calibration = new_calibration(PLAN.settings)
    while (rate_rps := calibration.next_rate()) is not None:
        calibration.tell(measured(rate_rps, rate_rps))
    told = calibration_sentence(calibration, (12_000.0, 36_000.0), Clients())
    assert told.startswith("The default configuration kept up with every rate of the calibration")
    assert "saturates" not in told


def test_large_rates_are_told_with_separators():
    """As everywhere else: 36,231 and not 36231."""
    calibrated = trial(1, TrialPurpose.CALIBRATION, DEFAULT, None)
    both = (measured(20_000.0, 20_000.0), measured(40_000.0, 36_231.0))
    calibration = recorded_calibration(PLAN.settings, history_of([replace(calibrated, measurements=both)]))
    told = calibration_sentence(calibration, (12_000.0, 36_000.0), Clients())
    assert f"{calibration.saturation_rps:,.0f} requests/s" in told
    assert "12,000, 36,000 requests/s" in told


def test_progress_counts_down_and_never_back():
    """ETA follows the trials left; the fraction only grows; the end is 1."""
    progress = RunProgress(Broadcaster(), 1, PLAN.estimate(), [])
    fractions, etas = [], []

    def note():
        fractions.append(progress.data["fraction"])
        etas.append(progress.data["eta_s"])

    for phase in (RunPhase.PREPARING, RunPhase.CALIBRATING, RunPhase.SEARCHING):
        progress.enter_phase(phase)
        note()
    progress.expect(RunPhase.SEARCHING, 10)
    progress.trial_started(2, DEFAULT, 4)
    progress.rate_started(2, 100.0)
    progress.rate_started(2, 200.0)
    progress.rate_started(1, 900.0)  # of another station, which began earlier
    assert (progress.data["rate_index"], progress.data["rates"]) == (1, 4)
    progress.expect(RunPhase.SEARCHING, 20)
    note()
    progress.trial_finished(trial(2, TrialPurpose.SEARCH, DEFAULT, 80.0))
    note()
    progress.enter_phase(RunPhase.CONFIRMING)
    progress.enter_phase(RunPhase.DONE)
    progress.end(RunState.FINISHED)
    note()
    assert fractions == sorted(fractions)
    assert (fractions[-1], etas[-1]) == (1.0, 0.0)
    assert etas[0] > etas[1] > etas[2]


def test_remaining_time_goes_by_what_such_trials_have_taken():
    """Most of the search is stopped up the ladder, and nothing of the confirmation; also after a resume."""

    def taken(number, duration_s, verdict, purpose=TrialPurpose.SEARCH):
        score = 80.0 if verdict == "verified" else None
        made = trial(number, purpose, DEFAULT, score, verdict=verdict)
        return replace(made, finished_at=NOW + timedelta(seconds=duration_s))

    recorded = [
        taken(1, 99.0, "verified", TrialPurpose.CALIBRATION),
        taken(2, 40.0, "verified"),
        taken(3, 10.0, "stopped-early"),
        taken(4, 1.0, "aborted"),
        taken(5, 30.0, "failed-verification", TrialPurpose.CONFIRMATION),
        taken(6, 50.0, "verified", TrialPurpose.CONFIRMATION),
    ]
    progress = RunProgress(Broadcaster(), 1, PLAN.estimate(), recorded)
    progress.enter_phase(RunPhase.CALIBRATING)
    progress.trial_started(5, DEFAULT, 0)  # a calibration is no trial of the ladder
    progress.enter_phase(RunPhase.SEARCHING)
    progress.expect(RunPhase.ELIMINATING, 0)
    progress.expect(RunPhase.CONFIRMING, 4)
    progress.expect(RunPhase.EXPORTING, 1)
    progress.expect(RunPhase.SEARCHING, 6)
    assert progress.data["eta_s"] == 6 * 25.0 + 5 * 40.0
    progress.trial_started(5, DEFAULT, 4)
    progress.trial_finished(taken(5, 10.0, "stopped-early"))
    assert progress.data["eta_s"] == 5 * 20.0 + 5 * 40.0
    assert progress.data["elapsed_s"] >= 150.0
    unmeasured = RunProgress(Broadcaster(), 1, PLAN.estimate(), recorded[:1])
    assert unmeasured.data["eta_s"] == pytest.approx(PLAN.estimate().duration_s, abs=1.5)


def test_busy_share_is_that_of_the_cpus_asked_for():
    """Other CPUs do not matter."""
    before = CpuReading({0: (0,) * 8, 1: (0,) * 8}, {})
    after = CpuReading({0: (3, 0, 1, 6, 0, 0, 0, 0), 1: (0, 0, 0, 10, 0, 0, 0, 0)}, {})
    assert busy_percent(before, after, (0,)) == 40.0
    assert busy_percent(before, after, (0, 1)) == 20.0
    assert busy_percent(before, before, (0,)) == 0.0


def with_tail(measured, p99_us):
    """The trial with one measurement at 100 requests/s, as far as tails look at it."""
    latency = Latency(p99_us=p99_us)
    rate = Measurement(rate_rps=100.0, goodput_mbps=1.0, reply_rate_rps=100.0, reply_latency=latency)
    return replace(measured, measurements=(rate,))


def test_tail_is_compared_over_the_trials_of_the_gain_alone():
    """Not over repeats that somebody asked for, nor over what was disturbed."""
    other = {**DEFAULT, "workers": 4}
    trials = [
        with_tail(t, 2000.0 if t.configuration == DEFAULT else 1000.0)
        for t in confirmation([(80, 100), (81, 101), (80, 99), (79, 100)], other)
    ]
    expected = tail_gain(DEFAULT, other, trials, 100.0)
    assert (expected.gain, expected.blocks) == (pytest.approx(-0.5), 4)
    again = [
        trial(20, TrialPurpose.CONFIRMATION, DEFAULT, 80.0),
        trial(21, TrialPurpose.CONFIRMATION, other, 100.0),
        trial(22, TrialPurpose.CONFIRMATION, other, None, verdict="disturbed", block=2),
    ]
    assert tail_gain(DEFAULT, other, [*trials, *(with_tail(t, 9e6) for t in again)], 100.0) == expected


@pytest.mark.parametrize(
    ("score", "verdict", "agrees", "said"),
    [
        (99.0, "verified", True, "(trial 10), within the confirmed interval of 97.1 Mbps to 103 Mbps"),
        (80.0, "verified", False, "80.0 Mbps (trial 10), outside the confirmed interval"),
        (None, "crashed", False, "crashed in trial 10: it fell. So it is not called the best."),
        (None, "disturbed", None, "disturbed (trial 10), which says nothing about the file."),
        (None, "generator-limited", None, "generator-limited (trial 10), which says nothing"),
    ],
)
def test_exported_file_is_called_the_best_only_if_its_own_trial_agrees(score, verdict, agrees, said):
    """Where one more trial of the confirmed configuration is expected; the outcome says it if it does not."""
    other = {**DEFAULT, "workers": 4}
    trials = confirmation([(80, 100), (81, 101), (80, 99), (79, 100)], other)
    outcome = concluded((DEFAULT, other), trials)
    file = SimpleNamespace(text="workers = 4")
    driven = trial(10, TrialPurpose.CONFIRMATION, other, score, verdict=verdict, reason="it fell.")
    again = judged(outcome, other, file, driven)
    assert again.agrees is agrees
    assert said in again.sentence
    assert (again.sentence in with_remeasured(outcome, again).sentence) is (agrees is False)


def test_exported_file_within_a_percent_agrees_however_close_the_blocks_lie():
    """A machine that repeats itself to a hundredth of a percent does not make 0.5 % a difference."""
    other = {**DEFAULT, "workers": 4}
    trials = confirmation([(80, 100.0), (81, 100.01), (80, 99.99), (79, 100.0)], other)
    driven = trial(10, TrialPurpose.CONFIRMATION, other, 99.5)
    again = judged(concluded((DEFAULT, other), trials), other, SimpleNamespace(text=""), driven)
    assert (again.agrees, "within 1 % of the confirmed 100 Mbps" in again.sentence) == (True, True)


@pytest.mark.parametrize(
    ("score", "agrees", "said"),
    [(81.0, True, "The two agree: the machine has changed"), (99.0, False, "The two differ")],
)
def test_configuration_right_after_the_file_tells_a_changed_machine(score, agrees, said):
    """A file that made 80 where 100 was confirmed is as good as the configuration that makes 81 by now."""
    other = {**DEFAULT, "workers": 4}
    outcome = concluded((DEFAULT, other), confirmation([(80, 100), (81, 101), (80, 99), (79, 100)], other))
    driven = trial(10, TrialPurpose.CONFIRMATION, other, 80.0)
    beside = trial(11, TrialPurpose.CONFIRMATION, other, score)
    again = judged(outcome, other, SimpleNamespace(text=""), driven, beside)
    assert (again.agrees, again.score_mbps) == (agrees, 80.0)
    assert said in again.sentence


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


def test_two_confirmed_trials_that_differ_make_no_interval_to_compare_with():
    """It would reach from next to nothing to more than any server sends."""
    other = {**DEFAULT, "workers": 4}
    outcome = concluded((DEFAULT, other), confirmation([(80, 10), (81, 1_000)], other), repeats=2)
    again = judged(
        outcome, other, SimpleNamespace(text=""), trial(10, TrialPurpose.CONFIRMATION, other, 99.0)
    )
    assert (again.agrees, again.low_mbps, again.high_mbps) == (None, None, None)
    assert "99.0 Mbps (trial 10); too few confirmed trials for an interval" in again.sentence


def test_single_confirmed_trial_has_no_interval_to_compare_with():
    """Nor has a configuration that was never confirmed."""
    other = {**DEFAULT, "workers": 4}
    driven = trial(10, TrialPurpose.CONFIRMATION, other, 99.0)
    for scores in ([(80, 100)], []):
        outcome = concluded((DEFAULT, other), confirmation(scores, other))
        assert judged(outcome, other, SimpleNamespace(text=""), driven).agrees is None


def test_file_that_its_server_refuses_is_not_driven():
    """And is not called the best."""
    refused = SimpleNamespace(text="x", check_ok=False, check_output="unknown key x")
    with pytest.raises(HostError, match="unknown key x"):
        require_accepted(refused)
    assert not_driven(refused, "because").agrees is False


def test_disturbed_default_does_not_end_the_reference():
    """What its repeat says counts; only a default that could not be measured has no reference."""

    def searched(*verdicts):
        trials = []
        for number, verdict in enumerate(verdicts, start=1):
            score = 80.0 if verdict == "verified" else None
            asked = trial(number, TrialPurpose.SEARCH, DEFAULT, score, verdict=verdict)
            trials.append(replace(asked, proposal_number=number))
        return history_of(trials)

    for verdicts in ((), ("verified",), ("disturbed",), ("disturbed", "verified"), ("failed-verification",)):
        assert searched(*verdicts).references_left(20) > 0
    for verdicts in (("crashed",), ("disturbed", "rejected")):
        assert searched(*verdicts).references_left(20) == 0


def test_history_keeps_of_a_trial_what_became_of_it(monkeypatch):
    """A run of thousands of trials would fill the memory with what nobody asks for."""
    recorded = []
    history = history_of([])
    monkeypatch.setattr(history._repository, "record_trial", recorded.append, raising=False)
    curve = Measurement(rate_rps=1000.0, goodput_mbps=90.0, reply_rate_rps=1000.0)
    measured = replace(curve, counters={"cpu": {}}, server_stats={"replies": 1}, bytes_received=1)
    whole = replace(trial(1, TrialPurpose.SEARCH, DEFAULT, 90.0), measurements=(measured,), server_config="x")
    history.record(whole)
    assert recorded == [whole]
    assert [(kept.measurements, kept.server_config) for kept in history.trials] == [((), "")]
    assert history._measured == {1: (curve,)}
    assert history.leader().highest_mbps[1000.0] == 90.0


def test_check_of_an_export_makes_nothing_outside_its_directory(tmp_path):
    """So a kill in the middle leaves nothing elsewhere, and the next check takes away what it left there."""
    file, left = tmp_path / "exports" / "server.conf", tmp_path / "exports" / ".check-server.conf"
    file.parent.mkdir()
    file.write_text("of production")
    left.write_text("of a check that was killed")
    look = f"ls -A {tempfile.gettempdir()}; cat"
    own = Check("sh", lambda checked, sh: (str(sh), "-c", f"{look} {checked}"), text="private instance")
    before = [path.name for path in Path(tempfile.gettempdir()).iterdir()]
    _, ok, output = check_file(own, file, Path("trimtab-httpd"))
    assert ok
    assert set(output.splitlines()) == {*before, "private instance"}
    assert [path.name for path in file.parent.iterdir()] == [file.name]
