"""Runs: estimate, start, watch, pause, stop, resume; their trials and what happened in them."""

from pathlib import Path as FilePath
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import HTMLResponse, StreamingResponse
from trimtab_db import records
from trimtab_db.notes import notes_version
from trimtab_tuner.presets import Estimate
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.telling.performance import Performance
from trimtab_tuner.understanding.analysis import Analysis
from trimtab_tuner.workloads.parameters import clients_of

from trimtab_agent.api.context import Context, ContextDep
from trimtab_agent.api.local import is_local
from trimtab_agent.api.schemas import RunDetail, RunList, RunNotes, RunSummary
from trimtab_agent.api.trial_schemas import TrialSummary, as_summaries
from trimtab_agent.checked_file import CheckedFile, checked
from trimtab_agent.errors import SpecError
from trimtab_agent.results.csv_tables import Table, csv_lines
from trimtab_agent.results.html import run_html
from trimtab_agent.results.outcome import Outcome, best_score
from trimtab_agent.study.own_file_report import OwnFileReport
from trimtab_agent.study.run_spec import RunSpec

router = APIRouter(prefix="/runs", tags=["runs"])

CSV = {"text/csv": {"schema": {"type": "string"}}}

# Numbers beyond 64 bits cannot be asked of any database.
RunId = Annotated[int, Path(ge=1, le=2**31 - 1)]


@router.post("/estimate", response_model=Estimate)
def estimate_run(spec: RunSpec, context: ContextDep, request: Request) -> object:
    """How many trials such a run would take, and how long."""
    return context.service.estimate(_within_reach(spec, context, request))


@router.post("/told")
def tell_of_own_file(spec: RunSpec, context: ContextDep, request: Request) -> OwnFileReport:
    """What happens to the user's own file in such a run, line by line; nothing is started."""
    return context.service.told(_within_reach(spec, context, request))


@router.post("/checked")
def check_own_file(spec: RunSpec, context: ContextDep, request: Request) -> CheckedFile:
    """What in the user's own file of such a run contradicts this machine, without a load."""
    asked = _within_reach(spec, context, request)
    if asked.base is None or asked.target not in TARGETS:
        raise SpecError("base", "base: expected your own configuration file of a target, to check it")
    return CheckedFile(path=asked.base, found=checked(TARGETS[asked.target], FilePath(asked.base)))


@router.post("", status_code=201)
def start_run(spec: RunSpec, context: ContextDep, request: Request) -> RunDetail:
    """Starts a run; 409 while another one is going on, 422 if the specification makes no sense."""
    return _detail(context, context.service.start(_within_reach(spec, context, request)))


def _within_reach(spec: RunSpec, context: Context, request: Request) -> RunSpec:
    """The specification, unless it names a file of the host that a browser may neither have read nor run.

    It may name those that the operator lists (`TRIMTAB_BASE_FILES`, `TRIMTAB_SITES`), by exactly that path,
    and the files that it has sent; the user's own commands may name any. Where those were called, the daemon
    does not know.
    """
    if spec.site is not None and not is_local(request.scope) and spec.site not in context.sites:
        raise SpecError(
            "site",
            "site: your own files are served in a run that is started on the command line, trimtab tune "
            "--base FILE --site DIR; in the browser only those of a directory that TRIMTAB_SITES lists",
        )
    target = TARGETS.get(spec.target)
    for field, path in (("base", spec.base), ("new_base", spec.new_base)):
        if path is None:
            continue
        sent = target is not None and context.uploads.has(target, path)
        if not is_local(request.scope) and path not in context.base_files and not sent:
            raise SpecError(
                field,
                f"{field}: a run with your own file is started on the command line, "
                "trimtab tune --base FILE; in the browser only with a file that TRIMTAB_BASE_FILES lists",
            )
        if not FilePath(path).is_absolute():
            raise SpecError(field, f"{field} = {path!r}: expected an absolute path")
    return spec


@router.get("")
def list_runs(
    context: ContextDep,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    archived: Annotated[bool, Query(description="Also those in the archive.")] = False,
) -> RunList:
    """The runs, newest first."""
    summaries = context.repository.runs(limit=limit, offset=offset, archived=archived)
    return RunList(
        runs=tuple(RunSummary.model_validate(_summary(summary)) for summary in summaries),
        total=context.repository.count_runs(archived=archived),
    )


@router.get("/{run_id}")
def get_run(run_id: RunId, context: ContextDep) -> RunDetail:
    """One run, and how far it has come if it is going on."""
    return _detail(context, run_id)


@router.post("/{run_id}/stop", status_code=202)
def stop_run(run_id: RunId, context: ContextDep) -> RunDetail:
    """Asks a run to stop; what has been measured is kept. Its state becomes `stopped` a moment later."""
    context.service.stop(run_id)
    return _detail(context, run_id)


