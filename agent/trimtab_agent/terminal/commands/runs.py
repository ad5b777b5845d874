"""`trimtab runs | show | name | archive | export | delete`: what runs have left behind."""

from pathlib import Path
from typing import Annotated

import typer
from trimtab_tuner.wording import counted
from trimtab_tuner.workloads.parameters import recorded_parameters

from trimtab_agent.errors import HostError, SpecError
from trimtab_agent.paths import VarPaths
from trimtab_agent.results.analysis import analyse_run
from trimtab_agent.results.csv_tables import Table, csv_lines
from trimtab_agent.results.deleting import delete_run
from trimtab_agent.results.exporting import (
    content_of,
    export_run,
    is_translation,
    next_steps,
    verdict,
    was_refused,
)
from trimtab_agent.results.html import run_html
from trimtab_agent.results.naming import run_name
from trimtab_agent.runtime import open_to_read
from trimtab_agent.simulated.demo import SAID
from trimtab_agent.station.file_set import document_root
from trimtab_agent.terminal.commands.options import (
    EXIT_FAILED,
    LARGEST_ID,
    Json,
    RunId,
    Var,
    console_for,
    settings_to_read,
)
from trimtab_agent.terminal.documents import run_document, runs_document
from trimtab_agent.terminal.markdown import run_markdown
from trimtab_agent.terminal.output import print_json
from trimtab_agent.terminal.report import print_run, print_runs
from trimtab_agent.workloads.choice import make_workload


def runs(
    as_json: Json = False,
    var: Var = None,
    limit: Annotated[int, typer.Option(min=1, max=LARGEST_ID, help="Only the newest so many.")] = 50,
    archived: Annotated[bool, typer.Option("--archived", help="Also those in the archive.")] = False,
) -> None:
    """List the runs, newest first."""
    settings = settings_to_read(var)
    with open_to_read(settings) as repository:
        summaries = repository.runs(limit=limit, archived=archived)
        if as_json:
            print_json(runs_document(summaries))
            return
        if settings.demo:
            print(SAID)
        print_runs(console_for(), summaries)
        total = repository.count_runs(archived=archived)
        if total > len(summaries):
            print(f"The newest {len(summaries):,} of {counted(total, 'run')}; --limit {total} lists all.")


def show(
    run_id: RunId,
    as_json: Json = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a document in Markdown.")] = False,
    html: Annotated[
        bool, typer.Option("--html", help="Print one HTML file with figures that needs no network.")
    ] = False,
    table: Annotated[
        Table | None, typer.Option("--csv", help="Print all trials, or all their measurements, as CSV.")
    ] = None,
    var: Var = None,
) -> None:
    """Show a run: its ranked table, its outcome, its exported files."""
    forms = (("json", as_json), ("markdown", markdown), ("html", html), ("csv", table))
    given = [name for name, there in forms if there]
    if len(given) > 1:
        raise SpecError(given[-1], f"--{' and --'.join(given)}: expected one of them")
    settings = settings_to_read(var)
    with open_to_read(settings) as repository:
        if as_json:
            print_json(run_document(repository, run_id))
        elif markdown:
            typer.echo(run_markdown(repository, run_id), nl=False)
        elif html:
            typer.echo(run_html(repository, run_id, analyse_run(repository, run_id)), nl=False)
        elif table is not None:
            for lines in csv_lines(repository, run_id, table):
                typer.echo(lines, nl=False)
        else:
            print_run(console_for(), repository, run_id, VarPaths(settings.var).exports(run_id))


def name(
    run_id: RunId,
    name: Annotated[str, typer.Argument(help="One line; an empty one takes the name away.")],
    var: Var = None,
) -> None:
    """Give a run a name, by which lists and reports call it."""
    with open_to_read(settings_to_read(var)) as repository:
        repository.set_run_notes(run_id, name=run_name(name))


def archive(
    run_id: RunId,
    undo: Annotated[bool, typer.Option("--undo", help="Take it back out.")] = False,
    var: Var = None,
) -> None:
    """Put a run into the archive: it is kept, and left out of the list unless asked for."""
    with open_to_read(settings_to_read(var)) as repository:
        repository.set_run_notes(run_id, archived=not undo)


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
    settings = settings_to_read(var)
    paths = VarPaths(settings.var.resolve())
    with open_to_read(settings) as repository:
        run = repository.run(run_id)
        parameters = recorded_parameters(run.workload_parameters)
        workload = make_workload(parameters, paths.workloads)
        export_run(
            repository,
            run_id,
            workload=workload,
            root=document_root(paths.file_sets, workload, parameters.site),
            directory=paths.exports(run_id),
            httpd=settings.httpd_path,
        )
        written = [e for e in repository.exports(run_id) if format_ in (None, e.format)]
    if not written:
        raise SpecError("format", f"format = {format_!r}: run {run_id} has no such export")
    if output is not None:
        _write_copies(output, {e.file_name: content_of(run, e.text) for e in written})
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
            for step in next_steps(run, exported):
                print(f"  {step}")
    if any(was_refused(e) and (format_ is not None or not is_translation(e, run)) for e in written):
        raise typer.Exit(EXIT_FAILED)


def delete(
    run_id: RunId,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    var: Var = None,
) -> None:
    """Delete a run: its trials, logs and exported files. There is no way back."""
    settings = settings_to_read(var)
    with open_to_read(settings) as repository:
        summary = repository.run_summary(run_id)
        if not yes:
            what = f"run {run_id} ({summary.run.target}, {counted(summary.trials, 'trial')})"
            typer.confirm(f"Delete {what} for good?", abort=True)
        lock = settings.lock_of(over_hosts=repository.run(run_id).over_hosts)
        delete_run(repository, run_id, VarPaths(settings.var), lock)


def _write_copies(directory: Path, contents: dict[str, bytes]) -> None:
    try:
        for name, content in contents.items():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).write_bytes(content)
    except OSError as error:
        raise HostError(f"cannot write to {directory}: {error.strerror}") from error
