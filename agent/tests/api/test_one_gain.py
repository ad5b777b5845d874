"""One run tells one gain: on pages, in lists, terminal, reports, tables, files, and to a webhook."""

import csv
import io
import re
from html.parser import HTMLParser

import pytest
from live_support import WAIT_S, tiny_spec
from rich.console import Console
from simulation import Simulation
from trimtab_agent.paths import VarPaths
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.study import webhook
from trimtab_agent.study.run_spec import KnobSpec
from trimtab_agent.terminal.markdown import run_markdown
from trimtab_agent.terminal.report import print_run, print_runs
from trimtab_tuner.certainty.setting_effects import SettingEffect
from trimtab_tuner.certainty.statistics import Gain
from trimtab_tuner.telling.performance import Figure, Performance
from trimtab_tuner.wording import in_digits, in_mbps
from waiting import until

from .conftest import end, launch

# The model's default lacks connections, so the search finds something better.
KNOBS = {"max_connections": KnobSpec(low=512, high=16_384), "workers": KnobSpec(fixed=1)}
SETTINGS = {
    "budget_trials": 5,
    "ladder_points": 4,
    "calibration_start_rps": 2000.0,
    "confirmation_repeats": 3,
}


class Words(HTMLParser):
    """The text of a page."""

    def __init__(self, page):
        super().__init__()
        self.text = ""
        self.feed(page)

    def handle_data(self, data):
        """One more piece of it."""
        self.text += data


@pytest.fixture(scope="module", name="found")
def a_run_with_a_gain(tmp_path_factory):
    """A daemon, the number of a finished run in it, and the outcome of that; tests only look at them."""
    directory = tmp_path_factory.mktemp("gain")
    Simulation(directory / "var").change(default_share=0.3)
    daemon = launch(directory)
    try:
        run_id = daemon.context.service.start(tiny_spec(KNOBS, **SETTINGS))
        until(lambda: daemon.repository.run(run_id).state != "running", 2 * WAIT_S)
        run = daemon.repository.run(run_id)
        assert run.state == "finished", run.error
        yield daemon, run_id, Outcome.model_validate(run.outcome)
    finally:
        end(daemon)


def in_one_line(text):
    """A text without its line ends, margins and signs of comments."""
    return re.sub(r"\s+", " ", re.sub(r"(?m)^\s*#+\s*", " ", text))


def printed(show, *arguments):
    """What a table or a report looks like in a terminal that is wide enough."""
    out = io.StringIO()
    show(Console(file=out, width=4000), *arguments)
    return out.getvalue()


def test_list_of_runs_reads_at_80_columns(found):
    """Two lines for each run: what it is, and what came of it, the gain whole; what has no room is cut."""
    daemon, run_id, outcome = found
    name = "before the upgrade of all the servers that we have here"
    daemon.repository.set_run_notes(run_id, name=name)
    out = io.StringIO()
    print_runs(Console(file=out, width=80), daemon.repository.runs(limit=5))
    daemon.repository.set_run_notes(run_id, name="")
    what, came = out.getvalue().splitlines()
    assert max(len(what), len(came)) <= 80
    assert what.split()[0] == str(run_id)
    assert what.endswith(" trials")
    assert "  finished  core · " in what
    assert came.strip().startswith(f"before the upgrade of a… · {outcome.gain_told.partition(' (')[0]}")
    assert came.endswith("…")


def test_gain_is_the_same_wherever_it_is_told(found, monkeypatch):
    """In capacity, with the same digits and the same interval."""
    daemon, run_id, outcome = found
    gain, told = outcome.capacity_gain, outcome.gain_told
    assert gain is not None
    assert re.fullmatch(r"(at least )?\+\d+ % \(95 % interval .* %\) in capacity", told)
    bare = told.removesuffix(" in capacity")
    repository, client = daemon.repository, daemon.client

    # The sentence, which the page, the terminal and the first page show.
    assert f": {bare}." in outcome.sentence

    # What the pages make their figures of.
    detail = client.get(f"/api/v1/runs/{run_id}").json()
    (line,) = client.get("/api/v1/runs").json()["runs"]
    (compared,) = client.get("/api/v1/compare", params={"run": run_id}).json()["runs"]
    for one in (detail, detail["outcome"], line, compared):
        assert one["capacity_gain"] == gain.model_dump(mode="json")
        assert one["capacity_at_least"] is outcome.capacity_at_least

    # The terminal.
    exports = VarPaths(daemon.settings.var).exports(run_id)
    assert told in printed(print_run, repository, run_id, exports)
    assert told in printed(print_runs, repository.runs(limit=5))

    # The reports.
    assert told in in_one_line(run_markdown(repository, run_id))
    assert told in in_one_line(Words(client.get(f"/api/v1/runs/{run_id}/report.html").text).text)

    # The exported files.
    for file in repository.exports(run_id):
        if file.format in ("trimtab-httpd", "readme"):
            assert f": {told}, " in in_one_line(file.text), file.format

    # The table.
    rows = list(csv.DictReader(io.StringIO(client.get(f"/api/v1/runs/{run_id}/trials.csv").text)))
    own = [row for row in rows if row["capacity_gain"]]
    assert own
    assert {float(row["capacity_gain"]) for row in own} == {gain.gain}
    assert {row["capacity_gain_low"] for row in own} == {str(gain.low)}

    # Whoever is told of the end.
    posted = []
    monkeypatch.setattr(webhook.httpx, "post", lambda _url, json, **_: posted.append(json) or Accepted())
    assert webhook.tell_webhook("http://hook.example", repository.run(run_id)) == ""
    assert posted[0]["gain"] == told
    assert posted[0]["capacity_gain"] == gain.model_dump(mode="json")