@router.post("/{run_id}/resume", status_code=202)
def resume_run(
    run_id: RunId,
    context: ContextDep,
    even_if_changed: Annotated[
        bool, Query(description="Also with another host, kernel, CPUs or server than it began with.")
    ] = False,
) -> RunDetail:
    """Goes on with a run that was stopped, failed, was interrupted, or is paused.

    409 with the code `run-changed` where host, kernel, CPUs or the server's version are others than it began
    with.
    """
    return _detail(context, context.service.resume(run_id, even_if_changed))


@router.post("/{run_id}/pause", status_code=202)
def pause_run(run_id: RunId, context: ContextDep) -> RunDetail:
    """Asks a run to pause; it does when its present trial has finished, and goes on by `resume`."""
    context.service.pause(run_id)
    return _detail(context, run_id)


@router.delete("/{run_id}", status_code=204)
def delete_run(run_id: RunId, context: ContextDep) -> None:
    """Deletes a run with its trials, logs and exported files for good; 409 while it is going on."""
    context.service.delete(run_id)


@router.patch("/{run_id}")
def note_run(
    run_id: RunId,
    body: RunNotes,
    context: ContextDep,
    if_match: Annotated[
        str | None, Header(description="The `notes_version` that was read, in quotation marks.")
    ] = None,
) -> RunDetail:
    """Replaces the name, notes and tags that its user has given a run; puts it into the archive or back.

    412 with the code `changed-meanwhile` where they are no longer the version of `If-Match`.
    """
    version = None if if_match is None or if_match == "*" else if_match.strip().strip('"')
    context.repository.set_run_notes(run_id, **body.model_dump(), if_version=version)
    return _detail(context, run_id)


@router.get("/{run_id}/trials", response_model=list[TrialSummary])
def list_trials(
    run_id: RunId,
    context: ContextDep,
    after: Annotated[int, Query(ge=0, le=2**31 - 1, description="Only trials with greater numbers.")] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 10_000,
) -> Response:
    """The recorded trials by number, each with its measurements."""
    context.repository.run(run_id)
    return as_summaries(context.repository.trials_with_curves(run_id, after=after, limit=limit))


@router.get("/{run_id}/{table}.csv", response_class=StreamingResponse, responses={200: {"content": CSV}})
def download_table(run_id: RunId, table: Table, context: ContextDep) -> StreamingResponse:
    """All trials of a run, or all their measurements, as CSV with a line of headings."""
    name = f"trimtab-run-{run_id}-{table.value}.csv"
    return StreamingResponse(
        csv_lines(context.repository, run_id, table),
        media_type="text/csv",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@router.get("/{run_id}/report.html", response_class=HTMLResponse)
def download_report(run_id: RunId, context: ContextDep) -> HTMLResponse:
    """The run as one HTML file that needs no network, to be sent to somebody."""
    return HTMLResponse(
        run_html(context.repository, run_id, context.analyses.of(run_id)),
        headers={"Content-Disposition": f'attachment; filename="trimtab-run-{run_id}.html"'},
    )


@router.get("/{run_id}/analysis")
def analyse(run_id: RunId, context: ContextDep) -> Analysis:
    """Which knobs mattered and how they interact, how stable the best is, and what limits the server."""
    return context.analyses.of(run_id)


@router.get("/{run_id}/events", response_model=list[records.Event])
def list_events(run_id: RunId, context: ContextDep) -> tuple[records.Event, ...]:
    """What happened in a run, oldest first."""
    return context.repository.events(run_id)


def _performance(outcome: Outcome | None) -> Performance | None:
    """What a run says of the capacity: what a run of `capacity` found, or that of what is recommended."""
    if outcome is None:
        return None
    recommended = outcome.recommended
    return outcome.capacity or (None if recommended is None else recommended.performance)


def _summary(summary: records.RunSummary) -> dict[str, object]:
    outcome = Outcome.model_validate(summary.run.outcome) if summary.run.outcome else None
    keeps_default = outcome is not None and outcome.keeps_default
    told = None if outcome is None or keeps_default else outcome
    performance = _performance(outcome)
    capacity = performance and performance.capacity_rps
    return {
        **vars(summary.run),
        "trials": summary.trials,
        "best_score": best_score(outcome, summary.best_score),
        "gain": told and told.gain,
        "capacity_gain": told and told.capacity_gain,
        "capacity_rps": capacity and capacity.mean,
        "capacity_at_least": performance is not None and performance.at_least,
        "keeps_default": keeps_default,
    }


def _detail(context: Context, run_id: int) -> RunDetail:
    progress = context.service.progress()
    going_on = progress is not None and progress["run_id"] == run_id
    summary = context.repository.run_summary(run_id)
    return RunDetail.model_validate(
        {
            **_summary(summary),
            "loop": clients_of(summary.run.workload_parameters).loop,
            "notes_version": notes_version(summary.run.name, summary.run.notes, summary.run.tags),
            "base": summary.run.base.get("path"),
            "progress": progress if going_on else None,
        }
    )
