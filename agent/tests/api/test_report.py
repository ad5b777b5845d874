"""The report of a run as one HTML file: it needs nothing beside itself, and nothing in it runs."""

import re
from html.parser import HTMLParser

import pytest
from trimtab_agent.results.analysis import analyse_run
from trimtab_agent.results.html import run_html
from trimtab_tuner.diagnosis.chart import EvidenceChart
from trimtab_tuner.diagnosis.finding import Fact, Finding

HOSTILE = "\"'><script>alert(1)</script><img src=//evil.example onerror=alert(1)>&amp;"


class Page(HTMLParser):
    """What a browser makes of the file: its elements with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One more element."""
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """One more text."""
        self.text += data


@pytest.fixture
def report(daemon, recorded_run):
    """The report as it is downloaded."""
    response = daemon.client.get(f"/api/v1/runs/{recorded_run.id}/report.html")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    name = f'attachment; filename="trimtab-run-{recorded_run.id}.html"'
    assert response.headers["content-disposition"] == name
    return response.text


def test_report_has_outcome_before_what_stands_behind_it(report):
    """Whoever reads the beginning knows what to do."""
    text = Page(report).text
    places = [
        text.index(part)
        for part in ("25 % better.", "Configuration to use", "Diagnosis", "How it was measured")
    ]
    assert places == sorted(places)
    assert "All three rules hold." not in text  # of single trials only the verdict


def test_report_explains_no_column_that_it_has_not(report):
    """The table of the terminal has one more."""
    text = Page(report).text
    assert "confirmed: mean of the repeats." in text
    assert "late" not in text


def test_report_has_figures_that_are_said_in_words_too(report):
    """Each is an image with a name."""
    figures = [attributes for tag, attributes in Page(report).elements if tag == "svg"]
    assert [figure["role"] for figure in figures] == ["img"] * 3
    assert [figure["aria-label"] for figure in figures] == [
        "Goodput over rate",
        "Latency p99 over rate",
        "Scores of the search by trial",
    ]


def test_evidence_of_a_finding_has_the_digits_of_all_other_figures(daemon, recorded_run):
    """No figure is told as it was counted."""
    repository, run_id = daemon.repository, recorded_run.id
    facts = (Fact(name="replies", value=36231.437, unit="1/s"), Fact(name="idle", value=43.219, unit="%"))
    found = Finding(
        rule="lock-contention",
        sentence="Locks were waited for.",
        facts=facts,
        chart=EvidenceChart(
            x_name="rate", x_unit="", y_name="waits", y_unit="", series=(), threshold=1, fires="above"
        ),
        suggestion="Try a lock that readers share.",
        knob=None,
        source="a thesis",
        trial=1,
        rate_rps=12345.0,
    )
    analysis = analyse_run(repository, run_id).model_copy(update={"findings": (found,)})
    text = Page(run_html(repository, run_id, analysis)).text
    assert "(trial 1, 12,345 requests/s). Locks were waited for." in text
    assert "Evidence: replies 36,231/s, idle 43.2 %." in text


def test_report_needs_no_network_and_runs_nothing(report):
    """No element that loads or runs something, and a policy that would forbid it."""
    page = Page(report)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "form", "a", "base"}
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert not re.search(r"url\(|@import|https?:", report)
    policies = [a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_hostile_texts_are_shown_and_not_run(daemon, recorded_run):
    """Whatever a run, its user or a server has written is text."""
    plain = Page(daemon.client.get(f"/api/v1/runs/{recorded_run.id}/report.html").text)
    outcome = {**recorded_run.outcome, "sentence": HOSTILE, "verdicts": {HOSTILE: 2}}
    daemon.repository.set_run_outcome(recorded_run.id, outcome)
    daemon.repository.set_run_notes(recorded_run.id, name=HOSTILE, notes=HOSTILE)
    daemon.repository.set_run_layout(recorded_run.id, {"server": [0], "generator": [1], "reason": HOSTILE})
    page = Page(daemon.client.get(f"/api/v1/runs/{recorded_run.id}/report.html").text)
    # As many as before, with the heading and the text of the notes.
    before, after = (sorted(tag for tag, _ in each.elements) for each in (plain, page))
    assert after == sorted([*before, "h2", "p"])
    assert page.text.count(HOSTILE) == 6  # the name stands in the title and in the heading


def test_report_of_a_run_without_an_outcome_says_what_there_is(daemon, recorded_run):
    """A run that was stopped early has trials, and no answer."""
    daemon.repository.set_run_outcome(recorded_run.id, None)
    page = Page(daemon.client.get(f"/api/v1/runs/{recorded_run.id}/report.html").text)
    assert "Configurations, best first" in page.text
    assert "Configuration to use" not in page.text


def test_report_of_no_run_is_not_found(empty_daemon):
    """As everything else of it."""
    assert empty_daemon.client.get("/api/v1/runs/4711/report.html").status_code == 404
