"""A tiny tuning run through the API: started, watched on the live stream, stopped, resumed, exported.

On simulated measurements; the first also with the server and the load generator of the checkout, which
`make build` makes.
"""

import io
import json
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import httpx
import pytest
from live_support import WAIT_S, tiny_spec
from simulation import Simulation
from trimtab_agent.api.counter_schemas import CounterValues
from trimtab_agent.api.live_schemas import LogLine, MeasurementLine, RunChange
from trimtab_agent.api.schemas import Progress
from trimtab_agent.api.trial_schemas import TrialLine
from trimtab_agent.simulated.demo import SAID
from trimtab_agent.station import disturbance

# At so short a time anything may time out; what is tested here is not the verdict.
LENIENT = {"all_files_limit": 1.0, "size_limit": 1.0, "size_over_mean_limit": 1.0, "failures_limit": 1.0}
RUN = tiny_spec(thresholds=LENIENT).model_dump(mode="json", exclude_defaults=True)
PAYLOADS = {
    "sample": CounterValues,
    "progress": Progress,
    "measurement": MeasurementLine,
    "trial": TrialLine,
    "run": RunChange,
    "log": LogLine,
}


@pytest.fixture(autouse=True)
def undisturbed(monkeypatch):
    """Whoever else uses the machine disturbs no trial here: a disturbed one ends at that rate."""
    monkeypatch.setattr(disturbance, "MARGIN_PERCENT", 101.0)


@pytest.fixture
def tmp_path():
    """A directory with a short path, as sockets in it are named by exported files."""
    with tempfile.TemporaryDirectory(prefix="api-") as directory:
        yield Path(directory)


@pytest.fixture
def simulated(tmp_path):
    """Makes the daemon's `var` a demo; to be asked for before the daemon."""
    return Simulation(tmp_path / "var")


@pytest.fixture(params=["simulated", pytest.param("measured", marks=pytest.mark.live)])
def simulation(request):
    """The same; None where the daemon measures."""
    return request.getfixturevalue("simulated") if request.param == "simulated" else None


def await_state(client: httpx.Client, run_id: int) -> dict[str, object]:
    """The run, once it is no longer running."""
    pause = threading.Event()
    while (run := client.get(f"/api/v1/runs/{run_id}").json())["state"] == "running":
        pause.wait(0.1)
    return run


def events_of(response: httpx.Response) -> Iterator[tuple[str, dict[str, object]]]:
    """Names and data of the events of a stream."""
    name = ""
    for line in response.iter_lines():
        field, _, value = line.partition(": ")
        if field == "event":
            name = value
        elif field == "data":
            yield name, json.loads(value)


