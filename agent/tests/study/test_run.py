"""A run from beginning to end, with a real database: on simulated measurements, and with a real server."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from live_support import Listener, tiny_spec
from simulation import Simulation
from trimtab_agent.errors import RunNotResumable
from trimtab_agent.paths import VarPaths
from trimtab_agent.results.exporting import verdict, was_refused
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.runtime import open_repository, open_runtime
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.file_set import FileSet
from trimtab_agent.workloads.choice import make_workload
from trimtab_db.records import RunPhase, RunState
from trimtab_trials.trial import TrialPurpose
from trimtab_tuner.wording import in_mbps
from trimtab_tuner.workloads.parameters import recorded_parameters


@pytest.fixture(
    scope="module", params=["simulated", pytest.param("measured", marks=pytest.mark.live)], name="finished"
)
def finished_run(
    tmp_path_factory: pytest.TempPathFactory, programs: AgentSettings, request: pytest.FixtureRequest
):
    """A finished tiny run: its settings, its repository, its number, the events it published."""
    settings = AgentSettings(
        var=tmp_path_factory.mktemp("run") / "var",
        httpd_path=programs.httpd_path,
        load_path=programs.load_path,
    )
    simulation = Simulation(settings.var) if request.param == "simulated" else None
    if simulation is not None:
        simulation.hold(trial=2)
    with open_runtime(settings) as runtime:
        listener = Listener(runtime.broadcaster)
        run_id = runtime.service.start(tiny_spec())
        if simulation is not None:  # until there is a sample of the trial
            listener.wait_for("progress", lambda data: data["trial"] == 2)
            for _ in range(2):
                listener.wait_for("sample")
            simulation.release()
        runtime.service.wait()
        listener.wait_for("run", lambda data: data["state"] != "running")
    with open_repository(settings) as repository:
        yield settings, repository, run_id, listener.seen


def test_run_finishes_and_says_what_it_found(finished):
    """The end is recorded with an outcome that the confirmation backs."""
    _, repository, run_id, _ = finished
    run = repository.run(run_id)
    assert (run.state, run.phase, run.error) == (RunState.FINISHED, RunPhase.DONE, "")
    outcome = Outcome.model_validate(run.outcome)
    assert outcome.sentence
    assert sum(outcome.verdicts.values()) == sum(
        trial.purpose is TrialPurpose.SEARCH or trial.block > 0 for trial in repository.whole_trials(run_id)
    )


def test_ladder_begins_with_the_points_asked_for_and_every_trial_climbs_it(finished):
    """The search is driven at its rungs and beyond while it follows, the confirmation at all of them."""
    _, repository, run_id, _ = finished
    run = repository.run(run_id)
    assert len(run.ladder) >= 2
    for trial in repository.whole_trials(run_id):
        rates = [m.rate_rps for m in trial.measurements]
        if trial.purpose is TrialPurpose.SEARCH:
            assert rates[0] == run.ladder[0]
            assert rates == sorted(rates)
        elif trial.block:
            assert tuple(rates[: len(run.ladder)]) == run.ladder


def test_first_searched_trial_is_the_default_and_budget_is_kept(finished):
    """The reference comes first; no more trials than the budget allows."""
    _, repository, run_id, _ = finished
    searched = [t for t in repository.whole_trials(run_id) if t.purpose is TrialPurpose.SEARCH]
    assert searched[0].configuration["workers"] == 1
    assert searched[0].level == 0
    assert len(searched) == 3


def test_every_searched_trial_answers_its_proposal(finished):
    """Each proposal was written down and is tied to the trial it led to."""
    _, repository, run_id, _ = finished
    searched = [t for t in repository.whole_trials(run_id) if t.purpose is TrialPurpose.SEARCH]
    proposals = repository.proposals_of(run_id)
    assert [(p.number, p.trial_number) for p in proposals] == [
        (t.proposal_number, t.number) for t in searched
    ]


def test_requests_of_a_measurement_add_up(finished):
    """Offered requests are the sum of what became of them, and so are those of each size."""
    _, repository, run_id, _ = finished
    for trial in repository.whole_trials(run_id):
        for measurement in trial.measurements:
            r = measurement.requests
            parts = (
                r.replied
                + r.timed_out_before_read
                + r.timed_out_after_read
                + r.failed
                + r.abandoned
                + r.dropped
            )
            assert r.offered == parts
            assert measurement.requests.replied == sum(c.replied for c in measurement.size_classes)


def test_server_and_generator_count_the_same_replies(finished):
    """The server's own counters cover what the generator received."""
    _, repository, run_id, _ = finished
    for trial in repository.whole_trials(run_id):
        for measurement in trial.measurements:
            assert measurement.server_stats["requests"] >= measurement.requests.replied > 0


def test_counters_of_a_measurement_cover_every_cpu(finished):
    """The host's counters are recorded with each rate."""
    _, repository, run_id, _ = finished
    for trial in repository.whole_trials(run_id):
        for measurement in trial.measurements:
            assert measurement.counters["cpu"]["cpus"]
            assert measurement.memory_bytes > 0
            used_s = measurement.counter("server_processes", "cpu_s")
            assert used_s >= 0, "a tick of 10 ms may be more than it used"


