"""A station carries out jobs with a real server under real load, and knows neither run nor database."""

import json
import re
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from live_support import children_named, nothing_here, wait_until_gone
from trimtab_agent.errors import FileSetError, SpecError
from trimtab_agent.host.cpu_layout import process_layout
from trimtab_agent.host.lock import MachineLock
from trimtab_agent.station import measuring
from trimtab_agent.station import station as station_module
from trimtab_agent.station.disturbance import DisturbanceWatch
from trimtab_agent.station.equipment import JobListener
from trimtab_agent.station.requirements import completed
from trimtab_trials.measurement import Latency
from trimtab_trials.trial import Verdict
from trimtab_tuner.judging.early_stop import Leader
from trimtab_tuner.judging.job import EarlyEnd, Placement, TrialJob, TrialReport, read_job
from trimtab_tuner.judging.verification import Thresholds
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.parameters import parameters

MOST_STALLS = 5
DEFAULT = TARGETS["core"].space().default()
PERMISSIVE = Thresholds(all_files_limit=1, size_limit=1, size_over_mean_limit=1, failures_limit=1)


def job(**changes):
    """A job of half a second."""
    fields = {
        "target": "core",
        "configuration": {**DEFAULT, "workers": 2, "max_connections": 16},
        "workload": parameters(WORKLOADS["specweb99"].sized(1), 0.02),
        "ladder": (200.0, 400.0),
        "rate_duration_s": 0.4,
        "warmup_s": 0.1,
        "timeout_s": 0.5,
        "thresholds": PERMISSIVE,
    }
    return TrialJob(**{**fields, **changes})


def carried_out(station, *arguments):
    """The report of a job; carried out again, as runs do, if a stall of this machine has spoilt it."""
    for _ in range(MOST_STALLS):
        report = station.carry_out(*arguments)
        if report.verdict not in (Verdict.GENERATOR_LIMITED, Verdict.DISTURBED):
            break
    return report


@pytest.mark.live
def test_report_tells_all_that_was_measured(station, tmp_path):
    """Rates, generator, server and host; the logs lie under the name that was given."""
    told = []
    listener = JobListener(rate_started=told.append, measured=lambda measurement: told.append(measurement))
    report = carried_out(station, job(), listener, "first")
    assert report.verdict is Verdict.VERIFIED, report.reason
    assert [m.rate_rps for m in report.measurements] == [200.0, 400.0]
    assert told[-4:] == [200.0, report.measurements[0], 400.0, report.measurements[1]]
    for measurement in report.measurements:
        assert measurement.requests.replied > 0
        assert measurement.health["verdict"] == "ok"
        assert measurement.server_stats["requests"] > 0
        assert measurement.counters["cpu"]["total"]
        assert measurement.memory_bytes > 0
        assert "resident_bytes" not in measurement.counters["server_processes"]
        window_s = measurement.counters["interval_s"]
        assert window_s == pytest.approx(0.3, abs=0.1)  # neither the warm-up nor the drain
        assert measurement.size_classes
    assert report.host == station.host
    assert report.target_version[0].isdigit()
    assert "workers = 2" in report.server_config
    assert report.started_at < report.finished_at
    assert (tmp_path / "logs/first.conf").read_text() == report.server_config
    assert TrialReport.model_validate_json(report.model_dump_json()) == report


@pytest.mark.live
def test_job_that_has_travelled_is_the_same_job(station):
    """Sent as JSON, carried out, reported."""
    report = carried_out(station, read_job(job().model_dump_json()))
    assert report.verdict is Verdict.VERIFIED, report.reason


@pytest.mark.live
def test_calibration_finds_its_rates_as_it_goes(station):
    """Where sixteen connections saturate on the clients' pauses."""
    report = carried_out(station, job(ladder=(), calibrate_from_rps=600.0))
    rates = [m.rate_rps for m in report.measurements]
    assert report.verdict in (Verdict.VERIFIED, Verdict.GENERATOR_LIMITED), report.reason
    assert rates[0] == 600.0
    assert len(set(rates)) > 2


