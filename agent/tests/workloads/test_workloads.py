"""Workloads on the command line and in a run: by name, from a file, one of the user's own."""

import io
import json
from pathlib import Path

import pytest
from live_support import tiny_spec
from rich.console import Console
from trimtab_agent.errors import FileSetError, SpecError
from trimtab_agent.station.file_set import FileSet
from trimtab_agent.stopping import StopSignal
from trimtab_agent.study.run_spec import RunSpec
from trimtab_agent.study.specification import check
from trimtab_agent.terminal import follow
from trimtab_agent.workloads.choice import all_definitions, find_definition, make_workload
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.parameters import parameters, recorded_parameters

MINE = """
name = "mine"
help = "Three small files."
[files]
kind = "listed"
list = [{ size_bytes = 100 }, { size_bytes = 200 }, { size_bytes = 300 }]
[sessions]
kind = "plain"
requests = 5
"""


@pytest.fixture
def own(tmp_path):
    """A folder with one workload of the user's and one file that is none."""
    folder = tmp_path / "workloads"
    folder.mkdir()
    (folder / "mine.toml").write_text(MINE)
    (folder / "broken.toml").write_text("name = 1")
    return folder


def test_own_workload_is_found_by_its_name(own):
    """Beside those that come with Trimtab; a broken one is not listed, and says why when it is named."""
    assert find_definition("mine", own).help == "Three small files."
    names = [definition.name for definition, _ in all_definitions(own)]
    assert names == [*WORKLOADS, "mine"]
    with pytest.raises(SpecError, match=r"broken\.toml: "):
        find_definition("broken", own)


def test_unknown_workload_is_refused_with_the_names_there_are(own):
    """The user's own among them."""
    with pytest.raises(SpecError, match=r"'yours': expected one of specweb99, .*, mine"):
        find_definition("yours", own)


def test_name_is_never_a_path(own):
    """Whoever may start a run may not read files by it."""
    for name in ("../workloads/mine", str(own / "mine.toml"), "/etc/passwd", ""):
        with pytest.raises(SpecError, match="expected one of"):
            check(RunSpec(workload=name), own)


def test_run_can_bring_its_definition_along(own):
    """As the command line does with a file."""
    definition = find_definition("mine", own)
    plan = check(RunSpec(definition=definition))
    assert [size for _, size in plan.workload.files()] == [100, 200, 300]
    assert plan.estimate().duration_s > 0


def test_recorded_parameters_make_the_same_workload_again(own):
    """A resumed run replays what it began with, even if the file has changed meanwhile."""
    recorded = json.loads(parameters(find_definition("mine", own), time_scale=0.5).model_dump_json())
    (own / "mine.toml").unlink()
    again = make_workload(recorded_parameters(recorded))
    assert again.sessions() == make_workload(recorded_parameters(recorded)).sessions()
    assert [len(session) for session in again.sessions(2)] == [5, 5]


def test_run_recorded_before_there_were_definitions_can_be_resumed():
    """Old databases hold only the number of directories."""
    recorded = {"directories": 2, "seed": 0, "time_scale": 0.1, "sessions": 2744}
    workload = make_workload(recorded_parameters(recorded))
    assert len(list(workload.files())) == 72


def test_dynamic_workload_is_refused_for_a_target_that_cannot_serve_it():
    """With the share, and what would do."""
    with pytest.raises(SpecError, match="5 % of its requests are dynamic, and the target core") as refusal:
        check(RunSpec(workload="support"))
    assert refusal.value.field == "workload"


def test_scripts_of_a_dynamic_workload_lie_in_the_document_root(tmp_path):
    """Beside the static files."""
    files = FileSet(tmp_path, make_workload(parameters(WORKLOADS["support"], time_scale=1.0)))
    files.prepare(lambda done, total: None, StopSignal())
    assert (files.root / "dynamic/page.php").read_text().startswith("<?php")


@pytest.mark.parametrize("path", ["/../secret", "/a/../../b", "relative", "/", "//a", "/a//b", "/a/./b"])
def test_path_that_leads_out_of_the_file_set_is_refused(tmp_path, path):
    """Before anything is written."""

    class Hostile:
        name = "hostile"
        default_sessions = 1

        def files(self):
            return iter([(path, 10)])

        def scripts(self):
            return {}

        def sessions(self, count=None):
            return []

    with pytest.raises(FileSetError, match="expected a plain path"):
        FileSet(tmp_path / "sets", Hostile()).prepare(lambda done, total: None, StopSignal())
    assert not (tmp_path / "secret").exists()


