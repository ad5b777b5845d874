"""The routes about runs, on records of a run that has finished; `test_tuning.py` has one that is going on."""

import csv
import io
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from trimtab_agent.host.lock import MachineLock
from trimtab_agent.results import analysis as analysing
from trimtab_agent.results.analysis import analyse_run
from trimtab_db.records import CounterSample, RunState
from trimtab_trials.trial import TrialPurpose, Verdict
from trimtab_tuner.certainty.statistics import Gain
from trimtab_tuner.telling.performance import Figure, Performance


def test_list_of_runs_shows_score_and_gain(daemon, recorded_run):
    """A line has what a user needs to choose a run."""
    (line,) = daemon.client.get("/api/v1/runs").json()["runs"]
    assert (line["id"], line["state"], line["phase"]) == (recorded_run.id, "finished", "done")
    assert (line["target"], line["workload"], line["preset"]) == ("core", "specweb99", "quick")
    assert (line["trials"], line["best_score"], line["gain"]["gain"]) == (2, 92.0, 0.25)
    assert line["created_at"].endswith("Z")


def test_list_of_runs_comes_in_pages(daemon, recorded_run):
    """`total` counts all runs, whatever page is asked for."""
    page = daemon.client.get("/api/v1/runs", params={"limit": 5, "offset": 1}).json()
    assert page == {"runs": [], "total": 1}


def test_run_has_space_ladder_and_outcome(daemon, recorded_run):
    """The particulars are those that were recorded."""
    run = daemon.client.get(f"/api/v1/runs/{recorded_run.id}").json()
    assert run["ladder"] == [1000.0, 2000.0]
    assert run["outcome"]["best"]["workers"] == 4
    assert run["outcome"]["ranking"][0]["scores_mbps"] == [92.0, None]
    assert {knob["name"] for knob in run["space"]["knobs"]} >= {"workers", "max_connections", "sendfile"}
    assert run["layout"] == {"server": [0], "generator": [1], "reason": ""}  # recorded without one
    assert run["progress"] is None


def test_run_that_failed_early_has_no_outcome(daemon, recorded_run):
    """Everything that a run may not have yet is null."""
    other = daemon.repository.run(recorded_run.id)
    assert other.outcome is not None
    daemon.repository.set_run_state(recorded_run.id, RunState.FAILED, error="The disk is full.")
    run = daemon.client.get(f"/api/v1/runs/{recorded_run.id}").json()
    assert (run["state"], run["error"]) == ("failed", "The disk is full.")


def test_trials_come_with_curves_and_without_particulars(daemon, recorded_run):
    """The list has what heat map and curves need."""
    trials = daemon.client.get(f"/api/v1/runs/{recorded_run.id}/trials").json()
    assert [(trial["number"], trial["configuration"]["workers"]) for trial in trials] == [(1, 1), (2, 4)]
    (measurement,) = trials[1]["measurements"]
    assert (measurement["rate_rps"], measurement["goodput_mbps"]) == (1000.0, 92.0)
    assert measurement["requests"]["timed_out_after_read"] == 5
    assert measurement["reply_latency"]["p99_us"] == 2100.0
    assert "size_classes" not in measurement
    assert "server_config" not in trials[1]


def test_trials_after_a_number_are_the_newer_ones(daemon, recorded_run):
    """A page that has been open a while asks only for what is new."""
    path = f"/api/v1/runs/{recorded_run.id}/trials"
    assert [trial["number"] for trial in daemon.client.get(path, params={"after": 1}).json()] == [2]
    assert [trial["number"] for trial in daemon.client.get(path, params={"limit": 1}).json()] == [1]


def test_trial_has_size_classes_and_the_file_it_ran_with(daemon, recorded_run):
    """One trial is told in full."""
    trial = daemon.client.get(f"/api/v1/runs/{recorded_run.id}/trials/2").json()
    assert trial["server_config"] == "[server]\nworkers = 4\n"
    (measurement,) = trial["measurements"]
    assert measurement["size_classes"][0]["size_bytes"] == 102
    assert measurement["first_byte_latency"]["p50_us"] is None