@pytest.mark.live
def test_calibration_of_a_server_that_answers_nothing_ends_at_once(station, monkeypatch):
    """Whoever asked comes to the same end by what was measured."""

    def nothing(*arguments):
        return replace(measuring.measurement_of(*arguments), reply_rate_rps=0.0)

    monkeypatch.setattr("trimtab_agent.station.climb.measurement_of", nothing)
    report = station.carry_out(job(ladder=(), calibrate_from_rps=600.0))
    assert len(report.measurements) == 1


@pytest.mark.live
def test_climb_ends_below_a_rate_that_something_else_has_spoilt(station, monkeypatch):
    """Nobody knows then whether the server gave way, so that its capacity is only known from below."""

    def beyond(number, *rest):
        measurement = measuring.measurement_of(number, *rest)
        spoilt = {"reply_rate_rps": 1.0, "reply_latency": Latency(), "counters": {"beyond": 1}}
        return measurement if measurement.rate_rps <= 400.0 else replace(measurement, **spoilt)

    monkeypatch.setattr("trimtab_agent.station.climb.measurement_of", beyond)
    monkeypatch.setattr(DisturbanceWatch, "judge", lambda _, rate: "it rained" * ("beyond" in rate.counters))
    report = carried_out(station, job(rise=1.25))
    assert report.verdict is Verdict.VERIFIED, report.reason
    assert [m.rate_rps for m in report.measurements] == [200.0, 400.0]
    assert report.disturbances[-1] == "At 500 requests/s it rained."


@pytest.mark.live
def test_job_runs_where_it_is_placed(station):
    """And not where the station would put it."""
    layout = process_layout()
    placement = Placement(server=layout.generator, generator=layout.server)
    seen = []

    def look(_rate_rps):
        seen.extend(child.cpu_affinity() for child in children_named("trimtab-httpd"))

    report = station.carry_out(job(placement=placement), JobListener(rate_started=look))
    assert report.verdict in (Verdict.VERIFIED, Verdict.GENERATOR_LIMITED, Verdict.DISTURBED)
    assert seen
    assert all(cpus == list(layout.generator) for cpus in seen)


@pytest.mark.live
def test_hopeless_job_is_not_driven_at_every_rate(station):
    """Its leader is out of reach."""
    leader = Leader(score_mbps=1e6, highest_mbps={200.0: 1.0, 400.0: 1.0}, noise=0.0)
    report = station.carry_out(job(end_early=EarlyEnd(objective="peak", leader=leader)))
    assert report.verdict is Verdict.STOPPED_EARLY, report.reason
    assert len(report.measurements) == 1


@pytest.mark.live
def test_configuration_that_the_server_refuses_is_reported(station):
    """With its own sentence, and the next job is carried out."""
    refused = station.carry_out(job(configuration={**DEFAULT, "workers": 8, "max_connections": 4}))
    assert refused.verdict is Verdict.REJECTED
    assert refused.reason
    assert refused.measurements == ()
    assert carried_out(station, job()).verdict is Verdict.VERIFIED


@pytest.mark.live
def test_stopped_job_is_aborted_and_leaves_no_process(station):
    """Asked for from another thread, in the middle of a rate."""
    report = station.carry_out(
        job(rate_duration_s=30.0), JobListener(load_progress=lambda _rate, _line: station.stop())
    )
    assert report.verdict is Verdict.ABORTED
    assert children_named("trimtab-httpd") == children_named("trimtab-load") == []


def test_files_that_are_gone_are_no_fault_of_the_configuration(station, settings):
    """Then the job says nothing, and whoever asked is told why."""
    station.prepare(job().workload)
    (root,) = Path(settings.var).glob("filesets/*/root")
    shutil.rmtree(root)
    with pytest.raises(FileSetError, match="is gone"):
        station.carry_out(job())


def test_jobs_of_one_workload_find_it_prepared(station, monkeypatch):
    """Its files are looked through once, and again only for another workload."""
    made = []
    real = station_module.FileSet
    monkeypatch.setattr(station_module, "FileSet", lambda *args: made.append(args) or real(*args))
    other = parameters(WORKLOADS["one-packet"], 0.02)
    for workload in (job().workload, job().workload, other, other, job().workload):
        station.prepare(workload)
    assert len(made) == 3


