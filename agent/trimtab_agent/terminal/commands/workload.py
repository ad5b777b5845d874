"""`trimtab workload list | show | build | learn`: what clients can be made to ask for."""

import re
import sys
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from trimtab_tuner.wording import counted, in_percent
from trimtab_tuner.workloads import WORKLOADS, definition_text
from trimtab_tuner.workloads.definition import NAME_PATTERN, Definition
from trimtab_tuner.workloads.file_sets import Specweb99Files
from trimtab_tuner.workloads.learning import Learner, LearningError
from trimtab_tuner.workloads.learnt import LearntWorkload
from trimtab_tuner.workloads.learnt_page import learnt_page
from trimtab_tuner.workloads.parameters import parameters

from trimtab_agent.errors import HostError, SpecError
from trimtab_agent.paths import VarPaths
from trimtab_agent.station.data_directory import data_directory
from trimtab_agent.station.file_set import FileSet
from trimtab_agent.stopping import Stopped, StopSignal
from trimtab_agent.terminal.commands.options import (
    EXIT_INTERRUPTED,
    Commands,
    Json,
    Var,
    console_for,
    settings_of,
    settings_to_read,
)
from trimtab_agent.terminal.output import print_json
from trimtab_agent.terminal.signals import stopped_by_signals
from trimtab_agent.workloads.choice import (
    LEARNT_NAME,
    all_definitions,
    find_definition,
    is_path,
    make_workload,
    read_definition_file,
    save_learnt,
    written_by_hand,
)
from trimtab_agent.workloads.facts import WorkloadFacts, workload_facts
from trimtab_agent.workloads.log_reading import read_logs

app = Commands(name="workload", help="What clients ask for.", no_args_is_help=True)

FEWEST_REQUESTS = 100  # fewer say nothing of what is asked how often

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of a workload, or the path of a TOML file.")]
Directories = Annotated[
    int | None, typer.Option(min=1, max=100_000, help="Directories, where the file set is made of them.")
]


@app.command("list")
def list_workloads(as_json: Json = False, var: Var = None) -> None:
    """List the workloads: those that come with Trimtab, and your own in var/workloads."""
    own = VarPaths(settings_to_read(var, recorded=False).var).workloads
    lines = [
        {"name": definition.name, "help": definition.help, "file": str(path) if path else None}
        for definition, path in all_definitions(own)
    ]
    if as_json:
        print_json(lines)
        return
    width = max(len(line["name"] or "") for line in lines)
    for line in lines:
        origin = f" ({line['file']})" if line["file"] else ""
        print(f"{line['name']:{width}}  {line['help']}{origin}")


@app.command("show")
def show_workload(
    name: Name,
    directories: Directories = None,
    toml: Annotated[bool, typer.Option("--toml", help="Print the definition, to copy and change.")] = False,
    as_json: Json = False,
    var: Var = None,
) -> None:
    """Show what a workload comes to: files, sizes asked for, sessions, source."""
    own = VarPaths(settings_to_read(var, recorded=False).var).workloads
    definition = _definition(name, directories, own)
    if toml:
        print(_text(name, own), end="")
        return
    workload = make_workload(parameters(definition, time_scale=1.0), own)
    facts = workload_facts(workload)
    if as_json:
        print_json({**definition.model_dump(mode="json"), "facts": asdict(facts)})
    else:
        _print_facts(definition, facts)
        if isinstance(workload, LearntWorkload):
            print("\n" + learnt_page(definition.name, workload.facts), end="")


@app.command("build")
def build_workload(
    name: Name, directories: Directories = None, as_json: Json = False, var: Var = None
) -> None:
    """Write a workload's files and session log; goes on where an earlier build was cut short."""
    paths = VarPaths(settings_of(var=var).var.resolve())
    definition = _definition(name, directories, paths.workloads)
    workload = make_workload(parameters(definition, time_scale=1.0), paths.workloads)
    files = FileSet(paths.file_sets, workload)
    data = data_directory(files, workload, definition)
    console = console_for(stderr=True)
    with closing(StopSignal()) as stop, stopped_by_signals(stop.request), _progress(console) as progress:
        task = progress.add_task(definition.name, total=files.total_bytes)
        try:
            files.prepare(lambda done, total: progress.update(task, completed=done, total=total), stop)
            if data is not None:
                data.prepare(stop)
        except Stopped:
            progress.stop()
            print("trimtab: interrupted; the same command goes on where this one stopped", file=sys.stderr)
            raise typer.Exit(EXIT_INTERRUPTED) from None
    document = {
        "name": definition.name,
        "root": str(files.root),
        "sessions": str(files.sessions),
        "files": len(files.files),
        "file_set_bytes": files.total_bytes,
        "data": None if data is None else str(data.path),
    }
    if as_json:
        print_json(document)
    else:
        print(f"{counted(len(files.files), 'file')}, {_size(files.total_bytes)}, in {files.root}")
        if data is not None:
            print(f"Database: {data.path}")
        print(f"Session log: {files.sessions}")


