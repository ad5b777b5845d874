"""Runs side by side over the API."""

from dataclasses import replace

import pytest
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


@pytest.mark.parametrize(("runs", "status"), [([4711], 404), ([], 422), (list(range(1, 14)), 422)])
def test_what_cannot_be_compared_is_refused(empty_daemon, runs, status):
    """No such run, none at all, too many."""
    assert empty_daemon.client.get("/api/v1/compare", params={"run": runs}).status_code == status