def test_missing_knobs_of_a_job_are_the_targets_defaults():
    """A job from elsewhere names what is unusual."""
    sparse = job(configuration={"workers": 3, "architecture": "mt"})
    whole = completed(sparse, cpus=1, kernel=nothing_here)
    assert whole.configuration == {**TARGETS["core"].space("mt").default(), "workers": 3}
    secure = job(target="nginx", workload=parameters(WORKLOADS["specweb99-tls"], 0.02), configuration={})
    assert completed(secure, cpus=1, kernel=nothing_here).configuration["tls_key"] == "rsa"


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"target": "iis"}, "target", "expected one of core, apache"),
        ({"configuration": {"wokers": 1}}, "configuration.wokers", "no such knob"),
        ({"configuration": {"workers": "1; x"}}, "configuration.workers", "expected an integer"),
        (
            {"configuration": {"workers": 9, "max_connections": 2}},
            "configuration.workers",
            "expected at most",
        ),
        ({"configuration": {"architecture": "forking"}}, "configuration.architecture", "forking"),
        ({"constraints": ("speed <= 1",)}, "job", "no such statistic; expected one of mean, p50"),
        ({"end_early": EarlyEnd(objective="fastest")}, "job", "expected one of condensed-area"),
        ({"end_early": EarlyEnd(objective="mat")}, "job", "end_early: mat: expected a limit"),
        ({"workload": parameters(WORKLOADS["support"], 1.0)}, "workload", "expected a static workload"),
        (
            {"target": "nginx", "configuration": {"replicas": 2, "replica_placement": "direct"}},
            "configuration.replica_placement",
            "on the loopback all replicas share one device",
        ),
        ({"base": "[server]\nworkers = many\n"}, "base", "workers"),
        ({"configuration": {"swappiness": 10}}, "configuration.swappiness", "no such knob"),
    ],
)
def test_job_of_somebody_else_is_looked_through_first(changes, field, said):
    """Its values end up in a file that a server reads."""
    with pytest.raises(SpecError, match=re.escape(said)) as refusal:
        completed(job(**changes), cpus=2, kernel=nothing_here)
    assert refusal.value.field == field


@pytest.mark.live
def test_station_run_prints_the_report_of_a_job(command, tmp_path):
    """JSON in, JSON out; progress goes elsewhere."""
    (tmp_path / "job.json").write_text(job(configuration={"workers": 2}).model_dump_json())
    code, output, errors = command("station", "run", str(tmp_path / "job.json"))
    assert code == 0
    report = TrialReport.model_validate_json(output)
    assert report.verdict in (Verdict.VERIFIED, Verdict.GENERATOR_LIMITED, Verdict.DISTURBED), report.reason
    assert "200 requests/s: " in errors


@pytest.mark.parametrize(
    ("text", "said"),
    [("{}", "target: Field required"), ("[", "Invalid JSON"), (None, "cannot be read: No such file")],
)
def test_station_run_refuses_what_is_no_job(command, tmp_path, text, said):
    """Exit code 2, and the file is named."""
    if text is not None:
        (tmp_path / "job.json").write_text(text)
    code, output, _ = command("station", "run", str(tmp_path / "job.json"), "--json")
    assert code == 2
    error = json.loads(output)["error"]
    assert "job.json" in error["message"]
    assert said in error["message"]


def test_station_run_waits_for_no_run(command, settings, tmp_path):
    """One at a time on a machine, whoever it is."""
    (tmp_path / "job.json").write_text(job().model_dump_json())
    with MachineLock(settings.machine_lock, Path("/srv/elsewhere")):
        code, _, errors = command("station", "run", str(tmp_path / "job.json"))
    assert code == 3
    assert "its directory is /srv/elsewhere" in errors


@pytest.mark.live
def test_interrupted_station_run_reports_what_there_is(trimtab, tmp_path):
    """And says by its exit code that it was cut short; nothing is left running."""
    (tmp_path / "job.json").write_text(job(rate_duration_s=60.0).model_dump_json())
    running = trimtab("station", "run", str(tmp_path / "job.json"))
    running.wait_for_line("200 requests/s")
    children = running.descendants()
    running.process.send_signal(signal.SIGINT)
    code, output = running.finish()
    assert code == 130
    assert '"verdict": "aborted"' in output
    wait_until_gone(children)
