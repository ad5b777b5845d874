"""Whether a run that is resumed finds what it began with: only then its trials compare."""

from trimtab_db import Repository, records
from trimtab_trials.host import Host

from trimtab_agent.errors import RunChanged


def require_unchanged(
    repository: Repository, run: records.Run, here: Host, version: str, *, even_if_changed: bool
) -> str:
    """What has changed since the run began, "" if nothing has; `version` is that of its server here.

    What it began with is where its first trial was measured. Raises RunChanged for a change, unless
    `even_if_changed`.
    """
    first = next((trial.host_id for trial in repository.trials(run.id)), run.host_id)
    changes = ", ".join(_changes(repository.host(first), here, run.target, run.target_version, version))
    if changes and not even_if_changed:
        raise RunChanged(run.id, changes)
    return changes


def _changes(began: Host, here: Host, target: str, began_version: str, version: str) -> list[str]:
    """Each change in words, with what was and what is."""
    changes = []
    if began.machine_id != here.machine_id:
        changes.append(
            f"it began on the host {began.name} ({began.machine_id[:8]}), this is {here.name} "
            f"({here.machine_id[:8]})"
        )
    pairs = [
        ("the kernel", began.kernel, here.kernel),
        ("the CPUs", f"{began.cpus} x {began.cpu_model}", f"{here.cpus} x {here.cpu_model}"),
        (f"the version of {target}", began_version, version),
    ]
    changes += [f"{name}: was {was}, is {now}" for name, was, now in pairs if was != now]
    return changes
