"""A demo: simulated through and through, and said to be on everything that leaves it."""

import csv
import errno
import io
import json
import os
from pathlib import Path
from typing import get_args

import pytest
from live_support import LADDER_RPS, tiny_options
from pydantic import SecretStr
from trimtab_agent.errors import HostError
from trimtab_agent.paths import DEMO_TEXT, VarPaths
from trimtab_agent.runtime import open_repository, open_runtime, this_host
from trimtab_agent.simulated.demo import SAID, demo_folder, mark
from trimtab_agent.simulated.scenario import read_scenario
from trimtab_agent.terminal.commands import affinity
from trimtab_tuner.affinity import PlanName

PLANS = get_args(PlanName)
WHOLLY_SAID = f"{SAID}. No server is started, and nothing is measured."
CLIMB = (
    "--set=directories=1",
    "--set=calibration_start_rps=600",
    "--set=calibration_halvings=1",
)


def test_demo_lies_beside_the_folder_of_real_measurements(settings):
    """Under a name of its own."""
    assert demo_folder(settings.var) == settings.var.parent / "var-demo"


def test_folder_that_holds_real_measurements_never_becomes_a_demo(settings):
    """Nothing is written into it."""
    with open_repository(settings):
        pass
    before = sorted(settings.var.iterdir())
    with pytest.raises(HostError, match="holds real measurements: a demo wants a folder of its own"):
        mark(settings.var)
    assert sorted(settings.var.iterdir()) == before
    assert not settings.demo


def test_folder_stays_a_demo_with_the_scenario_that_it_has(simulated, settings):
    """Whoever starts it again finds it as it was."""
    simulated.change(seed=42)
    with open_repository(settings):
        pass
    mark(settings.var)
    assert settings.demo
    assert read_scenario(simulated.file).seed == 42


OTHERS = {
    "folder": lambda path: path.mkdir(),
    "folder of a demo": mark,
    "empty file": lambda path: path.touch(),
    "file with more": lambda path: path.write_text(f"{DEMO_TEXT}So I am told.\n"),
    "file in no text": lambda path: path.write_bytes(b"\xff"),
    "pipe": os.mkfifo,
    "link to a mark": lambda path: path.symlink_to(marked(path.with_name("elsewhere"))),
    "link to nothing": lambda path: path.symlink_to("nowhere"),
}


def marked(var):
    """The mark of a new demo."""
    mark(var)
    return VarPaths(var).demo_mark


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_something_else_called_demo_makes_no_folder_a_demo(settings, make):
    """Its runs are real. A demo is not begun there either, and what lies there stays as it is."""
    settings.var.mkdir()
    make(VarPaths(settings.var).demo_mark)
    before = {path: path.lstat() for path in settings.var.rglob("*")}
    assert not settings.demo
    with pytest.raises(HostError, match=f"{settings.var}/demo is in the way: a demo is marked by a file"):
        mark(settings.var)
    after = {path: path.lstat() for path in settings.var.rglob("*")}
    assert {path: (of.st_mtime_ns, of.st_size) for path, of in after.items()} == {
        path: (of.st_mtime_ns, of.st_size) for path, of in before.items()
    }


def test_mark_that_cannot_be_read_is_no_guess(settings, monkeypatch):
    """Neither a real run nor a simulated one begins."""
    mark(settings.var)

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(HostError, match="/demo cannot be read: Permission denied"):
        _ = settings.demo


def test_demo_refuses_a_database_that_is_not_its_own(simulated, settings):
    """Simulated runs beside measured ones would be taken for such."""
    elsewhere = settings.model_copy(update={"database_url": SecretStr("postgresql://user@host/name")})
    with pytest.raises(HostError, match="unset TRIMTAB_DATABASE_URL"), open_repository(elsewhere):
        pass


def test_demo_is_no_machine_and_keeps_none_from_measuring(simulated, settings):
    """Its host has a number and a name of its own, and its lock is in its folder."""
    host = this_host(settings)
    assert (host.machine_id, host.name, host.cpu_model) == ("0" * 32, SAID, SAID)
    assert settings.machine_lock.parent == settings.var


def test_demo_changes_no_setting_of_the_machine(simulated, command):
    """A plan that is to be applied is refused with what to do instead."""
    code, _, errors = command("affinity", "apply", PLANS[0])
    assert code == 1
    assert "a demo changes nothing on this machine; start Trimtab without --demo for that" in errors


