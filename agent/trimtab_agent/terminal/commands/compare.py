"""`trimtab compare`: several runs side by side, as `GET /compare` has them, or two files measured."""

from collections.abc import Mapping
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from trimtab_trials.configuration import Configuration
from trimtab_tuner.certainty.confirmation import describe
from trimtab_tuner.space import Space
from trimtab_tuner.telling.people import gain_in_words
from trimtab_tuner.wording import in_digits

from trimtab_agent.errors import SpecError
from trimtab_agent.results.run_comparison import ComparedRun, RunComparison, compare_runs
from trimtab_agent.runtime import open_to_read
from trimtab_agent.simulated.demo import SAID
from trimtab_agent.terminal.commands.compare_files import MOST_LOSS, Files, MostLoss, compare_files
from trimtab_agent.terminal.commands.options import (
    Json,
    Var,
    console_for,
    possible_runs,
    settings_of,
    settings_to_read,
)
from trimtab_agent.terminal.commands.starting import (
    Link,
    Memory,
    Sets,
    Start,
    Target,
    Upstreams,
    WorkloadName,
)
from trimtab_agent.terminal.output import print_json

LEGEND = (
    "rank: the winners of runs with the same number may gain equally much over the default (95 %); "
    "score: mean of the winner's trials in the confirmation; peak: the highest goodput at any rate"
)


def compare(
    context: typer.Context,
    runs: Annotated[
        list[int] | None,
        typer.Argument(metavar="[RUN]…", help="Numbers of the runs.", min=1, callback=possible_runs),
    ] = None,
    base: Files = None,
    most_loss: MostLoss = MOST_LOSS,
    target: Target = "core",
    upstream: Upstreams = None,
    workload: WorkloadName = None,
    memory: Memory = None,
    start: Start = None,
    link: Link = None,
    set_: Sets = None,
    as_json: Json = False,
    var: Var = None,
) -> None:
    """Put runs side by side, or measure two files of a server against each other.

    Of runs: what each found, which winners can be told apart, the best architectures. With --base OLD --base
    NEW both files are measured in interleaved blocks: exit code 4 if the new one loses more than --most-loss.
    """
    if base:
        if runs:
            raise SpecError("base", "--base: expected without numbers of runs")
        compare_files(
            settings_of(var=var),
            base,
            most_loss,
            set_,
            as_json=as_json,
            target=target,
            upstreams=upstream,
            workload=workload,
            memory=memory,
            start=start,
            link=link,
        )
        return
    _refuse_without_files(context)
    if not runs:
        raise SpecError("runs", "expected the numbers of runs, or two files: --base OLD --base NEW")
    runs = list(dict.fromkeys(runs))
    if len(runs) == 1:
        raise SpecError(
            "runs",
            f"run {runs[0]} alone is no comparison: expected the numbers of two runs or more; "
            f"`trimtab show {runs[0]}` says what it found",
        )
    defaults: dict[int, Configuration] = {}
    settings = settings_to_read(var)
    with open_to_read(settings) as repository:
        for run_id in runs:
            defaults[run_id] = Space.model_validate(repository.run(run_id).space).default()
        comparison = compare_runs(repository, runs)
    if as_json:
        print_json(comparison.model_dump(mode="json"))
        return
    if settings.demo:
        print(SAID)
    _print(console_for(), comparison, defaults)


def _refuse_without_files(context: typer.Context) -> None:
    """What says how files are measured would be passed over without a word."""
    for name in ("most_loss", "target", "upstream", "workload", "memory", "start", "link", "set_"):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = "--" + name.strip("_").replace("_", "-")
            raise SpecError(name, f"{option}: expected together with --base OLD --base NEW")


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
            in_digits(sum(scores) / len(scores)) if scores else "",
            in_digits(max((point.goodput_mbps for point in run.curve), default=None)),
            _gain(run),
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
            best_of.add_row(*cells, in_digits(best.score_mbps), in_digits(best.peak_mbps))
        console.print(best_of)


def _gain(run: ComparedRun) -> str:
    return gain_in_words(run.capacity_gain, at_least=run.capacity_at_least, score=run.gain)


def _winner(run: ComparedRun, default: Configuration) -> str:
    if run.best is None:
        return "nothing verified"
    name = describe(run.best, default)
    return name if run.confirmed else f"{name} (not confirmed)"
