"""Several jobs in flight: a search at two stations at once, and a confirmation at one."""

from itertools import pairwise

import pytest
from live_support import start_calibrated
from trimtab_agent.fleet.trial_stations import OwnStation
from trimtab_agent.study import runs
from trimtab_db.records import RunState
from trimtab_trials.trial import TrialPurpose, Verdict

pytestmark = pytest.mark.live


@pytest.fixture
def two_stations(runtime, monkeypatch):
    """Runs get a second station; here it is the same machine once more."""
    study = runs.Study

    def with_another(*, stations, run_id, **parts):
        another = OwnStation(runtime.service._stations._make_own(run_id))
        return study(stations=[*stations, another], run_id=run_id, **parts)

    monkeypatch.setattr(runs, "Study", with_another)


def overlaps(trials):
    """How many trials had not ended when the next one began."""
    begun = sorted(trials, key=lambda trial: trial.started_at)
    return sum(later.started_at < earlier.finished_at for earlier, later in pairwise(begun))


def test_search_keeps_two_stations_busy_and_its_confirmation_one(runtime, two_stations):
    """Nothing is proposed twice, the budget holds, and blocks compare what one station measured."""
    run_id = start_calibrated(runtime, budget_trials=6)
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FINISHED, run.error
    trials = runtime.repository.trials(run_id)
    assert [trial.number for trial in trials] == list(range(1, len(trials) + 1))
    searched = [t for t in trials if t.purpose is TrialPurpose.SEARCH]
    assert overlaps(searched) > 0
    asked = [t.proposal_number for t in searched if t.verdict is not Verdict.DISTURBED]
    assert len(asked) == len(set(asked)) == 6
    confirmed = [t for t in trials if t.purpose is TrialPurpose.CONFIRMATION]
    assert overlaps(confirmed) == 0
    assert {t.host_id for t in trials} == {runtime.host_id}


def test_stop_cuts_short_whatever_is_in_flight_and_a_resume_goes_on(runtime, two_stations, listener):
    """Both trials are kept as aborted; their proposals are tried again."""
    run_id = start_calibrated(runtime, budget_trials=5, rate_duration_s=1.5, warmup_s=0.1)
    listener.wait_for("measurement", lambda data: data["trial"] == 2)
    runtime.service.stop(run_id)
    runtime.service.wait()
    assert runtime.repository.run(run_id).state is RunState.STOPPED
    aborted = [t for t in runtime.repository.trials(run_id) if t.verdict is Verdict.ABORTED]
    assert len(aborted) == 2
    runtime.service.resume(run_id)
    runtime.service.wait()
    assert runtime.repository.run(run_id).state is RunState.FINISHED
    trials = runtime.repository.trials(run_id)
    tried = {p.number for p in runtime.repository.proposals_of(run_id) if p.trial_number is not None}
    assert tried == {t.proposal_number for t in trials if t.proposal_number is not None}
    done = {t.configuration_hash for t in trials if t.verdict is not Verdict.ABORTED}
    assert {t.configuration_hash for t in aborted} <= done


def test_pause_waits_for_all_that_is_in_flight(runtime, two_stations, listener):
    """Nothing is started meanwhile, and nothing is cut short."""
    run_id = start_calibrated(runtime, budget_trials=5)
    listener.wait_for_rate(trial=2)
    runtime.service.pause(run_id)
    listener.wait_for("progress", lambda data: data["pause"] == "yes")
    before = runtime.repository.trials(run_id)
    assert Verdict.ABORTED not in {t.verdict for t in before}
    assert runtime.service.resume(run_id) == run_id
    runtime.service.wait()
    assert runtime.repository.run(run_id).state is RunState.FINISHED
    assert runtime.repository.trials(run_id)[: len(before)] == before