def test_samples_taken_meanwhile_belong_to_the_run(finished):
    """Once-a-second samples are stored with the trial they were taken in."""
    _, repository, run_id, _ = finished
    run = repository.run(run_id)
    samples = repository.counter_samples(run.host_id, run.started_at)
    assert any(sample.run_id == run_id and sample.trial_number for sample in samples)


def test_confirmation_measures_each_finalist_once_in_each_block(finished):
    """Blocks are complete, unless the default itself was the best of the search."""
    _, repository, run_id, _ = finished
    confirmed = [
        t for t in repository.whole_trials(run_id) if t.purpose is TrialPurpose.CONFIRMATION and t.block
    ]
    outcome = Outcome.model_validate(repository.run(run_id).outcome)
    hashes = {ranked.configuration_hash for ranked in outcome.ranking}
    if len(hashes) > 1:
        slots = sorted((t.block, t.configuration_hash) for t in confirmed if t.verdict != "disturbed")
        blocks = range(1, max(block for block, _ in slots) + 1)
        assert 2 <= len(blocks) <= 4, "the preset's number, or up to twice that if the gain needs it"
        assert slots == sorted((block, digest) for block in blocks for digest in hashes)


def test_exported_files_are_accepted_and_are_what_is_recorded(finished):
    """The server's own check accepts the file on disk, whose text is the database's."""
    settings, repository, run_id, _ = finished
    exports = {export.format: export for export in repository.exports(run_id)}
    assert set(exports) >= {"trimtab-httpd", "trimtab-httpd-changes", "nginx", "systemd", "readme"}
    own = exports.pop("trimtab-httpd")
    assert not [export.check_output for export in exports.values() if was_refused(export)]
    outcome = Outcome.model_validate(repository.run(run_id).outcome)
    assert was_refused(own) is (outcome.remeasured.agrees is False), own.check_output
    file = VarPaths(settings.var).exports(run_id) / own.file_name
    assert file.read_text() == own.text
    recorded = {export.file_name for export in repository.exports(run_id)}
    assert {path.name for path in file.parent.iterdir()} == recorded
    again = subprocess.run([settings.httpd_path, "-t", "-c", file], capture_output=True, check=False)
    assert again.returncode == 0


def test_exported_file_itself_is_measured_and_the_readme_says_so(finished):
    """The last trial ran with the very text of the file, comments and all, but for workers for all CPUs; its
    score stands in the README.
    """
    _, repository, run_id, _ = finished
    run = repository.run(run_id)
    outcome = Outcome.model_validate(run.outcome)
    again = outcome.remeasured
    trials = {trial.number: trial for trial in repository.whole_trials(run_id)}
    driven = trials[again.trial]
    exports = {export.format: export for export in repository.exports(run_id)}
    own = exports["trimtab-httpd"]
    assert (driven.configuration, driven.score) == (run.outcome["best"], again.score_mbps)
    settings = [line for line in own.text.splitlines() if not line.startswith(("root", "listen", "stats_"))]
    different = set(settings) - set(driven.server_config.splitlines())
    assert bool(different) is (outcome.workers != "")
    workers = f"workers = {outcome.written['workers']}"
    assert {line for line in different if not line.startswith("#")} <= {workers}
    assert f"Re-measured from the exported file: {in_mbps(driven.score)}" in again.sentence
    assert again.sentence in exports["readme"].text
    assert again.sentence in verdict(own, run)
    changed = replace(own, text=own.text + "#", check_ok=True)
    assert verdict(changed, run).endswith("its text has changed since.")


def test_progress_never_runs_backwards_and_ends_at_one(finished):
    """The fraction only grows, through all phases in order."""
    _, _, _, events = finished
    progress = [event.data for event in events if event.name == "progress"]
    fractions = [data["fraction"] for data in progress]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    phases = list(dict.fromkeys(data["phase"] for data in progress))
    assert phases == [
        "preparing",
        "calibrating",
        "searching",
        "eliminating",
        "confirming",
        "exporting",
        "done",
    ]


def test_events_tell_every_trial_and_measurement(finished):
    """Listeners hear of exactly what is recorded."""
    _, repository, run_id, events = finished
    trials = repository.whole_trials(run_id)
    told = [event.data["number"] for event in events if event.name == "trial"]
    assert told == [trial.number for trial in trials]
    measurements = [event for event in events if event.name == "measurement"]
    assert len(measurements) >= sum(len(trial.measurements) for trial in trials)


def test_resuming_a_finished_run_is_refused(finished):
    """There is nothing left to do."""
    settings, _, run_id, _ = finished
    with open_runtime(settings) as runtime, pytest.raises(RunNotResumable, match=f"run {run_id} is finished"):
        runtime.service.resume(run_id)


@pytest.mark.live
@pytest.mark.parametrize("finished", ["measured"], indirect=True)
def test_file_set_is_on_disk_in_full(finished):
    """What the server served is what the workload describes."""
    settings, repository, run_id, _ = finished
    run = repository.run(run_id)
    files = FileSet(
        Path(settings.var) / "filesets", make_workload(recorded_parameters(run.workload_parameters))
    )
    assert files.missing_sentence() == ""
