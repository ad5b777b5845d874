"""Real runs under other objectives than the usual one, and under two at once."""

import json

from live_support import tiny_options


def tuned(command, *options, **changes):
    """The JSON document of a tiny run through the command line."""
    code, output, errors = command("tune", "--json", *options, *tiny_options(**changes))
    assert code == 0, errors
    return json.loads(output)


def test_run_with_two_objectives_shows_and_exports_its_front(command, tmp_path):
    """Every trial has both figures, so has the front, and the files name which one of it they are."""
    document = tuned(command, "--second-objective=rss", budget_trials=4)
    run = document["run"]
    assert (run["objective"], run["second_objective"]) == ("condensed-area", "rss")
    judged = [t for t in document["trials"] if t["purpose"] != "calibration" and t["verdict"] == "verified"]
    assert judged
    assert all(t["score"] > 0 and t["second_score"] > 0 for t in judged)
    front = run["outcome"]["front"]
    assert (front["first"]["unit"], front["second"]["unit"]) == ("Mbps", "MB")
    members = front["members"]
    assert members[0]["place"] == "best-first"
    assert [m["second_score"] for m in members] == sorted((m["second_score"] for m in members), reverse=True)
    shown = " ".join(command("show", "1")[1].split())
    assert "objective condensed-area and rss" in shown
    assert "Front: no other configuration is better in both objectives" in shown
    assert "## Front" in command("show", "1", "--markdown")[1].splitlines()
    (readme,) = [e["text"] for e in document["exports"] if e["format"] == "readme"]
    assert "condensed-area and rss" in " ".join(readme.split())
