"""`trimtab compare --base OLD --base NEW`: two files of an nginx against each other."""

import json
from pathlib import Path

import pytest

# Trials of seconds. Connections saturate on the clients' pauses, so what a file takes is a matter of how many
# it admits, whatever else the machine is doing.
SHORT = (
    "--target=nginx",
    "--set=directories=1",
    "--set=time_scale=0.02",
    "--set=timeout_s=0.5",
    "--set=calibration_start_rps=600",
    "--set=calibration_step_s=0.5",
    "--set=rate_duration_s=0.5",
    "--set=warmup_s=0.1",
    "--set=calibration_halvings=1",
    "--set=capacity_halvings=1",
    "--set=confirmation_repeats=2",
    '--set=thresholds={"all_files_limit":1,"size_limit":1,"size_over_mean_limit":1,"failures_limit":1}',
)
FILE = """\
worker_processes 1;
events {{ worker_connections {connections}; }}
http {{ server {{ listen 80; root /srv; }} }}
"""


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    """A configuration of nginx that admits some connections."""
    return written(tmp_path / "old.conf", 128)


def written(path: Path, connections: int) -> Path:
    """A configuration of nginx that admits so many connections."""
    path.write_text(FILE.format(connections=connections))
    return path


def test_file_that_admits_hardly_anybody_loses_and_the_run_is_shown(simulated, command, old_file, tmp_path):
    """Exit code 4; the table has both files, and the recorded run shows the same."""
    new_file = written(tmp_path / "new.conf", 8)
    both = ("--base", str(old_file), "--base", str(new_file))
    code, output, errors = command("compare", *both, "--most-loss", "30%", *SHORT)
    assert code == 4, (output, errors)
    assert "The new file loses" in output
    for told in (f"The old file: {old_file}\n", f"The new file: {new_file}\n"):
        assert told in output
    for row in ("capacity, requests/s", "p99", "CPU ms per 1,000 requests", "more than the old file"):
        assert row in output
    assert "follows, or keeps up with: it answers at least 95 % of the requests" in " ".join(output.split())
    assert "confirming" in output
    assert "ETA" in output
    shown = json.loads(command("show", "1", "--json")[1])
    assert (shown["run"]["preset"], shown["run"]["state"], shown["exports"]) == ("compare", "finished", [])
    files = shown["run"]["outcome"]["files"]
    assert (files["old"], files["new"]) == (str(old_file), str(new_file))
    assert (files["loss"]["verdict"], files["loss"]["most_loss"]) == ("lost", 0.3)
    measured = [trial["configuration"] for trial in shown["trials"] if trial["purpose"] == "confirmation"]
    assert sorted((each["file"], each["worker_connections"]) for each in measured) == [
        ("new", 8),
        ("new", 8),
        ("old", 128),
        ("old", 128),
    ]
    code, output, _ = command("show", "1")
    assert code == 0
    assert "The new file loses" in output


def test_same_file_twice_loses_nothing(simulated, command, old_file):
    """Exit code 0, and one JSON document; half of the capacity is no noise."""
    both = ("--base", str(old_file), "--base", str(old_file))
    code, output, errors = command("compare", "--json", *both, "--most-loss", "50", *SHORT)
    assert code == 0, errors
    outcome = json.loads(output)["run"]["outcome"]
    assert outcome["files"]["loss"]["verdict"] != "lost"
    assert {ranked["configuration"]["file"] for ranked in outcome["ranking"]} == {"old", "new"}


@pytest.mark.live
def test_new_file_that_the_server_refuses_is_bad_input(command, old_file, tmp_path):
    """Exit code 2, with the file, the line and what the server says of it; nothing is measured."""
    broken = tmp_path / "broken.conf"
    broken.write_text(FILE.format(connections=64).replace("listen 80;", "listen 80; no_such_directive on;"))
    code, _, errors = command("compare", "--base", str(old_file), "--base", str(broken), *SHORT)
    assert code == 2
    assert f'{broken}:3: nginx refuses it: unknown directive "no_such_directive"' in errors
    assert json.loads(command("runs", "--json")[1]) == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "expected the numbers of runs, or two files: --base OLD --base NEW"),
        (("--base", "{old}"), "--base: one file given; expected two, --base OLD --base NEW"),
        (("--base", "{old}") * 3, "--base: 3 files given; expected two"),
        (("1", "--base", "{old}", "--base", "{old}"), "--base: expected without numbers of runs"),
        (("1", "2", "--upstream", "app=20ms"), "--upstream: expected together with --base OLD --base NEW"),
        (("1", "--most-loss", "3"), "--most-loss: expected together with --base OLD --base NEW"),
        (("--base", "{old}") * 2 + ("--most-loss", "lots"), "--most-loss lots: expected percent from 0 to"),
        (("--base", "{old}") * 2 + ("--most-loss", "100"), "--most-loss 100: expected percent from 0 to"),
        (("--base", "{old}", "--base", "/none/new.conf"), "base = /none/new.conf: expected a configuration"),
        (
            ("--base", "{old}") * 2 + ("--set", "confirmation_repeats=1"),
            "confirmation_repeats = 1: expected at least 2 blocks, as fewer have no interval",
        ),
        (("--base", "{old}") * 2 + ("--set", "most_loss=0.1"), "--set most_loss: given more than once"),
    ],
)
def test_bad_input_is_named_and_ends_with_2(command, old_file, options, sentence):
    """Nothing is measured."""
    given = (option.format(old=old_file) for option in options)
    code, _, errors = command("compare", *given, *(("--target", "nginx") if "--base" in options else ()))
    assert code == 2
    assert sentence in errors
