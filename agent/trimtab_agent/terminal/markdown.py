"""A run as a Markdown document: `trimtab show --markdown`.  Every number comes from the database."""

import json
import shlex
from collections.abc import Iterator, Sequence

from trimtab_db import Repository, records
from trimtab_trials.trial import Trial
from trimtab_tuner.people import table
from trimtab_tuner.presets import PRESETS
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import space_of
from trimtab_tuner.understanding.analysis import Analysis
from trimtab_tuner.wording import counted
from trimtab_tuner.workloads.clients import Clients
from trimtab_tuner.workloads.parameters import clients_of, conditions_of, workload_label

from trimtab_agent.results.analysis import analyse_run
from trimtab_agent.results.outcome import Outcome, compared
from trimtab_agent.study.history import History
from trimtab_agent.terminal.report import (
    LEGEND,
    Row,
    front_rows,
    objectives_label,
    table_rows,
)

SHOWN_KNOBS = 8
SHOWN_ROWS = 40


def run_markdown(repository: Repository, run_id: int) -> str:
    """The document: what was run, the outcome, the ranked configurations, and what is understood of them."""
    run = repository.run(run_id)
    trials = repository.trials_with_curves(run_id)
    space = Space.model_validate(run.space)
    outcome = Outcome.model_validate(run.outcome) if run.outcome else None
    parts = [
        f"# Run {run.id}: {run.target} under {workload_label(run.workload, run.workload_parameters)}",
        f"Made by `trimtab show {run.id} --markdown` from what the run recorded. Such a run is started by",
        f"```sh\n{_command(run, space)}\n```",
        _table(("", ""), _facts(repository, run, trials)),
        "## Space",
        _table(("knob", "default", "values"), [_knob(knob) for knob in space.free]),
    ]
    if outcome is not None:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in outcome.verdicts.items())
        parts += ["## Outcome", outcome.sentence]
        heads, people = table(compared(outcome))
        parts += [_table(heads, people)] if people else []
        parts.append(f"Trials of search and confirmation: {counts or 'none'}.")
    if outcome is not None and outcome.best is not None:
        default, best = outcome.default, outcome.best
        parts += ["## Configuration to use" if outcome.confirmed else "## Best so far, not confirmed"]
        parts.append(
            _table(
                ("knob", "default", "value"),
                [(knob.name, str(default[knob.name]), str(best[knob.name])) for knob in space.free],
            )
        )
    rows = table_rows(space, outcome, trials)
    if rows:
        parts += ["## Configurations, best first", _ranked(space, rows), LEGEND + "."]
        parts += [outcome.remark_on_ranks] if outcome is not None and outcome.remark_on_ranks else []
    if outcome is not None and outcome.front is not None:
        parts += ["## Front", "No other configuration is better in both objectives. * recommended"]
        parts.append(_table(*front_rows(space, outcome.front)))
    clients = clients_of(run.workload_parameters)
    parts += list(_understood(analyse_run(repository, run_id), clients))
    return "\n\n".join(parts) + "\n"


def _facts(repository: Repository, run: records.Run, trials: Sequence[Trial]) -> list[tuple[str, str]]:
    """Where and how it was measured, for how long, and how sure a single trial is."""
    host = repository.host(run.host_id)
    cpus = counted(host.cpus, "CPU")
    known = History(repository, run.id).noise()
    noise = (
        f"{known.share:.1%} (standard deviation of a trial, by {known.measured} of the default)"
        if known.measured >= 2
        else f"{known.share:.1%} (assumed: the default has {known.measured} scores in the search)"
    )
    measured_s = sum(trial.duration_s for trial in trials)
    whole_minutes = round(measured_s / 60)
    took = counted(whole_minutes, "minute") if whole_minutes else counted(round(measured_s), "second")
    return [
        (
            "host",
            f"{host.cpu_model}, {cpus}, {host.memory_bytes / 2**30:.1f} GiB, {host.kernel}",
        ),
        ("layout", "; ".join(run.layout[part] for part in ("sentence", "reason") if run.layout.get(part))),
        ("target", f"{run.target} {run.target_version}"),
        ("objective", objectives_label(run)),
        ("strategy", f"{run.strategy} (seed {run.seed})"),
        ("ladder", clients_of(run.workload_parameters).level(*run.ladder) if run.ladder else ""),
        ("trials", f"{len(trials)}, which took {took}; the run is {run.state}"),
        ("noise", noise),
    ]


def _command(run: records.Run, space: Space) -> str:
    """The command that starts such a run: what differs from the preset and from what a target tunes."""
    conditions = conditions_of(run.workload_parameters)
    words = ["trimtab", "tune", f"--preset={run.preset}", f"--target={run.target}"]
    words += [f"--base={run.base['path']}"] if run.base else []
    words += [f"--workload={run.workload}", f"--memory={conditions.memory}", f"--start={conditions.start}"]
    words += [f"--link={conditions.link}", f"--objective={run.objective}", f"--seed={run.seed}"]
    words += [] if run.second_objective is None else [f"--second-objective={run.second_objective}"]
    usual = PRESETS[run.preset].settings.model_dump(mode="json")
    changed = {n: v for n, v in run.settings.items() if n != "ranges" and usual.get(n) != v}
    words += [f"--set={name}={json.dumps(value)}" for name, value in changed.items()]
    tuned = space_of(TARGETS[run.target], space.fixed, len(run.layout["server"]))
    for knob in space.knobs:
        if knob.name not in space.fixed:
            values = ",".join(map(str, knob.choices)) or f"{knob.low}:{knob.high}"
            words.append(f"--knob={knob.name}={values}")
        elif knob.name not in tuned.fixed or tuned.fixed[knob.name] != space.fixed[knob.name]:
            words.append(f"--knob={knob.name}={space.fixed[knob.name]}")
    return " ".join(shlex.quote(word) for word in words)


def _knob(knob: Knob) -> tuple[str, str, str]:
    values = ", ".join(str(choice) for choice in knob.choices) or f"{knob.low} to {knob.high}"
    return knob.name, str(knob.default), values


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


def _understood(analysis: Analysis, clients: Clients) -> Iterator[str]:
    """Diagnosis, importance, interaction and stability, as far as there are any."""
    yield "## Diagnosis"
    if analysis.findings:
        for found in analysis.findings:
            facts = ", ".join(f"{f.name} {f.value:g} {f.unit}".strip() for f in found.facts)
            yield (
                f"**{found.rule}** (trial {found.trial}, {clients.level(found.rate_rps)}). {found.sentence} "
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
