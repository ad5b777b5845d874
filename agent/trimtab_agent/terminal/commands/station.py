"""`trimtab station`: jobs carried out by this machine, one by hand or many as a station of the fleet."""

import json
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from trimtab_db.errors import DatabaseError
from trimtab_db.records import StationRole
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Verdict
from trimtab_tuner.judging.job import JobError, TrialJob, read_job
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.wording import in_mbps

from trimtab_agent.errors import RunConflict, SpecError, TrimtabError
from trimtab_agent.fleet.trial_lines import TrialLines
from trimtab_agent.host.cpu_layout import process_layout
from trimtab_agent.runtime import kernel_of, open_station
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.equipment import JobListener
from trimtab_agent.station.processes.programs import require_built
from trimtab_agent.station.requirements import completed, require
from trimtab_agent.station.station import Station
from trimtab_agent.terminal.commands.options import (
    EXIT_INTERRUPTED,
    Commands,
    Json,
    Var,
    console_for,
    settings_of,
)
from trimtab_agent.terminal.signals import stopped_by_signals

app = Commands(name="station", help="Jobs carried out by this machine.", no_args_is_help=True)
LARGEST_BYTES = 16 << 20
ORPHAN_S = 20.0  # in which a trial process whose station was killed puts the machine in order


@app.callback()
def group() -> None:
    """Jobs carried out by this machine."""


@app.command("run")
def run_job(
    job: Annotated[
        Path, typer.Argument(metavar="JOB", help="File with the job in JSON, or - for standard input.")
    ],
    as_json: Json = False,
    var: Var = None,
) -> None:
    """Carry out one job and print its report in JSON; progress goes to standard error."""
    del as_json  # the report is JSON in any case; errors are too when it is asked for
    settings, asked = settings_of(var=var), _read(job)
    cpus = asked.placement.server if asked.placement is not None else process_layout().server
    asked = completed(asked, len(cpus), lambda: kernel_of(settings))
    require(settings, TARGETS[asked.target], asked.workload.definition)
    console = console_for(stderr=True)
    with open_station(settings) as station, stopped_by_signals(station.stop):
        report = station.carry_out(asked, _listener(console, asked))
    print(report.model_dump_json(indent=2))
    if report.verdict is Verdict.ABORTED:
        raise typer.Exit(EXIT_INTERRUPTED)


@app.command()
def join(
    scheduler: Annotated[str, typer.Argument(metavar="SCHEDULER", help="Where it is, as in tls://host1.")],
    role: Annotated[StationRole, typer.Option(help="Run servers under load, or generate it.")],
    credentials: Annotated[
        Path | None, typer.Option(help="What `trimtab fleet invite` has written for this host.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name in the fleet; as invited if not given.")] = None,
    var: Var = None,
) -> None:
    """Join a fleet as a station, until it is drained or ended (SIGTERM, Ctrl-C)."""
    from trimtab_agent.fleet.joining import Joining, join_as_generator, join_as_server

    settings = settings_of(var=var, fleet_credentials=credentials)
    require_built(settings.load_path)
    logging.getLogger("trimtab_agent").setLevel(logging.INFO)
    joining = Joining(
        settings=settings,
        scheduler=scheduler,
        name=name,
        trials=(sys.executable, "-m", "trimtab_agent.terminal.main", "station", "work"),
        say=lambda sentence: print(sentence, file=sys.stderr),
    )
    (join_as_server if role is StationRole.SERVER else join_as_generator)(joining)


@app.command(hidden=True)
def work(
    name: Annotated[str, typer.Option(help="Name of the station.")],
) -> None:
    """Carry out what a station of the fleet hands over on standard input."""
    settings = settings_of()
    try:
        with _own_station(settings) as station:
            lines = TrialLines(
                station,
                settings,
                process_layout(),
                kernel=lambda: kernel_of(settings),
                settled=lambda: station.settled,
                credentials=settings.credentials,
                name=name,
            )
            with stopped_by_signals(lines.stop):
                lines.work()
    except (TrimtabError, DatabaseError) as error:
        print(json.dumps({"is": "refused", "sentence": str(error)}), flush=True)
        raise


@contextmanager
def _own_station(settings: AgentSettings) -> Iterator[Station]:
    """As `open_station`; waits for a trial process of the same directory whose station was killed."""
    deadline = time.monotonic() + ORPHAN_S
    with ExitStack() as opened:
        while True:
            try:
                station = opened.enter_context(open_station(settings))
            except RunConflict as error:
                if error.holder_var != str(settings.var.resolve()) or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                break
        yield station


def _read(path: Path) -> TrialJob:
    """The job in a file; raises SpecError."""
    try:
        if str(path) == "-":
            text = sys.stdin.buffer.read(LARGEST_BYTES + 1)
        else:
            with path.open("rb") as file:
                text = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise SpecError("job", f"the job {path} cannot be read: {error.strerror}") from error
    if len(text) > LARGEST_BYTES:
        raise SpecError("job", f"the job {path}: expected at most {LARGEST_BYTES >> 20} MiB")
    try:
        return read_job(text)
    except JobError as error:
        raise SpecError("job", f"the job {path}: {error}") from error


def _listener(console: Console, job: TrialJob) -> JobListener:
    """Says of each rate when it begins and what came out."""

    def measured(measurement: Measurement) -> None:
        level, goodput = job.clients.level(measurement.rate_rps), in_mbps(measurement.goodput_mbps)
        console.print(f"{level}: {goodput}, {measurement.reply_rate_rps:,.0f} replies/s")

    return JobListener(
        rate_started=lambda rate_rps: console.print(f"{job.clients.level(rate_rps)} …", style="dim"),
        measured=measured,
    )
