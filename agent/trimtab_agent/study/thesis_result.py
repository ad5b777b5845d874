"""The result of the thesis' comparison, from what is recorded of it so far."""

from trimtab_db import Repository
from trimtab_trials.host import Host
from trimtab_tuner.thesis.costs import Costs, costs_of
from trimtab_tuner.thesis.documents import PUBLISHED
from trimtab_tuner.thesis.evaluation import evaluate
from trimtab_tuner.thesis.shapes import compare_shapes
from trimtab_tuner.workloads.conditions import Memory

from trimtab_agent.results.thesis_page import StudyResult
from trimtab_agent.study.thesis_steps import Recorded


def result_of(recorded: Recorded, repository: Repository, host: Host) -> StudyResult:
    """What the study on that host has found; servers that are not measured yet have no score in it."""
    plan = recorded.plan
    layouts = {str(cell.run.layout["sentence"]) for cell in recorded.cells.values()}
    return StudyResult(
        form=plan.name,
        machine=f"{host.cpus} × {host.cpu_model}, Linux {host.kernel}",
        layout="; ".join(sorted(layouts)),
        steps_left=sum(1 for _ in recorded.left()),
        sizes=tuple(evaluate(memory, PUBLISHED[memory], recorded.found(memory)) for memory in plan.sizes),
        costs={memory: _costs(recorded, repository, memory) for memory in plan.sizes},
        shapes=compare_shapes(plan.sizes, plan.servers, recorded.tried()),
        runs={name: cell.run.id for name, cell in recorded.cells.items()},
    )


def _costs(recorded: Recorded, repository: Repository, memory: Memory) -> tuple[Costs, ...]:
    """What replies took at one size, of each server whose rounds have counters."""
    found = []
    for server in recorded.plan.servers:
        record = recorded.record((memory, server))
        rounds = () if record is None else record.rounds
        whole = (repository.trial(trial.run_id, trial.number) for trial in rounds)
        costs = costs_of(server, whole)
        if costs is not None:
            found.append(costs)
    return tuple(found)
