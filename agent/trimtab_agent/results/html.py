"""A run as one HTML file that can be sent to somebody: `trimtab show --html`, `GET /runs/{id}/report.html`.

It needs no network, runs no script, and says so to the browser by its own Content-Security-Policy. Every text
of the run (names, notes, sentences of servers) is escaped.
"""

from collections.abc import Callable, Iterator, Sequence
from html import escape

from trimtab_db import Repository, records
from trimtab_trials.configuration import Configuration
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial, TrialPurpose
from trimtab_tuner.understanding.analysis import Analysis
from trimtab_tuner.workloads.parameters import clients_of

from trimtab_agent import __version__
from trimtab_agent.results.document import (
    DIAGNOSIS,
    Block,
    Heading,
    Listing,
    Paragraph,
    Rows,
    document_of,
    document_title,
)
from trimtab_agent.results.figures import Bar, Line, bars, curves
from trimtab_agent.results.outcome import Outcome

STYLE = """
:root { color-scheme: light dark; --text: #16222b; --dim: #51606b; --line: #dbe2e7; --back: #fff;
  --soft: #eef2f4; --own: #14708f; --s0: #0072b2; --s1: #d55e00; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf1; --dim: #a4b1ba; --line: #2b3740;
  --back: #10171c; --soft: #1f2a31; --own: #2c88ad; --s0: #56b4e9; --s1: #f0894a; } }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 62rem; background: var(--back);
  color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { margin-top: 2rem; font-size: 1.125rem; }
h1, p { overflow-wrap: anywhere; } td, th { overflow-wrap: break-word; }
div.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .625rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; min-width: 4rem; }
th { color: var(--dim); font-weight: 550; }
pre { padding: .75rem; background: var(--soft); white-space: pre-wrap; overflow-wrap: anywhere; }
figure { margin: 1rem 0; } figcaption { font-weight: 600; font-size: .9375rem; }
svg { width: 100%; max-width: 44rem; font-size: 12px; }
svg text { fill: var(--text); } svg .tick { fill: var(--dim); }
svg .end { text-anchor: end; } svg .middle { text-anchor: middle; }
svg .grid { stroke: var(--line); } svg .whisker { fill: none; stroke: var(--text); stroke-width: 1.5; }
svg .own { fill: var(--own); } svg .other { fill: var(--dim); opacity: .55; }
svg .line { fill: none; stroke-width: 2; } svg .line.s0 { stroke: var(--s0); }
svg .line.s1 { stroke: var(--s1); stroke-dasharray: 7 4; }
svg .point { fill: var(--back); stroke-width: 2; }
svg .point.s0 { stroke: var(--s0); } svg .point.s1 { stroke: var(--s1); }
footer { margin-top: 2rem; color: var(--dim); font-size: .8125rem; }
"""


def run_html(repository: Repository, run_id: int, analysis: Analysis) -> str:
    """The whole file; raises RecordNotFoundError."""
    run = repository.run(run_id)
    title = escape(document_title(run))
    body: list[str] = []
    for block in document_of(repository, run_id, analysis):
        # The figures belong to the outcome, and end it.
        if block == Heading(DIAGNOSIS):
            body += _figures(repository, run)
        body.append(_html(block))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        + "\n".join(body)
        + f"\n</main>\n<footer>Made by Trimtab {escape(__version__)} from what run {run_id} on "
        f"{escape(run.host)} recorded.</footer>\n</body>\n</html>\n"
    )


def _html(block: Block) -> str:
    match block:
        case Heading(text):
            return f"<h2>{escape(text)}</h2>"
        case Paragraph(text, lead):
            return f"<p>{f'<strong>{escape(lead)}</strong> ' if lead else ''}{escape(text)}</p>"
        case Listing(text):
            return f"<pre>{escape(text)}</pre>"
        case Rows(heads, lines):
            cells = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in heads)
            head = f"<thead><tr>{cells}</tr></thead>" if any(heads) else ""
            rows = "".join(
                f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in lines
            )
            return f'<div class="scroll"><table>{head}<tbody>{rows}</tbody></table></div>'


def _figures(repository: Repository, run: records.Run) -> Iterator[str]:
    """What the finalists follow; goodput and p99 of the default and the best; how the search got there."""
    outcome = Outcome.model_validate(run.outcome) if run.outcome else None
    trials = repository.trials_with_curves(run.id)
    measured = _measured(outcome, trials)
    clients = clients_of(run.workload_parameters)
    rate = ("connections" if clients.loop == "closed" else "requests/s offered", _whole)
    search = [t for t in trials if t.purpose is TrialPurpose.SEARCH and t.score is not None]
    best = [max(t.score or 0.0 for t in search[: n + 1]) for n in range(len(search))]
    for title, figure in (
        ("Capacity, requests/s, with 95 % intervals", bars("Capacity", _capacities(outcome), _whole)),
        (
            "Goodput, Mbps",
            curves("Goodput over rate", _lines(measured, lambda m: m.goodput_mbps), rate, ("Mbps", _whole)),
        ),
        (
            "Latency p99, ms",
            curves(
                "Latency p99 over rate",
                _lines(measured, lambda m: (m.reply_latency.p99_us or 0.0) / 1e3),
                rate,
                ("ms", lambda value: f"{value:,g}"),
                logarithmic=True,
            ),
        ),
        (
            "Scores of the search, Mbps",
            curves(
                "Scores of the search by trial",
                [
                    Line("trial", [(t.number, t.score or 0.0) for t in search], scattered=True),
                    Line("best so far", [(t.number, y) for t, y in zip(search, best, strict=True)]),
                ],
                ("trial", _whole),
                ("Mbps", _whole),
            ),
        ),
    ):
        if figure:
            yield f"<figure><figcaption>{escape(title)}</figcaption>{figure}</figure>"


def _lines(
    measured: Sequence[tuple[str, Sequence[Measurement]]], value: Callable[[Measurement], float]
) -> list[Line]:
    return [Line(name, [(m.rate_rps, value(m)) for m in rates]) for name, rates in measured]


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _capacities(outcome: Outcome | None) -> list[Bar]:
    ranking = () if outcome is None else outcome.ranking
    found = []
    for one in ranking:
        capacity = None if one.performance is None else one.performance.capacity_rps
        if capacity is not None:
            is_best = outcome is not None and one.configuration == outcome.best
            name = "default" if one.is_default else "recommended" if is_best else "finalist"
            found.append(Bar(name, capacity.mean, capacity.low, capacity.high, own=is_best))
    return sorted(found, key=lambda bar: not bar.own)


def _measured(outcome: Outcome | None, trials: Sequence[Trial]) -> list[tuple[str, Sequence[Measurement]]]:
    """The trials of the search of the default and of the best, by name."""
    if outcome is None:
        return []
    wanted: list[tuple[str, Configuration]] = [("default", outcome.default)]
    if outcome.best is not None and outcome.best != outcome.default:
        wanted.append(("best", outcome.best))
    found: list[tuple[str, Sequence[Measurement]]] = []
    for name, configuration in wanted:
        own = [t for t in trials if t.configuration == configuration and t.measurements]
        own.sort(key=lambda t: t.purpose is not TrialPurpose.SEARCH)
        if own:
            found.append((name, sorted(own[0].measurements, key=lambda m: m.rate_rps)))
    return found
