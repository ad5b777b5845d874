"""`trimtab replay`, as a user runs it."""

import json

import pytest
from trimtab_agent.terminal.main import app
from typer.testing import CliRunner

RUNNER = CliRunner()


def surfaces(tmp_path, count=15):
    """A file with one surface whose best is in the middle."""
    cells = [{"workers": w, "area": 100.0 - abs(w - 8)} for w in range(1, count + 1)]
    record = {"id": "x", "server": "s", "sendfile": "", "workload": "w", "axes": ["workers"], "cells": cells}
    file = tmp_path / "surfaces.json"
    file.write_text(json.dumps({"surfaces": [record]}))
    return str(file)


@pytest.mark.parametrize("strategy", ["surrogate-race", "random"])
def test_replay_says_how_soon_the_best_was_found(tmp_path, strategy):
    """Three good ones of 15: random choice needs 4 trials."""
    arguments = [
        "replay",
        "--surfaces",
        surfaces(tmp_path),
        "--strategy",
        strategy,
        "--repeats",
        "3",
        "--json",
    ]
    done = RUNNER.invoke(app, arguments)
    assert done.exit_code == 0
    (surface,) = json.loads(done.stdout)["surfaces"]
    assert surface["random_trials"] == 4.0
    assert 1 <= surface["trials_to"]["5%"] <= surface["trials_to"]["1%"] <= 15
    assert len(surface["regrets"]) == 3


def test_replay_prints_a_table(tmp_path):
    """One line per surface, and the geometric mean below."""
    done = RUNNER.invoke(app, ["replay", "--surfaces", surfaces(tmp_path), "--repeats", "1", "--noise", "5"])
    assert done.exit_code == 0
    assert "of what random choice needs" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--strategy", "luck"], "strategy 'luck': expected one of surrogate-race"),
        (["--surfaces", "/nonexistent.json"], "/nonexistent.json: No such file"),
        (["--save", "x.json"], "expected together with --from-run"),
        (["--from-run", "1", "--surfaces", "x.json"], "expected one of the two"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(arguments, said):
    """The option is named."""
    done = RUNNER.invoke(app, ["replay", *arguments])
    assert done.exit_code != 0
    assert said in str(done.exception)
