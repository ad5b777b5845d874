"""Deleting a run: its records, and what it has left under `var`."""

import shutil

from trimtab_db import Repository
from trimtab_db.records import RunState

from trimtab_agent.errors import RunGoingOn
from trimtab_agent.paths import VarPaths


def delete_run(repository: Repository, run_id: int, paths: VarPaths) -> None:
    """Deletes a run with its trials, logs and exported files.

    The records go first: files that a crash leaves behind mislead nobody. Raises RecordNotFoundError,
    RunGoingOn.
    """
    if repository.run(run_id).state is RunState.RUNNING:
        raise RunGoingOn(run_id)
    repository.delete_run(run_id)
    for directory in (paths.exports(run_id), paths.log(run_id)):
        shutil.rmtree(directory, ignore_errors=True)
    for path in paths.unwritten.glob(f"run-{run_id}-*.json"):
        path.unlink(missing_ok=True)