@app.command("learn")
def learn_workload(
    logs: Annotated[
        list[Path], typer.Argument(metavar="LOG", help="Access logs, compressed by gzip or not.")
    ],
    name: Annotated[str, typer.Option(help="What the workload shall be called.")] = LEARNT_NAME,
    session_gap: Annotated[
        float, typer.Option(min=0.1, max=3600, help="Seconds after which a client begins another session.")
    ] = 15.0,
    sample: Annotated[int, typer.Option(min=1, max=1_000_000, help="Sessions to keep.")] = 5000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the choice of sessions.")] = 0,
    as_json: Json = False,
    var: Var = None,
) -> None:
    """Learn a workload from access logs: Common or Combined Log Format, JSON, LTSV."""
    if re.fullmatch(NAME_PATTERN, name) is None:
        raise SpecError("name", f"name = {name!r}: expected small letters, digits and hyphens")
    if name in WORKLOADS:
        raise SpecError(
            "name", f"name = {name!r}: a workload that comes with Trimtab is called so; expected another name"
        )
    own = VarPaths(settings_of(var=var).var.resolve()).workloads
    if (file := written_by_hand(name, own)) is not None:
        raise SpecError(
            "name", f"name = {name!r}: {file} was not learnt, and would be lost; expected another name"
        )
    learner = Learner(session_gap, sample, seed)
    console = console_for(stderr=True)
    with closing(StopSignal()) as stop, stopped_by_signals(stop.request), _progress(console) as progress:
        task = progress.add_task("reading", total=None)
        try:
            complaints = read_logs(
                logs,
                learner,
                lambda done, total: progress.update(task, completed=done, total=total),
                stop,
            )
        except Stopped:
            progress.stop()
            print("trimtab: interrupted; nothing was written", file=sys.stderr)
            raise typer.Exit(EXIT_INTERRUPTED) from None
    try:
        model, facts = learner.finish()
    except LearningError as error:
        raise SpecError("log", str(error)) from error
    if facts.requests < FEWEST_REQUESTS:
        raise SpecError(
            "log",
            f"{counted(facts.requests, 'request')} of {counted(facts.lines, 'line')} can be replayed, too "
            f"few to learn from; expected at least {FEWEST_REQUESTS}",
        )
    page = learnt_page(name, model["facts"], complaints)
    try:
        definition = save_learnt(name, model, page, own)
    except OSError as error:
        raise HostError(f"cannot write to {own}: {error.strerror}") from error
    for complaint in complaints:
        print(f"trimtab: {complaint}", file=sys.stderr)
    if as_json:
        print_json({"definition": str(definition), "complaints": complaints, **asdict(facts)})
    else:
        print(page)
        print(f"Written to {definition}; `trimtab tune --workload {name}` tunes under it.")


def _definition(name: str, directories: int | None, own: Path) -> Definition:
    definition = read_definition_file(Path(name)) if is_path(name) else find_definition(name, own)
    return definition if directories is None else definition.sized(directories)


def _text(name: str, own: Path) -> str:
    """The TOML text of a definition that is known to be good."""
    if is_path(name):
        return Path(name).read_text()
    file = own / f"{name}.toml"
    return file.read_text() if file.exists() else definition_text(name)


def _print_facts(definition: Definition, facts: WorkloadFacts) -> None:
    print(f"{definition.name}: {definition.help}")
    if definition.source:
        print(f"Source: {definition.source}")
    print()
    size = _size(facts.file_set_bytes)
    if isinstance(definition.files, Specweb99Files):
        directories = counted(definition.files.directories, "directory", "directories")
        size += f" in {directories} (a run takes their number from its settings)"
    print(f"File set            {counted(facts.files, 'file')}, {size}")
    requests = counted(facts.requests, "request")
    print(f"Log                 {counted(facts.sessions, 'session')}, {requests}, then from its start")
    print(
        f"Session             {facts.mean_session_length:.2f} requests, "
        f"{facts.mean_session_pause_s:.2f} s of pauses"
    )
    print(f"Request             {_size(facts.mean_request_bytes)} on average")
    print(f"Files asked for     {facts.files_asked_for}")
    if facts.dynamic_share:
        print(f"Dynamic requests    {in_percent(facts.dynamic_share, 1)}")
    print()
    print("Share of requests   largest file")
    for share, size_bytes in facts.largest_bytes.items():
        print(f"{share:>15} %   {size_bytes:,} B")


def _size(size_bytes: float) -> str:
    """Bytes for people."""
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if size_bytes >= limit:
            return f"{size_bytes / limit:.1f} {unit}"
    return f"{size_bytes:.0f} B"


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
