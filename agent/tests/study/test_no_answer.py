"""Runs that other programs have left without an answer say so first, and recommend nothing."""

import pytest
from live_support import tiny_spec
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.study.run_spec import KnobSpec
from trimtab_db.records import RunState
from trimtab_trials.trial import TrialPurpose

BUDGET = 5
# The model's default lacks connections, so the search finds something better.
KNOBS = {"max_connections": KnobSpec(low=512, high=4096)}


def finished(runtime):
    """A whole run: how it ended, and its outcome."""
    run_id = runtime.service.start(tiny_spec(KNOBS, budget_trials=BUDGET))
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FINISHED, run.error
    return run_id, Outcome.model_validate(run.outcome)


def test_confirmation_that_was_spoilt_recommends_nothing(simulated, runtime):
    """The best of the search is named, as what was not confirmed; no file is made."""
    simulated.happens("disturbed", trials=tuple(range(BUDGET + 2, 60)))  # after calibration and search
    run_id, outcome = finished(runtime)
    assert outcome.sentence.startswith("No answer: other programs disturbed ")
    assert "Stop them, or measure longer." in outcome.sentence
    assert "Not confirmed, and so not recommended: " in outcome.sentence
    assert (outcome.best, outcome.gain, outcome.confirmed) == (None, None, False)
    assert runtime.repository.exports(run_id) == ()


def test_search_that_was_spoilt_says_first_who_is_to_blame(simulated, runtime):
    """And not only that nothing was verified."""
    simulated.happens("disturbed", trials=tuple(range(2, 60)))
    run_id, outcome = finished(runtime)
    searched = [t for t in runtime.repository.whole_trials(run_id) if t.purpose is TrialPurpose.SEARCH]
    count = len(searched)
    assert outcome.sentence.startswith(f"No answer: other programs disturbed {count} of {count} trials. ")


def test_block_that_was_spoilt_leaves_an_answer(simulated, runtime):
    """As long as another could be measured in its place."""
    simulated.happens("disturbed", trials=(BUDGET + 2, BUDGET + 3))
    _, outcome = finished(runtime)
    assert outcome.confirmed
    assert outcome.best is not None
    assert "No answer" not in outcome.sentence


OTHERS = "Other programs use this machine so much that trials are measured again"


@pytest.mark.parametrize(("disturbed", "times"), [((3, 4), 0), ((3, 4, 5), 1), (tuple(range(3, 60)), 1)])
def test_third_disturbed_trial_in_a_row_tells_once_what_is_in_the_way(simulated, runtime, disturbed, times):
    """And what to do about it; two may be a moment's disturbance."""
    simulated.happens("disturbed", trials=disturbed)
    run_id, _ = finished(runtime)
    told = [e for e in runtime.repository.events(run_id) if e.message.startswith(OTHERS)]
    assert [(event.level, "come back later" in event.message) for event in told] == times * [
        ("warning", True)
    ]


SPOILT = [
    ("generator-starved", "Other programs took the load generator's CPU. "),
    ("disturbed", "Other programs disturbed the calibration: At 600 requests/s "),
]


@pytest.mark.parametrize(("what", "why"), SPOILT)
def test_spoilt_calibration_is_repeated_and_the_run_tunes_on_the_next(simulated, runtime, what, why):
    """Its rates make no ladder, and the notes say why there is another."""
    simulated.happens(what, trials=(1,))
    run_id, outcome = finished(runtime)
    trials = runtime.repository.whole_trials(run_id)
    assert [t.number for t in trials if t.purpose is TrialPurpose.CALIBRATION] == [1, 2]
    assert runtime.repository.run(run_id).ladder[0] > 600
    assert outcome.confirmed
    (repeated,) = [e for e in runtime.repository.events(run_id) if "calibration is repeated" in e.message]
    assert (repeated.level, repeated.message.startswith(why)) == ("warning", True)


@pytest.mark.parametrize("what_is_asked", ["tune", "capacity"])
@pytest.mark.parametrize(("what", "why"), SPOILT)
def test_three_spoilt_calibrations_end_the_run_without_a_ladder(simulated, runtime, what, why, what_is_asked):
    """The sentence says who is to blame, and what to do; resumed on a quiet machine the run has an answer."""
    spec = tiny_spec(KNOBS, budget_trials=BUDGET)
    if what_is_asked == "capacity":
        spec = spec.model_copy(update={"preset": "capacity"})
    simulated.happens(what)
    run_id = runtime.service.start(spec)
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert (run.state, run.ladder) == (RunState.FAILED, ())
    assert run.error.startswith(why)
    assert run.error.endswith(
        "Nothing was measured, in 3 calibrations. Stop the other programs, or come back when the machine is "
        "quiet."
    )
    assert [t.purpose for t in runtime.repository.trials(run_id)] == 3 * [TrialPurpose.CALIBRATION]
    simulated.change(incidents=[])
    runtime.service.resume(run_id)
    runtime.service.wait()
    assert runtime.repository.run(run_id).state is RunState.FINISHED


def test_generator_starved_above_a_rate_that_was_followed_leaves_a_lower_bound(simulated, runtime):
    """What was followed was measured: the calibration is not repeated."""
    simulated.happens("generator-starved", trials=(1,), rate=3)
    run_id, _ = finished(runtime)
    trials = runtime.repository.whole_trials(run_id)
    assert [t.number for t in trials if t.purpose is TrialPurpose.CALIBRATION] == [1]