def test_events_are_told_in_order(daemon, recorded_run):
    """With their data."""
    (event,) = daemon.client.get(f"/api/v1/runs/{recorded_run.id}/events").json()
    assert (event["level"], event["message"]) == ("info", "The ladder is fixed.")
    assert event["data"] == {"saturation_rps": 1500.0}


def test_export_is_downloaded_under_its_own_name(daemon, recorded_run):
    """The bytes are those that were checked."""
    (export,) = daemon.client.get(f"/api/v1/runs/{recorded_run.id}/exports").json()
    assert (export["format"], export["check_ok"]) == ("nginx", True)
    response = daemon.client.get(f"/api/v1/runs/{recorded_run.id}/exports/nginx/download")
    assert response.headers["content-disposition"] == "attachment; filename*=UTF-8''nginx.conf"
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.text == export["text"]
    missing = daemon.client.get(f"/api/v1/runs/{recorded_run.id}/exports/apache/download")
    assert missing.status_code == 404


def test_estimate_says_how_long_each_phase_takes(daemon):
    """The phases add up, and nothing is recorded."""
    estimate = daemon.client.post("/api/v1/runs/estimate", json={"preset": "quick"}).json()
    assert [phase["phase"] for phase in estimate["breakdown"]][1:3] == ["calibrating", "searching"]
    assert estimate["duration_s"] == pytest.approx(
        sum(phase["duration_s"] for phase in estimate["breakdown"])
    )
    assert daemon.repository.count_runs() == 0


def test_finished_run_can_be_neither_stopped_nor_resumed(daemon, recorded_run):
    """409, and the sentence says why."""
    for action, code in (("stop", "run-not-running"), ("resume", "run-not-resumable")):
        response = daemon.client.post(f"/api/v1/runs/{recorded_run.id}/{action}")
        assert (response.status_code, response.json()["error"]["code"]) == (409, code)


def test_second_run_is_refused_while_one_is_going_on(start_daemon):
    """The run of another process counts as well, wherever it keeps its files; the sentence names it."""
    daemon = start_daemon(httpd_path="/bin/true", load_path="/bin/true")
    elsewhere = Path("/srv/another/var")
    lock = MachineLock(daemon.settings.machine_lock, elsewhere)
    lock.tell(run_id=12)
    response = daemon.client.post("/api/v1/runs", json={})
    lock.release()
    assert (response.status_code, response.json()["error"]["code"]) == (409, "run-conflict")
    said = f"run 12 is running on this machine (process {os.getpid()}, its directory is {elsewhere})"
    assert said in response.json()["error"]["message"]
    assert daemon.repository.count_runs() == 0


def test_run_in_the_archive_is_listed_only_when_asked_for(daemon, record_run):
    """It is kept, can be looked at, and comes back."""
    first, second = record_run(), record_run()
    path = f"/api/v1/runs/{first.id}"
    assert daemon.client.patch(path, json={"archived": True}).json()["archived"] is True
    listed = daemon.client.get("/api/v1/runs").json()
    assert ([run["id"] for run in listed["runs"]], listed["total"]) == ([second.id], 1)
    asked = daemon.client.get("/api/v1/runs", params={"archived": True}).json()
    assert ([run["id"] for run in asked["runs"]], asked["total"]) == ([second.id, first.id], 2)
    assert daemon.client.get(path).status_code == 200
    daemon.client.patch(path, json={"archived": False})
    assert daemon.client.get("/api/v1/runs").json()["total"] == 2


@pytest.mark.parametrize("name", ["two\nlines", "red \x1b[31m", "turned \u202e round", "x" * 81])
def test_name_of_a_run_is_one_line(daemon, recorded_run, name):
    """What would spoil a list is refused; a name is kept without the spaces round it."""
    path = f"/api/v1/runs/{recorded_run.id}"
    assert daemon.client.patch(path, json={"name": " before <b> "}).json()["name"] == "before <b>"
    refused = daemon.client.patch(path, json={"name": name})
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "name")
    assert daemon.client.get(path).json()["name"] == "before <b>"


