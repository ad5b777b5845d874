"""Several runs side by side: what each found, which of their winners can be told apart, and the best of each
architecture.

Scores compare only between runs of one workload, objective and ladder on one host; where runs differ in any
of these, the comparison says so, and nothing is ranked. Peak goodput (the highest at any rate) compares
whatever the ladder, so the best of each architecture is told with both.
"""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict
from trimtab_db import Repository, records
from trimtab_tuner.records import Configuration
from trimtab_tuner.space import configuration_hash
from trimtab_tuner.statistics import Gain, tukey_groups
from trimtab_tuner.workloads.clients import Loop

from trimtab_agent.workloads.choice import recorded_clients, workload_label


class GoodputPoint(BaseModel):
    """Goodput at one rate, the mean over the trials of a configuration."""

    model_config = ConfigDict(frozen=True)

    rate_rps: float
    goodput_mbps: float


class ComparedRun(BaseModel):
    """A run with its winner: the configuration of its outcome, else the best of its search.

    `scores_mbps` are those of the winner that the outcome was judged by; where nothing was confirmed, all its
    verified ones. The score by which the search chose it is the luckiest of many, and would flatter it.
    `rank` is shared by runs whose winners cannot be told apart, None where there is nothing to tell by.
    Where `loop` is `closed`, numbers of connections take the place of rates.
    """

    model_config = ConfigDict(frozen=True)

    id: int
    host: str
    target: str
    target_version: str
    workload: str
    preset: str
    strategy: str
    objective: str
    second_objective: str | None
    state: records.RunState
    tags: tuple[str, ...]
    loop: Loop
    ladder: tuple[float, ...]
    trials: int
    confirmed: bool
    best: Configuration | None
    gain: Gain | None
    scores_mbps: tuple[float, ...]
    curve: tuple[GoodputPoint, ...]
    rank: int | None


class ArchitectureBest(BaseModel):
    """The best verified trial of one architecture in one run; the target's name where it has no such knob."""

    model_config = ConfigDict(frozen=True)

    run_id: int
    workload: str
    architecture: str
    trial: int
    score_mbps: float
    peak_mbps: float


class RunComparison(BaseModel):
    """Runs in the order asked for. `differences` says why their scores do not compare; empty when they do."""

    model_config = ConfigDict(frozen=True)

    runs: tuple[ComparedRun, ...]
    differences: tuple[str, ...]
    architectures: tuple[ArchitectureBest, ...]


def compare_runs(repository: Repository, run_ids: Sequence[int]) -> RunComparison:
    """Puts runs side by side; raises RecordNotFoundError."""
    compared = [_compared(repository, repository.run_summary(run_id)) for run_id in dict.fromkeys(run_ids)]
    differences = _differences(compared)
    ranks: dict[str, int] = {}
    if not differences:
        groups = tukey_groups({str(run.id): run.scores_mbps for run in compared})
        ranks = {member: group.rank for group in groups for member in group.members}
    return RunComparison(
        runs=tuple(run.model_copy(update={"rank": ranks.get(str(run.id))}) for run in compared),
        differences=differences,
        architectures=tuple(
            best for run in compared for best in _architectures(repository, run.id, run.workload, run.target)
        ),
    )


def _compared(repository: Repository, summary: records.RunSummary) -> ComparedRun:
    run, outcome = summary.run, summary.run.outcome or {}
    best = outcome.get("best")
    if best is None and (scores := repository.verified_scores(run.id)):
        best = max(scores, key=lambda line: line.score).configuration
    trials = () if best is None else repository.trials_with(run.id, configuration_hash(best))
    verified = [trial for trial in trials if trial.score is not None]
    told = {
        score
        for ranked in outcome.get("ranking", ())
        if ranked["configuration"] == best
        for score in ranked["scores_mbps"]
    }
    confirming = [t for t in verified if t.purpose is records.TrialPurpose.CONFIRMATION and t.score in told]
    verified = confirming or verified
    return ComparedRun(
        id=run.id,
        host=run.host,
        target=run.target,
        target_version=run.target_version,
        workload=workload_label(run.workload, run.workload_parameters),
        preset=run.preset,
        strategy=run.strategy,
        objective=run.objective,
        second_objective=run.second_objective,
        state=run.state,
        tags=run.tags,
        loop=recorded_clients(run.workload_parameters).loop,
        ladder=run.ladder,
        trials=summary.trials,
        confirmed=bool(outcome.get("confirmed")),
        best=best,
        gain=outcome.get("gain"),
        scores_mbps=tuple(trial.score for trial in verified if trial.score is not None),
        curve=_curve(verified),
        rank=None,
    )


def _curve(trials: Sequence[records.TrialSummary]) -> tuple[GoodputPoint, ...]:
    goodput: dict[float, list[float]] = {}
    for trial in trials:
        for measurement in trial.measurements:
            goodput.setdefault(measurement.rate_rps, []).append(measurement.goodput_mbps)
    return tuple(
        GoodputPoint(rate_rps=rate_rps, goodput_mbps=sum(values) / len(values))
        for rate_rps, values in sorted(goodput.items())
    )


def _differences(runs: Sequence[ComparedRun]) -> tuple[str, ...]:
    found = []
    for name, values in (
        ("hosts", {run.host for run in runs}),
        ("workloads", {run.workload for run in runs}),
        ("objectives", {run.objective for run in runs}),
        ("second objectives", {run.second_objective or "none" for run in runs}),
    ):
        if len(values) > 1:
            found.append(f"The {name} differ: {', '.join(sorted(values))}.")
    if len({run.ladder for run in runs}) > 1:
        found.append("The ladders differ, so that scores over a ladder do not compare.")
    return tuple(found)


def _architectures(repository: Repository, run_id: int, workload: str, target: str) -> list[ArchitectureBest]:
    best: dict[str, records.VerifiedScore] = {}
    for line in repository.verified_scores(run_id):
        name = str(line.configuration.get("architecture", target))
        if name not in best or line.score > best[name].score:
            best[name] = line
    return [
        ArchitectureBest(
            run_id=run_id,
            workload=workload,
            architecture=name,
            trial=line.number,
            score_mbps=line.score,
            peak_mbps=line.peak_mbps,
        )
        for name, line in sorted(best.items())
    ]