def test_list_names_every_workload(command):
    """One line each."""
    code, text, _ = command("workload", "list")
    assert code == 0
    assert [line.split()[0] for line in text.splitlines()] == list(WORKLOADS)


def test_show_prints_what_a_workload_comes_to(command, own):
    """From a file, too; `--toml` prints what can be copied and changed."""
    code, text, _ = command("workload", "show", str(own / "mine.toml"), "--json")
    facts = json.loads(text)["facts"]
    assert code == 0
    assert (facts["files"], facts["file_set_bytes"], facts["mean_session_length"]) == (3, 600, 5)
    code, text, _ = command("workload", "show", str(own / "mine.toml"), "--toml")
    assert (code, text) == (0, MINE)


def test_build_writes_the_file_set_once(command, own):
    """A second build finds everything there."""
    for _ in range(2):
        code, text, _ = command("workload", "build", str(own / "mine.toml"), "--json")
        assert code == 0
    document = json.loads(text)
    assert document["file_set_bytes"] == 600
    assert Path(document["sessions"]).read_text().count("size=") == 20_000


def test_file_that_is_not_there_is_refused_before_a_run_begins(command, own):
    """Exit code 2, and the file by name."""
    code, _, text = command("tune", f"--workload={own / 'missing.toml'}")
    assert code == 2
    assert "missing.toml cannot be read" in text


def test_run_records_its_whole_definition(simulated, runtime, own):
    """So that it is known when the file has changed."""
    simulated.hold(trial=1)
    spec = tiny_spec().model_copy(update={"definition": find_definition("mine", own)})
    run_id = runtime.service.start(spec)
    runtime.service.stop(run_id)
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.workload == "mine"
    assert run.workload_parameters["definition"]["sessions"] == {"kind": "plain", "requests": 5}


def test_closed_loop_is_measured_by_connections(simulated, runtime, own, listener, monkeypatch):
    """No calibration: the ladder is the numbers of connections, as progress says, and nothing times out."""
    simulated.hold(trial=2)
    monkeypatch.setattr(follow, "PLAIN_INTERVAL_S", 0.0)
    console = Console(file=io.StringIO(), width=200)
    follower = follow.Follower(console, follow.RunsHere(runtime.service, runtime.broadcaster))
    (own / "closed.toml").write_text(
        MINE.replace('"mine"', '"closed"') + '[clients]\nloop = "closed"\nconnections = [2, 4]\n'
    )
    spec = tiny_spec().model_copy(update={"definition": find_definition("closed", own)})
    run_id = runtime.service.start(spec)
    listener.wait_for("trial")
    runtime.service.stop(run_id)
    runtime.service.wait()
    assert runtime.repository.run(run_id).ladder == (2, 4)
    trial = runtime.repository.trial(run_id, 1)
    assert [measurement.rate_rps for measurement in trial.measurements] == [2, 4]
    follower.follow(runtime.repository.run(run_id))
    assert "4 connections (2/2)" in console.file.getvalue()
    assert "requests/s" not in console.file.getvalue()
    for measurement in trial.measurements:
        assert measurement.requests.replied > 0
        assert measurement.requests.timed_out_after_read == 0


@pytest.mark.live
def test_shares_of_clients_reach_the_generator(runtime, own, listener):
    """Half of the requests are conditional, and are answered by 304 without a body."""
    text = MINE.replace('"mine"', '"again"').replace("= 100 ", "= 100_000 ").replace("= 200 ", "= 100_000 ")
    (own / "again.toml").write_text(
        text.replace("= 300 ", "= 100_000 ") + '[clients]\narrivals = "poisson"\nconditional_share = 0.5\n'
    )
    spec = tiny_spec().model_copy(update={"definition": find_definition("again", own)})
    run_id = runtime.service.start(spec)
    measured = listener.wait_for("measurement")
    runtime.service.stop(run_id)
    runtime.service.wait()
    (record, *_) = runtime.repository.trial(run_id, measured.data["trial"]).measurements
    assert record.requests.failed == 0
    mean_bytes = record.bytes_received / record.requests.replied
    assert 20_000 < mean_bytes < 80_000  # above 100,000 without conditional requests