def test_notes_and_tags_are_kept_and_bounded(daemon, recorded_run):
    """A field that is left out stays; what is too long is refused by name."""
    path = f"/api/v1/runs/{recorded_run.id}"
    noted = daemon.client.patch(path, json={"notes": "after the upgrade", "tags": ["kernel 6.18"]})
    assert (noted.json()["notes"], noted.json()["tags"]) == ("after the upgrade", ["kernel 6.18"])
    assert daemon.client.patch(path, json={"notes": ""}).json()["tags"] == ["kernel 6.18"]
    assert daemon.client.patch(path, json={"tags": [" 6.18 "]}).json()["tags"] == ["6.18"]
    for tag in ("x" * 41, " ", "two\nlines", "red \x1b[31m"):
        refused = daemon.client.patch(path, json={"tags": [tag]})
        assert (refused.status_code, refused.json()["error"]["field"]) == (422, "tags.0")
    refused = daemon.client.patch(path, json={"notes": "a\n\0\nb"})
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "notes")
    assert daemon.client.patch("/api/v1/runs/4711", json={"notes": "x"}).status_code == 404


def test_notes_that_somebody_else_has_changed_are_not_written_over(daemon, recorded_run):
    """With If-Match the version that was read is replaced, and no newer one; without it any is."""
    path = f"/api/v1/runs/{recorded_run.id}"
    read = {"If-Match": f'"{daemon.client.get(path).json()["notes_version"]}"'}
    assert daemon.client.patch(path, json={"notes": "theirs"}, headers=read).status_code == 200
    refused = daemon.client.patch(path, json={"notes": "mine"}, headers=read)
    assert (refused.status_code, refused.json()["error"]["code"]) == (412, "changed-meanwhile")
    assert daemon.client.get(path).json()["notes"] == "theirs"
    assert daemon.client.patch(path, json={"notes": "mine"}).json()["notes"] == "mine"


def test_trial_says_where_it_exceeded_the_thresholds_of_its_run(daemon, recorded_run):
    """Every violation, not only the worst."""
    trial = daemon.client.get(f"/api/v1/runs/{recorded_run.id}/trials/1").json()
    assert trial["thresholds"]["size_limit"] == 0.02
    assert trial["violations"] == []
    (measurement,) = daemon.repository.trial(recorded_run.id, 1).measurements
    (counts,) = measurement.size_classes
    slow = replace(counts, replied=1500, timed_out_after_read=495)
    bad = replace(
        daemon.repository.trial(recorded_run.id, 1),
        number=3,
        verdict="failed-verification",
        measurements=(replace(measurement, size_classes=(slow,)),),
    )
    daemon.repository.record_trial(bad)
    violations = daemon.client.get(f"/api/v1/runs/{recorded_run.id}/trials/3").json()["violations"]
    assert [(v["rule"], v["size_bytes"], v["count"]) for v in violations] == [
        ("all-files", None, 495),
        ("file-size", 102, 495),
    ]


def test_counters_of_a_trial_are_those_of_its_time(daemon, recorded_run):
    """By its number in the run; a trial that does not exist is not found."""
    sample = CounterSample(
        host_id=daemon.context.host_id,
        taken_at=recorded_run.started_at,
        values={"time": 1.0, "interval_s": 1.0, "missing": {}},
        run_id=recorded_run.id,
        trial_number=2,
    )
    daemon.repository.add_counter_samples([sample])
    path = f"/api/v1/runs/{recorded_run.id}/trials"
    assert len(daemon.client.get(f"{path}/2/counters").json()) == 1
    assert daemon.client.get(f"{path}/1/counters").json() == []
    assert daemon.client.get(f"{path}/9/counters").status_code == 404


