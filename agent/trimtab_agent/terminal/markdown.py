"""A run as a Markdown document: `trimtab show --markdown`.  Every number comes from the database."""

from collections.abc import Iterator, Sequence

from trimtab_db import Repository
from trimtab_tuner.space import Space
from trimtab_tuner.understanding.analysis import Analysis

from trimtab_agent.outcome import Outcome
from trimtab_agent.run.analysing import analyse_run
from trimtab_agent.run.history import History
from trimtab_agent.terminal.report import LEGEND, Row, front_rows, objectives_label, table_rows

SHOWN_KNOBS = 8
SHOWN_ROWS = 40


def run_markdown(repository: Repository, run_id: int) -> str:
    """The document: what was run, the outcome, the ranked configurations, and what is understood of them."""
    run = repository.run(run_id)
    trials = repository.trials_of(run_id)
    space = Space.model_validate(run.space)
    outcome = Outcome.model_validate(run.outcome) if run.outcome else None
    reference = History(repository, run_id).reference()
    minutes = (
        "" if run.finished_at is None else f"{(run.finished_at - run.started_at).total_seconds() / 60:.0f}"
    )
    facts = [
        ("host", f"{run.host}; {run.layout['sentence']}"),
        ("target, workload", f"{run.target} {run.target_version}, {run.workload}"),
        (
            "objective, strategy, preset",
            f"{objectives_label(run)}, {run.strategy}, {run.preset} (seed {run.seed})",
        ),
        ("ladder", ", ".join(f"{rate:.0f}" for rate in run.ladder) + " requests/s"),
        ("trials", f"{len(trials)}, in {minutes} minutes" if minutes else f"{len(trials)}, {run.state}"),
        (
            "noise",
            f"{reference.noise:.1%} (standard deviation of a trial; {reference.measured} of the default)",
        ),
    ]
    parts = [f"# Run {run.id}", _table(("", ""), facts)]
    if outcome is not None:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in outcome.verdicts.items())
        parts += ["## Outcome", outcome.sentence, f"Trials of search and confirmation: {counts or 'none'}."]
    rows = table_rows(space, outcome, trials)
    if rows:
        parts += ["## Configurations, best first", _ranked(space, rows), LEGEND + "."]
    if outcome is not None and outcome.front is not None:
        parts += ["## Front", "No other configuration is better in both objectives. * recommended"]
        parts.append(_table(*front_rows(space, outcome.front)))
    parts += list(_understood(analyse_run(repository, run_id)))
    return "\n\n".join(parts) + "\n"


def _ranked(space: Space, rows: Sequence[Row]) -> str:
    knobs = space.free[:SHOWN_KNOBS]
    heads = ["rank", *(knob.name for knob in knobs), "score, Mbps", "confirmed, Mbps", "gain", "verdict"]
    lines = []
    for row in rows[:SHOWN_ROWS]:
        ranked = row.ranked
        rank = "" if ranked is None or ranked.rank is None else str(ranked.rank)
        lines.append(
            [
                rank + " *" * row.is_best,
                *(str(row.trial.configuration[knob.name]) for knob in knobs),
                _number(row.trial.score),
                _number(ranked.mean_score_mbps if ranked else None),
                str(ranked.gain) if ranked and ranked.gain else "",
                row.trial.verdict + " (default)" * row.is_default,
            ]
        )
    return _table(heads, lines)


def _understood(analysis: Analysis) -> Iterator[str]:
    """Diagnosis, importance, interaction and stability, as far as there are any."""
    yield "## Diagnosis"
    if analysis.findings:
        for found in analysis.findings:
            facts = ", ".join(f"{f.name} {f.value:g} {f.unit}".strip() for f in found.facts)
            yield (
                f"**{found.rule}** (trial {found.trial}, {found.rate_rps:.0f} requests/s). {found.sentence} "
                f"{found.suggestion} Evidence: {facts}. Source: {found.source}"
            )
    else:
        yield "No rule fired."
    if analysis.importance is not None:
        yield "## Importance"
        yield _table(
            ("knob", "share of the variance"),
            [(knob.knob, f"{knob.share:.0%}") for knob in analysis.importance.knobs]
            + [
                (f"{p.knob_one} and {p.knob_two} together", f"{p.share:.0%}")
                for p in analysis.importance.interactions
            ],
        )
        yield (
            f"From {analysis.importance.trials} verified trials; R² of cross-validation "
            f"{analysis.importance.r_squared:.2f}."
        )
    if analysis.stability is not None:
        yield "## Stability"
        yield analysis.stability.sentence
    yield from analysis.notes


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
