"""What goes wrong during a run: every fault is told in a sentence, and nothing that was measured is lost."""

import shutil
from unittest.mock import Mock

import psutil
import pytest
from live_support import children_named, start_calibrated, tiny_spec, wait_until_gone
from sqlalchemy import event
from trimtab_agent.errors import BinaryMissing, RunConflict, RunNotRunning, SpecError
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.settings import AgentSettings
from trimtab_db.errors import RecordNotFoundError
from trimtab_db.records import RunState
from trimtab_trials.trial import TrialPurpose


def searched(runtime, run_id):
    """The trials of the search."""
    return [t for t in runtime.repository.whole_trials(run_id) if t.purpose is TrialPurpose.SEARCH]


@pytest.mark.live
@pytest.mark.parametrize("program", ["trimtab-httpd", "trimtab-load"])
def test_killed_program_makes_the_trial_crashed_and_the_run_goes_on(runtime, listener, program):
    """A server or generator that is killed costs one trial, which names it and the signal."""
    run_id = start_calibrated(runtime, rate_duration_s=1.2, budget_trials=2, confirmation_repeats=0)
    # The generator reports once a second: then both surely run.
    listener.wait_for("progress", lambda data: data["load"] is not None)
    running = children_named(program)
    first_of_them = next(p for p in running if p.ppid() not in {other.pid for other in running})
    first_of_them.kill()
    runtime.service.wait()
    assert runtime.repository.run(run_id).state is RunState.FINISHED
    first, other = searched(runtime, run_id)
    assert first.verdict == "crashed"
    assert program in first.reason
    assert "SIGKILL" in first.reason
    assert other.verdict != "crashed"


@pytest.mark.live
def test_killed_worker_makes_the_trial_crashed(runtime, listener):
    """A worker that its master had to replace is a crash as well."""
    run_id = start_calibrated(runtime, rate_duration_s=1.2, budget_trials=2, confirmation_repeats=0)
    listener.wait_for("progress", lambda data: data["load"] is not None)
    running = children_named("trimtab-httpd")
    worker = next(p for p in running if p.ppid() in {other.pid for other in running})
    worker.kill()
    runtime.service.wait()
    first = searched(runtime, run_id)[0]
    assert (first.verdict, "worker" in first.reason) == ("crashed", True)


def test_trial_whose_server_dies_costs_one_trial_and_the_run_goes_on(simulated, runtime):
    """It is a result like others: crashed, with why, and nothing is measured in its place."""
    simulated.happens("crashes", trials=(1,))
    run_id = start_calibrated(runtime, budget_trials=2, confirmation_repeats=0)
    runtime.service.wait()
    assert runtime.repository.run(run_id).state is RunState.FINISHED
    first, other = searched(runtime, run_id)
    assert (first.verdict, first.score) == ("crashed", None)
    assert first.reason.startswith("The server died")
    assert other.verdict == "verified"


@pytest.mark.live
def test_stop_ends_the_server_and_its_generator(runtime, listener):
    """Whatever a trial has started is gone before the run is called stopped."""
    run_id = start_calibrated(runtime)
    listener.wait_for_rate(trial=1)
    children = [child.pid for child in psutil.Process().children(recursive=True)]
    assert children
    runtime.service.stop(run_id)
    runtime.service.wait()
    wait_until_gone(children)
    assert runtime.repository.run(run_id).state is RunState.STOPPED


def test_stopped_run_keeps_its_trials_and_goes_on_where_it_was(simulated, runtime, listener):
    """Stop cuts the trial short and keeps finished ones; resume repeats none of them."""
    simulated.hold(trial=2, rate=2)
    # A strategy that never measures a configuration twice on purpose.
    run_id = start_calibrated(runtime, strategy="coarse-to-fine")
    listener.wait_for_rate(trial=2)
    runtime.service.stop(run_id)
    runtime.service.wait()
    assert runtime.repository.run(run_id).state is RunState.STOPPED
    before = runtime.repository.whole_trials(run_id)
    assert [t.verdict for t in before] == ["verified", "aborted"]
    assert [len(t.measurements) for t in before] == [2, 1]
    simulated.release()
    runtime.service.resume(run_id)
    runtime.service.wait()
    after = runtime.repository.whole_trials(run_id)
    assert runtime.repository.run(run_id).state is RunState.FINISHED
    assert after[: len(before)] == before
    assert not any(t.purpose is TrialPurpose.CALIBRATION for t in after)
    done = [t.configuration_hash for t in searched(runtime, run_id) if t.verdict != "aborted"]
    assert len(done) == len(set(done)) == 3


def test_run_stopped_early_says_that_its_best_is_not_confirmed(simulated, runtime, listener):
    """What a stopped run has found so far is told honestly."""
    simulated.hold(trial=3)
    run_id = start_calibrated(runtime)
    listener.wait_for("progress", lambda data: data["trial"] == 3)
    runtime.service.stop(run_id)
    runtime.service.wait()
    outcome = Outcome.model_validate(runtime.repository.run(run_id).outcome)
    assert not outcome.confirmed
    assert outcome.sentence.startswith(("Best so far is ", "So far nothing has been shown to be better "))
    assert "That is not confirmed: " in outcome.sentence