def test_analysis_of_a_run_says_what_it_cannot_tell(daemon, recorded_run):
    """Two trials are too few for importance; the best is known, so its neighbourhood is looked at."""
    analysis = daemon.client.get(f"/api/v1/runs/{recorded_run.id}/analysis").json()
    assert analysis["best"]["workers"] == 4
    assert analysis["importance"] is None
    assert analysis["stability"]["kind"] == "unknown"
    assert analysis["notes"] == [
        "Importance needs at least 8 verified trials whose scores differ; there are 2."
    ]


def test_analysis_does_not_read_a_run_whole(daemon, recorded_run, monkeypatch):
    """Counters come for the few trials that a rule may look at."""
    asked = []
    read = daemon.repository.whole_trials

    def read_named(run_id, *, numbers):
        asked.append(set(numbers))
        return read(run_id, numbers=numbers)

    monkeypatch.setattr(daemon.repository, "whole_trials", read_named)
    assert daemon.client.get(f"/api/v1/runs/{recorded_run.id}/analysis").status_code == 200
    assert asked == [{1}]  # the other is the best itself


def test_analysis_passes_over_a_trial_that_other_programs_spoilt(daemon, recorded_run):
    """What overflowed while they had the CPU says nothing of the best: its last trial before that does."""
    (last, *_) = reversed(daemon.repository.whole_trials(recorded_run.id))
    (rate,) = last.measurements
    network = {"listen_overflows_per_s": 588.0, "passive_opens_per_s": 100.0}
    overflowed = replace(rate, counters={"network": network}, server_stats={})

    def found_with(number, verdict):
        daemon.repository.record_trial(
            replace(
                last,
                number=number,
                proposal_number=None,
                verdict=verdict,
                score=last.score if verdict is Verdict.VERIFIED else None,
                measurements=(overflowed,),
            )
        )
        return {found.rule for found in analyse_run(daemon.repository, recorded_run.id).findings}

    assert "accept-queue-overflow" not in found_with(last.number + 1, Verdict.DISTURBED)
    assert "accept-queue-overflow" in found_with(last.number + 2, Verdict.VERIFIED)


def test_analysis_is_worked_out_anew_only_when_the_run_has_got_on(daemon, recorded_run, monkeypatch):
    """Whoever comes back to a long run need not wait for it again; a new outcome may be of another best."""
    worked_out = []

    def analysed(repository, run_id):
        worked_out.append(run_id)
        return analyse_run(repository, run_id)

    monkeypatch.setattr(analysing, "analyse_run", analysed)
    path = f"/api/v1/runs/{recorded_run.id}/analysis"
    first = daemon.client.get(path).json()
    assert daemon.client.get(path).json() == first
    assert len(worked_out) == 1
    outcome = {**recorded_run.outcome, "best": recorded_run.outcome["default"]}
    daemon.repository.set_run_outcome(recorded_run.id, outcome)
    assert daemon.client.get(path).json()["best"] == outcome["best"]
    (last, *_) = reversed(daemon.repository.whole_trials(recorded_run.id))
    daemon.repository.record_trial(replace(last, number=last.number + 1, proposal_number=None))
    daemon.client.get(path)
    assert len(worked_out) == 3


def test_analysis_of_a_run_is_not_that_of_a_deleted_one_of_its_number(daemon, record_run, monkeypatch):
    """Numbers of deleted runs are given anew; the later run may have got as far as the earlier one had."""
    worked_out = []
    monkeypatch.setattr(
        analysing, "analyse_run", lambda *given: worked_out.append(given) or analyse_run(*given)
    )
    for _ in range(2):
        run = record_run()
        assert daemon.client.get(f"/api/v1/runs/{run.id}/analysis").status_code == 200
        daemon.client.delete(f"/api/v1/runs/{run.id}")
    assert worked_out == [(daemon.repository, run.id)] * 2


def test_analysis_of_a_run_whose_ladder_has_grown_is_worked_out_anew(daemon, recorded_run, monkeypatch):
    """All scores are others then, though no trial has come since."""
    path = f"/api/v1/runs/{recorded_run.id}/analysis"
    daemon.client.get(path)
    worked_out = []
    monkeypatch.setattr(
        analysing, "analyse_run", lambda *given: worked_out.append(given) or analyse_run(*given)
    )
    daemon.repository.set_run_ladder(recorded_run.id, [1000.0, 2000.0, 2500.0])
    daemon.client.get(path)
    assert len(worked_out) == 1


