"""`trimtab tune`: a run from its options to its outcome; beside a daemon, in the daemon."""

import math
from pathlib import Path
from typing import Annotated

import typer
from trimtab_db import Repository
from trimtab_tuner.judging.score import Objective
from trimtab_tuner.strategies import STRATEGIES

from trimtab_agent.errors import SpecError
from trimtab_agent.paths import VarPaths
from trimtab_agent.study.own_file_report import in_words
from trimtab_agent.terminal.commands.options import Json, Var, console_for, possible_runs, settings_of
from trimtab_agent.terminal.commands.starting import (
    Base,
    Knobs,
    Link,
    Memory,
    Sets,
    Start,
    Target,
    Upstreams,
    WorkloadName,
    carried_out,
    make_spec,
    parse_setting,
    told_before,
)
from trimtab_agent.terminal.documents import run_document
from trimtab_agent.terminal.follow import Runs
from trimtab_agent.terminal.output import print_json
from trimtab_agent.terminal.report import print_run


def tune(
    context: typer.Context,
    preset: Annotated[str, typer.Option(help="quick, standard, thorough or thesis.")] = "quick",
    target: Target = "core",
    base: Base = None,
    upstream: Upstreams = None,
    site: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="With --base: the document root whose files a learnt workload asks for, only read.",
        ),
    ] = None,
    workload: WorkloadName = None,
    memory: Memory = None,
    start: Start = None,
    link: Link = None,
    objective: Annotated[
        str, typer.Option(help=f"What makes a score: {', '.join(Objective)}; or 'mat: p999 <= 4ms'.")
    ] = "condensed-area",
    second_objective: Annotated[
        str | None,
        typer.Option(help="Look for the best trade-offs with this one: an objective, rss or p999."),
    ] = None,
    strategy: Annotated[str | None, typer.Option(help=f"How to search: {', '.join(STRATEGIES)}.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the search and of the arrivals.")] = 1,
    budget: Annotated[int | None, typer.Option(help="Trials the search may take.")] = None,
    ladder: Annotated[
        str | None,
        typer.Option(
            metavar="RATE,RATE,…", help="Measure at these rates only, so that runs of different days compare."
        ),
    ] = None,
    kernel: Annotated[
        bool, typer.Option("--kernel", help="Tune the kernel too: its knobs that can matter here.")
    ] = False,
    host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATION", help="Measure on this station of the fleet, or all; may be repeated."
        ),
    ] = None,
    generator: Annotated[
        list[str] | None,
        typer.Option(metavar="STATION", help="Load from this station of the fleet; may be repeated."),
    ] = None,
    generators_each: Annotated[
        int, typer.Option(help="With --host: how many of the generators load one server together.")
    ] = 1,
    knob: Knobs = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="KNOB", help="Leave a knob as it is, as in your file; may be repeated."),
    ] = None,
    set_: Sets = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Sample the server with perf, to tell where its CPU time goes.")
    ] = False,
    resume: Annotated[
        int | None,
        typer.Option(metavar="ID", help="Continue the run of this number.", min=1, callback=possible_runs),
    ] = None,
    even_if_changed: Annotated[
        bool,
        typer.Option(
            "--even-if-changed",
            help="With --resume: go on even if host, kernel, CPUs or server have changed since.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="With --base: say what would be tuned and what happens to your file, and end.",
        ),
    ] = False,
    as_json: Json = False,
    var: Var = None,
) -> None:
    """Tune a server: measure configurations under load, confirm the best, export it."""
    settings = settings_of(var=var)
    _refuse_beside_resume(context)
    spec = make_spec(
        preset=preset,
        target=target,
        base=base,
        upstreams=upstream,
        site=None if site is None else str(site.absolute()),
        workload=workload,
        memory=memory,
        start=start,
        link=link,
        objective=objective,
        second_objective=second_objective,
        strategy=strategy,
        seed=seed,
        budget_trials=budget,
        kernel=kernel,
        hosts=tuple(host or ()),
        generators=tuple(generator or ()),
        generators_each=generators_each,
        knobs=knob,
        keep=tuple(keep or ()),
        settings=[
            *(parse_setting(text) for text in set_ or ()),
            *([("profile", True)] if profile else []),
            *([("ladder", _parse_ladder(ladder))] if ladder is not None else []),
        ],
    )
    console = console_for(stderr=as_json)
    if dry_run:
        told = told_before(settings, console, spec)
        if as_json:
            print_json(told.model_dump(mode="json"))
        else:
            print("\n".join(in_words(told)))
        return

    def begin(runs: Runs) -> int:
        return runs.start(spec) if resume is None else runs.resume(resume, even_if_changed)

    def show(repository: Repository, run_id: int) -> None:
        if as_json:
            print_json(run_document(repository, run_id))
        else:
            print_run(console, repository, run_id, VarPaths(settings.var).exports(run_id))

    carried_out(settings, console, begin, show, resumed=resume is not None)


def _refuse_beside_resume(context: typer.Context) -> None:
    """A run goes on as it was started: what else is given would be passed over without a word."""
    if context.params["resume"] is None:
        if context.params["even_if_changed"]:
            raise SpecError("even_if_changed", "--even-if-changed: expected together with --resume ID")
        return
    given = [
        name
        for name in context.params
        if name not in ("resume", "even_if_changed", "as_json", "var")
        and (source := context.get_parameter_source(name)) is not None
        and source.name == "COMMANDLINE"
    ]
    if given:
        option = "--" + given[0].strip("_").replace("_", "-")
        raise SpecError("resume", f"--resume: leave out {option}; a run continues with its own options")


def _parse_ladder(text: str) -> list[float]:
    """`5000,10000`: rates in requests per second."""
    try:
        rates = [float(rate) for rate in text.split(",")]
    except ValueError:
        rates = []
    if not rates or not all(map(math.isfinite, rates)):
        raise SpecError(
            "ladder", f"--ladder {text}: expected rates in requests per second, as in 5000,10000,20000"
        )
    return rates
