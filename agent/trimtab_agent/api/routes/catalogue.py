"""What can be chosen for a run: presets, targets and their spaces, workloads, strategies, objectives."""

from functools import cache
from typing import Annotated, Literal

from fastapi import APIRouter, Body, Query
from starlette.exceptions import HTTPException
from trimtab_tuner.judging.score import Objective
from trimtab_tuner.judging.second_objective import P999, RSS
from trimtab_tuner.presets import PRESETS, Preset
from trimtab_tuner.protocols import DEFAULT_WORKLOADS
from trimtab_tuner.space import Space
from trimtab_tuner.strategies import STRATEGIES
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderError, Target, space_of
from trimtab_tuner.targets.kernel import with_kernel, worth_freeing
from trimtab_tuner.targets.kinds import other_kind
from trimtab_tuner.workloads.conditions import MEMORY_HELP, START_HELP, Conditions
from trimtab_tuner.workloads.links import LINKS
from trimtab_tuner.workloads.parameters import parameters

from trimtab_agent.api.context import Context, ContextDep
from trimtab_agent.api.schemas import (
    Condition,
    ConditionsReply,
    ConfigurationText,
    ConfigurationValues,
    Named,
    SentFile,
    TargetReply,
    WorkloadReply,
)
from trimtab_agent.base_file import usual_file, words_for_each_cpu
from trimtab_agent.checked_file import CheckedFile, usual_file_checked
from trimtab_agent.errors import HostError, SpecError
from trimtab_agent.results.deleting import delete_upload
from trimtab_agent.station.site import require_conditions
from trimtab_agent.study.own_file_report import of_text
from trimtab_agent.workloads.choice import all_definitions, find_definition, make_workload
from trimtab_agent.workloads.facts import WorkloadFacts, workload_facts

router = APIRouter(tags=["catalogue"])

OBJECTIVES = {
    Objective.CONDENSED_AREA: "Mean goodput over the whole ladder: good at every rate.",
    Objective.PEAK: "The highest goodput at any rate.",
    Objective.SUSTAINED: "Goodput at the highest rate: what is left under the heaviest overload.",
    Objective.MAT: (
        "The highest goodput within a latency limit: 4.5 times the low-load mean, or given as in "
        "'mat: p999 <= 4ms'."
    ),
}

COSTS = {
    RSS: "The memory of all server processes at its peak, shared pages counted once (PSS): less is better.",
    P999: "The 99.9th percentile of the reply time at the lowest rate, before overload: less is better.",
}


@router.get("/presets")
def get_presets() -> list[Preset]:
    """Bundles of settings, from minutes to days."""
    return list(PRESETS.values())


@router.get("/targets")
def get_targets(context: ContextDep) -> list[TargetReply]:
    """The kinds of server that can be tuned: which are installed here, and what their usual files set."""
    return [TargetReply.model_validate(_target(target, context)) for target in TARGETS.values()]


def _target(target: Target, context: Context) -> dict[str, object]:
    return {
        "name": target.name,
        "help": target.help,
        "missing": context.service.missing(target),
        "protocol": target.protocol,
        "workload": DEFAULT_WORKLOADS[target.protocol],
        "file": usual_file(target, len(context.layout.server)),
        "base_files": context.base_files,
        "uploads": context.uploads.folder(target),
    }


@router.get("/targets/{name}/check")
def check_usual_file(name: str) -> CheckedFile:
    """What in the file that the server is usually run with here contradicts this machine, without a load."""
    if name not in TARGETS:
        raise HTTPException(404)
    return usual_file_checked(TARGETS[name])


@router.get("/targets/{name}/space")
def get_space(name: str, context: ContextDep, kernel: bool = False) -> Space:
    """The knobs of a target on this machine, with ranges, defaults, units and what they do.

    With `kernel` those of the kernel as well, free where they can matter under usual conditions.
    """
    if name not in TARGETS:
        raise HTTPException(404)
    space = TARGETS[name].space(cpus=len(context.layout.server))
    if not kernel:
        return space
    knobs = context.service.kernel(None).knobs()
    return with_kernel(space, knobs, worth_freeing(space, knobs, Conditions()))