def test_analysis_of_a_climb_says_what_limits_where_it_stops_following(daemon, record_run):
    """The calibration trial is the evidence: a doubted rate counts as it was driven again, and overload far
    above the capacity says nothing.
    """
    run = record_run(capacity_only=True)
    of_default = next(t for t in daemon.repository.whole_trials(run.id) if t.number == 1)
    (rate,) = of_default.measurements

    def driven(number, rate_rps, replies, overflows, good=True):
        network = {"listen_overflows_per_s": overflows, "passive_opens_per_s": 100.0}
        return replace(
            rate,
            number=number,
            rate_rps=rate_rps,
            reply_rate_rps=replies,
            held=good,
            counters={"network": network},
            server_stats={},
        )

    climb = (
        driven(1, 1000.0, 1000.0, 0.0),
        driven(2, 8000.0, 1500.0, 900.0, good=False),
        driven(3, 2000.0, 100.0, 500.0, good=False),
        driven(4, 2000.0, 1500.0, 50.0, good=False),
    )
    daemon.repository.record_trial(
        replace(
            of_default,
            number=3,
            purpose=TrialPurpose.CALIBRATION,
            proposal_number=None,
            measurements=climb,
        )
    )
    analysis = daemon.client.get(f"/api/v1/runs/{run.id}/analysis").json()
    (overflow,) = [found for found in analysis["findings"] if found["rule"] == "accept-queue-overflow"]
    assert (overflow["trial"], overflow["rate_rps"]) == (3, 2000.0)
    assert "overflowed 50 times a second" in overflow["sentence"]
    assert (analysis["importance"], analysis["stability"], analysis["notes"]) == (None, None, [])


def test_analysis_of_an_unknown_run_is_refused(daemon):
    """As every route about runs."""
    assert daemon.client.get("/api/v1/runs/999/analysis").status_code == 404


def test_run_that_keeps_its_default_claims_no_gain(daemon, recorded_run):
    """Whatever a finalist seemed to gain was not shown."""
    path = f"/api/v1/runs/{recorded_run.id}"
    assert daemon.client.get(path).json()["keeps_default"] is False
    outcome = recorded_run.outcome
    daemon.repository.set_run_outcome(recorded_run.id, {**outcome, "best": outcome["default"]})
    run = daemon.client.get(path).json()
    assert (run["keeps_default"], run["gain"]) == (True, None)


def test_gain_in_capacity_is_told_where_the_scores_gain_cannot_be(daemon, recorded_run):
    """The ladder may end below what the configuration follows: its score tells little, its capacity much."""
    path = f"/api/v1/runs/{recorded_run.id}"
    run = daemon.client.get(path).json()
    assert (run["capacity_gain"], run["capacity_at_least"]) == (None, False)
    gain = Gain(gain=0.6, low=0.5, high=0.7, significant=True, blocks=4)
    told = Figure(mean=8000.0, low=7900.0, high=8100.0)
    performance = Performance(capacity_rps=told, capacity_gain=gain, at_least=True).model_dump(mode="json")
    outcome = recorded_run.outcome
    (best,) = outcome["ranking"]
    ranking = [{**best, "performance": performance}]
    daemon.repository.set_run_outcome(recorded_run.id, {**outcome, "gain": None, "ranking": ranking})
    (listed,) = daemon.client.get("/api/v1/runs").json()["runs"]
    assert (listed["gain"], listed["capacity_gain"]["gain"], listed["capacity_at_least"]) == (None, 0.6, True)
    assert listed["capacity_rps"] == 8000.0


