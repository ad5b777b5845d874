"""`trimtab compare`: several runs side by side, as the API's `GET /compare` has them."""

from collections.abc import Mapping
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from trimtab_trials.configuration import Configuration
from trimtab_tuner.confirmation import describe
from trimtab_tuner.space import Space

from trimtab_agent.results.run_comparison import ComparedRun, RunComparison, compare_runs
from trimtab_agent.runtime import open_repository
from trimtab_agent.terminal.commands.options import LARGEST_ID, Json, Var, console_for, settings_of
from trimtab_agent.terminal.documents import print_json

LEGEND = (
    "rank: the winners of runs with the same number may gain equally much over the default (95 %); "
    "score: mean of the winner's trials in the confirmation; peak: the highest goodput at any rate"
)


def compare(
    runs: Annotated[
        list[int], typer.Argument(metavar="RUN", help="Numbers of the runs.", min=1, max=LARGEST_ID)
    ],
    as_json: Json = False,
    var: Var = None,
) -> None:
    """Put runs side by side: what each found, which winners can be told apart, the best architectures."""
    defaults: dict[int, Configuration] = {}
    with open_repository(settings_of(var=var)) as repository:
        for run_id in runs:
            defaults[run_id] = Space.model_validate(repository.run(run_id).space).default()
        comparison = compare_runs(repository, runs)
    if as_json:
        print_json(comparison.model_dump(mode="json"))
    else:
        _print(console_for(), comparison, defaults)


def _print(console: Console, comparison: RunComparison, defaults: Mapping[int, Configuration]) -> None:
    table = Table(title="Runs", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("rank", "run", "target", "workload", "objective", "score", "peak", "gain", "winner"):
        table.add_column(name, justify="right" if name in ("rank", "run", "score", "peak") else "left")
    for run in comparison.runs:
        scores = run.scores_mbps
        second = "" if run.second_objective is None else f" and {run.second_objective}"
        table.add_row(
            "" if run.rank is None else str(run.rank),
            str(run.id),
            run.target,
            run.workload,
            f"{run.objective}{second}",
            f"{sum(scores) / len(scores):.1f}" if scores else "",
            f"{max(point.goodput_mbps for point in run.curve):.1f}" if run.curve else "",
            "" if run.gain is None else str(run.gain),
            _winner(run, defaults[run.id]),
        )
    console.print(table)
    console.print(LEGEND)
    for difference in comparison.differences:
        console.print(f"Not ranked. {difference}", markup=False)
    if len({best.architecture for best in comparison.architectures}) > 1:
        best_of = Table(
            title="Best by architecture", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
        )
        for name in ("architecture", "run", "trial", "score", "peak"):
            best_of.add_column(name, justify="left" if name == "architecture" else "right")
        for best in sorted(comparison.architectures, key=lambda b: -b.peak_mbps):
            cells = (best.architecture, str(best.run_id), str(best.trial))
            best_of.add_row(*cells, f"{best.score_mbps:.1f}", f"{best.peak_mbps:.1f}")
        console.print(best_of)


def _winner(run: ComparedRun, default: Configuration) -> str:
    if run.best is None:
        return "nothing verified"
    name = describe(run.best, default)
    return name if run.confirmed else f"{name} (not confirmed)"
