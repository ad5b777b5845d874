"""The command line: `trimtab up | tune | runs | show | compare | export | replay | targets | host |
affinity | load | station | workload | db`.

Exit codes
    0    done; for `tune`: the run has finished, whether or not it found a gain
    1    failed: the run, the machine or the database; the sentence on standard error says why
    2    bad input: an option, a knob, a setting, a run number
    3    conflict: another run is running, or the run is in no state for that
    130  interrupted by Ctrl-C or SIGTERM; what was measured is kept, and the run can be resumed

With `--json` a command prints one JSON document on standard output and shows progress, if any, on standard
error.  Errors are then the API's error body.
"""

import json
import logging
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer
from pydantic import ValidationError
from trimtab_db.errors import DatabaseError, RecordNotFoundError
from trimtab_db.records import RunState
from trimtab_tuner.score import Objective
from trimtab_tuner.strategies import STRATEGIES
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.wording import counted
from trimtab_tuner.workloads.parameters import recorded_parameters

from trimtab_agent import __version__
from trimtab_agent.errors import HostError, SpecError, TrimtabError
from trimtab_agent.paths import VarPaths
from trimtab_agent.results.exporting import export_run, verdict, was_refused
from trimtab_agent.runtime import open_repository, open_runtime
from trimtab_agent.station.file_set import root_of
from trimtab_agent.study.specification import KnobSpec, RunSpec
from trimtab_agent.terminal.commands.affinity import app as affinity_app
from trimtab_agent.terminal.commands.compare import compare
from trimtab_agent.terminal.commands.host import app as host_app
from trimtab_agent.terminal.commands.load import app as load_app
from trimtab_agent.terminal.commands.options import (
    EXIT_BAD_INPUT,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    LARGEST_ID,
    Commands,
    Json,
    RunId,
    Var,
    console_for,
    refusal,
    settings_of,
)
from trimtab_agent.terminal.commands.replay import replay
from trimtab_agent.terminal.commands.station import app as station_app
from trimtab_agent.terminal.commands.targets import targets
from trimtab_agent.terminal.commands.workload import app as workload_app
from trimtab_agent.terminal.documents import print_json, run_document, runs_document
from trimtab_agent.terminal.follow import Follower
from trimtab_agent.terminal.markdown import run_markdown
from trimtab_agent.terminal.report import print_run, print_runs
from trimtab_agent.workloads.choice import is_path, make_workload, read_definition_file

Value = TypeVar("Value")

