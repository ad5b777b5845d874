"""One trial: all it measured, the counters of its time, and measuring it again."""

from typing import Annotated

from fastapi import APIRouter, Path, Response
from trimtab_tuner.judging.verification import Thresholds, verify
from trimtab_tuner.workloads.parameters import clients_of

from trimtab_agent.api.context import ContextDep
from trimtab_agent.api.counter_schemas import CounterSampleReply
from trimtab_agent.api.routes.runs import RunId
from trimtab_agent.api.samples import as_simulated, as_stored
from trimtab_agent.api.trial_schemas import RepeatReply, TrialDetail
from trimtab_agent.simulated.samples import samples_of

router = APIRouter(prefix="/runs/{run_id}/trials/{number}", tags=["trials"])

Number = Annotated[int, Path(ge=1, le=2**31 - 1)]


@router.get("")
def get_trial(run_id: RunId, number: Number, context: ContextDep) -> TrialDetail:
    """One trial with its size classes, counters and the configuration file it ran with.

    It is verified anew, by the thresholds of its run, so that every violation can be shown and not only the
    worst, which its reason names.
    """
    trial = context.repository.trial(run_id, number)
    thresholds = Thresholds.model_validate(context.repository.run(run_id).settings.get("thresholds", {}))
    verification = verify(trial.measurements, thresholds)
    return TrialDetail.model_validate(
        {
            **vars(trial),
            "configuration_hash": trial.configuration_hash,
            "thresholds": thresholds,
            "violations": verification.violations,
        }
    )


@router.get("/counters", response_model=list[CounterSampleReply])
def get_trial_counters(run_id: RunId, number: Number, context: ContextDep) -> Response:
    """The host's and the server's counters while the trial was measured, one sample a second."""
    trial = context.repository.trial(run_id, number)
    if context.settings.demo:
        loop = clients_of(context.repository.run(run_id).workload_parameters).loop
        return as_simulated(trial, samples_of(trial, loop))
    return as_stored(context.repository.trial_counter_samples(run_id, number))


@router.post("/repeat", status_code=202)
def repeat_trial(run_id: RunId, number: Number, context: ContextDep) -> RepeatReply:
    """Measures the trial's configuration once more; 409 while a run is going on, or for a calibration."""
    context.service.repeat(run_id, number)
    return RepeatReply(run_id=run_id, repeats=number)
