"""The result of the thesis' comparison, from what is recorded of it so far."""

from trimtab_trials.host import Host
from trimtab_tuner.thesis.documents import PUBLISHED
from trimtab_tuner.thesis.evaluation import evaluate
from trimtab_tuner.thesis.shapes import compare_shapes

from trimtab_agent.results.thesis_page import StudyResult
from trimtab_agent.study.thesis_steps import Recorded


def result_of(recorded: Recorded, host: Host) -> StudyResult:
    """What the study on that host has found; servers that are not measured yet have no score in it."""
    plan = recorded.plan
    layouts = {str(cell.run.layout["sentence"]) for cell in recorded.cells.values()}
    return StudyResult(
        form=plan.name,
        machine=f"{host.cpus} × {host.cpu_model}, Linux {host.kernel}",
        layout="; ".join(sorted(layouts)),
        steps_left=sum(1 for _ in recorded.left()),
        sizes=tuple(evaluate(memory, PUBLISHED[memory], recorded.found(memory)) for memory in plan.sizes),
        shapes=compare_shapes(plan.sizes, plan.servers, recorded.tried()),
        runs={name: cell.run.id for name, cell in recorded.cells.items()},
    )
