"""The contract of the repository about runs, hosts, events and exports; runs on every backend."""

from datetime import UTC, datetime, timedelta

import pytest
from trimtab_db import records
from trimtab_db.errors import RecordChangedError, RecordConflictError, RecordNotFoundError
from trimtab_db.notes import notes_version
from trimtab_db.records import RunPhase, RunState
from trimtab_db.repository import runs
from trimtab_trials.trial import TrialPurpose


def test_same_machine_seen_again_keeps_its_id(repository, make_host):
    """A machine in the same state is one record; what was seen last is kept of its topology."""
    first = repository.register_host(make_host())
    again = repository.register_host(make_host(topology={"nodes": []}))
    assert first == again
    assert repository.host(first) == make_host(topology={"nodes": []})


def test_machine_with_new_kernel_gets_record_of_its_own(repository, make_host):
    """Old runs must go on to say which kernel they ran on."""
    old = repository.register_host(make_host())
    new = repository.register_host(make_host(kernel="6.19.0"))
    assert old != new
    assert repository.host(old).kernel == "6.18.0"


def test_workloads_differ_by_parameters_and_not_by_order_of_keys(repository):
    """The hash is over the parameters' meaning."""
    first = repository.register_workload("w", {"a": 1, "b": 2}, files=1, total_bytes=2)
    assert first == repository.register_workload("w", {"b": 2, "a": 1}, files=1, total_bytes=2)
    assert first != repository.register_workload("w", {"a": 1, "b": 3}, files=1, total_bytes=2)


def test_target_of_other_version_is_another_target(repository):
    """A run says which version it measured."""
    first = repository.register_target("nginx", "1.22.1")
    assert first == repository.register_target("nginx", "1.22.1")
    assert first != repository.register_target("nginx", "1.24.0")


def test_new_run_is_running_and_preparing(repository, make_run):
    """What is known at the start comes back, with names in place of ids."""
    before = datetime.now(UTC)
    run = make_run(repository, notes="first try", seed=2**40)
    assert run == repository.run(run.id)
    assert (run.state, run.phase) == (RunState.RUNNING, RunPhase.PREPARING)
    assert (run.host, run.target, run.target_version, run.workload) == ("bench", "core", "0.1.0", "specweb99")
    assert (run.ladder, run.outcome, run.finished_at, run.error) == ((), None, None, "")
    assert (run.notes, run.seed) == ("first try", 2**40)
    assert before <= run.created_at == run.started_at <= datetime.now(UTC)


def test_run_of_unknown_host_is_refused(repository, make_run):
    """Foreign keys are enforced."""
    with pytest.raises(RecordConflictError, match="contradicts"):
        make_run(repository, host_id=4711)


def test_cpus_that_are_divided_anew_keep_the_space_or_change_it(repository, make_run):
    """A space that follows the CPUs is recorded with them."""
    run = make_run(repository)
    repository.set_run_layout(run.id, {"server": [0, 1], "generator": [2]})
    again = repository.run(run.id)
    assert (again.layout, again.space) == ({"server": [0, 1], "generator": [2]}, run.space)
    repository.set_run_layout(run.id, run.layout, {"knobs": []})
    assert (repository.run(run.id).layout, repository.run(run.id).space) == (run.layout, {"knobs": []})


def test_unknown_run_is_not_found_by_any_question(repository):
    """Every question about a run that does not exist gets the same clear answer."""
    questions = [
        lambda: repository.run(7),
        lambda: repository.run_summary(7),
        lambda: repository.set_run_state(7, RunState.STOPPED),
        lambda: repository.set_run_phase(7, RunPhase.DONE),
        lambda: repository.set_run_ladder(7, [1.0]),
        lambda: repository.set_run_outcome(7, {}),
        lambda: repository.set_run_layout(7, {}),
        lambda: repository.events(7),
        lambda: repository.exports(7),
    ]
    for ask in questions:
        with pytest.raises(RecordNotFoundError, match=r"There is no run 7\."):
            ask()


def test_phase_ladder_and_outcome_are_kept(repository, make_run):
    """What the study finds out on its way is in the record."""
    run_id = make_run(repository).id
    repository.set_run_phase(run_id, RunPhase.SEARCHING)
    repository.set_run_ladder(run_id, [1000.0, 2000.5])
    repository.set_run_outcome(run_id, {"sentence": "12 % better", "gain": None})
    run = repository.run(run_id)
    assert run.phase is RunPhase.SEARCHING
    assert run.ladder == (1000.0, 2000.5)
    assert run.outcome == {"sentence": "12 % better", "gain": None}


