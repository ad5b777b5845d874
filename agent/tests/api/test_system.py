"""Health, host, counters, and what can be chosen for a run."""

import threading
from datetime import UTC, datetime, timedelta
from typing import get_args

from trimtab_agent.api.counter_schemas import CounterSampleReply
from trimtab_agent.counters.cpu import CpuSource
from trimtab_agent.counters.memory import MemorySource
from trimtab_agent.counters.network import NetworkSource
from trimtab_agent.counters.paging import PagingSource
from trimtab_agent.counters.source import CounterSet
from trimtab_db.records import CounterSample
from trimtab_tuner.space import Space
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.servers.lighttpd import LighttpdTarget
from trimtab_tuner.targets.servers.nginx import NginxTarget
from trimtab_tuner.workloads.conditions import Conditions


def test_health_says_ok_and_version(daemon):
    """What a container's health check asks."""
    assert daemon.client.get("/api/v1/health").json() == {
        "status": "ok",
        "version": "0.1.0",
        "token_required": False,
        "documentation": False,
        "demo": False,
    }


def test_host_is_the_recorded_machine_and_its_layout(daemon):
    """The same record that runs refer to."""
    host = daemon.client.get("/api/v1/host").json()
    recorded = daemon.repository.host(daemon.context.host_id)
    assert (host["name"], host["kernel"], host["cpus"]) == (recorded.name, recorded.kernel, recorded.cpus)
    assert host["layout"] == {"server": [0], "generator": [1], "reason": "because"}
    assert host["layout_sentence"] == daemon.context.layout.sentence()


def test_real_counters_come_back_as_they_were_sampled(daemon):
    """The schema of the reply fits what the sources of this machine really give, and drops nothing of it."""
    counters = CounterSet([CpuSource(), PagingSource(), MemorySource(), NetworkSource()])
    values = counters.between(counters.take(), counters.take())
    now = datetime.now(UTC)
    daemon.repository.add_counter_samples(
        [
            CounterSample(
                host_id=daemon.context.host_id, taken_at=now - timedelta(seconds=age), values=values
            )
            for age in (400, 10, 0)
        ]
    )
    samples = daemon.client.get("/api/v1/counters", params={"seconds": 300}).json()
    assert [sample["values"] for sample in samples] == [values, values]
    replies = [CounterSampleReply.model_validate(sample) for sample in samples]
    assert [reply.model_dump(mode="json", exclude_unset=True) for reply in replies] == samples
    assert "pressure" not in samples[0]["values"]


def test_counters_of_a_driven_load_can_be_thinned(daemon):
    """Means of what the generator counted are no whole numbers; a long window shows them all the same."""
    now = datetime.now(UTC)
    progress = {"elapsed_s": 1.0, "requests_timed_out": 0, "reply_rate_rps": 900.0, "goodput_mbps": 80.0}
    percentiles = dict.fromkeys(("reply_p50_us", "reply_p90_us", "reply_p99_us", "reply_p999_us"), 310)
    daemon.repository.add_counter_samples(
        [
            CounterSample(
                host_id=daemon.context.host_id,
                taken_at=now.replace(microsecond=index),
                values={
                    "time": now.timestamp(),
                    "interval_s": 1.0,
                    "missing": {},
                    "load": {
                        **progress,
                        **percentiles,
                        "sessions_open": index,
                        "requests_replied": 10 + index,
                        "run_id": 1,
                        "trial": 2,
                        "rate_rps": 1000.0,
                    },
                },
            )
            for index in (0, 1)
        ]
    )
    (sample,) = daemon.client.get("/api/v1/counters", params={"seconds": 900, "step_s": 5}).json()
    load = sample["values"]["load"]
    assert (load["sessions_open"], load["requests_replied"], load["trial"]) == (0.5, 10.5, 2)
    assert load["reply_p90_us"] == load["reply_p999_us"] == 310


def test_a_step_between_two_that_are_kept_is_rounded_down(daemon):
    """An hour on a chart of 300 points asks for 12 seconds, and gets the ten that are kept as they are."""
    now = datetime.now(UTC)
    values = {"time": now.timestamp(), "interval_s": 10.0, "missing": {}}
    daemon.repository.add_counter_samples(
        [
            CounterSample(
                host_id=daemon.context.host_id,
                taken_at=now.replace(second=10 * index, microsecond=0) - timedelta(minutes=5),
                values=values,
                step_s=10,
            )
            for index in range(6)
        ]
    )

    def answered(step_s: int) -> list[float]:
        parameters = {"seconds": 3600, "step_s": step_s}
        samples = daemon.client.get("/api/v1/counters", params=parameters).json()
        return [sample["values"]["interval_s"] for sample in samples]

    assert answered(12) == answered(10) == [10.0] * 6
    assert answered(35) == answered(30) == [30.0] * 2


def test_counters_reach_up_to_the_live_stream(start_daemon):
    """A sample that the live stream has shown is in the reply, also while its batch waits to be written."""
    daemon = start_daemon()
    shown = threading.Event()
    subscription = daemon.context.broadcaster.subscribe(shown.set)
    daemon.sampler.start()
    assert shown.wait(60)
    samples = daemon.client.get("/api/v1/counters").json()
    daemon.sampler.stop()
    subscription.close()
    assert len(samples) >= 1


