"""Runs that other programs have left without an answer say so first, and recommend nothing."""

from live_support import tiny_spec
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.study.specification import KnobSpec
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
