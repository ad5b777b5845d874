"""Runs under other objectives than the usual one, and under two at once."""

import json

import pytest
from live_support import tiny_options, tiny_spec
from trimtab_agent.study.run_spec import KnobSpec
from trimtab_db.records import RunState
from trimtab_trials.trial import TrialPurpose, Verdict

pytestmark = pytest.mark.usefixtures("simulated")

PLENTY_RPS = 400_000.0  # so that one connection is enough for a reply of every size


def tuned(command, *options, exits=0, **changes):
    """The JSON document of a tiny run through the command line, which ends with the status `exits`."""
    code, output, errors = command("tune", "--json", *options, *tiny_options(**changes))
    assert code == exits, errors
    return json.loads(output)


def test_run_with_two_objectives_shows_and_exports_its_front(command, tmp_path):
    """Every trial has both figures, so has the front, and the files name which one of it they are."""
    document = tuned(command, "--second-objective=rss", budget_trials=4)
    run = document["run"]
    assert (run["objective"], run["second_objective"]) == ("condensed-area", "rss")
    judged = [t for t in document["trials"] if t["purpose"] != "calibration" and t["verdict"] == "verified"]
    assert judged
    assert all(t["score"] > 0 and t["second_score"] > 0 for t in judged)
    front = run["outcome"]["front"]
    assert (front["first"]["unit"], front["second"]["unit"]) == ("Mbps", "MB")
    members = front["members"]
    assert members[0]["place"] == "best-first"
    assert [m["second_score"] for m in members] == sorted((m["second_score"] for m in members), reverse=True)
    shown = " ".join(command("show", "1")[1].split())
    assert "objective condensed-area and rss" in shown
    assert "Front: no other configuration is better in both objectives" in shown
    assert "## Front" in command("show", "1", "--markdown")[1].splitlines()
    (readme,) = [e["text"] for e in document["exports"] if e["format"] == "readme"]
    assert "condensed-area and rss" in " ".join(readme.split())


def test_run_under_a_latency_limit_of_its_own_finds_one_by_calibrating(command):
    """`mat` without a limit: every trial is scored under 4.5 times the mean latency at low load."""
    document = tuned(command, "--objective=mat")
    assert document["run"]["state"] == "finished"
    assert all(
        t["score"] is not None for t in document["trials"] if t["verdict"] == "verified" and t["level"]
    )
    assert any("mean <= " in event["message"] for event in document["events"])


def test_limit_that_nothing_holds_is_named_with_what_came_nearest(command):
    """Every trial scores 0, so that none is the best: the default is kept, and the sentence says why."""
    document = tuned(command, "--objective=mat: mean <= 1us")
    outcome = document["run"]["outcome"]
    assert outcome["sentence"].startswith("No configuration held mean <= 1us even at the lowest rate")
    assert "came nearest had mean = " in outcome["sentence"]
    assert outcome["best"] == outcome["default"]
    assert not [t for t in document["trials"] if t["purpose"] == "confirmation" and t["block"] > 0]


def test_constraint_that_nothing_satisfies_is_named_with_what_to_loosen(command):
    """The run ends without a recommendation, and says why."""
    document = tuned(command, "--set", 'constraints=["rss <= 10kB"]', exits=1)
    outcome = document["run"]["outcome"]
    assert (document["run"]["state"], outcome["best"]) == ("finished", None)
    assert "rss <= 10kB" in outcome["sentence"]
    assert "Loosen or drop the constraint rss <= 10kB" in outcome["sentence"]
    assert document["exports"] == []


def test_trial_that_cannot_matter_is_stopped_with_its_reason(simulated, runtime):
    """One connection at a time cannot keep up: the rates left are not driven; the reason has the bound."""
    simulated.change(capacity_rps=PLENTY_RPS)
    narrowed = {
        "max_connections": KnobSpec(low=1, high=64),
        "workers": KnobSpec(fixed=1),
        "sendfile": KnobSpec(fixed="nonblocking"),
    }
    grid = {"strategy": "grid", "coarse_grid": {"max_connections": 2}}
    ladder = (1000.0, 2000.0)
    run_id = runtime.service.start(tiny_spec(narrowed, **grid, early_stopping=True, ladder=ladder))
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert (run.state, run.error) == (RunState.FINISHED, "")
    trials = runtime.repository.whole_trials(run_id)
    (stopped,) = [t for t in trials if t.configuration["max_connections"] == 1]
    assert (stopped.purpose, stopped.verdict) == (TrialPurpose.SEARCH, Verdict.STOPPED_EARLY)
    assert [m.rate_rps for m in stopped.measurements] == [1000.0]
    assert stopped.score is None
    leader = max(t.score for t in trials if t.purpose is TrialPurpose.SEARCH and t.score is not None)
    assert stopped.estimated_score < leader
    assert "it could have reached at most" in stopped.reason
    messages = [event.message for event in runtime.repository.events(run_id)]
    assert "Stopping early has saved 1 rate of the search." in messages


def test_trial_that_has_lost_its_verification_is_stopped_with_its_reason(runtime):
    """A broken constraint stays broken: the first rate settles it, except for the default."""
    run_id = runtime.service.start(tiny_spec(early_stopping=True, constraints=["rss <= 10kB"]))
    runtime.service.wait()
    default, *others = [
        t for t in runtime.repository.whole_trials(run_id) if t.purpose is TrialPurpose.SEARCH
    ]
    assert len(default.measurements) == 2
    assert others
    for trial in others:
        assert trial.verdict == Verdict.FAILED_VERIFICATION
        assert len(trial.measurements) == 1
        assert "nothing measured later could mend that" in trial.reason