def test_interrupts_of_the_machine_are_left_alone_by_a_demo(simulated, command, monkeypatch):
    """`--ban` comes after the plan, which is refused."""
    asked = []
    monkeypatch.setattr(affinity, "ban_interrupts", asked.append)
    code, _, _ = command("affinity", "apply", PLANS[0], "--ban")
    assert (code, asked) == (1, [])


@pytest.fixture
def finished(simulated, settings, command):
    """The number of a finished run."""
    code, output, errors = command("tune", "--json", *tiny_options(budget_trials=2, ladder=LADDER_RPS))
    assert code == 0, errors
    return json.loads(output)["run"]["id"]


RUNS = [("tune", *tiny_options(budget_trials=1, ladder=LADDER_RPS)), ("capacity", *CLIMB)]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run[0])
def test_run_of_a_demo_is_said_to_be_simulated_before_it_begins_and_before_its_figures(
    simulated, command, run
):
    """In the first line, and again after the last trial: what scrolled by long ago nobody sees."""
    code, output, errors = command(*run)
    assert code == 0, errors
    lines = output.splitlines()
    said = [number for number, line in enumerate(lines) if line == WHOLLY_SAID]
    trials = [number for number, line in enumerate(lines) if line.startswith(("trial ", "100 %"))]
    assert said[0] == 0
    assert len(said) == 2
    assert said[1] > trials[-1]


def test_file_that_is_told_of_in_a_demo_was_shown_to_no_server(simulated, command, tmp_path):
    """The dry run says so; of a real folder it does not, as the server is asked there."""
    file = tmp_path / "nginx.conf"
    file.write_text("events {}\nhttp { server { listen 80; root /srv; } }\n")
    code, output, errors = command("tune", "--dry-run", "--target", "nginx", "--base", str(file))
    assert code == 0, errors
    assert output.startswith(f"{SAID}. No server is asked whether it accepts the file.\n")
    document = command("tune", "--dry-run", "--json", "--target", "nginx", "--base", str(file))
    assert json.loads(document[1])["file"] == str(file)
    assert "No server is asked" in document[2]


FORMS = [
    ("show", "1"),
    ("show", "1", "--json"),
    ("show", "1", "--markdown"),
    ("show", "1", "--html"),
    ("show", "1", "--csv", "trials"),
    ("show", "1", "--csv", "measurements"),
    ("runs",),
    ("runs", "--json"),
    ("compare", "1", "2"),
    ("compare", "1", "2", "--json"),
]


def test_run_of_a_demo_is_shown_as_simulated(finished, command):
    """In every form; nobody takes its figures for a machine's."""
    assert finished == 1
    assert command(*RUNS[0])[0] == 0  # another one, to compare it with
    said = {}
    for form in FORMS:
        code, output, _ = command(*form)
        assert code == 0, form
        said[form] = SAID in " ".join(output.split())
    assert [form for form, there in said.items() if not there] == []


def test_report_of_a_demo_says_so_in_its_heading_and_before_its_outcome(finished, command):
    """And which of its times is that of the run."""
    report = command("show", "1", "--html")[1]
    assert "(simulated)</h1>" in report
    said = report.index(f"<p>{SAID}. No server was started, and nothing was measured.</p>")
    assert said < report.index("<h2>Outcome</h2>")
    assert "whose own times add up to" in report
    assert "; the run took " in report


def test_every_line_of_a_table_says_that_it_is_simulated(finished, command):
    """Lines are copied from one table into another."""
    for table in ("trials", "measurements"):
        _, output, _ = command("show", str(finished), "--csv", table)
        lines = list(csv.DictReader(io.StringIO(output)))
        assert lines
        assert {line["host"] for line in lines} == {SAID}


def test_files_of_a_demo_say_that_they_are_simulated(finished, settings):
    """All that are written for a server: someone will find one of them without the rest."""
    with open_runtime(settings) as runtime:
        exports = runtime.repository.exports(finished)
    assert exports
    said = {export.file_name: SAID in " ".join(export.text.replace("\n#", " ").split()) for export in exports}
    assert {name for name, there in said.items() if not there} == set()
    for path in VarPaths(settings.var).exports(finished).iterdir():
        assert SAID in " ".join(path.read_text().replace("\n#", " ").split()), path.name