app = Commands(
    name="trimtab",
    help="Finds the configuration at which a web server performs best on this machine.",
    epilog="Exit codes: 0 done, 1 failed, 2 bad input, 3 conflict with another run, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
database_app = Commands(name="db", help="The database.", no_args_is_help=True)
app.add_typer(database_app)
app.add_typer(host_app)
app.add_typer(affinity_app)
app.add_typer(load_app)
app.add_typer(station_app)
app.add_typer(workload_app)
app.command()(compare)
app.command()(replay)
app.command()(targets)


def main() -> None:
    """Runs the command line; every failure that we know of is one sentence and an exit code."""
    logging.basicConfig(format="trimtab: %(message)s", level=logging.WARNING)
    try:
        # Without --json the parser shows its own errors, beside how the command is used, and exits.
        code = app(standalone_mode="--json" not in sys.argv)
    except typer.TyperException as error:
        option = getattr(getattr(error, "param", None), "name", None)
        _fail(error.format_message(), EXIT_BAD_INPUT, "bad-usage", option)
    except TrimtabError as error:
        _fail(error.sentence, error.exit_code, error.code, getattr(error, "field", None))
    except RecordNotFoundError as error:
        _fail(f"{error} `trimtab runs` lists the runs there are.", EXIT_BAD_INPUT, "not-found")
    except DatabaseError as error:
        _fail(str(error), EXIT_FAILED, "database")
    sys.exit(code or 0)


def _fail(sentence: str, exit_code: int, code: str, field: str | None = None) -> NoReturn:
    if "--json" in sys.argv:
        error = {"code": code, "message": sentence, **({"field": field} if field else {})}
        print(json.dumps({"error": error}))
    print(f"trimtab: {sentence}", file=sys.stderr)
    sys.exit(exit_code)


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Finds the configuration at which a web server performs best on this machine."""
    if version:
        print(f"trimtab {__version__}")
        raise typer.Exit


@app.command()
def up(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one.")] = None,
    var: Var = None,
) -> None:
    """Start the daemon with its API and web UI."""
    # The web framework takes half a second to load, which the other commands need not pay.
    from trimtab_agent.api.daemon import run_daemon

    run_daemon(settings_of(var=var, host=host, port=port))


@app.command()
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
        base=None if base is None else str(base),
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
            "--set", [_parse_setting(text) for text in (*(set_ or ()), *(["profile=true"] * profile))]
        ),
    )
    console = console_for(stderr=as_json)
    with open_runtime(settings) as runtime:
        follower = Follower(console, runtime.service, runtime.broadcaster)
        run_id = runtime.service.start(spec) if resume is None else runtime.service.resume(resume)
        console.print(f"Run {run_id}: {runtime.layout.sentence()}")
        follower.follow(runtime.repository.run(run_id))
        end = runtime.service.last_end
        if as_json:
            print_json(run_document(runtime.repository, run_id))
        else:
            print_run(console, runtime.repository, run_id, VarPaths(settings.var).exports(run_id))
        if end is not None and end.state is RunState.FAILED:
            print(f"trimtab: run {run_id} failed: {end.error}", file=sys.stderr)
            raise typer.Exit(EXIT_FAILED)
    if follower.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)


@app.command()
def runs(
    as_json: Json = False,
    var: Var = None,
    limit: Annotated[int, typer.Option(min=1, max=LARGEST_ID, help="Only the newest so many.")] = 50,
) -> None:
    """List the runs, newest first."""
    with open_repository(settings_of(var=var)) as repository:
        summaries = repository.runs(limit=limit)
        if as_json:
            print_json(runs_document(summaries))
        else:
            print_runs(console_for(), summaries)


@app.command()
def show(
    run_id: RunId,
    as_json: Json = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a document in Markdown.")] = False,
    var: Var = None,
) -> None:
    """Show a run: its ranked table, its outcome, its exported files."""
    if as_json and markdown:
        raise SpecError("markdown", "--json and --markdown: expected one of the two")
    settings = settings_of(var=var)
    with open_repository(settings) as repository:
        if as_json:
            print_json(run_document(repository, run_id))
        elif markdown:
            typer.echo(run_markdown(repository, run_id), nl=False)
        else:
            print_run(console_for(), repository, run_id, VarPaths(settings.var).exports(run_id))


@app.command()
def export(
    run_id: RunId,
    format_: Annotated[
        str | None, typer.Option("--format", help="Only this format, such as nginx, systemd or readme.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Directory to write to; var/exports/run-ID if not given.")
    ] = None,
    as_json: Json = False,
    var: Var = None,
) -> None:
    """Write a run's best configuration for every server, and let each server check its file."""
    settings = settings_of(var=var)
    paths = VarPaths(settings.var.resolve())
    with open_repository(settings) as repository:
        run = repository.run(run_id)
        workload = make_workload(recorded_parameters(run.workload_parameters), paths.workloads)
        export_run(
            repository,
            run_id,
            root=root_of(paths.file_sets, workload.name, tuple(workload.files())),
            directory=paths.exports(run_id),
            httpd=settings.httpd_path,
        )
        written = [e for e in repository.exports(run_id) if format_ in (None, e.format)]
    if not written:
        raise SpecError("format", f"format = {format_!r}: run {run_id} has no such export")
    if output is not None:
        _write_copies(output, {e.file_name: e.text for e in written})
    lines = [
        {
            "format": e.format,
            "file": str((output or paths.exports(run_id)) / e.file_name),
            "check_command": e.check_command,
            "check_ok": e.check_ok,
            "check_output": e.check_output,
        }
        for e in written
    ]
    if as_json:
        print_json(lines)
    else:
        for line, exported in zip(lines, written, strict=True):
            print(f"{line['file']}: {verdict(exported, run)}")
    if any(was_refused(e) for e in written):
        raise typer.Exit(EXIT_FAILED)


@database_app.command()
def upgrade(var: Var = None, as_json: Json = False) -> None:
    """Make the database, or bring its schema up to date."""
    settings = settings_of(var=var)
    with open_repository(settings) as repository:
        if as_json:
            print_json({"runs": repository.count_runs()})
        else:
            print(f"The database is up to date; it holds {counted(repository.count_runs(), 'run')}.")


def _write_copies(directory: Path, texts: dict[str, str]) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (directory / name).write_text(text)
    except OSError as error:
        raise HostError(f"cannot write to {directory}: {error.strerror}") from error


def _refuse_beside_resume(context: typer.Context) -> None:
    """A run goes on as it was started: what else is given would be passed over without a word."""
    if context.params["resume"] is None:
        return
    given = [
        name
        for name in context.params
        if name not in ("resume", "as_json", "var")
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


def _value(text: str) -> int | str:
    """A knob's value: an integer if it looks like one."""
    try:
        return int(text)
    except ValueError:
        return text
