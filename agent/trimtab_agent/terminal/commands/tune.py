"""`trimtab tune`: a run from its options to its outcome; beside a daemon, in the daemon."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import ValidationError
from rich.console import Console
from trimtab_db import Repository
from trimtab_db.records import RunState
from trimtab_tuner.score import Objective
from trimtab_tuner.strategies import STRATEGIES
from trimtab_tuner.targets import TARGETS

from trimtab_agent.errors import SpecError
from trimtab_agent.host.cpu_layout import pin_this_process, process_layout
from trimtab_agent.paths import VarPaths
from trimtab_agent.runtime import open_repository, open_runtime
from trimtab_agent.settings import AgentSettings
from trimtab_agent.study.specification import KnobSpec, RunSpec
from trimtab_agent.terminal.commands.options import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    LARGEST_ID,
    Json,
    Var,
    console_for,
    refusal,
    settings_of,
)
from trimtab_agent.terminal.daemon import find_daemon
from trimtab_agent.terminal.documents import print_json, run_document
from trimtab_agent.terminal.follow import Follower, Runs, RunsHere
from trimtab_agent.terminal.report import print_run
from trimtab_agent.workloads.choice import is_path, read_definition_file

Value = TypeVar("Value")


def tune(
    context: typer.Context,
    preset: Annotated[str, typer.Option(help="quick, standard, thorough or thesis.")] = "quick",
    target: Annotated[str, typer.Option(help=f"Kind of server: {', '.join(TARGETS)}.")] = "core",
    base: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your own configuration file; the run begins with its values."),
    ] = None,
    workload: Annotated[
        str,
        typer.Option(help="What clients ask for: a name of `trimtab workload list`, or a TOML file's path."),
    ] = "specweb99",
    memory: Annotated[str | None, typer.Option(help="unlimited, in-memory, moderate-io or heavy-io.")] = None,
    start: Annotated[str | None, typer.Option(help="Caches at the start of a trial: warm or cold.")] = None,
    link: Annotated[
        str | None, typer.Option(help="loopback, hundred-megabit, gigabit or eight-gigabit.")
    ] = None,
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
            metavar="RATE,RATE,…", help="Drive these rates and no others; runs of different days compare."
        ),
    ] = None,
    knob: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=…", help="Narrow a knob: name=low:high, name=value or name=a,b."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Override a setting of the preset."),
    ] = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Sample the server with perf, to tell where its CPU time goes.")
    ] = False,
    resume: Annotated[
        int | None, typer.Option(metavar="ID", help="Go on with this run.", min=1, max=LARGEST_ID)
    ] = None,
    even_if_changed: Annotated[
        bool,
        typer.Option(
            "--even-if-changed",
            help="With --resume: also with another host, kernel, CPUs or server than the run began with.",
        ),
    ] = False,
    as_json: Json = False,
    var: Var = None,
) -> None:
    """Tune a server: measure configurations under load, confirm the best, export it."""
    settings = settings_of(var=var)
    _refuse_beside_resume(context)
    definition = read_definition_file(Path(workload)) if is_path(workload) else None
    spec = _spec(
        preset=preset,
        target=target,
        base=None if base is None else str(base.absolute()),
        workload=workload if definition is None else definition.name,
        definition=definition,
        memory=memory,
        start=start,
        link=link,
        objective=objective,
        second_objective=second_objective,
        strategy=strategy,
        seed=seed,
        budget_trials=budget,
        knobs=_each_once("--knob", [_parse_knob(text) for text in knob or ()]),
        settings=_each_once(
            "--set",
            [
                *(_parse_setting(text) for text in set_ or ()),
                *([("profile", True)] if profile else []),
                *([("ladder", _parse_ladder(ladder))] if ladder is not None else []),
            ],
        ),
    )
    console = console_for(stderr=as_json)
    layout = process_layout()
    with _runs(settings, console) as (repository, runs), Follower(console, runs) as follower:
        run_id = runs.start(spec) if resume is None else runs.resume(resume, even_if_changed)
        run = repository.run(run_id)
        console.print(f"Run {run_id}: {run.layout['sentence']}")
        if why := run.layout.get("reason"):
            console.print(f"CPUs: {why}")
        if list(layout.server) != run.layout["server"] and resume is None:
            console.print("This command may use other CPUs, but the daemon's hold.")
        end = follower.follow(run)
        if as_json:
            print_json(run_document(repository, run_id))
        else:
            print_run(console, repository, run_id, VarPaths(settings.var).exports(run_id))
    if end.state is RunState.FAILED:
        print(f"trimtab: run {run_id} failed: {end.error}", file=sys.stderr)
        raise typer.Exit(EXIT_FAILED)
    if end.state is not RunState.FINISHED:
        raise typer.Exit(EXIT_INTERRUPTED)


@contextmanager
def _runs(settings: AgentSettings, console: Console) -> Iterator[tuple[Repository, Runs]]:
    """Who carries the run out: the daemon of this directory where one runs, or else this process."""
    with find_daemon(settings) as daemon:
        if daemon is None:
            with open_runtime(settings) as runtime:
                yield runtime.repository, RunsHere(runtime.service, runtime.broadcaster)
            return
        console.print(f"The daemon {daemon} carries the run out.", markup=False)
        allowed = tuple(os.sched_getaffinity(0))
        pin_this_process(process_layout().generator)  # what is shown here must not slow the server down
        try:
            with open_repository(settings) as repository:
                yield repository, daemon.listen(repository)
        finally:
            pin_this_process(allowed)


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
        raise SpecError("resume", f"--resume: a run goes on as it was started; {option} cannot change it")


def _spec(**fields: Any) -> RunSpec:  # noqa: ANN401 - checked by the model
    try:
        return RunSpec(**fields)
    except ValidationError as error:
        raise refusal(error) from error


def _each_once(option: str, named: list[tuple[str, Value]]) -> dict[str, Value]:
    """What the option was given for; which of two values is meant nobody can tell."""
    found = dict(named)
    if len(found) < len(named):
        names = [name for name, _ in named]
        twice = next(name for name in names if names.count(name) > 1)
        raise SpecError(twice, f"{option} {twice}: given more than once; expected one value")
    return found


def _parse_knob(text: str) -> tuple[str, KnobSpec]:
    """`name=low:high`, `name=value` or `name=a,b`."""
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise SpecError("knob", f"--knob {text}: expected NAME=LOW:HIGH, NAME=VALUE or NAME=A,B")
    if ":" in value:
        low, _, high = value.partition(":")
        try:
            return name, KnobSpec(low=int(low), high=int(high))
        except ValueError as error:
            raise SpecError(f"knobs.{name}", f"--knob {text}: expected two integers LOW:HIGH") from error
    if "," in value:
        return name, KnobSpec(choices=tuple(_value(part) for part in value.split(",")))
    return name, KnobSpec(fixed=_value(value))


def _parse_setting(text: str) -> tuple[str, Any]:
    """`field=value`, the value as JSON, or else as a word."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise SpecError("settings", f"--set {text}: expected FIELD=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _parse_ladder(text: str) -> list[float]:
    """`5000,10000`: rates in requests per second."""
    try:
        return [float(rate) for rate in text.split(",")]
    except ValueError as error:
        raise SpecError(
            "ladder", f"--ladder {text}: expected rates in requests per second, as in 5000,10000,20000"
        ) from error


def _value(text: str) -> int | str:
    """A knob's value: an integer if it looks like one."""
    try:
        return int(text)
    except ValueError:
        return text