def test_run_stopped_in_its_calibration_says_that_nothing_was_measured(simulated, runtime, listener):
    """There is no best yet."""
    simulated.hold(trial=1, rate=2)
    run_id = runtime.service.start(tiny_spec())
    listener.wait_for_rate(trial=1)
    runtime.service.stop(run_id)
    runtime.service.wait()
    outcome = Outcome.model_validate(runtime.repository.run(run_id).outcome)
    assert (outcome.best, outcome.confirmed) == (None, False)
    assert outcome.sentence == "The run ended before any configuration had been measured."


@pytest.mark.live
def test_deleted_file_set_fails_the_run_and_says_what_is_gone(runtime, listener):
    """No configuration is blamed for missing files."""
    run_id = start_calibrated(runtime)
    listener.wait_for("trial", lambda data: data["purpose"] == "search")
    for directory in (runtime.settings.var / "filesets").glob("*/root/dir*"):
        shutil.rmtree(directory)
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FAILED
    assert "36 of the 36 files of the file set are gone, the first is" in run.error
    assert searched(runtime, run_id)


@pytest.mark.live
def test_failed_run_writes_its_files_anew_when_resumed(runtime, listener):
    """A missing document root is made again."""
    run_id = start_calibrated(runtime)
    listener.wait_for("trial", lambda data: data["purpose"] == "search")
    (directory,) = (runtime.settings.var / "filesets").glob("*")
    shutil.rmtree(directory)
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert (run.state, "is gone" in run.error) == (RunState.FAILED, True)
    runtime.service.resume(run_id)
    runtime.service.wait()
    assert runtime.repository.run(run_id).state is RunState.FINISHED


def test_full_database_fails_the_run_and_keeps_what_was_recorded(simulated, runtime, listener):
    """The sentence names the database and the reason."""
    engine = runtime.repository.database.engine
    simulated.hold(trial=2)
    run_id = start_calibrated(runtime)
    listener.wait_for("progress", lambda data: data["trial"] == 2)
    before = runtime.repository.whole_trials(run_id)
    assert len(before) == 1

    @event.listens_for(engine, "connect")
    def limit(connection, _record):
        connection.execute("PRAGMA max_page_count = 1")  # SQLite takes the present size for it

    engine.dispose()
    simulated.release()
    runtime.service.wait()
    assert runtime.service.last_end is not None
    assert runtime.service.last_end.state is RunState.FAILED
    assert "the disk is full" in runtime.service.last_end.error
    assert runtime.repository.whole_trials(run_id)[: len(before)] == before


def test_second_run_is_refused_while_one_goes_on(simulated, runtime):
    """The conflict names the run; starting and resuming alike."""
    simulated.hold(trial=1)
    run_id = runtime.service.start(tiny_spec())
    with pytest.raises(RunConflict, match=f"run {run_id} is running on this machine"):
        runtime.service.start(tiny_spec())
    with pytest.raises(RunConflict, match=f"run {run_id} is running"):
        runtime.service.resume(run_id)
    runtime.service.stop(run_id)
    runtime.service.wait()
    assert len(runtime.repository.runs()) == 1


def test_stopping_what_does_not_run_is_refused(simulated, runtime):
    """Unknown runs and idle ones are different mistakes."""
    with pytest.raises(RecordNotFoundError, match="There is no run 7"):
        runtime.service.stop(7)
    simulated.hold(trial=1)
    run_id = runtime.service.start(tiny_spec())
    runtime.service.stop(run_id)
    runtime.service.wait()
    with pytest.raises(RunNotRunning, match=f"run {run_id} is not running"):
        runtime.service.stop(run_id)


def test_budget_too_small_for_one_trial_is_refused(runtime):
    """Nothing is started and nothing recorded."""
    with pytest.raises(SpecError, match="too small for one trial") as refusal:
        runtime.service.start(tiny_spec().model_copy(update={"budget_trials": 0}))
    assert refusal.value.field == "budget_trials"
    assert runtime.repository.runs() == ()


def test_missing_server_program_names_what_builds_it(runtime, tmp_path):
    """A checkout that was not built says how to build it."""
    settings = runtime.settings.model_copy(update={"httpd_path": tmp_path / "trimtab-httpd"})
    assert isinstance(settings, AgentSettings)
    runtime.service._settings = settings
    with pytest.raises(BinaryMissing, match="`make build` builds it"):
        runtime.service.start(tiny_spec())


def test_run_that_cannot_be_resumed_does_not_count_as_running(simulated, runtime, monkeypatch):
    """It stays what it was, and can be resumed when the reason is gone."""
    simulated.hold(trial=1)
    run_id = runtime.service.start(tiny_spec())
    runtime.service.stop(run_id)
    runtime.service.wait()
    monkeypatch.setattr(
        "trimtab_agent.study.runs.Study", Mock(side_effect=SpecError("workload", "the model is gone"))
    )
    with pytest.raises(SpecError, match="the model is gone"):
        runtime.service.resume(run_id)
    assert runtime.repository.run(run_id).state is RunState.STOPPED
