"""A run as tables and sentences for the terminal.  Every number comes from the database."""

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text
from trimtab_db import Repository, records
from trimtab_db.records import RunState
from trimtab_trials.configuration import Configuration
from trimtab_trials.measurement import FOLLOWS
from trimtab_trials.trial import Trial
from trimtab_tuner.certainty.factorial import Factorial
from trimtab_tuner.certainty.setting_effects import effect_sentences
from trimtab_tuner.space import Space
from trimtab_tuner.strategies import strategy_label
from trimtab_tuner.telling.people import table
from trimtab_tuner.wording import counted, in_digits, in_mbps, in_percent
from trimtab_tuner.workloads.parameters import clients_of, workload_label

from trimtab_agent.results.exporting import next_steps, verdict, was_refused
from trimtab_agent.results.naming import title_of
from trimtab_agent.results.outcome import Front, Outcome, RankedConfiguration, best_score, compared
from trimtab_agent.results.rows import Row, front_rows, legend, objectives_label, table_rows

CAPACITY = (
    "capacity: the highest rate that a configuration follows, or keeps up with: it answers at least "
    f"{100 * FOLLOWS:.0f} % of the requests, and no rule is broken"
)
SHORT_NAME = 24  # in a list, where the gain is to stand in the same line
STATE_STYLE = {
    RunState.RUNNING: "cyan",
    RunState.FINISHED: "green",
    RunState.STOPPED: "yellow",
    RunState.FAILED: "red",
    RunState.INTERRUPTED: "yellow",
}


def print_run(console: Console, repository: Repository, run_id: int, exports: Path) -> None:
    """The whole report of a run; `exports` is where its files lie."""
    run = repository.run(run_id)
    trials = repository.trials_with_curves(run_id)
    space = Space.model_validate(run.space)
    outcome = Outcome.model_validate(run.outcome) if run.outcome else None
    console.print()
    console.print(
        f"[bold]{escape(title_of(run.id, run.name))}[/bold] [{STATE_STYLE[run.state]}]{run.state}[/]: "
        f"target {run.target}, "
        f"workload {workload_label(run.workload, run.workload_parameters)}, "
        f"objective {objectives_label(run)}, "
        f"strategy {strategy_label(run.strategy)}, preset {run.preset}, "
        f"seed {run.seed}"
    )
    console.print(f"Host {escape(run.host)}: {run.layout['sentence']}")
    if why := run.layout.get("reason"):
        console.print(f"CPUs: {why}")
    if run.ladder:
        console.print(f"Ladder: {clients_of(run.workload_parameters).level(*run.ladder)}")
    compares = outcome is not None and outcome.files is not None  # which has its own table
    rows = [] if compares else table_rows(space, outcome, trials)
    if rows:
        console.print(_ranked_table(space, rows))
        console.print(f"{legend(outcome)}; late: share of requests that timed out at the highest rate")
        if outcome is not None and outcome.remark_on_ranks:
            console.print(outcome.remark_on_ranks)
    if outcome is not None:
        print_people(console, outcome)
    if outcome is not None and outcome.factorial is not None:
        console.print(_factorial_table(outcome.factorial))
    if outcome is not None and outcome.front is not None:
        console.print(_front_table(space, outcome.front))
    for line in _conclusion(run, outcome, trials):
        console.print(line)
    for export in repository.exports(run_id):
        style = "red" if was_refused(export) else "green" if export.check_ok else "yellow"
        file = escape(str(exports / export.file_name))
        console.print(f"Exported [bold]{file}[/bold]: [{style}]{escape(verdict(export, run))}[/]")
        for step in next_steps(run, export):
            console.print(f"  {escape(step)}")


def _table(title: str) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
    )


def _ranked_table(space: Space, rows: Sequence[Row]) -> Table:
    table = _table("Configurations, best first")
    table.add_column("rank", justify="right")
    for knob in space.free:
        name = knob.name.replace("_", "_\n")  # narrow enough for a terminal of 100 columns
        table.add_column(name, justify="right" if knob.kind == "integer" else "left", overflow="fold")
    for name in ("score\nMbps", "confirmed\nMbps", "gain in\ncapacity", "peak\nMbps", "late"):
        table.add_column(name, justify="right", overflow="fold")
    table.add_column("verdict", overflow="fold")
    for row in rows:
        ranked = row.ranked
        table.add_row(
            f"{_text(ranked.rank if ranked else None)}{' *' * row.is_best}",
            *(str(row.trial.configuration[knob.name]) for knob in space.free),
            in_digits(row.score_mbps),
            in_digits(ranked.mean_score_mbps if ranked else None),
            _gain(ranked),
            in_digits(row.peak_mbps),
            "" if row.timeout_percent is None else in_percent(row.timeout_percent / 100, 1),
            f"{row.trial.verdict}{' (default)' * row.is_default}",
            style="bold green" if row.is_best else "bold" if row.is_default else None,
        )
    return table