def test_resumed_run_has_no_end_and_no_error_any_more(repository, make_run):
    """Stopping ends a stretch of a run, resuming begins the next one; how long it took is that of both."""
    run = make_run(repository)
    repository.set_run_state(run.id, RunState.FAILED, error="The server is gone.")
    failed = repository.run(run.id)
    assert (failed.state, failed.error) == (RunState.FAILED, "The server is gone.")
    assert failed.finished_at is not None
    repository.set_run_state(run.id, RunState.RUNNING)
    resumed = repository.run(run.id)
    assert (resumed.state, resumed.error, resumed.finished_at) == (RunState.RUNNING, "", None)
    assert resumed.created_at == run.created_at
    assert resumed.started_at > run.started_at
    repository.set_run_state(run.id, RunState.STOPPED)
    stopped = repository.run(run.id)
    assert stopped.finished_at is not None
    first_stretch = failed.finished_at - run.started_at
    assert stopped.finished_at - stopped.started_at >= first_stretch
    assert stopped.finished_at - run.created_at > stopped.finished_at - stopped.started_at


def test_clock_that_was_set_back_makes_no_run_shorter_than_nothing(repository, make_run, monkeypatch):
    """Neither one that has ended, nor what a resumed one is said to have taken so far."""
    run = make_run(repository)
    earlier = run.started_at - timedelta(hours=1)
    monkeypatch.setattr(runs, "now", lambda: earlier)
    repository.set_run_state(run.id, RunState.STOPPED)
    assert repository.run(run.id).finished_at == run.started_at
    repository.set_run_state(run.id, RunState.RUNNING)
    assert repository.run(run.id).started_at == earlier


def test_only_running_runs_become_interrupted(repository, make_run):
    """What was left running when the agent died is found; what had ended is left alone."""
    run, finished = make_run(repository), make_run(repository).id
    repository.set_run_state(finished, RunState.FINISHED)
    assert repository.is_any_running()
    assert repository.interrupt_running_runs(run.host_id) == (run.id,)
    assert repository.run(run.id).state is RunState.INTERRUPTED
    assert "agent ended" in repository.run(run.id).error
    assert repository.run(finished).state is RunState.FINISHED
    assert repository.interrupt_running_runs(run.host_id) == ()


def test_interrupted_run_ended_with_its_last_trial(repository, make_run, make_trial):
    """Nobody knows when it was killed; until the next start of the agent it did nothing."""
    run = make_run(repository)
    trial = make_trial(run.id, started_at=run.started_at, finished_at=run.started_at + timedelta(seconds=7))
    repository.record_trial(trial)
    repository.interrupt_running_runs(run.host_id)
    assert repository.run(run.id).finished_at == trial.finished_at


def test_running_runs_of_another_machine_are_left_alone(repository, make_run, make_host):
    """An agent that starts knows only of its own machine that nothing can be going on there."""
    elsewhere = make_run(repository, host_id=repository.register_host(make_host(machine_id="another")))
    here = repository.register_host(make_host())
    assert repository.interrupt_running_runs(here) == ()
    assert repository.run(elsewhere.id).state is RunState.RUNNING


def test_run_belongs_to_the_host_that_goes_on_with_it(repository, make_run, make_host):
    """Its end, if nobody records it, is that host's to find."""
    run = make_run(repository, host_id=repository.register_host(make_host(machine_id="another")))
    here = repository.register_host(make_host())
    assert not repository.is_running_here(here)
    repository.set_run_state(run.id, RunState.RUNNING, host_id=here)
    assert repository.is_running_here(here)
    repository.set_run_state(run.id, RunState.STOPPED)
    assert repository.run(run.id).host_id == here


def test_machines_are_told_apart_by_their_ids_and_not_by_their_names(repository, make_host):
    """Two of the same name are two, and one that is renamed stays itself: its runs are found."""
    first = repository.register_host(make_host())
    namesake = repository.register_host(make_host(machine_id="another"))
    assert first != namesake
    renamed = repository.register_host(make_host(name="renamed"))
    assert repository.host(renamed).machine_id == repository.host(first).machine_id


def test_what_was_recorded_before_machines_had_ids_is_taken_over(repository, make_host, make_run):
    """All of a file, which had one host; of a database that hosts may share, what has the machine's name."""
    hosts = [repository.register_host(make_host(machine_id="", name=name)) for name in ("old", "bench")]
    other_name, same_name = (make_run(repository, host_id=host_id) for host_id in hosts)
    mine = repository.register_host(make_host())
    other = repository.register_host(make_host(machine_id="another"))
    assert repository.interrupt_running_runs(other) == ()
    own = (other_name.id, same_name.id) if repository.embedded else (same_name.id,)
    assert repository.interrupt_running_runs(mine) == own


def test_runs_are_listed_newest_first_in_pages(repository, make_run):
    """A page holds `limit` runs after the first `offset`."""
    ids = [make_run(repository).id for _ in range(5)]
    assert [line.run.id for line in repository.runs(limit=2, offset=1)] == [ids[3], ids[2]]
    assert repository.runs(limit=2, offset=5) == ()
    assert repository.count_runs() == 5


