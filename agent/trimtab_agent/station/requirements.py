"""Whether a job makes sense and this machine can carry it out: said before, and not by a failed trial."""

from pathlib import Path

from trimtab_tuner.job import TrialJob
from trimtab_tuner.limits import parse_limit
from trimtab_tuner.score import parse_objective
from trimtab_tuner.second_objective import needs_limit
from trimtab_tuner.space import Space, SpaceError
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderError, Target, space_of
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.targets.php import with_pool
from trimtab_tuner.targets.placement import REPLICA_PLACEMENT, REPLICAS
from trimtab_tuner.workloads.definition import Definition
from trimtab_tuner.workloads.links import Link

from trimtab_agent.errors import BinaryMissing, SpecError
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.processes.programs import require_built, server_program, version_of
from trimtab_agent.station.server.php_pool import php_program
from trimtab_agent.station.site import require_conditions


def require(agent: AgentSettings, target: Target, workload: Definition) -> str:
    """The version of the target's server, if jobs with it and the workload can be carried out here.

    Raises BinaryMissing for a program that is not there, HostError for conditions that cannot be made.
    """
    require_conditions(workload.conditions)
    version = version_of_target(target, agent.httpd_path)
    if workload.dynamic is not None:
        php_program()
    require_built(agent.load_path)
    return version


def version_of_target(target: Target, httpd: Path) -> str:
    """The version of the server's program; `httpd` is ours. Raises BinaryMissing."""
    return version_of(target, server_program(target, httpd))


def missing_program(target: Target, httpd: Path) -> str:
    """What to do before the target can be tuned here; empty where its server is here. `httpd` is ours."""
    try:
        server_program(target, httpd)
    except BinaryMissing as error:
        return error.sentence
    return ""


def refuse_unanswerable(target: Target, workload: Definition) -> None:
    """Raises SpecError for dynamic requests to a server that has nothing to answer them with."""
    if workload.dynamic is not None and not target.serves_php:
        raise SpecError(
            "workload",
            f"workload = {workload.name!r}: {workload.dynamic.share:.0%} of its requests are dynamic, "
            f"and the target {target.name} has nothing to answer them with; expected a static workload",
        )


def refuse_replicas(space: Space, link: Link, *, own_file: bool, part: str) -> None:
    """Refuses replicas of a user's own file, and placements of queues where all replicas share one.

    Raises SpecError; `part` is what its field begins with.
    """
    several = space.knob(REPLICAS) in space.free or space.fixed[REPLICAS] != 1
    if own_file and several:
        raise SpecError(
            f"{part}.{REPLICAS}",
            f"base: one file cannot serve several instances; expected {REPLICAS} fixed at 1",
        )
    placed = space.knob(REPLICA_PLACEMENT)
    tuned = placed in space.free and placed.choices != ("none",)
    if link == "loopback" and (tuned or space.fixed.get(REPLICA_PLACEMENT, "none") != "none"):
        raise SpecError(
            f"{part}.{REPLICA_PLACEMENT}",
            f"{REPLICA_PLACEMENT}: on the loopback all replicas share one device and its queue; expected a "
            "link with a device for each of them (link = eight-gigabit), or the knob fixed at none",
        )


def completed(job: TrialJob, cpus: int) -> TrialJob:
    """The job of somebody else with the knobs that it leaves out at their defaults, on so many CPUs.

    Raises SpecError, with the field, for what makes no sense: the values of its knobs end up in a file that a
    server reads.
    """
    if job.target not in TARGETS:
        raise SpecError("target", f"target = {job.target!r}: expected one of {', '.join(TARGETS)}")
    target = TARGETS[job.target]
    refuse_unanswerable(target, job.workload.definition)
    try:
        space = space_of(target, job.configuration, cpus)
        # Nothing is fixed for a job; the user's own values count as defaults, which may be unusual.
        defaults = space.default() if job.base is None else own_values(target, job.base, cpus)
        knobs = tuple(knob.model_copy(update={"default": defaults[knob.name]}) for knob in space.knobs)
        space = space.model_copy(update={"knobs": knobs, "fixed": {}})
        if job.workload.definition.dynamic is not None:
            space = with_pool(space)
        configuration = space.check(job.configuration)
        space = space.model_copy(update={"fixed": configuration})
        refuse_replicas(
            space,
            job.workload.definition.conditions.link,
            own_file=job.base is not None,
            part="configuration",
        )
    except SpaceError as error:
        raise SpecError(f"configuration.{error.knob}", str(error)) from error
    except RenderError as error:
        raise SpecError(
            "base" if job.base is not None else "configuration.architecture", str(error)
        ) from error
    try:
        for text in job.constraints:
            parse_limit(text)
        if (end := job.end_early) is not None:
            parse_objective(end.objective)
            if needs_limit(end.objective) and end.limit is None:
                raise ValueError(f"end_early: {end.objective}: expected a limit")
    except ValueError as error:
        raise SpecError("job", str(error)) from error
    return job.model_copy(update={"configuration": configuration})
