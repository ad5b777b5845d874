"""Whether a job makes sense and this machine can carry it out: said before, and not by a failed trial."""

from collections.abc import Callable
from pathlib import Path

from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.judging.limits import parse_limit
from trimtab_tuner.judging.score import parse_objective
from trimtab_tuner.judging.second_objective import needs_limit
from trimtab_tuner.protocols import DEFAULT_WORKLOADS
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Space, SpaceError
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.access_logs import with_logs
from trimtab_tuner.targets.backends import with_backend
from trimtab_tuner.targets.base import RenderError, Target, space_of
from trimtab_tuner.targets.common_knobs import with_proxying
from trimtab_tuner.targets.editing import own_proxying, own_tls, own_values
from trimtab_tuner.targets.http2 import with_http2
from trimtab_tuner.targets.kernel import kernel_part, with_kernel, with_siblings
from trimtab_tuner.targets.placement import REPLICA_PLACEMENT, REPLICAS
from trimtab_tuner.targets.tls import with_tls
from trimtab_tuner.wording import in_percent
from trimtab_tuner.workloads.definition import Definition
from trimtab_tuner.workloads.links import Link
from trimtab_tuner.workloads.parameters import WorkloadParameters

from trimtab_agent.errors import BinaryMissing, SpecError
from trimtab_agent.kernel.reading import Kernel
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.processes.programs import require_built, server_program, version_of
from trimtab_agent.station.server.certificates import openssl_program
from trimtab_agent.station.server.running_backend import backend_program
from trimtab_agent.station.site import require_conditions

SIMULATED = "simulated"
"""The version of a server that is only simulated."""


def require(agent: AgentSettings, target: Target, workload: Definition) -> str:
    """The version of the target's server, if jobs with it and the workload can be carried out here.

    Raises BinaryMissing for a program that is not there, HostError for conditions that cannot be made. What
    is simulated needs nothing.
    """
    if agent.demo:
        return SIMULATED
    require_conditions(workload.conditions)
    version = version_of_target(target, agent.httpd_path)
    if workload.backend is not None:
        backend_program(workload.backend)
    if workload.upstream is not None:
        require_built(agent.upstream_path)
    if workload.tls is not None:
        openssl_program()
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
    """Raises SpecError for a workload in another protocol than the server's, and for dynamic requests, TLS
    or HTTP/2 to one that cannot answer them.
    """
    if workload.protocol != target.protocol:
        able = ", ".join(name for name, other in TARGETS.items() if other.protocol == workload.protocol)
        usual = DEFAULT_WORKLOADS[target.protocol]
        raise SpecError(
            "workload",
            f"workload = {workload.name!r}: it is for {able}, and the target {target.name} speaks another "
            f"protocol; expected a workload such as {usual}",
        )
    _refuse_http2(target, workload)
    if workload.tls is not None and not target.tls_knobs:
        able = ", ".join(name for name, other in TARGETS.items() if other.tls_knobs)
        raise SpecError(
            "workload",
            f"workload = {workload.name!r}: its visitors speak TLS, and Trimtab does not configure that for "
            f"the target {target.name}; expected a workload without [tls], or one of the targets {able}",
        )
    passes_on = bool(target.proxy_knobs) if workload.proxies else target.serves_php
    if workload.behind is not None and not passes_on:
        raise SpecError(
            "workload",
            f"workload = {workload.name!r}: {in_percent(workload.behind.share)} of its requests are "
            f"dynamic, and the target {target.name} has nothing to answer them with; "
            "expected a static workload",
        )


def _refuse_http2(target: Target, workload: Definition) -> None:
    """Raises SpecError for HTTP/2 to a server that does not speak it, or not without TLS."""
    if workload.http2 is None:
        return
    begins = f"workload = {workload.name!r}: its visitors speak HTTP/2"
    speaking = {name: other.http2 for name, other in TARGETS.items() if other.http2 is not None}
    if target.http2 is None:
        raise SpecError(
            "workload",
            f"{begins}, and the target {target.name} does not; expected a workload without [http2], or one "
            f"of the targets {', '.join(speaking)}",
        )
    if workload.tls is None and not target.http2.plain:
        able = ", ".join(name for name, http2 in speaking.items() if http2.plain)
        raise SpecError(
            "workload",
            f"{begins} without TLS, and an address of {target.name} would then speak nothing else, which "
            f"Trimtab does not configure; expected [tls] beside [http2], or one of the targets {able}",
        )


