"""How an exported configuration differs from a server's default and from the user's own file, and how what
was measured did.
"""

import difflib
from pathlib import Path

from trimtab_db import Repository, records
from trimtab_trials.configuration import configuration_hash
from trimtab_tuner.exports import server_file
from trimtab_tuner.exports.translation import translate
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext, space_of
from trimtab_tuner.targets.private import named_in
from trimtab_tuner.targets.sources import recorded_sources

from trimtab_agent.results.outcome import Outcome


def diffs(run: records.Run, export: records.Export) -> tuple[str, str]:
    """The export as unified diffs: of its settings against the server's default, and against the user's file.

    Comments and places are left out of the first.  Either is empty where it makes no sense: only a server's
    complete file has a default to compare with, and only that of the measured server a file of the user's.
    """
    target = next((target for target in TARGETS.values() if target.program == export.format), None)
    outcome = None if run.outcome is None else Outcome.model_validate(run.outcome)
    written = None if outcome is None else outcome.written or outcome.best
    if target is None or written is None:
        return "", _against_included(run, export)
    cpus = tuple(run.layout["server"])
    source = TARGETS[run.target]
    configuration = written
    if target is not source:
        configuration = translate(source, written, target, len(cpus)).configuration
    context = RenderContext(
        root="/srv/www",
        listen=("127.0.0.1:8000",),
        prefix=f"/var/lib/{target.program}",
        error_log=f"/var/log/{target.program}/error.log",
    )
    default = space_of(target, configuration, len(cpus)).default()
    against_default = _diff(
        target.render(default, context), target.render(configuration, context), "default", target.file_name
    )
    if not run.base or target is not source:
        return against_default, ""
    return against_default, _diff(run.base["text"], export.text, "before", Path(run.base["path"]).name)


def _against_included(run: records.Run, export: records.Export) -> str:
    """The difference of one of the user's own files in the tree; "" of any other export."""
    path = export.file_name.removeprefix(server_file.TREE)
    if not run.base or path == export.file_name:
        return ""
    before = dict(recorded_sources(run.base).files).get(path)
    return "" if before is None else _diff(before, export.text, "before", path.lstrip("/"))


def measured_differences(
    repository: Repository, run: records.Run, export: records.Export
) -> tuple[str, ...] | None:
    """What else differed from the user's file in the one that was measured, in sentences: what was replaced.

    Of the trial that drove the exported file, or else the last one of its configuration. None for files that
    are not made of one of the user's; empty where nothing is known, as of runs of earlier versions.
    """
    if not run.base or export.format != TARGETS[run.target].program or run.outcome is None:
        return None
    outcome = Outcome.model_validate(run.outcome)
    driven = None if outcome.remeasured is None else outcome.remeasured.trial
    if driven is None and outcome.best is not None:
        digest = configuration_hash(outcome.best)
        numbers = [trial.number for trial in repository.trials(run.id) if trial.configuration_hash == digest]
        driven = max(numbers, default=None)
    return () if driven is None else named_in(repository.trial(run.id, driven).server_config)


def _diff(before: str, after: str, side: str, name: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"{side}/{name}", f"tuned/{name}"
    )
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)
