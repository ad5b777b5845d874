"""What a document on a run says, whatever it is written in: headings, paragraphs, tables and listings.

The outcome goes first, then why, then how sure that is, and how it was measured last. Every number comes from
the database. `terminal/markdown.py` writes it as Markdown, `html.py` as a page with figures.
"""

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trimtab_db import Repository, records
from trimtab_trials.trial import Trial
from trimtab_tuner.certainty.noise import Noise
from trimtab_tuner.clients import Clients
from trimtab_tuner.presets import PRESETS
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.strategies import strategy_label
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import space_of
from trimtab_tuner.telling.people import table
from trimtab_tuner.understanding.analysis import Analysis
from trimtab_tuner.understanding.importance import Importance
from trimtab_tuner.wording import counted, in_digits, in_percent, in_unit
from trimtab_tuner.workloads.parameters import (
    clients_of,
    conditions_of,
    workload_label,
)

from trimtab_agent.paths import DEMO_SAID
from trimtab_agent.results.naming import title_of
from trimtab_agent.results.outcome import Outcome, compared
from trimtab_agent.results.rows import Row, front_rows, legend, objectives_label, star, table_rows

DIAGNOSIS = "Diagnosis"
SHOWN_KNOBS = 8
SHOWN_ROWS = 40
NO_SETS = ("ranges", "most_loss")  # settings that other options tell


@dataclass(frozen=True)
class Heading:
    """The title of a section."""

    text: str


@dataclass(frozen=True)
class Paragraph:
    """Sentences; `lead` is what they are about, and is emphasised."""

    text: str
    lead: str = ""


@dataclass(frozen=True)
class Listing:
    """What is typed into a shell."""

    text: str


@dataclass(frozen=True)
class Rows:
    """A table."""

    heads: Sequence[str]
    lines: Sequence[Sequence[str]]


Block = Heading | Paragraph | Listing | Rows


def document_title(run: records.Run) -> str:
    """What the document is on: the run by number and name, what was tuned, under what."""
    what = f"{run.target} under {workload_label(run.workload, run.workload_parameters)}"
    simulated = " (simulated)" if run.host == DEMO_SAID else ""
    return f"{title_of(run.id, run.name)}: {what}{simulated}"


def document_of(repository: Repository, run_id: int, analysis: Analysis) -> Iterator[Block]:
    """The blocks of the document below its title; raises RecordNotFoundError."""
    run = repository.run(run_id)
    trials = repository.trials_with_curves(run_id)
    space = Space.model_validate(run.space)
    outcome = Outcome.model_validate(run.outcome) if run.outcome else None
    clients = clients_of(run.workload_parameters)
    if run.host == DEMO_SAID:
        yield Paragraph(f"{DEMO_SAID}. No server was started, and nothing was measured.")
    if outcome is not None:
        yield from _outcome(space, outcome)
    yield from _diagnosis(analysis, clients)
    yield from _configurations(space, outcome, trials)
    yield from _understood(analysis)
    yield Heading("How it was measured")
    yield Rows(("", ""), _facts(repository, run, trials, analysis.noise))
    yield Paragraph("Such a run is started by")
    yield Listing(_command(run, space))
    yield Heading("Space")
    yield Rows(("knob", "default", "values"), [_knob(knob) for knob in space.free])
    if run.notes:
        yield Heading("Notes")
        yield Paragraph(run.notes)


def _outcome(space: Space, outcome: Outcome) -> Iterator[Block]:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in outcome.verdicts.items())
    yield Heading("Outcome")
    yield Paragraph(outcome.sentence)
    if outcome.gain_told:
        yield Paragraph(f"{outcome.gain_told}.", lead=f"Gain over {outcome.default_called}:")
    heads, people = table(compared(outcome), outcome.default_called)
    if people:
        yield Rows(heads, people)
    yield from _effects(outcome)
    for written in filter(None, (outcome.workers, outcome.connections)):
        yield Paragraph(written)
    yield Paragraph(f"Trials after the calibration: {counts or 'none'}.")
    if outcome.best is not None and outcome.files is None:
        default, best = outcome.default, outcome.best
        yield Heading("Configuration to use" if outcome.confirmed else "Best so far, not confirmed")
        yield Rows(
            ("knob", "default", "value"),
            [(knob.name, knob.told(default[knob.name]), knob.told(best[knob.name])) for knob in space.free],
        )


def _effects(outcome: Outcome) -> Iterator[Block]:
    """What each setting gives, and what was tried and found worth nothing."""
    if outcome.effects:
        yield Heading("What each setting gives")
        yield Rows(
            ("setting", "effect"),
            [(effect.setting, effect.told) for effect in outcome.effects],
        )


def _diagnosis(analysis: Analysis, clients: Clients) -> Iterator[Block]:
    yield Heading(DIAGNOSIS)
    for found in analysis.findings:
        facts = ", ".join(f"{f.name} {in_unit(f.value, f.unit)}" for f in found.facts)
        yield Paragraph(
            f"(trial {found.trial}, {clients.level(found.rate_rps)}). {found.sentence} "
            f"{found.suggestion} Evidence: {facts}. Source: {found.source}",
            lead=found.rule,
        )
    if not analysis.findings:
        yield Paragraph("No rule fired.")