def test_gain_whose_interval_says_nothing_is_told_nowhere(daemon, recorded_run, tmp_path, monkeypatch):
    """Neither its figure nor its interval: in lists, terminal, reports, tables, to a webhook; data say so."""
    wide = Gain(gain=0.77, low=-1.0, high=3e7, significant=False, blocks=2)
    effect = SettingEffect(knob="workers", value=4, default=1, kept=True, gain=wide)
    performance = Performance(capacity_rps=Figure(mean=8000.0), capacity_gain=wide, blocks=2)
    kept = recorded_run.outcome
    ranking = [{**kept["ranking"][0], "performance": performance.model_dump(mode="json"), "gain": None}]
    effects = [effect.model_dump(mode="json")]
    told = {**kept, "sentence": "Told.", "gain": None, "ranking": ranking, "effects": effects}
    repository, run_id = daemon.repository, recorded_run.id
    repository.set_run_outcome(run_id, told)

    posted = []
    monkeypatch.setattr(webhook.httpx, "post", lambda _url, json, **_: posted.append(json) or Accepted())
    webhook.tell_webhook("http://hook.example", repository.run(run_id))
    report = Words(daemon.client.get(f"/api/v1/runs/{run_id}/report.html").text).text
    for place in (
        printed(print_run, repository, run_id, tmp_path),
        printed(print_runs, repository.runs(limit=5)),
        run_markdown(repository, run_id),
        report,
        posted[0]["gain"],
    ):
        assert "unknown" in place
        assert not re.search(r"77 %|-100 %|000,000 %", place)
    assert "not told from nothing" in report
    detail = daemon.client.get(f"/api/v1/runs/{run_id}").json()
    assert detail["capacity_gain"]["says_nothing"]
    assert posted[0]["capacity_gain"]["says_nothing"]
    table = daemon.client.get(f"/api/v1/runs/{run_id}/trials.csv").text
    assert {row["trial"] for row in csv.DictReader(io.StringIO(table)) if row["capacity_gain"]} == set()
    assert not re.search(r"0\.77|-1\.0|30000000", table)


def test_strategy_is_told_in_plain_words_first(daemon, recorded_run, tmp_path):
    """In the terminal and in reports; the name that commands take stands beside."""
    report = Words(daemon.client.get(f"/api/v1/runs/{recorded_run.id}/report.html").text).text
    for place in (
        printed(print_run, daemon.repository, recorded_run.id, tmp_path),
        run_markdown(daemon.repository, recorded_run.id),
        report,
    ):
        assert "coarse grid, then finer ones (coarse-to-fine)" in place


def test_best_and_number_of_trials_are_the_same_wherever_they_are_told(found):
    """In the list, on the page, in the terminal, in the report, and in the exported file."""
    daemon, run_id, outcome = found
    repository, client = daemon.repository, daemon.client
    best = outcome.recommended.mean_score_mbps
    trials = len(client.get(f"/api/v1/runs/{run_id}/trials").json())
    detail = client.get(f"/api/v1/runs/{run_id}").json()
    (line,) = client.get("/api/v1/runs").json()["runs"]
    for one in (detail, line):
        assert (one["best_score"], one["trials"]) == (best, trials)

    exports = VarPaths(daemon.settings.var).exports(run_id)
    terminal = printed(print_run, repository, run_id, exports)
    assert in_digits(best) in terminal
    assert f"{trials} trials; took" in terminal
    assert in_digits(best) in printed(print_runs, repository.runs(limit=5))

    capacity = outcome.recommended.performance.capacity_rps.mean
    assert line["capacity_rps"] == capacity
    (found,) = [
        one for one in detail["outcome"]["ranking"] if one["configuration"] == detail["outcome"]["best"]
    ]
    assert (found["performance"]["capacity_rps"]["mean"], found["mean_score_mbps"]) == (capacity, best)
    for told in (outcome.sentence, terminal, run_markdown(repository, run_id)):
        assert f"{capacity:,.0f}" in told

    driven = outcome.remeasured.trial is not None  # not below a folder whose name is too long for a socket
    assert outcome.judged_trials == trials - 1 - driven  # the calibration, and the exported file
    report = in_one_line(run_markdown(repository, run_id))
    assert f"| trials | {trials}, whose own times add up to" in report
    for file in repository.exports(run_id):
        if file.format in ("trimtab-httpd", "readme"):
            told = in_one_line(file.text)
            assert in_mbps(best) in told
            assert f"{outcome.judged_trials} trials after the calibration" in told
    assert outcome.written is not None
    own = next(file.text for file in repository.exports(run_id) if file.format == "trimtab-httpd")
    assert f"\nmax_connections = {outcome.written['max_connections']}\n" in own


