"""Which affinity plan has measured best on this machine, as far as its recorded runs can tell.

Configurations of one run that differ in nothing but the plan are compared: whatever else decides about the
score is then the same on both sides. Each plan is compared with `none`, over all such pairs of all runs; it
counts as better only where the interval of that gain says so, and `none`, which needs no rights and leaves
nothing behind, is the best until then.
"""

from collections import defaultdict
from statistics import fmean

from pydantic import BaseModel, ConfigDict
from trimtab_db import Repository, records
from trimtab_trials.configuration import configuration_hash
from trimtab_tuner.affinity import PLANS, PlanName
from trimtab_tuner.certainty.statistics import Gain, paired_gain
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Space

# A server or a kernel of long ago says little about today's.
MOST_RUNS = 200

NEVER_ADVISED: PlanName = "misaligned"
"""It is there to be measured, and not to be used."""

CONFIDENCE = 1 - 0.05 / sum(plan not in ("none", NEVER_ADVISED) for plan in PLANS)
"""Of each plan's interval: several may come out better by chance, and all together in 1 of 20 cases."""

NOTHING_MEASURED = (
    "No recorded run on this machine has measured a plan beside none with everything else equal."
)


class MeasuredPlan(BaseModel):
    """What a plan gains over `none` here, over all pairs of the runs named."""

    model_config = ConfigDict(frozen=True)

    plan: PlanName
    gain: Gain
    runs: tuple[int, ...]


class MeasuredPlans(BaseModel):
    """The best plan with the reason as a sentence, and every plan that was measured beside `none`."""

    model_config = ConfigDict(frozen=True)

    best: PlanName
    reason: str
    plans: tuple[MeasuredPlan, ...]


def measured_plans(repository: Repository, host_id: int) -> MeasuredPlans:
    """What the latest runs of the host's machine have measured."""
    machine = repository.host(host_id).machine_id
    scores: dict[PlanName, list[tuple[int, float, float]]] = defaultdict(list)
    for summary in repository.runs(limit=MOST_RUNS):
        if summary.run.machine_id == machine:
            for plan, without, with_plan in _pairs(repository, summary.run):
                scores[plan].append((summary.run.id, without, with_plan))
    plans = []
    for plan in PLANS:
        pairs = scores[plan]
        gain = paired_gain(
            [without for _, without, _ in pairs], [score for _, _, score in pairs], confidence=CONFIDENCE
        )
        if gain is not None:
            runs = tuple(sorted({run for run, _, _ in pairs}))
            plans.append(MeasuredPlan(plan=plan, gain=gain, runs=runs))
    return _concluded(tuple(plans))


def _pairs(repository: Repository, run: records.Run) -> list[tuple[PlanName, float, float]]:
    """Mean scores under `none` and under another plan, for each configuration that has met both."""
    space = Space.model_validate(run.space)
    knob = space.of_role(Role.PLACEMENT)
    if knob is None or knob not in space.free:
        return []
    scores: dict[str, dict[PlanName, list[float]]] = defaultdict(lambda: defaultdict(list))
    for trial in repository.trials(run.id):
        plan = next((plan for plan in PLANS if plan == trial.configuration.get(knob.name)), None)
        if trial.score is not None and plan is not None:
            rest = {name: value for name, value in trial.configuration.items() if name != knob.name}
            scores[configuration_hash(rest)][plan].append(trial.score)
    return [
        (plan, fmean(of_plan["none"]), fmean(own))
        for of_plan in scores.values()
        if "none" in of_plan
        for plan, own in of_plan.items()
        if plan != "none"
    ]


def _concluded(plans: tuple[MeasuredPlan, ...]) -> MeasuredPlans:
    if not plans:
        return MeasuredPlans(best="none", reason=NOTHING_MEASURED, plans=())
    better = [p for p in plans if p.gain.significant and p.gain.gain > 0 and p.plan != NEVER_ADVISED]
    told = max(better or plans, key=lambda measured: measured.gain.gain)
    runs = f"{'run' if len(told.runs) == 1 else 'runs'} {', '.join(map(str, told.runs))}"
    pairs = f"{told.gain.blocks} {'pair' if told.gain.blocks == 1 else 'pairs'} in {runs}"
    beside = f"{told.plan} beside none: {told.gain}, {pairs}."
    if better:
        return MeasuredPlans(best=told.plan, reason=f"{told.plan} measured best here. {beside}", plans=plans)
    return MeasuredPlans(
        best="none", reason=f"No plan has measured better than none here. {beside}", plans=plans
    )
