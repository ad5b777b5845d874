"""What this host's recorded runs recommend for a kind of server: the first things that live tuning tries."""

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError
from trimtab_db import Repository
from trimtab_db.records import Run, RunState
from trimtab_tuner.live.contexts import Context
from trimtab_tuner.live.proposals import Seed
from trimtab_tuner.wording import in_change
from trimtab_tuner.workloads.parameters import WorkloadParameters

from trimtab_agent.errors import TrimtabError
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.workloads.choice import make_workload
from trimtab_agent.workloads.facts import workload_facts

MOST_RUNS = 50


def seeds_for(repository: Repository, host_id: int, target: str, own_workloads: Path) -> list[Seed]:
    """A seed for each finished run of this machine on that target that recommends something else than its
    default, with a gain that was shown. The user's own workloads lie in `own_workloads`.
    """
    found: list[Seed] = []
    traffic: dict[str, Context | None] = {}
    for summary in repository.runs(limit=500):
        run = summary.run
        if run.host_id == host_id and run.target == target and run.state is RunState.FINISHED:
            of = json.dumps(run.workload_parameters, sort_keys=True)
            if of not in traffic:  # making a workload takes a moment
                traffic[of] = _traffic_of(run, own_workloads)
            found += _of_run(run, traffic[of])
        if len(found) == MOST_RUNS:
            break
    return found


def _of_run(run: Run, traffic: Context | None) -> Iterator[Seed]:
    try:
        outcome = Outcome.model_validate(run.outcome)
    except ValidationError:
        return  # of an earlier version, or none
    if outcome.best is None or outcome.best == outcome.default or outcome.gain is None:
        return
    if outcome.gain.significant and outcome.gain.gain > 0:
        yield Seed(
            configuration=outcome.best,
            source=f"run {run.id} on this host recommends it ({in_change(outcome.gain.gain)} in score on "
            f"{run.workload})",
            gain=outcome.gain.gain,
            context=traffic,
        )


def _traffic_of(run: Run, own_workloads: Path) -> Context | None:
    """What its workload is like; None for one that is no longer there, or of an earlier version."""
    try:
        parameters = WorkloadParameters.model_validate(run.workload_parameters)
        facts = workload_facts(make_workload(parameters, own_workloads))
    except (ValidationError, TrimtabError):
        return None
    return Context(
        rate_rps=0.0,
        reply_bytes=facts.mean_request_bytes,
        requests_per_connection=facts.mean_session_length,
        dynamic_share=facts.dynamic_share,
    )
