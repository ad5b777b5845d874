"""Deleting a run: its records, and what it has left under `var`; and files that were sent for it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trimtab_db import Repository
from trimtab_db.records import RunState

from trimtab_agent.errors import RunConflict, RunGoingOn
from trimtab_agent.host.lock import MachineLock
from trimtab_agent.paths import VarPaths


def delete_run(repository: Repository, run_id: int, paths: VarPaths, machine_lock: Path) -> None:
    """Deletes a run with its trials, logs, exported files, and files that were sent for it alone.

    The files go first: what a crash leaves behind is a run that can be deleted again, and not files that a
    later run of the same number would find. Raises RecordNotFoundError, RunGoingOn also while one of its
    trials is measured again, HostError.
    """
    run = repository.run(run_id)
    if run.state is RunState.RUNNING:
        raise RunGoingOn(run_id)
    with _not_measured(run_id, paths, machine_lock):
        for directory in (paths.exports(run_id), paths.log(run_id)):
            shutil.rmtree(directory, ignore_errors=True)
        for path in paths.unwritten.glob(f"run-{run_id}-*.json"):
            path.unlink(missing_ok=True)
        repository.delete_run(run_id)
        for file in (run.base, run.base.get("new")):
            if file:
                delete_upload(repository, file["path"], paths)


def delete_upload(repository: Repository, path: str, paths: VarPaths) -> None:
    """Deletes a configuration file that was sent through the browser, unless a run began with it.

    What lies elsewhere is the user's, and stays.
    """
    place = Path(path).parent
    sent = ".." not in place.parts and place.parent.parent == paths.uploads.resolve()
    if sent and not repository.began_with(path):
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def _not_measured(run_id: int, paths: VarPaths, machine_lock: Path) -> Iterator[None]:
    """Keeps the run from being measured meanwhile; another run that goes on is left alone."""
    try:
        lock = MachineLock(machine_lock, paths.var.resolve())
    except RunConflict as conflict:
        if conflict.run_id == run_id and conflict.holder_var == str(paths.var.resolve()):
            raise RunGoingOn(run_id) from conflict
        yield
    else:
        with lock:
            yield
