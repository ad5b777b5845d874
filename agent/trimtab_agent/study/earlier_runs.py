"""What a run may learn from earlier runs of the same kind of server (`--set learn=true`)."""

from trimtab_db import Repository, records
from trimtab_trials.trial import TrialPurpose, Verdict
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Space
from trimtab_tuner.strategies.past_runs import PastRun
from trimtab_tuner.workloads.parameters import conditions_of

# The latest runs are the likeliest to be like this one, and each costs a little at every proposal.
MOST_RUNS = 20


def earlier_runs(repository: Repository, run: records.Run) -> list[PastRun]:
    """The latest runs before this one with its target and objective, as far as anything was verified in them.

    Only runs that came before count, so that a run that is resumed learns what it had learnt. One with two
    objectives learns nothing: what it steers by is no score that an earlier run has measured.
    """
    found: list[PastRun] = []
    if run.second_objective is not None:
        return found
    for summary in repository.runs(limit=500):
        other = summary.run
        if other.id >= run.id or (other.target, other.objective) != (run.target, run.objective):
            continue
        trials = tuple(
            t
            for t in repository.trials(other.id)
            if t.purpose is TrialPurpose.SEARCH and t.verdict not in (Verdict.ABORTED, Verdict.DISTURBED)
        )
        if any(t.score is not None for t in trials):
            found.append(
                PastRun(space=Space.model_validate(other.space), features=features(other), results=trials)
            )
        if len(found) == MOST_RUNS:
            break
    return found


def features(run: records.Run) -> dict[str, str | float]:
    """What tells runs apart before their first trial; see `trimtab_tuner.strategies.past_runs`."""
    space = Space.model_validate(run.space)
    told: dict[str, str | float] = {"cpus": float(len(run.layout.get("server", ())) > 1)}
    for role in (Role.ARCHITECTURE, Role.SENDING_MODE):
        knob = space.of_role(role)
        if knob is not None and knob.name in space.fixed:
            told[role] = space.fixed[knob.name]
    memory = conditions_of(run.workload_parameters).memory
    told["disk"] = {"moderate-io": 0.7, "heavy-io": 1.0}.get(memory, 0.0)
    return told