def test_summary_counts_all_trials_and_scores_the_search(repository, make_run, make_trial):
    """Neither a lucky confirmation nor a lucky repeat raises the best score of the search."""
    run, other = make_run(repository), make_run(repository)
    repository.record_trial(make_trial(run.id, 1, score=80.0))
    repository.record_trial(make_trial(run.id, 2, score=None, verdict="crashed"))
    repository.record_trial(make_trial(run.id, 3, score=99.0, purpose=TrialPurpose.CONFIRMATION))
    repeated = {"workers": 1, "sendfile": "nonblocking"}
    repository.record_trial(make_trial(run.id, 4, score=84.0, configuration=repeated))
    assert repository.run_summary(run.id) == records.RunSummary(run=run, trials=4, best_score=82.0)
    assert repository.run_summary(other.id) == records.RunSummary(run=other, trials=0, best_score=None)
    assert [line.trials for line in repository.runs()] == [0, 4]


def test_events_come_back_in_order(repository, make_run):
    """An event is what was added, and belongs to one run."""
    run_id = make_run(repository).id
    added = [
        repository.add_event(run_id, "info", "calibrated", {"saturation_rps": 8000.0}),
        repository.add_event(run_id, "warning", "the server was killed"),
    ]
    make_other = make_run(repository).id
    repository.add_event(make_other, "info", "elsewhere")
    assert list(repository.events(run_id)) == added


def make_export(run_id: int, **changed: object) -> records.Export:
    """An exported file that passed its check."""
    return records.Export(
        **{
            "run_id": run_id,
            "format": "nginx",
            "file_name": "nginx.conf",
            "text": "worker_processes 2;\n",
            "check_command": "nginx -t -c nginx.conf",
            "check_ok": True,
            "check_output": "syntax is ok",
            "created_at": datetime(2026, 11, 21, tzinfo=UTC),
            **changed,
        }
    )


def test_exporting_again_replaces_the_text_of_that_format_only(repository, make_run):
    """There is one export a format."""
    run_id = make_run(repository).id
    repository.record_export(make_export(run_id))
    core = make_export(run_id, format="trimtab-httpd", file_name="trimtab-httpd.ini")
    repository.record_export(core)
    again = make_export(run_id, text="worker_processes 4;\n", check_ok=False)
    repository.record_export(again)
    assert repository.exports(run_id) == (again, core)


def test_archived_runs_are_left_out_of_lists_that_do_not_ask_for_them(repository, make_run):
    """Nothing else changes for them."""
    first, second = make_run(repository), make_run(repository)
    assert (first.name, first.archived) == ("", False)
    repository.set_run_notes(first.id, name="before", archived=True)
    repository.set_run_notes(first.id, notes="noisy")
    assert [line.run.id for line in repository.runs(archived=False)] == [second.id]
    assert [line.run.id for line in repository.runs()] == [second.id, first.id]
    assert (repository.count_runs(archived=False), repository.count_runs()) == (1, 2)
    kept = repository.run(first.id)
    assert (kept.name, kept.archived, kept.notes) == ("before", True, "noisy")


def test_notes_and_tags_are_replaced_each_on_its_own(repository, make_run):
    """What is not given stays as it was."""
    run_id = make_run(repository).id
    assert (repository.run(run_id).notes, repository.run(run_id).tags) == ("", ())
    repository.set_run_notes(run_id, notes="with the new kernel", tags=("kernel", "näher"))
    repository.set_run_notes(run_id, tags=("kernel",))
    assert (repository.run(run_id).notes, repository.run(run_id).tags) == ("with the new kernel", ("kernel",))


def test_run_says_whether_it_began_with_a_file(repository, make_run):
    """With it alone, or with it as the new one of two."""
    make_run(repository)
    make_run(repository, base={"path": "/etc/a.conf", "text": "", "new": {"path": "/etc/b.conf"}})
    asked = [repository.began_with(path) for path in ("/etc/a.conf", "/etc/b.conf", "/etc/c.conf")]
    assert asked == [True, True, False]


def test_notes_are_written_over_the_version_that_was_read_and_no_newer_one(repository, make_run):
    """What somebody else has written meanwhile stays; the archive is no word of theirs."""
    run_id = make_run(repository).id
    read = notes_version("", "", ())
    repository.set_run_notes(run_id, archived=True)
    repository.set_run_notes(run_id, notes="theirs", if_version=read)
    with pytest.raises(RecordChangedError, match=f"run {run_id} have been changed"):
        repository.set_run_notes(run_id, notes="mine", if_version=read)
    assert repository.run(run_id).notes == "theirs"
    repository.set_run_notes(run_id, notes="mine", if_version=notes_version("", "theirs", ()))
    assert repository.run(run_id).notes == "mine"