def refuse_conditions(workload: Definition) -> None:
    """Raises SpecError for a limit on the memory of a database, which has a knob for what it keeps there."""
    memory = workload.conditions.memory
    if workload.shop is not None and memory != "unlimited":
        raise SpecError(
            "memory",
            f"memory = {memory!r}: a database keeps its tables in memory of its own, as much as its buffer "
            "pool is large; expected unlimited, or more items in the workload",
        )


def for_workload(space: Space, target: Target, workload: Definition) -> Space:
    """The space with the knobs that there are for this workload alone: of proxying, of what stands behind the
    server, of TLS, of HTTP/2. Raises SpecError where the space's architecture does not speak that.
    """
    if workload.proxies:
        space = with_proxying(space, target.proxy_knobs, target.proxy_free)
    if workload.backend is not None:
        space = with_backend(space, workload.backend)
    if workload.tls is not None:
        space = with_tls(space, target.tls_knobs)
    if workload.http2 is not None and target.http2 is not None:
        knob = space.of_role(Role.ARCHITECTURE)
        if knob is not None and knob.default in target.http2.not_with:
            raise SpecError(
                "workload",
                f"workload = {workload.name!r}: its visitors speak HTTP/2, and {target.name} does not with "
                f"{knob.name} = {knob.default}; expected a workload without [http2]",
            )
        space = with_http2(space, target.http2)
    return space


def refuse_replicas(space: Space, link: Link, *, own_file: bool, part: str) -> None:
    """Refuses replicas of a user's own file, and placements of queues where all replicas share one. A target
    without replicas, which would each have data of their own, has nothing to refuse.

    Raises SpecError; `part` is what its field begins with.
    """
    if all(knob.name != REPLICAS for knob in space.knobs):
        return
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


def _refuse_told(target: Target, text: str) -> None:
    """Raises SpecError for a file that cannot be run privately."""
    refused = next((told for told in target.told(text) if told.kind == "refused"), None)
    if refused is not None:
        raise SpecError("base", f"line {refused.line}: {refused.text}")


def refuse_site(workload: WorkloadParameters) -> None:
    """Raises SpecError for somebody else's workload that would have a directory of this machine served."""
    if workload.site is not None:
        raise SpecError("workload.site", "workload.site: expected no directory of this machine")


def completed(job: TrialJob, cpus: int, kernel: Callable[[], Kernel]) -> TrialJob:
    """The job of somebody else with the knobs that it leaves out at their defaults, on so many CPUs.

    Of the kernel, which `kernel` reads, only the knobs that it names are set.

    Raises SpecError, with the field, for what makes no sense: the values of its knobs end up in a file that a
    server reads.
    """
    if job.target not in TARGETS:
        raise SpecError("target", f"target = {job.target!r}: expected one of {', '.join(TARGETS)}")
    refuse_site(job.workload)
    target = TARGETS[job.target]
    refuse_unanswerable(target, job.workload.definition)
    refuse_conditions(job.workload.definition)
    try:
        # Nothing is fixed for a job; the user's own values count as defaults, which may be unusual.
        own_file = {} if job.base is None else own_values(target, job.base, cpus)
        space = space_of(target, {**own_file, **job.configuration}, cpus).with_defaults(own_file)
        space = for_workload(space, target, job.workload.definition)
        if job.base is not None:
            _refuse_told(target, job.base)
            own = {**own_tls(target, job.base), **own_proxying(target, job.base)}
            space = with_logs(space.with_defaults(own), target.log_knobs, target.parse_log(job.base))
        space = space.model_copy(update={"fixed": {}})
        if of_kernel := kernel_part(job.configuration):
            names = with_siblings(of_kernel)
            space = with_kernel(space, kernel().knobs(names), free=names)
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
