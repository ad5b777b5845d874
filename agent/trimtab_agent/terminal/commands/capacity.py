"""`trimtab capacity`: how much load a configuration follows as it is, without a search."""

from typing import Any

from rich.console import Console
from rich.markup import escape
from trimtab_db import Repository
from trimtab_db.records import RunState
from trimtab_trials.trial import Trial, TrialPurpose
from trimtab_tuner.telling.capacity import capacity_of

from trimtab_agent.results.analysis import analyse_run, ascending
from trimtab_agent.terminal.climb import climb_lines
from trimtab_agent.terminal.commands.options import Json, Var, console_for, settings_of
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
)
from trimtab_agent.terminal.documents import run_document
from trimtab_agent.terminal.output import print_json
from trimtab_agent.terminal.report import resume_hint

PRESET = "capacity"


def capacity(
    target: Target = "core",
    base: Base = None,
    upstream: Upstreams = None,
    workload: WorkloadName = None,
    memory: Memory = None,
    start: Start = None,
    link: Link = None,
    knob: Knobs = None,
    set_: Sets = None,
    as_json: Json = False,
    var: Var = None,
) -> None:
    """Measure how much load a server takes as it is configured, without a search: two minutes."""
    settings = settings_of(var=var)
    spec = make_spec(
        preset=PRESET,
        target=target,
        base=base,
        upstreams=upstream,
        workload=workload,
        memory=memory,
        start=start,
        link=link,
        knobs=knob,
        settings=[parse_setting(text) for text in set_ or ()],
    )
    console = console_for(stderr=as_json)

    def show(repository: Repository, run_id: int) -> None:
        if as_json:
            print_json(_document(repository, run_id))
        else:
            _print_capacity(console, repository, run_id)

    carried_out(settings, console, lambda runs: runs.start(spec), show)


def _document(repository: Repository, run_id: int) -> dict[str, Any]:
    """As `trimtab tune` prints a run, with the findings of the diagnosis."""
    findings = [finding.model_dump(mode="json") for finding in analyse_run(repository, run_id).findings]
    return {**run_document(repository, run_id), "findings": findings}


def _print_capacity(console: Console, repository: Repository, run_id: int) -> None:
    """The climb, what limits, and last the sentence; of a run that failed none of it is a result."""
    run = repository.run(run_id)
    if run.state is RunState.FAILED:  # the error is said after this
        for line in resume_hint(run):
            console.print(line)
        return
    climb = _climb(repository, run_id)
    if climb is not None:
        console.print()
        for line in climb_lines(climb.measurements, capacity_of(climb.measurements)):
            console.print(line, markup=False, soft_wrap=True)
    for finding in analyse_run(repository, run_id).findings:
        console.print(f"\nLimit: {escape(finding.sentence)} {escape(finding.suggestion)}")
    if run.outcome is not None:
        console.print(f"\n[bold]{escape(run.outcome['sentence'])}[/bold]")
    for line in resume_hint(run):
        console.print(line)


def _climb(repository: Repository, run_id: int) -> Trial | None:
    """The latest climb, from the lowest rate to the highest; None if no rate has been driven."""
    climbs = (t.number for t in reversed(repository.trials(run_id)) if t.purpose is TrialPurpose.CALIBRATION)
    whole = (ascending(repository.trial(run_id, number)) for number in climbs)
    return next((trial for trial in whole if trial.measurements), None)
