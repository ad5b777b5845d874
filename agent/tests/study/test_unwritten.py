"""What a database refuses: it is kept, tried again, left on disk, and taken in by whoever goes on."""

import errno
import sqlite3
import subprocess
import threading
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from empty_databases import empty_sqlite
from live_support import Listener, start_calibrated
from pydantic import SecretStr
from trimtab_agent.errors import HostError
from trimtab_agent.paths import VarPaths
from trimtab_agent.recording import recorder
from trimtab_agent.runtime import open_repository, open_runtime
from trimtab_agent.study import unwritten
from trimtab_agent.study.unwritten import Unwritten, take_in
from trimtab_db import engines, open_database, records, sqlite_url
from trimtab_db.errors import DatabaseFullError, DatabaseLockedError
from trimtab_db.records import RunState
from trimtab_trials.host import Host
from trimtab_trials.trial import Trial, TrialPurpose, Verdict

HOST = Host(
    machine_id="one", name="bench", kernel="6", cpu_model="a", cpus=2, memory_bytes=1 << 30, topology={}
)


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Nobody waits ten seconds for a lock here, nor a minute for a disk.

    Where nobody but a sampler holds the lock, a second is long enough.
    """
    monkeypatch.setattr(engines, "BUSY_TIMEOUT_S", 1.0)
    monkeypatch.setattr(unwritten, "PATIENCE_S", 0.2)
    monkeypatch.setattr(unwritten, "PAUSE_S", 0.05)


@contextmanager
def locked(path):
    """Another connection holds the database's only pen."""
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 16 MiB."""
    directory = tmp_path / "small"
    directory.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "none", str(directory)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    yield directory
    subprocess.run(["umount", "--lazy", str(directory)], check=True)


def fill(directory):
    """Writes until nothing more fits."""
    with (directory / "filler").open("wb", buffering=0) as filler:
        while True:
            try:
                filler.write(bytes(4096))
            except OSError as error:
                if error.errno == errno.ENOSPC:
                    return
                raise


def new_run(repository):
    """A run that has just begun."""
    return repository.create_run(
        records.NewRun(
            host_id=repository.register_host(HOST),
            target_id=repository.register_target("core", "0.1.0"),
            workload_id=repository.register_workload("w", {}, files=1, total_bytes=1),
            preset="quick",
            strategy="random",
            objective="peak",
            space={},
            settings={},
            seed=1,
            budget_trials=3,
            layout={},
        )
    )


def trial_of(run, number=1, **changed):
    """A trial whose text does not fit into what a database has left in its pages."""
    return Trial(
        run_id=run.id,
        host_id=run.host_id,
        number=number,
        configuration={"workers": number, "sendfile": "off"},
        verdict=Verdict.VERIFIED,
        score=1.5,
        server_config="x" * 100_000,
        started_at=run.created_at + timedelta(seconds=number),
        **changed,
    )


def mouth():
    """Collects what is told, and what to tell it to."""
    said = []
    return said, said.append


def never(_seconds):
    """Nobody asks the run to end."""
    return False


def test_trial_refused_by_a_lock_is_written_once_that_is_gone(tmp_path, monkeypatch):
    """It waits and tries again, and says so once."""
    monkeypatch.setattr(unwritten, "PATIENCE_S", 60.0)
    repository = open_database(empty_sqlite(tmp_path / "trimtab.db"))
    run = new_run(repository)
    said, tell = mouth()
    waiting = Unwritten(run, tmp_path / "unwritten", repository.record_trial, tell)
    with closing(sqlite3.connect(tmp_path / "trimtab.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")

        def unlock(_seconds):
            other.execute("ROLLBACK")
            return False

        waiting.record(trial_of(run), unlock)
    assert [trial.number for trial in repository.trials(run.id)] == [1]
    assert len(said) == 1
    assert "Trial 1 could not be written, is kept and tried again" in said[0]
    assert waiting.keep() == ""
    repository.close()


def test_trials_that_wait_are_written_before_the_next_one(tmp_path):
    """A lock of one trial's end does not outlast the next trial's."""
    repository = open_database(empty_sqlite(tmp_path / "trimtab.db"))
    run = new_run(repository)
    waiting = Unwritten(run, tmp_path / "unwritten", repository.record_trial, print)
    with locked(tmp_path / "trimtab.db"), pytest.raises(DatabaseLockedError):
        waiting.record(trial_of(run, 1), never)
    waiting.record(trial_of(run, 2), never)
    assert [trial.number for trial in repository.trials(run.id)] == [1, 2]
    repository.close()


def test_trial_refused_by_a_full_disk_is_left_there_and_taken_in_when_there_is_room(small_disk):
    """The room set aside holds what the full disk would not; the file is for its owner alone."""
    repository = open_database(empty_sqlite(small_disk / "trimtab.db"))
    run = new_run(repository)
    folder = small_disk / "unwritten"
    waiting = Unwritten(run, folder, repository.record_trial, print)
    waiting.set_room_aside()
    fill(small_disk)
    with pytest.raises(DatabaseFullError):
        waiting.record(trial_of(run), never)
    sentence = waiting.keep()
    assert sentence == (
        f"The database refused 1 trial (number 1): kept in {folder}, and taken in when the run is resumed or "
        "one of its trials is repeated."
    )
    (kept,) = folder.iterdir()
    assert (kept.name, kept.stat().st_mode & 0o777) == ("run-1-trial-1.json", 0o600)
    (small_disk / "filler").unlink()
    assert take_in(repository, run, folder) == (1,)
    assert repository.trial(run.id, 1) == trial_of(run)
    assert list(folder.iterdir()) == []
    repository.close()


def test_trial_that_fits_nowhere_is_said_to_be_lost(small_disk):
    """Without the room, honesty is what is left."""
    repository = open_database(empty_sqlite(small_disk / "trimtab.db"))
    run = new_run(repository)
    waiting = Unwritten(run, small_disk / "unwritten", repository.record_trial, print)
    fill(small_disk)
    with pytest.raises(DatabaseFullError):
        waiting.record(trial_of(run), never)
    assert waiting.keep() == "Trial 1 could be written nowhere and is lost."
    assert not any((small_disk / "unwritten").glob("*"))
    repository.close()


def test_trial_left_by_a_run_of_another_database_is_left_alone(tmp_path):
    """A database that was removed takes its numbers along."""
    repository = open_database(empty_sqlite(tmp_path / "trimtab.db"))
    run = new_run(repository)
    folder = tmp_path / "unwritten"
    earlier = replace(run, created_at=run.created_at - timedelta(days=1))
    with locked(tmp_path / "trimtab.db"):
        waiting = Unwritten(earlier, folder, repository.record_trial, print)
        with pytest.raises(DatabaseLockedError):
            waiting.record(trial_of(run), never)
        waiting.keep()
    assert take_in(repository, run, folder) == ()
    assert repository.trials(run.id) == ()
    assert len(list(folder.iterdir())) == 1
    repository.close()


def test_file_that_holds_no_trial_is_named(tmp_path):
    """What somebody has edited is neither recorded nor removed."""
    repository = open_database(empty_sqlite(tmp_path / "trimtab.db"))
    run = new_run(repository)
    (tmp_path / "run-1-trial-3.json").write_text("{}")
    with pytest.raises(HostError, match=r"run-1-trial-3\.json: expected what run 1 has left there"):
        take_in(repository, run, tmp_path)
    assert (tmp_path / "run-1-trial-3.json").exists()
    repository.close()


def test_locked_database_costs_a_run_no_trial_and_its_end_is_told(simulated, settings):
    """A run that gives up leaves its trial and its end on disk; a later start takes both in."""
    paths = VarPaths(settings.var)
    simulated.hold(trial=2)
    with open_runtime(settings) as runtime:
        listener = Listener(runtime.broadcaster)
        run_id = start_calibrated(runtime, strategy="coarse-to-fine")
        with closing(sqlite3.connect(paths.database, isolation_level=None)) as other:
            listener.wait_for("progress", lambda data: data["trial"] == 2)
            other.execute("BEGIN EXCLUSIVE")
            simulated.release()
            runtime.service.wait()
            end = runtime.service.last_end
            assert end is not None
            assert (end.state, end.recorded) == (RunState.FAILED, False)
            assert "is locked" in end.error
            assert f"kept in {paths.unwritten.resolve()}" in end.error
            left = {path.name for path in paths.unwritten.iterdir()}
            before = runtime.repository.trials(run_id)
            assert left == {f"run-{run_id}-trial-2.json", f"run-{run_id}-end.json"}
            other.execute("ROLLBACK")
    with open_repository(settings) as repository:
        run = repository.run(run_id)
        assert (run.state, run.error) == (RunState.FAILED, end.error)
        trials = repository.trials(run_id)
        assert [t.number for t in before] == [1]
        assert [t.number for t in trials] == [1, 2]
        assert trials[-1].purpose is TrialPurpose.SEARCH
    assert list(paths.unwritten.iterdir()) == []
    with open_runtime(settings) as runtime:
        runtime.service.resume(run_id)
        runtime.service.wait()
        assert runtime.repository.run(run_id).state is RunState.FINISHED
        after = runtime.repository.trials(run_id)
    assert after[: len(trials)] == trials
    assert list(paths.unwritten.iterdir()) == []


def test_daemon_records_the_end_of_a_run_as_soon_as_the_database_takes_it(simulated, settings, monkeypatch):
    """A run that has ended does not seem to go on until somebody starts another."""
    monkeypatch.setattr(recorder, "WRITE_EVERY_S", 0.1)
    simulated.hold(trial=1)
    with open_runtime(settings) as runtime:
        listener = Listener(runtime.broadcaster)
        run_id = start_calibrated(runtime)
        pause = threading.Event()
        with closing(sqlite3.connect(VarPaths(settings.var).database, isolation_level=None)) as other:
            listener.wait_for("progress", lambda data: data["trial"] == 1)
            other.execute("BEGIN EXCLUSIVE")
            simulated.release()
            runtime.service.wait()
            assert runtime.repository.run(run_id).state is RunState.RUNNING
            other.execute("ROLLBACK")
        while runtime.repository.run(run_id).state is RunState.RUNNING:
            pause.wait(0.05)
        assert runtime.repository.run(run_id).state is RunState.FAILED


@pytest.mark.live
def test_full_disk_of_the_database_costs_a_run_no_trial(settings, small_disk):
    """With its own disk full, the database gets the trial when the run is resumed."""
    settings = settings.model_copy(update={"database_url": SecretStr(sqlite_url(small_disk / "trimtab.db"))})
    with open_runtime(settings) as runtime:
        subscription = runtime.broadcaster.subscribe(lambda: None)
        run_id = start_calibrated(runtime, strategy="coarse-to-fine")
        pause = threading.Event()
        while not any(e.name == "progress" and e.data["trial"] for e in subscription.drain()):
            pause.wait(0.02)
        fill(small_disk)
        runtime.service.wait()
        end = runtime.service.last_end
        assert end is not None
        assert end.state is RunState.FAILED
        assert "the disk is full" in end.error
        assert "taken in when the run is resumed" in end.error
        (small_disk / "filler").unlink()
        before = runtime.repository.trials(run_id)
        runtime.service.resume(run_id)
        runtime.service.wait()
        assert runtime.repository.run(run_id).state is RunState.FINISHED
        trials = runtime.repository.trials(run_id)
    assert [t.number for t in trials] == list(range(1, len(trials) + 1))
    assert len(trials) > len(before) + 1
    done = [t.configuration_hash for t in trials if t.purpose is TrialPurpose.SEARCH and t.proposal_number]
    assert len(done) == len(set(done)) == 3
