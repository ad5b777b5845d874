"""`trimtab replay`, as a user runs it."""

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console
from trimtab_agent.terminal.commands.replay import print_replays
from trimtab_agent.terminal.main import app
from trimtab_tuner.replay.replaying import SurfaceSummary
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
    """One line per surface, and below the geometric mean and how many recommendations fail."""
    done = RUNNER.invoke(app, ["replay", "--surfaces", surfaces(tmp_path), "--repeats", "1", "--noise", "5"])
    assert done.exit_code == 0
    assert "of what random choice needs" in done.stdout
    assert "had failed verification in 0 of 1 search." in " ".join(done.stdout.split())


def test_recommendations_that_fail_are_counted_for_each_surface_and_in_all():
    """Their share in the table, their number below it."""
    of_five = SurfaceSummary(
        surface="x",
        configurations=15,
        trials_to={0.05: 2.0, 0.02: 3.0, 0.01: 4.0},
        random_trials=4.0,
        ratio=1.0,
        failed_share=0.1,
        regrets=(1.0, 1.0, 1.0, 0.0, 0.0),
        failing=3,
    )
    out = io.StringIO()
    print_replays(Console(file=out, width=200), "random", 4, 0.0, [of_five, replace(of_five, failing=0)])
    said = " ".join(out.getvalue().replace("│", " ").split())
    assert "60.0 % 60.0 % x" in said
    assert "What it recommends had failed verification in 3 of 10 searches." in said


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
