"""A job and its report go from one machine to another as JSON, and what makes no sense is refused."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from trimtab_trials.host import Host
from trimtab_trials.measurement import Latency, Measurement, RequestCounts, SizeClassCounts
from trimtab_trials.trial import Verdict
from trimtab_tuner.judging.early_stop import Leader
from trimtab_tuner.judging.job import EarlyEnd, JobError, Placement, TrialJob, TrialReport, read_job
from trimtab_tuner.judging.limits import parse_limit
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.parameters import parameters

WORKLOAD = parameters(WORKLOADS["specweb99"].sized(2), 0.1)
HOST = Host(
    machine_id="0" * 32, name="h", kernel="6.1", cpu_model="c", cpus=2, memory_bytes=1, topology={"cpus": []}
)


def make_job(**changes):
    """A job with everything in it."""
    leader = Leader(
        score_mbps=80.5,
        highest_mbps={500.0: 41.0, 1000.5: 81.0},
        noise=0.03,
    )
    fields = {
        "target": "core",
        "configuration": {"workers": 2, "sendfile": "off"},
        "base": "workers = 1\n",
        "workload": WORKLOAD,
        "ladder": (500.0, 1000.5),
        "rate_duration_s": 2.0,
        "warmup_s": 0.5,
        "timeout_s": 1.0,
        "seed": 7,
        "placement": Placement(server=(0,), generator=(1,)),
        "constraints": ("p999 <= 20ms",),
        "end_early": EarlyEnd(objective="mat", limit=parse_limit("mean <= 2ms"), leader=leader),
    }
    return TrialJob(**{**fields, **changes})


def test_job_comes_back_as_it_was_sent():
    """To the last digit of a float, so that both sides come to the same verdict."""
    job = make_job()
    assert read_job(job.model_dump_json()) == job
    calibration = make_job(ladder=(), calibrate_from_rps=2000.0, end_early=None)
    assert read_job(calibration.model_dump_json()) == calibration


def test_report_comes_back_as_it_was_sent():
    """With all that was measured, and the host it was measured on."""
    measurement = Measurement(
        number=1,
        rate_rps=1000.5,
        goodput_mbps=1 / 3,
        reply_rate_rps=999.0,
        requests=RequestCounts(offered=10, replied=10),
        reply_latency=Latency(p50_us=0.1),
        health={"reasons": ["late"], "cpu_share": 0.5},
        counters={"cpu": {"total": {"user": 12.5}, "cpus": [{"cpu": 0}]}},
        size_classes=(
            SizeClassCounts(
                size_bytes=100,
                asked=10,
                replied=10,
                timed_out_before_read=0,
                timed_out_after_read=0,
                failed=0,
                abandoned=0,
            ),
        ),
    )
    report = TrialReport(
        verdict=Verdict.VERIFIED,
        reason="All rules hold.",
        measurements=(measurement,),
        host=HOST,
        target_version="0.1.0",
        server_config="workers = 2\n",
        disturbances=(),
        started_at=datetime(2026, 11, 23, tzinfo=UTC),
        finished_at=datetime(2026, 11, 23, 0, 1, tzinfo=UTC),
    )
    again = TrialReport.model_validate_json(report.model_dump_json())
    assert again == report
    assert again.measurements == (measurement,)


def test_neither_names_a_run_a_row_or_a_file():
    """What a station is told holds wherever it stands."""
    words = {*TrialJob.model_fields, *TrialReport.model_fields}
    assert not words & {"run_id", "id", "number", "host_id", "path", "root", "directory", "proposal_number"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ladder": []}, "expected either a ladder, or the rate to calibrate from"),
        ({"calibrate_from_rps": 100.0}, "expected either a ladder, or the rate to calibrate from"),
        ({"ladder": [1000.0, 500.0]}, "expected ascending rates, each once"),
        ({"ladder": [500.0, 500.0]}, "expected ascending rates, each once"),
        ({"ladder": [-1.0]}, "ladder.0: expected greater than 0"),
        ({"warmup_s": 2.0}, "warmup_s = 2.0: expected less than 2.0"),
        ({"placement": {"server": [], "generator": [1]}}, "placement.server"),
        ({"version": 2}, "version: expected 1"),
        ({"run_id": 7}, "run_id: Extra inputs are not permitted"),
        ({"workload": {"seed": 0, "time_scale": 1}}, "workload.definition: Field required"),
        ({"configuration": {"workers": [1]}}, "configuration.workers"),
    ],
)
def test_job_that_makes_no_sense_is_refused_with_its_field(change, said):
    """So that whoever wrote it finds the place."""
    document = {**json.loads(make_job().model_dump_json()), **change}
    with pytest.raises(JobError, match=said):
        read_job(json.dumps(document))


@pytest.mark.parametrize("text", ["", "x", "[]", "null", "{", b"\xff"])
def test_text_that_is_no_job_is_refused(text):
    """Whatever it is."""
    with pytest.raises(JobError):
        read_job(text)


DOCUMENT = (Path(__file__).parents[3] / "docs/internals/jobs.md").read_text()


def test_documented_job_is_one():
    """The example of docs/internals/jobs.md can be copied into a file and carried out."""
    (example,) = re.findall(r"```json\n(.*?)```", DOCUMENT, re.DOTALL)
    assert read_job(example).ladder == (500, 1000)


@pytest.mark.parametrize("field", [*TrialJob.model_fields, *TrialReport.model_fields])
def test_every_field_is_documented(field):
    """docs/internals/jobs.md names it."""
    assert f"`{field}`" in DOCUMENT
