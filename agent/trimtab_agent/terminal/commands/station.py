"""`trimtab station run`: one job, carried out here and reported, without a run."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Verdict
from trimtab_tuner.job import JobError, TrialJob, read_job
from trimtab_tuner.targets import TARGETS

from trimtab_agent.errors import SpecError
from trimtab_agent.host.cpu_layout import process_layout
from trimtab_agent.runtime import open_station
from trimtab_agent.station.equipment import JobListener
from trimtab_agent.station.requirements import completed, require
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
    asked = completed(asked, len(cpus))
    require(settings, TARGETS[asked.target], asked.workload.definition)
    console = console_for(stderr=True)
    with open_station(settings) as station, stopped_by_signals(station.stop):
        report = station.carry_out(asked, _listener(console, asked))
    print(report.model_dump_json(indent=2))
    if report.verdict is Verdict.ABORTED:
        raise typer.Exit(EXIT_INTERRUPTED)


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
        level, goodput = job.clients.level(measurement.rate_rps), measurement.goodput_mbps
        console.print(f"{level}: {goodput:.1f} Mbps, {measurement.reply_rate_rps:.0f} replies/s")

    return JobListener(
        rate_started=lambda rate_rps: console.print(f"{job.clients.level(rate_rps)} …", style="dim"),
        measured=measured,
    )
