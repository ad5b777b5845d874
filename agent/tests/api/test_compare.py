"""Runs side by side over the API."""

from dataclasses import replace

import pytest
from trimtab_trials.configuration import configuration_hash
from trimtab_trials.trial import TrialPurpose


def test_winner_curve_and_architectures_of_a_run(daemon, recorded_run):
    """The winner is that of the outcome; every architecture tried has its best trial."""
    answer = daemon.client.get("/api/v1/compare", params={"run": recorded_run.id}).json()
    (run,) = answer["runs"]
    assert (run["best"]["workers"], run["gain"]["gain"], run["scores_mbps"]) == (4, 0.25, [92.0])
    assert run["curve"] == [{"rate_rps": 1000.0, "goodput_mbps": 92.0}]
    assert answer["differences"] == []
    (architecture,) = answer["architectures"]
    assert (architecture["trial"], architecture["score_mbps"], architecture["peak_mbps"]) == (2, 92.0, 92.0)


def test_scores_of_a_confirmed_winner_are_those_of_the_confirmation(daemon, recorded_run):
    """Neither the one it was chosen by, nor one of a spoilt block, nor a repeat that somebody asked for."""
    chosen = daemon.repository.trial(recorded_run.id, 2)
    for number, block, score in ((3, 1, 80.0), (4, 2, 81.0), (5, 3, 85.0), (6, 0, 99.0)):
        again = replace(chosen, number=number, purpose=TrialPurpose.CONFIRMATION, block=block, score=score)
        daemon.repository.record_trial(again)
    outcome = recorded_run.outcome
    outcome["ranking"][0]["scores_mbps"] = [80.0, 81.0]
    daemon.repository.set_run_outcome(recorded_run.id, outcome)
    (run,) = daemon.client.get("/api/v1/compare", params={"run": recorded_run.id}).json()["runs"]
    assert run["scores_mbps"] == [80.0, 81.0]


def test_runs_over_different_ladders_are_not_ranked(daemon, recorded_run, record_run):
    """The reason is said."""
    other = record_run()
    daemon.repository.set_run_ladder(other.id, [500.0])
    answer = daemon.client.get("/api/v1/compare", params={"run": [recorded_run.id, other.id]}).json()
    assert [run["rank"] for run in answer["runs"]] == [None, None]
    assert "ladders differ" in answer["differences"][0]


def test_runs_with_other_second_objectives_are_not_ranked(daemon, recorded_run, record_run):
    """They looked for other configurations."""
    other = record_run(second_objective="rss")
    daemon.repository.set_run_ladder(other.id, recorded_run.ladder)
    answer = daemon.client.get("/api/v1/compare", params={"run": [recorded_run.id, other.id]}).json()
    assert [run["rank"] for run in answer["runs"]] == [None, None]
    assert [run["second_objective"] for run in answer["runs"]] == [None, "rss"]
    assert answer["differences"] == ["The second objectives differ: none, rss."]


def confirm(daemon, run, default, winner):
    """Gives a run an outcome with these scores of the default and the winner in each block."""
    outcome = run.outcome
    (best,) = outcome["ranking"]
    of_default = {
        **best,
        "configuration": outcome["default"],
        "configuration_hash": configuration_hash(outcome["default"]),
        "is_default": True,
        "scores_mbps": default,
    }
    outcome["ranking"] = [{**best, "scores_mbps": winner}, of_default]
    daemon.repository.set_run_outcome(run.id, outcome)


def compared(daemon, *runs):
    """Differences and ranks of runs."""
    answer = daemon.client.get("/api/v1/compare", params={"run": [run.id for run in runs]}).json()
    return answer["differences"], [run["rank"] for run in answer["runs"]]


def test_machine_that_was_faster_at_one_time_does_not_rank_its_run_first(daemon, recorded_run, record_run):
    """Both have found 20 %; the scores alone, a fifth higher in one of them, would tell them apart."""
    later, better = record_run(), record_run()
    confirm(daemon, recorded_run, [100.0, 101.0, 99.0, 100.0], [120.0, 121.0, 120.0, 119.0])
    confirm(daemon, later, [80.0, 81.0, 79.0, 80.0], [96.0, 97.0, 95.0, 97.0])
    confirm(daemon, better, [80.0, 81.0, 79.0, 80.0], [104.0, 105.0, 103.0, 104.0])
    assert compared(daemon, recorded_run, later) == ([], [1, 1])
    assert compared(daemon, recorded_run, better) == ([], [2, 1])


def test_run_that_confirmed_nothing_has_no_rank(daemon, recorded_run, record_run):
    """Nothing links its scores to those of another time."""
    assert compared(daemon, recorded_run, record_run()) == ([], [None, None])


def test_other_kernel_or_other_parameters_of_the_workload_are_told(daemon, recorded_run, record_run):
    """A machine of the same name and a workload of the same name are not the same for that."""
    host = daemon.repository.host(daemon.context.host_id)
    updated = daemon.repository.register_host(replace(host, kernel="99.1"))
    kernels = ", ".join(sorted(["99.1", host.kernel]))
    expected = ([f"The host has changed between the runs: kernel {kernels}."], [None, None])
    assert compared(daemon, recorded_run, record_run(host_id=updated)) == expected
    expected = ["The workloads differ: parameters of specweb99 have changed between the runs."]
    assert compared(daemon, recorded_run, record_run(directories=4)) == (expected, [None, None])


@pytest.mark.parametrize(("runs", "status"), [([4711], 404), ([], 422), (list(range(1, 14)), 422)])
def test_what_cannot_be_compared_is_refused(empty_daemon, runs, status):
    """No such run, none at all, too many."""
    assert empty_daemon.client.get("/api/v1/compare", params={"run": runs}).status_code == status