def test_run_is_started_watched_and_exported_through_the_api(simulation, daemon):
    """Everything the stream tells fits the documented schemas and is in the database afterwards."""
    client = daemon.client
    daemon.sampler.start()
    if simulation is not None:
        simulation.hold(trial=2)
    seen: list[tuple[str, dict[str, object]]] = []
    with (
        httpx.Client(base_url=client.base_url, timeout=60) as listener,
        listener.stream("GET", "/api/v1/live", headers={"Last-Event-ID": "0"}) as stream,
    ):
        started = client.post("/api/v1/runs", json=RUN)
        assert started.status_code == 201, started.text
        run_id = started.json()["id"]
        second = client.post("/api/v1/runs", json=RUN)
        assert (second.status_code, second.json()["error"]["code"]) == (409, "run-conflict")
        going_on = client.get(f"/api/v1/runs/{run_id}").json()
        assert going_on["progress"]["run_id"] == run_id
        with client.stream("GET", "/api/v1/live", headers={"Last-Event-ID": "999999"}) as known_to_no_daemon:
            assert next(events_of(known_to_no_daemon))[0] == "progress"
        for name, data in events_of(stream):
            seen.append((name, data))
            if (
                simulation is not None
                and name == "sample"
                and any(n == "progress" and d["trial"] == 2 for n, d in seen)
            ):
                simulation.release()  # trial 2 has lasted for a sample
            if name == "run" and data["state"] != "running":
                break

    run = await_state(client, run_id)
    daemon.sampler.stop()
    assert run["state"] == "finished", run
    assert daemon.context.service.wait(timeout_s=WAIT_S)  # its progress goes with its thread
    assert client.get(f"/api/v1/runs/{run_id}").json()["progress"] is None
    for name, data in seen:
        PAYLOADS[name].model_validate(data)
    assert {name for name, _ in seen} >= {"sample", "progress", "measurement", "trial", "run"}
    fractions = [data["fraction"] for name, data in seen if name == "progress"]
    assert fractions == sorted(fractions)

    trials = client.get(f"/api/v1/runs/{run_id}/trials").json()
    assert [data["number"] for name, data in seen if name == "trial"] == [trial["number"] for trial in trials]
    assert {trial["purpose"] for trial in trials} >= {"calibration", "search"}
    searched = next(trial for trial in trials if trial["purpose"] == "search")
    assert [measurement["rate_rps"] for measurement in searched["measurements"]] == run["ladder"]
    told = [
        data["goodput_mbps"]
        for name, data in seen
        if name == "measurement" and data["trial"] == searched["number"]
    ]
    assert told == [measurement["goodput_mbps"] for measurement in searched["measurements"]]

    detail = client.get(f"/api/v1/runs/{run_id}/trials/{searched['number']}").json()
    (measurement, *_) = detail["measurements"]
    classes = measurement["size_classes"]
    assert sum(counts["asked"] for counts in classes) == measurement["requests"]["offered"]
    assert f"workers = {searched['configuration']['workers']}\n" in detail["server_config"]

    assert run["outcome"]["sentence"]
    exports = client.get(f"/api/v1/runs/{run_id}/exports").json()
    by_format = {export["format"]: export for export in exports}
    assert {"nginx", "trimtab-httpd", "readme"} <= set(by_format)
    assert not [export["verdict"] for export in exports if export["verdict"].startswith("not accepted")]
    assert by_format["trimtab-httpd"]["check_ok"]
    assert by_format["trimtab-httpd"]["steps"]
    assert by_format["nginx"]["steps"] == []  # a translation
    archive = client.get(f"/api/v1/runs/{run_id}/exports/zip")
    assert archive.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(archive.content)) as files:
        assert len(files.namelist()) == len(exports)
        text = files.read(f"trimtab-run-{run_id}/README.md").decode()
    assert text == by_format["readme"]["text"]
    assert client.get("/api/v1/runs").json()["runs"][0]["trials"] == len(trials)

    samples = client.get("/api/v1/counters").json()
    not_stored = "server_workers"
    told = [
        {key: value for key, value in data.items() if key != not_stored}
        for name, data in seen
        if name == "sample"
    ]
    assert [sample["values"] for sample in samples][: len(told)] == told
    watched = [sample["values"] for sample in samples if sample["run_id"] == run_id]
    assert watched
    own = client.get(f"/api/v1/runs/{run_id}/trials/{searched['number']}/counters").json()
    assert {sample["trial_number"] for sample in own} <= {searched["number"]}
    if simulation is not None:  # there is no server to be watched
        return
    assert any("server_processes" in values and "server" in values for values in watched)
    workers = measurement["counters"]["server_workers"]["workers"]
    assert [worker["worker"] for worker in workers] == list(range(searched["configuration"]["workers"]))


def test_stopped_run_keeps_its_trials_and_goes_on_when_resumed(simulated, daemon, monkeypatch):
    """Stop is answered at once; nothing that was recorded is measured again. Another server is told first."""
    client = daemon.client
    simulated.hold(trial=2)
    run_id = client.post("/api/v1/runs", json=RUN).json()["id"]
    pause = threading.Event()
    while not client.get(f"/api/v1/runs/{run_id}/trials").json():
        pause.wait(0.1)
    assert client.post(f"/api/v1/runs/{run_id}/stop").status_code == 202
    stopped = await_state(client, run_id)
    assert stopped["state"] == "stopped"
    simulated.hold()  # until the answer to its resume is there
    kept = client.get(f"/api/v1/runs/{run_id}/trials").json()
    assert daemon.context.service.wait(timeout_s=WAIT_S)

    monkeypatch.setattr("trimtab_agent.study.runs.require", lambda *_: "9.9.9")
    refused = client.post(f"/api/v1/runs/{run_id}/resume")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "run-changed")
    assert "the version of core: was simulated, is 9.9.9" in refused.json()["error"]["message"]
    resumed = client.post(f"/api/v1/runs/{run_id}/resume", params={"even_if_changed": True})
    assert (resumed.status_code, resumed.json()["state"]) == (202, "running")
    simulated.release()
    run = await_state(client, run_id)
    assert run["state"] == "finished", run
    assert datetime.fromisoformat(run["started_at"]) > datetime.fromisoformat(run["created_at"])
    trials = client.get(f"/api/v1/runs/{run_id}/trials").json()
    assert trials[: len(kept)] == kept
    assert len(trials) > len(kept)


