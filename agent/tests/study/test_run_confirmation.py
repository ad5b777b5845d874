"""Confirmations that are spoilt, cut short or killed: what is measured again, and what is said of them."""

from live_support import start_calibrated
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.runtime import open_repository
from trimtab_agent.study.dispatcher import Dispatcher
from trimtab_db.records import RunState
from trimtab_trials.trial import TrialPurpose, Verdict

LAST_OF_SEARCH = 3


def with_verdicts(monkeypatch, judge):
    """Orders are carried out as ever; then `judge(order)` may say that something has spoilt it."""
    at_station = Dispatcher._at_station

    def spoilt(dispatcher, station, order, on_measured):
        report = at_station(dispatcher, station, order, on_measured)
        verdict = judge(order)
        return report if verdict is None else report.model_copy(update={"verdict": verdict, "reason": "test"})

    monkeypatch.setattr(Dispatcher, "_at_station", spoilt)


def confirmed_slots(runtime, run_id):
    """Block, configuration and verdict of each trial in the blocks of the confirmation."""
    trials = [t for t in runtime.repository.whole_trials(run_id) if t.purpose is TrialPurpose.CONFIRMATION]
    return [(t.block, t.configuration_hash, t.verdict) for t in trials if t.block > 0]


def test_block_that_was_spoilt_is_made_up_for(simulated, runtime, monkeypatch):
    """A further block takes its place, and only whole blocks are ranked."""
    spoilt = []

    def judge(order):
        if order.block == 1 and (not spoilt or order.job.configuration == spoilt[0]):
            spoilt.append(order.job.configuration)
            return Verdict.DISTURBED
        return None

    with_verdicts(monkeypatch, judge)
    run_id = start_calibrated(runtime, confirmation_repeats=2)
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FINISHED
    ranking = Outcome.model_validate(run.outcome).ranking
    slots = confirmed_slots(runtime, run_id)
    assert len(spoilt) == 2
    assert {block for block, _, _ in slots} == {1, 2, 3}
    assert [len(ranked.scores_mbps) for ranked in ranking] == [2, 2]


def test_run_stopped_in_its_confirmation_tells_what_its_blocks_say_so_far(simulated, runtime, listener):
    """With two blocks there is an interval, and still no confirmation; going on repeats no slot."""
    simulated.hold(trial=LAST_OF_SEARCH + 6)  # the second of the two in block 3
    run_id = start_calibrated(runtime, confirmation_repeats=3)
    listener.wait_for("progress", lambda data: data["trial"] == LAST_OF_SEARCH + 6)
    runtime.service.stop(run_id)
    runtime.service.wait()
    outcome = Outcome.model_validate(runtime.repository.run(run_id).outcome)
    assert not outcome.confirmed
    assert outcome.sentence.startswith("The run ended after 2 of the 3 blocks of its confirmation")
    assert outcome.gain is not None
    assert outcome.gain.blocks == 2
    simulated.release()
    runtime.service.resume(run_id)
    runtime.service.wait()
    assert Outcome.model_validate(runtime.repository.run(run_id).outcome).confirmed
    done = [(b, c) for b, c, verdict in confirmed_slots(runtime, run_id) if verdict == "verified"]
    assert len(done) == len(set(done)) == 3 * len(outcome.ranking)


def test_dead_run_has_the_outcome_of_what_it_had_found(simulated, runtime, listener):
    """A kill -9 loses nothing that can be told."""
    simulated.hold(trial=2)
    run_id = start_calibrated(runtime)
    listener.wait_for("progress", lambda data: data["trial"] == 2)
    runtime.service.stop(run_id)
    runtime.service.wait()
    said = runtime.repository.run(run_id).outcome
    runtime.repository.set_run_outcome(run_id, {})
    runtime.repository.set_run_state(run_id, RunState.RUNNING)  # as a kill leaves it
    with open_repository(runtime.settings) as repository:
        run = repository.run(run_id)
    assert (run.state, run.outcome) == (RunState.INTERRUPTED, said)


def test_run_stopped_after_its_conclusion_keeps_it(simulated, runtime, listener):
    """What was confirmed stays confirmed when only the exported file is still to be measured."""
    simulated.hold(trial=LAST_OF_SEARCH + 5)
    run_id = start_calibrated(runtime, confirmation_repeats=2)
    listener.wait_for("progress", lambda data: data["phase"] == "exporting" and data["trial"] is not None)
    runtime.service.stop(run_id)
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.STOPPED
    outcome = Outcome.model_validate(run.outcome)
    assert (outcome.confirmed, outcome.remeasured) == (True, None)


def test_default_that_scored_best_is_confirmed_beside_what_may_be_as_good(simulated, runtime):
    """All three configurations of the search are alike: which of them scored best was chance."""
    simulated.change(default_share=2.0, noise_within=0.0, noise_between=0.0)
    run_id = start_calibrated(runtime, confirmation_repeats=3)
    runtime.service.wait()
    outcome = Outcome.model_validate(runtime.repository.run(run_id).outcome)
    assert outcome.best == outcome.default
    assert [len(ranked.scores_mbps) for ranked in outcome.ranking] == [3, 3]
    assert "No significant gain over the default: the best other configuration" in outcome.sentence