def test_workers_for_all_cpus_are_told_alike_wherever_they_are_told(tmp_path, start_daemon):
    """In the outcome, the terminal, the reports, and the exported files, which have as many per CPU."""
    Simulation(tmp_path / "var").change(default_share=0.3, effects={"workers": 0.5})
    daemon = start_daemon()
    knobs = {"max_connections": KnobSpec(fixed=4096), "workers": KnobSpec(low=1, high=16)}
    run_id = daemon.context.service.start(tiny_spec(knobs, **{**SETTINGS, "elimination_trials": 0}))
    until(lambda: daemon.repository.run(run_id).state != "running", 2 * WAIT_S)
    run = daemon.repository.run(run_id)
    outcome = Outcome.model_validate(run.outcome)
    server, best = len(run.layout["server"]), outcome.best["workers"]
    cpus = len({*run.layout["server"], *run.layout["generator"]})
    own = next(file.text for file in daemon.repository.exports(run_id) if file.format == "trimtab-httpd")
    assert best != outcome.default["workers"]
    if server == cpus:  # a machine with a single CPU
        assert outcome.workers == ""
        assert outcome.written["workers"] == best
        return
    assert outcome.written["workers"] == best * cpus // server
    assert f"\nworkers = {outcome.written['workers']}\n" in own
    exports = VarPaths(daemon.settings.var).exports(run_id)
    report = daemon.client.get(f"/api/v1/runs/{run_id}/report.html").text
    places = (
        own,
        next(file.text for file in daemon.repository.exports(run_id) if file.format == "readme"),
        printed(print_run, daemon.repository, run_id, exports),
        run_markdown(daemon.repository, run_id),
        Words(report).text,
        daemon.client.get(f"/api/v1/runs/{run_id}").json()["outcome"]["workers"],
    )
    for place in places:
        assert outcome.workers in in_one_line(place)
    shown = daemon.client.get(f"/api/v1/runs/{run_id}/exports").json()
    (diff,) = [file["diff_default"] for file in shown if file["format"] == "trimtab-httpd"]
    assert f"+workers = {outcome.written['workers']}" in diff


class Accepted:
    """A reply of a webhook."""

    def raise_for_status(self):
        """It is a success."""


def test_connections_that_were_open_are_told_alike_wherever_they_are_told(tmp_path, start_daemon):
    """A limit far above them is lowered in the exported file; who reads of it reads how many were open."""
    Simulation(tmp_path / "var").change(default_share=0.3)
    daemon = start_daemon()
    knobs = {"max_connections": KnobSpec(low=60_000, high=65_536), "workers": KnobSpec(fixed=1)}
    run_id = daemon.context.service.start(tiny_spec(knobs, **{**SETTINGS, "elimination_trials": 0}))
    until(lambda: daemon.repository.run(run_id).state != "running", 2 * WAIT_S)
    outcome = Outcome.model_validate(daemon.repository.run(run_id).outcome)
    exports = {file.format: file.text for file in daemon.repository.exports(run_id)}
    own, limit = exports["trimtab-httpd"], outcome.written["max_connections"]
    assert outcome.default["max_connections"] < limit < 60_000 <= outcome.best["max_connections"]
    assert f"\nmax_connections = {limit}\n" in own
    assert f"; {limit:,} leaves room for twice as many" in outcome.connections
    places = (
        own,
        exports["readme"],
        printed(print_run, daemon.repository, run_id, VarPaths(daemon.settings.var).exports(run_id)),
        run_markdown(daemon.repository, run_id),
        Words(daemon.client.get(f"/api/v1/runs/{run_id}/report.html").text).text,
        daemon.client.get(f"/api/v1/runs/{run_id}").json()["outcome"]["connections"],
    )
    for place in places:
        assert outcome.connections in in_one_line(place)
    assert outcome.remeasured.agrees
