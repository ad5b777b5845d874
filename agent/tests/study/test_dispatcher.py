"""Several jobs in flight: a search at two stations at once, and a confirmation at one."""

from itertools import pairwise

import pytest
from live_support import start_calibrated
from trimtab_agent.study import runs
from trimtab_db.records import RunState
from trimtab_trials.trial import TrialPurpose, Verdict


@pytest.fixture
def two_stations(simulated, runtime, monkeypatch):
    """Runs get a second station; here it is the same simulated machine once more."""
    study = runs.Study

    def with_another(*, stations, run_id, **parts):
        another = runtime.service._stations._make_own(run_id, None)
        return study(stations=[*stations, another], run_id=run_id, **parts)

    monkeypatch.setattr(runs, "Study", with_another)


def overlaps(trials):
    """How many trials had not ended when the next one began."""
    begun = sorted(trials, key=lambda trial: trial.started_at)
    return sum(later.started_at < earlier.finished_at for earlier, later in pairwise(begun))


def test_search_keeps_two_stations_busy_and_its_confirmation_one(simulated, runtime, two_stations, listener):
    """Nothing is proposed twice, the budget holds, and blocks compare what one station measured."""
    simulated.hold(trial=1)
    run_id = start_calibrated(runtime, budget_trials=6)
    listener.wait_for("trial", lambda data: data["number"] == 2)
    simulated.release()
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FINISHED, run.error
    trials = runtime.repository.trials(run_id)
    assert [trial.number for trial in trials] == list(range(1, len(trials) + 1))
    searched = [t for t in trials if t.purpose is TrialPurpose.SEARCH]
    assert [trial.verdict for trial in searched] == [Verdict.VERIFIED] * 6
    assert len({t.proposal_number for t in searched}) == 6
    confirmed = [t for t in trials if t.purpose is TrialPurpose.CONFIRMATION]
    assert overlaps(confirmed) == 0
    assert {t.host_id for t in trials} == {runtime.host_id}


def test_stop_cuts_short_whatever_is_in_flight_and_a_resume_goes_on(
    simulated, runtime, two_stations, listener
):
    """Both trials are kept as aborted; their proposals are tried again."""
    simulated.hold(rate=2)
    run_id = start_calibrated(runtime, budget_trials=5)
    told = {listener.wait_for("measurement").data["trial"] for _ in range(2)}
    assert told == {1, 2}
    runtime.service.stop(run_id)
    runtime.service.wait()
    assert runtime.repository.run(run_id).state is RunState.STOPPED
    aborted = [t for t in runtime.repository.trials(run_id) if t.verdict is Verdict.ABORTED]
    assert len(aborted) == 2
    simulated.release()
    runtime.service.resume(run_id)
    runtime.service.wait()
    assert runtime.repository.run(run_id).state is RunState.FINISHED
    trials = runtime.repository.trials(run_id)
    tried = {p.number for p in runtime.repository.proposals_of(run_id) if p.trial_number is not None}
    assert tried == {t.proposal_number for t in trials if t.proposal_number is not None}
    done = {t.configuration_hash for t in trials if t.verdict is not Verdict.ABORTED}
    assert {t.configuration_hash for t in aborted} <= done


def test_pause_waits_for_all_that_is_in_flight(simulated, runtime, two_stations, listener):
    """Nothing is started meanwhile, and nothing is cut short."""
    simulated.hold(rate=2)
    run_id = start_calibrated(runtime, budget_trials=5)
    for _ in range(2):
        listener.wait_for("measurement")
    runtime.service.pause(run_id)
    assert runtime.repository.trials(run_id) == ()
    simulated.release()
    listener.wait_for("progress", lambda data: data["pause"] == "yes")
    before = runtime.repository.trials(run_id)
    assert [t.verdict for t in before] == [Verdict.VERIFIED] * 2
    assert runtime.service.resume(run_id) == run_id
    runtime.service.wait()
    assert runtime.repository.run(run_id).state is RunState.FINISHED
    assert runtime.repository.trials(run_id)[: len(before)] == before
