"""Writes a run's best configuration for every server we know, and lets those servers check the files.

Everything that stands in a file comes from the database.  The files go to `var/exports/run-ID/`, and with the
result of the check into the table `export`.
"""

import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from trimtab_db import Repository, records
from trimtab_tuner.records import Configuration, Verdict
from trimtab_tuner.space import Space, configuration_hash
from trimtab_tuner.statistics import Gain, paired_gain
from trimtab_tuner.targets import TARGETS, exporters
from trimtab_tuner.targets.base import Evidence, Exporter, RenderContext

from trimtab_agent.errors import HostError, TrimtabError
from trimtab_agent.outcome import Outcome
from trimtab_agent.programs import find_installed

LISTEN = "127.0.0.1:8000"
CHECK_LIMIT_S = 20.0


class NothingToExport(TrimtabError):
    """The run has no configuration to recommend."""

    code = "nothing-to-export"


def export_run(repository: Repository, run_id: int, *, root: Path, directory: Path, httpd: Path) -> None:
    """Writes and checks the run's configuration in every format, and records the results.

    `root` is the document root the files shall name, `directory` where they go.  Raises NothingToExport if
    the run has no outcome, HostError if the files cannot be written.
    """
    run = repository.run(run_id)
    if run.outcome is None or (outcome := Outcome.model_validate(run.outcome)).best is None:
        raise NothingToExport(f"run {run_id} has no verified trial, so there is no configuration to export")
    evidence = _evidence(run, outcome, outcome.best, repository.trials_of(run_id))
    context = RenderContext(
        root=str(root),
        listen=(LISTEN,),
        stats_socket=str(directory / "trimtab-httpd.sock"),
        server_cpus=tuple(run.layout["server"]),
        prefix=str(directory),
    )
    for exporter in exporters(TARGETS[run.target]):
        text = exporter.export(outcome.best, context, evidence)
        file = directory / exporter.file_name
        try:
            directory.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        except OSError as error:
            raise HostError(f"the export {file} cannot be written: {error.strerror}") from error
        command, ok, output = check_file(exporter, file, httpd)
        repository.record_export(
            records.Export(
                run_id=run_id,
                format=exporter.format,
                file_name=exporter.file_name,
                text=text,
                check_command=command,
                check_ok=ok,
                check_output=output,
                created_at=datetime.now(UTC),
            )
        )


def check_file(exporter: Exporter, file: Path, httpd: Path) -> tuple[str, bool, str]:
    """Lets its server check an exported file: the command, whether it accepts, what it said."""
    name = exporter.check_command(str(file))[0]
    program = httpd if name == httpd.name else find_installed(name)
    command = exporter.check_command(str(file), None if program is None else str(program))
    if program is None:
        return " ".join(command), False, f"not checked: {name} is not installed here"
    try:
        check = subprocess.run(command, capture_output=True, text=True, timeout=CHECK_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return " ".join(command), False, f"not checked: {error}"
    return " ".join(command), check.returncode == 0, (check.stderr + check.stdout).strip()


def _evidence(
    run: records.Run, outcome: Outcome, best: Configuration, trials: Sequence[records.Trial]
) -> Evidence:
    scores = {ranked.configuration_hash: ranked.mean_score_mbps for ranked in outcome.ranking}
    is_default = best == outcome.default
    return Evidence(
        run=str(run.id),
        date=run.created_at.strftime("%Y-%m-%d"),
        host=f"{run.host} ({run.layout['sentence']})",
        workload=run.workload,
        objective=run.objective,
        trials=sum(outcome.verdicts.values()),
        default=outcome.default,
        score_mbps=scores.get(configuration_hash(best)),
        default_score_mbps=scores.get(configuration_hash(outcome.default)),
        gain=None if is_default else outcome.gain,
        knob_gains={} if is_default else single_knob_gains(Space.model_validate(run.space), best, trials),
    )


def single_knob_gains(space: Space, best: Configuration, trials: Sequence[records.Trial]) -> dict[str, Gain]:
    """What single settings of the best are worth: against the searched trial that differs in them alone.

    Only for knobs of which the search happens to have measured the best with the default's value.
    """
    scores = {
        trial.configuration_hash: trial.score
        for trial in trials
        if trial.purpose is records.TrialPurpose.SEARCH and trial.verdict == Verdict.VERIFIED
    }
    own = scores.get(configuration_hash(best))
    gains: dict[str, Gain] = {}
    default = space.default()
    for name in best:
        other = scores.get(configuration_hash({**best, name: default[name]}))
        if best[name] != default[name] and own is not None and other is not None:
            gain = paired_gain([other], [own])
            if gain is not None:
                gains[name] = gain
    return gains