def test_tables_of_a_run_come_as_csv(daemon, recorded_run):
    """A line for each trial, or for each rate, with a column for each knob."""

    def read(table):
        reply = daemon.client.get(f"/api/v1/runs/{recorded_run.id}/{table}.csv")
        assert reply.headers["content-type"].startswith("text/csv")
        assert reply.headers["content-disposition"].endswith(f'-{table}.csv"')
        return list(csv.DictReader(io.StringIO(reply.text)))

    trials = read("trials")
    assert [(line["trial"], line["knob:workers"], line["score_mbps"]) for line in trials] == [
        ("1", "1", "91.0"),
        ("2", "4", "92.0"),
    ]
    first, _ = read("measurements")
    assert (first["trial"], first["rate_rps"], first["requests_replied"]) == ("1", "1000.0", "1990")
    assert (first["reply_p99_us"], first["knob:max_connections"]) == ("2100.0", "1024")
    assert daemon.client.get(f"/api/v1/runs/{recorded_run.id}/knobs.csv").status_code == 422
    assert daemon.client.get("/api/v1/runs/99/trials.csv").status_code == 404


def test_deleted_run_leaves_neither_records_nor_files(daemon, record_run):
    """Another run, and what belongs to the machine, stay."""
    gone, stays = record_run(), record_run()
    var = daemon.context.service.paths
    for run in (gone, stays):
        for directory in (var.exports(run.id), var.log(run.id)):
            directory.mkdir(parents=True)
            (directory / "file").write_text("x")
    taken_at = gone.started_at - timedelta(hours=1)  # long before the daemon's own
    sample = CounterSample(
        host_id=gone.host_id, taken_at=taken_at, run_id=gone.id, trial_number=1, values={"x": 1}
    )
    daemon.repository.add_counter_samples([sample])
    assert daemon.client.delete(f"/api/v1/runs/{gone.id}").status_code == 204
    assert daemon.client.get(f"/api/v1/runs/{gone.id}").status_code == 404
    assert daemon.client.get("/api/v1/runs").json()["total"] == 1
    assert [t["number"] for t in daemon.client.get(f"/api/v1/runs/{stays.id}/trials").json()] == [1, 2]
    assert not var.exports(gone.id).exists()
    assert not var.log(gone.id).exists()
    assert var.exports(stays.id).exists()
    (kept,) = daemon.repository.counter_samples(gone.host_id, taken_at, taken_at)
    assert kept.run_id is None, "samples are the machine's"


def test_file_that_was_sent_goes_with_the_last_run_that_began_with_it(daemon, record_run, tmp_path):
    """A file of the user's own stays, even where its path only passes the folder of those that were sent."""
    folder = daemon.context.service.paths.uploads.resolve()
    sent, own = folder / "core" / "0123456789abcdef" / "own.conf", tmp_path / "own.conf"
    sent.parent.mkdir(parents=True)
    runs = [record_run(base=str(path)).id for path in (sent, sent, own, folder / "core" / ".." / "own.conf")]
    for path in (sent, own):
        path.write_text("workers = 2\n")
    for run, left in zip(runs, (True, False, False, False), strict=True):
        assert daemon.client.delete(f"/api/v1/runs/{run}").status_code == 204
        assert sent.exists() is left
    assert own.exists()
    assert folder.exists()


def test_run_that_is_going_on_is_not_deleted(daemon, recorded_run):
    """It would go on without records."""
    daemon.repository.set_run_state(recorded_run.id, RunState.RUNNING)
    reply = daemon.client.delete(f"/api/v1/runs/{recorded_run.id}")
    assert (reply.status_code, reply.json()["error"]["code"]) == (409, "run-going-on")
    assert daemon.repository.run(recorded_run.id).id == recorded_run.id


def test_run_of_which_a_trial_is_measured_again_is_not_deleted(daemon, recorded_run):
    """Its state says nothing of that; the machine's lock does."""
    settings = daemon.context.service._settings
    with MachineLock(settings.machine_lock, settings.var.resolve()) as lock:
        lock.tell(run_id=recorded_run.id)
        assert daemon.client.delete(f"/api/v1/runs/{recorded_run.id}").status_code == 409
        lock.tell(var="/somewhere/else")  # another checkout's run of that number
        assert daemon.client.delete(f"/api/v1/runs/{recorded_run.id}").status_code == 204