def test_paused_run_measures_nothing_until_it_goes_on_and_trials_can_be_repeated(simulated, daemon):
    """A pause falls between two trials; a repeat adds a trial to a finished run and nothing else."""
    client = daemon.client
    simulated.hold(trial=1)
    run_id = client.post("/api/v1/runs", json=RUN).json()["id"]
    path = f"/api/v1/runs/{run_id}"
    assert client.post(f"{path}/trials/1/repeat").status_code in (404, 409)
    assert client.post(f"{path}/pause").status_code == 202
    simulated.hold(trial=2)  # until the answer to its resume is there
    wait = threading.Event()
    while (progress := client.get(path).json()["progress"])["pause"] != "yes":
        assert progress["pause"] == "requested"
        wait.wait(0.1)
    paused = client.get(f"{path}/trials").json()
    assert client.get(path).json()["state"] == "running"
    assert client.get(f"{path}/trials").json() == paused
    resumed = client.post(f"{path}/resume")
    assert (resumed.status_code, resumed.json()["progress"]["pause"]) == (202, "no")
    simulated.release()
    run = await_state(client, run_id)
    assert run["state"] == "finished", run
    assert daemon.context.service.wait(timeout_s=WAIT_S)
    run = client.get(path).json()  # its progress goes with the last of the run, after its state

    trials = client.get(f"{path}/trials").json()
    first = next(trial for trial in trials if trial["purpose"] == "search")
    calibration = client.post(f"{path}/trials/1/repeat")
    assert (calibration.status_code, calibration.json()["error"]["code"]) == (409, "trial-not-repeatable")
    repeated = client.post(f"{path}/trials/{first['number']}/repeat")
    assert (repeated.status_code, repeated.json()["repeats"]) == (202, first["number"])
    assert daemon.context.service.wait(timeout_s=WAIT_S)
    again = client.get(f"{path}/trials").json()
    assert again[:-1] == trials
    assert (again[-1]["purpose"], again[-1]["block"]) == ("confirmation", 0)
    assert again[-1]["configuration"] == first["configuration"]
    assert [m["rate_rps"] for m in again[-1]["measurements"]] == run["ladder"]
    assert client.get(path).json() == {**run, "trials": len(again)}


@pytest.fixture
def finished(simulated, daemon):
    """The address of a finished run of a demo."""
    run_id = daemon.client.post("/api/v1/runs", json=RUN).json()["id"]
    assert await_state(daemon.client, run_id)["state"] == "finished"
    assert daemon.context.service.wait(timeout_s=WAIT_S)
    return f"/api/v1/runs/{run_id}"


def test_everything_that_is_downloaded_of_a_demo_says_so(finished, daemon):
    """The report, the tables, the files alone and in the archive, and what Prometheus scrapes."""
    client = daemon.client
    names = [f"{finished}/{table}.csv" for table in ("trials", "measurements")]
    names += [
        f"{finished}/exports/{each['format']}/download" for each in client.get(f"{finished}/exports").json()
    ]
    texts = {name: client.get(name).text for name in [*names, f"{finished}/report.html", "/api/v1/metrics"]}
    with zipfile.ZipFile(io.BytesIO(client.get(f"{finished}/exports/zip").content)) as files:
        texts |= {f"zip: {name}": files.read(name).decode() for name in files.namelist()}
    assert len(texts) > len(names) + 2
    silent = [name for name, text in texts.items() if SAID not in " ".join(text.replace("\n#", " ").split())]
    assert silent == []


def test_trial_of_a_demo_has_counters_over_its_own_time(finished, daemon):
    """They tell of the simulated server: the machine's own say nothing of it."""
    trial = daemon.client.get(f"{finished}/trials/2").json()
    samples = daemon.client.get(f"{finished}/trials/2/counters").json()
    assert {sample["trial_number"] for sample in samples} == {2}
    loads = [CounterValues.model_validate(sample["values"]).load for sample in samples]
    assert [load.rate_rps for load in loads] == [each["rate_rps"] for each in trial["measurements"]]
    assert [load.goodput_mbps for load in loads] == [each["goodput_mbps"] for each in trial["measurements"]]
    begun, ended = (datetime.fromisoformat(trial[name]) for name in ("started_at", "finished_at"))
    times = [datetime.fromisoformat(sample["taken_at"]) for sample in samples]
    assert times == sorted(set(times))
    assert begun < times[0]
    assert times[-1] <= ended