def _configurations(space: Space, outcome: Outcome | None, trials: Sequence[Trial]) -> Iterator[Block]:
    """The ranked table and the front, as far as there are any."""
    rows = table_rows(space, outcome, trials)
    if rows:
        yield Heading("Configurations, best first")
        yield _ranked(space, rows)
        yield Paragraph(legend(outcome) + ".")
    if outcome is not None and outcome.remark_on_ranks:
        yield Paragraph(outcome.remark_on_ranks)
    if outcome is not None and outcome.front is not None:
        yield Heading("Front")
        yield Paragraph(f"No other configuration is better in both objectives. {star(outcome)}".rstrip())
        yield Rows(*front_rows(space, outcome.front))


def _understood(analysis: Analysis) -> Iterator[Block]:
    """Importance, interaction and stability, as far as there are any."""
    if analysis.importance is not None:
        yield Heading("Importance")
        yield from _importance(analysis.importance)
    if analysis.stability is not None:
        yield Heading("Stability")
        yield Paragraph(analysis.stability.sentence)
    for note in analysis.notes:
        yield Paragraph(note)


def _importance(importance: Importance) -> Iterator[Block]:
    """Which knob explains how much, as far as the model behind it can be believed."""
    if importance.r_squared <= 0:
        yield Paragraph(
            f"Not known: after {importance.trials} verified trials no model of the knobs predicts others "
            "better than their mean does."
        )
        return
    yield Rows(
        ("knob", "share of the variance"),
        [(knob.knob, in_percent(knob.share)) for knob in importance.knobs]
        + [(f"{p.knob_one} and {p.knob_two} together", in_percent(p.share)) for p in importance.interactions],
    )
    yield Paragraph(
        f"From {importance.trials} verified trials; the model behind it predicts "
        f"{in_percent(importance.r_squared)} of the variance of trials it has not seen. The shares are over "
        "everything that was tried; what a setting of the recommendation brings, the outcome says."
    )


def _facts(
    repository: Repository, run: records.Run, trials: Sequence[Trial], noise: Noise | None
) -> list[tuple[str, str]]:
    """Where and how it was measured, for how long, and how sure a single trial is."""
    host = repository.host(run.host_id)
    cpus = counted(host.cpus, "CPU")
    measured_s = sum(trial.duration_s for trial in trials)
    whole = "" if run.finished_at is None else _time((run.finished_at - run.started_at).total_seconds())
    took = f"; the run took {whole} and" if whole else "; the run"
    return [
        ("host", f"{host.cpu_model}, {cpus}, {host.memory_bytes / 2**30:.1f} GiB, {host.kernel}"),
        ("layout", "; ".join(run.layout[part] for part in ("sentence", "reason") if run.layout.get(part))),
        ("target", f"{run.target} {run.target_version}"),
        ("objective", objectives_label(run)),
        ("strategy", f"{strategy_label(run.strategy)}, seed {run.seed}"),
        ("ladder", clients_of(run.workload_parameters).level(*run.ladder) if run.ladder else ""),
        ("started", f"{run.created_at:%Y-%m-%d %H:%M} UTC"),
        ("trials", f"{len(trials)}, whose own times add up to {_time(measured_s)}{took} is {run.state}"),
        *([] if noise is None else [("noise", _noise(noise))]),
    ]


def _time(seconds: float) -> str:
    """In whole minutes; below one in seconds."""
    minutes = round(seconds / 60)
    return counted(minutes, "minute") if minutes else counted(round(seconds), "second")


def _noise(known: Noise) -> str:
    return f"{in_percent(known.share, 1)} (standard deviation of a trial, {known.basis})"


def _command(run: records.Run, space: Space) -> str:
    """The command that starts such a run: what differs from the preset and from what a target tunes."""
    two = "new" in run.base
    words = ["trimtab", "compare"] if two else ["trimtab", "tune", f"--preset={run.preset}"]
    words.append(f"--target={run.target}")
    words += [f"--base={file['path']}" for file in (run.base, run.base.get("new")) if file]
    upstream = run.workload_parameters.get("definition", {}).get("upstream") or {}
    for each in upstream.get("replaced", ()):
        how = "measured" if each["times_ms"] else f"{each['service_time_ms']:g}ms"
        words.append(f"--upstream={each['name']}={how}")
    conditions = conditions_of(run.workload_parameters)
    words += [f"--site={site}" for site in [run.workload_parameters.get("site")] if site is not None]
    words += [f"--workload={run.workload}", f"--memory={conditions.memory}", f"--start={conditions.start}"]
    words.append(f"--link={conditions.link}")
    if two:
        words.append(f"--most-loss={100 * run.settings['most_loss']:g}%")
    else:
        words += [f"--objective={run.objective}", f"--seed={run.seed}"]
    words += [] if run.second_objective is None else [f"--second-objective={run.second_objective}"]
    usual = PRESETS[run.preset].settings.model_dump(mode="json")
    changed = {n: v for n, v in run.settings.items() if n not in NO_SETS and usual.get(n) != v}
    words += [f"--set={name}={json.dumps(value)}" for name, value in changed.items()]
    if two:
        return " ".join(shlex.quote(word) for word in words)
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


def _ranked(space: Space, rows: Sequence[Row]) -> Rows:
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
                in_digits(row.score_mbps),
                in_digits(ranked.mean_score_mbps if ranked else None),
                "" if ranked is None else ranked.gain_told,
                row.trial.verdict + " (default)" * row.is_default,
            ]
        )
    return Rows(heads, lines)