def test_space_of_a_target_is_what_the_tuner_searches(daemon):
    """The form in the browser is built from the same space that a run checks against."""
    reply = daemon.client.get("/api/v1/targets/core/space").json()
    assert Space.model_validate(reply) == TARGETS["core"].space()


def test_everything_to_choose_from_has_a_name_and_a_sentence(daemon):
    """No empty lists, no entry without help."""
    wanted = {
        "presets": "quick",
        "targets": "core",
        "workloads": "specweb99",
        "strategies": "coarse-to-fine",
        "objectives": "condensed-area",
        "second-objectives": "rss",
    }
    for subject, name in wanted.items():
        entries = {entry["name"]: entry["help"] for entry in daemon.client.get(f"/api/v1/{subject}").json()}
        assert name in entries
        assert all(entries.values())


def test_conditions_say_what_this_machine_refuses(daemon):
    """Every one with a sentence; what a run may ask for, and nothing else."""
    conditions = daemon.client.get("/api/v1/conditions").json()
    for subject, field in Conditions.model_fields.items():
        assert tuple(entry["name"] for entry in conditions[subject]) == get_args(field.annotation)
        assert all(entry["help"] for entry in conditions[subject])
        assert conditions[subject][0]["refusal"] is None


def test_workload_says_its_size_and_its_facts(daemon):
    """From its definition, and from its log."""
    workloads = {entry["name"]: entry for entry in daemon.client.get("/api/v1/workloads").json()}
    assert (workloads["w4"]["files"], workloads["w4"]["own"]) == (10, False)
    facts = daemon.client.get("/api/v1/workloads/w4/facts").json()
    assert facts["file_set_bytes"] == workloads["w4"]["file_set_bytes"]
    assert facts["largest_bytes"]["100"] == 102_400
    assert daemon.client.get("/api/v1/workloads/..%2Fw4/facts").status_code == 404
    assert daemon.client.get("/api/v1/workloads/none/facts").status_code == 404


def test_samples_are_taken_faster_for_a_while_on_demand(daemon):
    """Between once and ten times a second; anything else is refused with the field."""
    body = {"interval_s": 0.1, "for_s": 3600}
    assert daemon.client.post("/api/v1/live/rate", json=body).json() == body
    assert daemon.sampler.interval_s == 0.1
    for wrong in ({"interval_s": 0.01, "for_s": 30}, {"interval_s": 0.1, "for_s": 1e6}, {"interval_s": 0.1}):
        assert daemon.client.post("/api/v1/live/rate", json=wrong).status_code == 422
    assert daemon.client.get("/api/v1/counters", params={"seconds": 60, "step_s": 0}).json() == []


def test_window_is_refused_a_step_for_which_too_much_would_be_read(daemon):
    """A day comes from the means of a minute; what is refused says the least step."""
    for seconds, least in ((86_400, 60), (7200, 10), (30 * 86_400, 720)):
        answer = daemon.client.get("/api/v1/counters", params={"seconds": seconds, "step_s": least})
        assert answer.status_code == 200
        refused = daemon.client.get("/api/v1/counters", params={"seconds": seconds, "step_s": least - 1})
        assert refused.status_code == 422
        assert f"expected at least {least}" in refused.json()["error"]["message"]
    as_taken = daemon.client.get("/api/v1/counters", params={"seconds": 3600, "step_s": 0})
    assert as_taken.status_code == 422


def test_metrics_count_the_runs_by_state(daemon, recorded_run):
    """As Prometheus reads them; of a run that is not going on there is nothing more."""
    reply = daemon.client.get("/api/v1/metrics")
    assert reply.headers["content-type"].startswith("text/plain")
    assert 'trimtab_runs{state="finished"} 1.0' in reply.text
    assert 'trimtab_runs{state="running"} 0.0' in reply.text
    assert "trimtab_run_progress_ratio" not in reply.text


def test_metrics_tell_how_far_the_run_has_come(daemon, monkeypatch):
    """With the run's number as a label; what is not known yet is left out."""
    progress = {
        "run_id": 7,
        "fraction": 0.25,
        "eta_s": 90.0,
        "elapsed_s": 30.0,
        "trial": 3,
        "rate_rps": None,
        "load": {"reply_rate_rps": 950.5},
        "best": None,
    }
    monkeypatch.setattr(daemon.context.service, "progress", lambda: progress)
    lines = daemon.client.get("/api/v1/metrics").text.splitlines()
    assert 'trimtab_run_progress_ratio{run="7"} 0.25' in lines
    assert 'trimtab_run_replies_per_second{run="7"} 950.5' in lines
    assert not [line for line in lines if "offered" in line or "best_score" in line]


