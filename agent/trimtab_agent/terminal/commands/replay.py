"""`trimtab replay`: a strategy on recorded surfaces instead of servers, or a run's trials as a surface."""

import json
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from trimtab_trials.trial import TrialPurpose
from trimtab_tuner.replay.replaying import SurfaceSummary, geometric_mean, learnt_from, summarise
from trimtab_tuner.replay.surfaces import (
    Surface,
    SurfacesError,
    parse_surfaces,
    read_surfaces,
    surface_record,
    thesis_surfaces,
)
from trimtab_tuner.space import Space
from trimtab_tuner.strategies import DEFAULT_STRATEGY, STRATEGIES
from trimtab_tuner.wording import counted, in_percent

from trimtab_agent.errors import SpecError
from trimtab_agent.runtime import open_to_read
from trimtab_agent.terminal.commands.options import Json, Var, console_for, possible_runs, settings_to_read
from trimtab_agent.terminal.output import print_json, write_text


def replay(
    strategy: Annotated[str, typer.Option(help="The strategy to try.")] = DEFAULT_STRATEGY,
    surfaces: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Recorded surfaces; those of the thesis if not given.")
    ] = None,
    from_run: Annotated[
        int | None,
        typer.Option(
            metavar="ID", help="The trials of this run as a surface.", min=1, callback=possible_runs
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --from-run: write the surface, and do no replay."),
    ] = None,
    noise: Annotated[float, typer.Option(metavar="PCT", help="Noise of a trial.", min=0, max=50)] = 0.0,
    repeats: Annotated[int, typer.Option(help="Searches per surface, each with a seed.", min=1)] = 10,
    budget: Annotated[int, typer.Option(help="Trials before a recommendation is asked for.", min=1)] = 16,
    learn: Annotated[bool, typer.Option(help="Learn from the other surfaces first.")] = False,
    as_json: Json = False,
    var: Var = None,
) -> None:
    """Try a strategy on recorded surfaces: how soon it finds the best, and what it recommends."""
    if strategy not in STRATEGIES:
        raise SpecError("strategy", f"strategy {strategy!r}: expected one of {', '.join(STRATEGIES)}")
    if save is not None and from_run is None:
        raise SpecError("save", "--save FILE: expected together with --from-run ID")
    if from_run is not None and surfaces is not None:
        raise SpecError("from_run", "--from-run ID and --surfaces FILE: expected one of the two")
    if from_run is not None:
        document = json.dumps(_recorded(from_run, var), indent=1)
        if save is not None:
            write_text(save, document + "\n")
            return
    try:
        if from_run is not None:
            found = parse_surfaces(document, f"run {from_run}")
        else:
            found = thesis_surfaces() if surfaces is None else read_surfaces(surfaces)
    except SurfacesError as error:
        raise SpecError("surfaces", str(error)) from error
    except OSError as error:
        raise SpecError("surfaces", f"{surfaces}: {error.strerror}") from error
    summaries = [
        summarise(
            surface,
            strategy,
            repeats=repeats,
            budget_trials=budget,
            noise=noise / 100,
            experience=learnt_from(found, surface) if learn else (),
            features=surface.features if learn else None,
        )
        for surface in _shown(found)
    ]
    if as_json:
        print_json({"strategy": strategy, "surfaces": [_document(summary) for summary in summaries]})
    else:
        print_replays(console_for(), strategy, budget, noise, summaries)


def _recorded(run_id: int, var: Path | None) -> dict[str, Any]:
    with open_to_read(settings_to_read(var)) as repository:
        run = repository.run(run_id)
        trials = [t for t in repository.trials(run_id) if t.purpose is TrialPurpose.SEARCH]
    record = surface_record(
        f"run-{run_id}",
        server=run.target,
        workload=run.workload,
        space=Space.model_validate(run.space),
        results=trials,
    )
    return {
        "source": f"run {run_id} on {run.host}, {run.created_at:%Y-%m-%d}",
        "unit": f"Mbps ({run.objective})",
        "surfaces": [record],
    }


def _shown(surfaces: list[Surface]) -> Any:  # noqa: ANN401 - rich's own iterable
    """The surfaces, with a progress bar on standard error."""
    return track(surfaces, "Replaying", console=Console(stderr=True), transient=True)


def _document(summary: SurfaceSummary) -> dict[str, Any]:
    return {**asdict(summary), "trials_to": {f"{s:.0%}": t for s, t in summary.trials_to.items()}}


def print_replays(
    console: Console, strategy: str, budget: int, noise: float, summaries: list[SurfaceSummary]
) -> None:
    """A line for each surface, and below what holds of all of them."""
    table = Table(title=f"{strategy} on {counted(len(summaries), 'recorded surface')}", title_justify="left")
    table.add_column("surface")
    trials = ("configurations", "to 5 %", "to 2 %", "to 1 %", "random", "ratio", "failed")
    for heading in (*trials, "regret", "failing"):
        table.add_column(heading, justify="right")
    for s in summaries:
        table.add_row(
            s.surface,
            str(s.configurations),
            *(f"{trials:.1f}" for trials in s.trials_to.values()),
            f"{s.random_trials:.1f}",
            f"{s.ratio:.2f}",
            in_percent(s.failed_share),
            in_percent(fmean(s.regrets), 1),
            in_percent(s.failing / len(s.regrets), 1),
        )
    console.print(table)
    ratio = geometric_mean([s.ratio for s in summaries])
    regret = fmean(regret for s in summaries for regret in s.regrets)
    failing, searches = sum(s.failing for s in summaries), sum(len(s.regrets) for s in summaries)
    console.print(
        f"Trials to within 1 % of the best: {ratio:.2f} of what random choice needs (geometric mean). "
        f"Regret of what it recommends after {counted(budget, 'trial')} with {noise:g} % noise: "
        f"{in_percent(regret, 1)} on average. What it recommends had failed verification in {failing:,} of "
        f"{counted(searches, 'search', 'searches')}."
    )