def print_people(console: Console, outcome: Outcome) -> None:
    """What the finalists do, each in a column: figures fit a terminal better one under the other.

    Nothing where that is not known.
    """
    heads, people = table(compared(outcome), outcome.default_called)
    if not people:
        return
    recommended = "; * recommended" * (outcome.files is None)
    columns = _table(f"What they do: means of the interleaved blocks, with 95 % intervals{recommended}")
    columns.add_column(heads[0])
    for row in people:
        columns.add_column(row[0], overflow="fold", justify="right")
    for number, head in enumerate(heads[1:], start=1):
        columns.add_row(head, *(row[number] for row in people))
    if outcome.files is not None:
        for which, path in (("old", outcome.files.old), ("new", outcome.files.new)):
            console.print(f"The {which} file: {path}", markup=False, soft_wrap=True)
    console.print(columns)
    console.print(CAPACITY)


def _factorial_table(found: Factorial) -> Table:
    table = _table("Gains over the default, each family of knobs alone and both, with intervals")
    for head in ("", "in capacity", "in score"):
        table.add_column(head, overflow="fold")
    cells = (("server's knobs", found.server), ("kernel's knobs", found.kernel), ("both", found.both))
    for name, cell in cells:
        capacity = "" if cell.capacity_gain is None else cell.capacity_gain.told(at_least=cell.at_least)
        table.add_row(name, capacity, _text(cell.gain))
    return table


def _front_table(space: Space, front: Front) -> Table:
    heads, rows = front_rows(space, front)
    table = _table("Front: no other configuration is better in both objectives")
    for head in heads:
        table.add_column(
            head.replace("_", "_\n").replace(", ", "\n"),
            justify="left" if head == heads[-1] else "right",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*row)
    return table


def _conclusion(run: records.Run, outcome: Outcome | None, trials: Sequence[Trial]) -> list[str]:
    lines = []
    if outcome is not None:
        lines.append(f"[bold]{escape(outcome.sentence)}[/bold]")
        if outcome.gain_told:
            lines.append(f"Gain over {outcome.default_called}: [bold]{outcome.gain_told}[/bold]")
        sentences = (*effect_sentences(outcome.effects), outcome.workers, outcome.connections)
        lines += [escape(sentence) for sentence in sentences if sentence]
        counts = ", ".join(f"{count} {verdict}" for verdict, count in outcome.verdicts.items())
        lines.append(f"Trials after the calibration: {counts or 'none'}")
    elif not trials:
        lines.append("No trial has been finished yet.")
    if run.error:
        lines.append(f"[red]{escape(run.error)}[/red]")
    if run.finished_at is not None:
        took = _minutes((run.finished_at - run.started_at).total_seconds())
        lines.append(f"{counted(len(trials), 'trial')}; took {took}")
    return [*lines, *resume_hint(run)]


def resume_hint(run: records.Run) -> list[str]:
    """How a run that did not come to its end goes on; nothing for one that did."""
    if run.state not in (RunState.STOPPED, RunState.FAILED, RunState.INTERRUPTED):
        return []
    return [f"Resume with: trimtab tune --resume {run.id}"]


def print_runs(console: Console, summaries: Sequence[records.RunSummary]) -> None:
    """The list of runs, two lines for each, which fit any terminal."""
    if not summaries:
        console.print("There are no runs; `trimtab tune` starts one. `--archived` also lists archived ones.")
        return
    digits = max(len(str(summary.run.id)) for summary in summaries)
    for summary in summaries:
        for line in _run_lines(summary, digits):
            console.print(line, no_wrap=True, overflow="ellipsis")


def _run_lines(summary: records.RunSummary, digits: int) -> tuple[Text, Text]:
    """What a run is, and what came of it: the sentence last, of which narrow terminals show the beginning."""
    run = summary.run
    outcome = Outcome.model_validate(run.outcome) if run.outcome else None
    what = " · ".join(
        (
            run.target,
            workload_label(run.workload, run.workload_parameters),
            run.preset,
            counted(summary.trials, "trial"),
        )
    )
    best = best_score(outcome, summary.best_score)
    gain = "" if outcome is None else "default kept" if outcome.keeps_default else outcome.gain_told
    said = (
        run.name if len(run.name) <= SHORT_NAME else f"{run.name[: SHORT_NAME - 1]}…",
        gain,
        "" if best is None else f"best {in_mbps(best)}",
        run.error if outcome is None else outcome.sentence,
    )
    head = Text.assemble(
        f"{run.id:>{digits}}  {run.created_at.astimezone():%Y-%m-%d %H:%M}  ",
        (f"{run.state}", STATE_STYLE[run.state]),
        f"  {what}",
    )
    return head, Text(" " * (digits + 2) + " · ".join(filter(None, said)))


def describe_configuration(configuration: Configuration, space: Space) -> str:
    """The free knobs and their values in one line."""
    return " ".join(f"{knob.name}={configuration[knob.name]}" for knob in space.free)


def _gain(ranked: RankedConfiguration | None) -> str:
    """The gain in capacity of a finalist, without its interval, which stands in the next table."""
    own = None if ranked is None else ranked.performance
    if own is None or own.capacity_gain is None:
        return ""
    return own.capacity_gain.in_short(at_least=own.at_least)


def _text(value: object | None) -> str:
    return "" if value is None else str(value)


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"