def test_targets_say_what_their_usual_files_set_and_nothing_else_of_them(daemon, tmp_path, monkeypatch):
    """With what they include: Debian's packages spread settings over files."""
    own, part = tmp_path / "nginx.conf", tmp_path / "part.conf"
    part.write_text("worker_processes 7;\n")
    own.write_text(f"include {part};\nevents {{ worker_connections 321; }}\nhttp {{ }}\n# secret\n")
    monkeypatch.setattr(NginxTarget, "usual_files", (str(tmp_path / "none.conf"), str(own)))
    monkeypatch.setattr(LighttpdTarget, "usual_files", ())
    reply = daemon.client.get("/api/v1/targets")
    targets = {entry["name"]: entry for entry in reply.json()}
    assert targets["nginx"]["file"] == {
        "path": str(own),
        "values": {"worker_processes": 7, "worker_connections": 321},
        "each_cpu": {},
        "trouble": "",
    }
    assert targets["lighttpd"]["file"] is None
    assert "secret" not in reply.text


def test_usual_file_that_says_one_for_each_cpu_is_told_by_its_word(daemon, tmp_path, monkeypatch):
    """Beside the number that it comes to here."""
    own = tmp_path / "nginx.conf"
    own.write_text("worker_processes auto;\nevents { worker_connections 321; }\nhttp { }\n")
    monkeypatch.setattr(NginxTarget, "usual_files", (str(own),))
    targets = {entry["name"]: entry for entry in daemon.client.get("/api/v1/targets").json()}
    assert targets["nginx"]["file"]["each_cpu"] == {"worker_processes": "auto"}
    assert isinstance(targets["nginx"]["file"]["values"]["worker_processes"], int)


def test_usual_file_is_checked_against_this_machine(daemon, tmp_path, monkeypatch):
    """What `trimtab check` says of it; of no other file, whoever asks."""
    own = tmp_path / "nginx.conf"
    own.write_text("worker_processes 4096;\nevents {}\n")
    monkeypatch.setattr(NginxTarget, "usual_files", (str(own),))
    monkeypatch.setattr(LighttpdTarget, "usual_files", ())
    reply = daemon.client.get("/api/v1/targets/nginx/check").json()
    assert (reply["path"], reply["trouble"]) == (str(own), "")
    assert reply["check_command"] == f"nginx -t -c {own}"
    (found,) = [each for each in reply["found"] if each["rule"] == "more-workers-than-cpus"]
    assert (found["file"], found["line"], found["severity"]) == (str(own), 1, "note")
    without = {"path": None, "check_command": "", "found": [], "trouble": ""}
    assert daemon.client.get("/api/v1/targets/lighttpd/check").json() == without
    assert daemon.client.get("/api/v1/targets/iis/check").status_code == 404
    own.write_text("secret {\n")
    reply = daemon.client.get("/api/v1/targets/nginx/check").json()
    assert reply["trouble"] == f"It could not be read: trimtab check {own} says why."
    assert reply["check_command"] == f"nginx -t -c {own}"
    assert "secret" not in str(reply)


def test_a_usual_file_that_makes_no_sense_is_told_without_a_word_of_it(daemon, tmp_path, monkeypatch):
    """A server's own message would quote the line."""
    own = tmp_path / "nginx.conf"
    own.write_text("worker_processes hunter2;\n")
    monkeypatch.setattr(NginxTarget, "usual_files", (str(own),))
    reply = daemon.client.get("/api/v1/targets")
    file = next(entry["file"] for entry in reply.json() if entry["name"] == "nginx")
    assert file["values"] == {}
    assert f"trimtab tune --target nginx --base {own}" in file["trouble"]
    assert "hunter2" not in reply.text


def test_a_target_that_is_not_installed_says_how_to_get_it(daemon, monkeypatch):
    """Those that are say nothing."""
    monkeypatch.setattr(NginxTarget, "program", "no-such-nginx")
    missing = {entry["name"]: entry["missing"] for entry in daemon.client.get("/api/v1/targets").json()}
    assert "nginx-light" in missing["nginx"]
    assert missing["core"] == ""


def test_values_of_a_pasted_file_are_read_and_nothing_of_the_host(daemon, tmp_path):
    """What it includes stays closed: who may start runs in the browser may not read the host's files."""
    hidden = tmp_path / "hidden.conf"
    hidden.write_text("worker_processes 7;\n")
    text = f"include {hidden};\nevents {{ worker_connections 321; }}\nhttp {{ keepalive_timeout 5s; }}\n"
    reply = daemon.client.post("/api/v1/targets/nginx/values", json={"text": text})
    assert reply.status_code == 200, reply.text
    values = reply.json()["values"]
    assert values["worker_connections"] == 321
    assert "worker_processes" not in values
    assert reply.json()["each_cpu"] == {}
    auto = daemon.client.post(
        "/api/v1/targets/nginx/values", json={"text": f"worker_processes auto;\n{text}"}
    )
    assert auto.json()["each_cpu"] == {"worker_processes": "auto"}
    assert f"line 1: {hidden} is not read here" in reply.json()["told"]
    wrong = daemon.client.post("/api/v1/targets/nginx/values", json={"text": "events {"})
    assert (wrong.status_code, wrong.json()["error"]["field"]) == (422, "text")