@router.post("/targets/{name}/values")
def read_values(name: str, body: ConfigurationText, context: ContextDep) -> ConfigurationValues:
    """What a configuration file of the target sets: the values of its knobs, for the `defaults` of a run.

    The text is read and nothing else: nothing that it includes or names is opened, and no server sees it.
    422 where it cannot be understood.
    """
    if name not in TARGETS:
        raise HTTPException(404)
    target, cpus = TARGETS[name], len(context.layout.server)
    if looks := other_kind(body.text, name):
        raise SpecError("text", f"{looks}; expected a file of {name}")
    try:
        values = target.parse(body.text, cpus)
    except RenderError as error:
        raise SpecError("text", str(error)) from error
    return ConfigurationValues(
        values=values,
        each_cpu=words_for_each_cpu(target, body.text, values),
        told=of_text(target, body.text, space_of(target, values, cpus)),
    )


@router.post("/targets/{name}/files", status_code=201)
def send_file(
    name: str,
    content: Annotated[bytes, Body(media_type="application/octet-stream")],
    context: ContextDep,
    called: Annotated[str, Query(max_length=255, description="The file's name.")] = "",
    replaces: Annotated[
        str | None,
        Query(
            max_length=4096, description="The `path` of one sent before, which goes if no run began with it."
        ),
    ] = None,
) -> SentFile:
    """Keeps a whole configuration file, with which a run may then begin by the path that is answered.

    422 for a file that includes others, starts programs, loads code or hands requests on, and where the
    operator does not allow it (`TRIMTAB_UPLOADS`). It has at most 1 MiB.
    """
    if name not in TARGETS:
        raise HTTPException(404)
    target = TARGETS[name]
    path = context.uploads.take(target, called, content)
    if replaces not in (None, path) and context.uploads.has(target, replaces):
        delete_upload(context.repository, replaces, context.service.paths)
    return SentFile(path=path)


@router.get("/workloads")
def get_workloads(context: ContextDep) -> list[WorkloadReply]:
    """What clients can be made to ask for: the workloads that come with Trimtab, and the user's own."""
    return [
        WorkloadReply(
            name=definition.name,
            help=definition.help,
            source=definition.source,
            own=path is not None,
            protocol=definition.protocol,
            files=definition.size()[0],
            file_set_bytes=definition.size()[1],
            definition=definition,
        )
        for definition, path in all_definitions(context.service.paths.workloads)
    ]


@router.get("/workloads/{name}/facts", response_model=WorkloadFacts)
def get_workload_facts(name: str, context: ContextDep) -> object:
    """Figures of one workload: sizes asked for, sessions, pauses."""
    own = context.service.paths.workloads
    if name not in {definition.name for definition, _ in all_definitions(own)}:
        raise HTTPException(404)
    return workload_facts(make_workload(parameters(find_definition(name, own), 1.0), own))


@router.get("/conditions")
def get_conditions() -> ConditionsReply:
    """Under which conditions a workload can meet the server, and which of them this machine cannot make."""
    no_limit, no_link = refusal("in-memory"), refusal("gigabit")
    return ConditionsReply(
        memory=[
            Condition(name=name, help=sentence, refusal=None if name == "unlimited" else no_limit)
            for name, sentence in MEMORY_HELP.items()
        ],
        start=[Condition(name=name, help=sentence, refusal=None) for name, sentence in START_HELP.items()],
        link=[
            Condition(name="loopback", help="The loopback interface, without a limit.", refusal=None),
            *(Condition(name=name, help=link.help, refusal=no_link) for name, link in LINKS.items()),
        ],
    )


@cache
def refusal(condition: Literal["in-memory", "gigabit"]) -> str | None:
    """Why this machine cannot make the condition; found out once, by making it and taking it away."""
    asked = Conditions(memory="in-memory") if condition == "in-memory" else Conditions(link="gigabit")
    try:
        require_conditions(asked)
    except HostError as error:
        return error.sentence
    return None


@router.get("/strategies")
def get_strategies() -> list[Named]:
    """The ways to search."""
    return [Named(name=name, help=entry.help) for name, entry in STRATEGIES.items()]


@router.get("/objectives")
def get_objectives() -> list[Named]:
    """What makes one score of a trial's measurements."""
    return [Named(name=objective, help=sentence) for objective, sentence in OBJECTIVES.items()]


@router.get("/second-objectives")
def get_second_objectives() -> list[Named]:
    """What a run may be tuned for besides its objective: another one, or a cost to the server's keeper."""
    return [*get_objectives(), *(Named(name=name, help=sentence) for name, sentence in COSTS.items())]
