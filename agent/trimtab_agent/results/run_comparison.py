"""Several runs side by side: what each found, which of their winners can be told apart, and the best of each
architecture.

Scores compare only between runs of one server, default, workload, objective and ladder on one host; where
runs differ in any of these, the comparison says so, and nothing is ranked. Even then, the runs have been
carried out at different times, between which the host may have become faster or slower. So winners are ranked
by what links the runs: their ratios to the default, which each run has measured beside its winner in every
block of its confirmation. Peak goodput (the highest at any rate) compares whatever the ladder, so the best of
each architecture is told with both.
"""

import math
from collections.abc import Sequence
from statistics import fmean

from pydantic import BaseModel, ConfigDict
from trimtab_db import Repository, records
from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.trial import Trial, TrialPurpose
from trimtab_tuner.certainty.ranking import rank_samples
from trimtab_tuner.certainty.statistics import Gain
from trimtab_tuner.clients import Loop
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Space
from trimtab_tuner.workloads.parameters import clients_of, workload_label

from trimtab_agent.results.outcome import Outcome, best_known


class GoodputPoint(BaseModel):
    """Goodput at one rate, the mean over the trials of a configuration."""

    model_config = ConfigDict(frozen=True)

    rate_rps: float
    goodput_mbps: float


class ComparedRun(BaseModel):
    """A run with its winner: the configuration of its outcome, else the best of its search.

    `scores_mbps` are those of the winner that the outcome was judged by; where nothing was confirmed, all its
    verified ones. The score by which the search chose it is the luckiest of many, and would flatter it.
    `capacity_gain` is the gain over the default, with `capacity_at_least` it may be more; `gain` is that in
    score.
    `rank` is shared by runs whose winners' ratios to the default cannot be told apart, None where there is
    nothing to tell by.
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
    capacity_gain: Gain | None
    capacity_at_least: bool
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
    summaries = [repository.run_summary(run_id) for run_id in dict.fromkeys(run_ids)]
    trials = {each.run.id: repository.trials(each.run.id) for each in summaries}
    compared = [_compared(repository, each, trials[each.run.id]) for each in summaries]
    differences = _differences(repository, [each.run for each in summaries])
    ranks: dict[str, int] = {}
    if not differences:
        groups = rank_samples({str(each.run.id): _log_ratios(each.run) for each in summaries})
        ranks = {member: group.rank for group in groups for member in group.members}
    return RunComparison(
        runs=tuple(run.model_copy(update={"rank": ranks.get(str(run.id))}) for run in compared),
        differences=differences,
        architectures=tuple(
            best for each in summaries for best in _architectures(repository, each.run, trials[each.run.id])
        ),
    )


def _compared(repository: Repository, summary: records.RunSummary, trials: Sequence[Trial]) -> ComparedRun:
    run = summary.run
    outcome = None if run.outcome is None else Outcome.model_validate(run.outcome)
    best = best_known(outcome, trials)
    judged = _judged(outcome, best, trials)
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
        loop=clients_of(run.workload_parameters).loop,
        ladder=run.ladder,
        trials=summary.trials,
        confirmed=outcome is not None and outcome.confirmed,
        best=best,
        gain=None if outcome is None else outcome.gain,
        capacity_gain=None if outcome is None else outcome.capacity_gain,
        capacity_at_least=outcome is not None and outcome.capacity_at_least,
        scores_mbps=tuple(trial.score for trial in judged if trial.score is not None),
        curve=_curve(repository, run.id, judged),
        rank=None,
    )


def _judged(outcome: Outcome | None, best: Configuration | None, trials: Sequence[Trial]) -> Sequence[Trial]:
    """The verified trials of the winner that the outcome was judged by; else all its verified ones."""
    own = [] if best is None else [t for t in trials if t.score is not None and t.configuration == best]
    ranking = () if outcome is None else outcome.ranking
    told = {score for ranked in ranking if ranked.configuration == best for score in ranked.scores_mbps}
    return [t for t in own if t.purpose is TrialPurpose.CONFIRMATION and t.score in told] or own


def _curve(repository: Repository, run_id: int, trials: Sequence[Trial]) -> tuple[GoodputPoint, ...]:
    """The mean goodput of these trials of one configuration at each rate."""
    if not trials:
        return ()
    numbers = {trial.number for trial in trials}
    whole = repository.trials_with_curves(run_id, configuration_hash=trials[0].configuration_hash)
    goodput: dict[float, list[float]] = {}
    for measurement in (m for t in whole if t.number in numbers for m in t.measurements):
        goodput.setdefault(measurement.rate_rps, []).append(measurement.goodput_mbps)
    return tuple(
        GoodputPoint(rate_rps=rate_rps, goodput_mbps=fmean(values))
        for rate_rps, values in sorted(goodput.items())
    )


def _log_ratios(run: records.Run) -> list[float]:
    """The logarithm of the winner's score over the default's in each block that holds both; 0 for a winner
    that is the default. Empty for a run that has confirmed nothing, and for one whose default is only known
    from below: nothing can be told in shares of that.
    """
    outcome = None if run.outcome is None else Outcome.model_validate(run.outcome)
    if outcome is None or not outcome.confirmed:
        return []
    of_default = next((r for r in outcome.ranking if r.configuration == outcome.default), None)
    if of_default is not None and of_default.performance is not None and of_default.performance.at_least:
        return []
    scores = {ranked.configuration_hash: ranked.scores_mbps for ranked in outcome.ranking}
    rows = [
        scores.get(configuration_hash(configuration), ())
        for configuration in (outcome.default, outcome.best)
        if configuration is not None
    ]
    return [math.log(winner / default) for default, winner in zip(*rows, strict=False) if default and winner]


def _differences(repository: Repository, runs: Sequence[records.Run]) -> tuple[str, ...]:
    """Why the scores of runs do not compare."""
    found = _host_differences(repository, runs)
    for name, values in (
        ("servers", {f"{run.target} {run.target_version}".strip() for run in runs}),
        ("server's CPUs", {", ".join(map(str, run.layout.get("server", ()))) for run in runs}),
        ("workloads", {workload_label(run.workload, run.workload_parameters) for run in runs}),
        ("objectives", {run.objective for run in runs}),
        ("second objectives", {run.second_objective or "none" for run in runs}),
    ):
        if len(values) > 1:
            found.append(f"The {name} differ: {', '.join(sorted(values))}.")
        elif name == "workloads" and any(
            run.workload_parameters != runs[0].workload_parameters for run in runs
        ):
            found.append(f"The workloads differ: parameters of {values.pop()} have changed between the runs.")
    defaults = [Space.model_validate(run.space).default() for run in runs]
    if any(default != defaults[0] for default in defaults):
        found.append("The defaults differ, so that nothing links scores of different times.")
    if len({run.ladder for run in runs}) > 1:
        found.append("The ladders differ, so that scores over a ladder do not compare.")
    return tuple(found)


def _host_differences(repository: Repository, runs: Sequence[records.Run]) -> list[str]:
    """In what the hosts of runs differ: the machine, its kernel, its CPUs."""
    names = sorted({run.host for run in runs})
    machines = {run.machine_id for run in runs}
    if len(machines) > 1:
        of_one_name = f"{len(machines)} machines are called {names[0]}"
        return [f"The hosts differ: {', '.join(names) if len(names) > 1 else of_one_name}."]
    hosts = [repository.host(host_id) for host_id in sorted({run.host_id for run in runs})]
    return [
        f"The host has changed between the runs: {what} {', '.join(sorted(values))}."
        for what, values in (
            ("kernel", {host.kernel for host in hosts}),
            ("CPUs", {f"{host.cpus} of {host.cpu_model}" for host in hosts}),
        )
        if len(values) > 1
    ]


def _architectures(
    repository: Repository, run: records.Run, trials: Sequence[Trial]
) -> list[ArchitectureBest]:
    best: dict[str, Trial] = {}
    knob = Space.model_validate(run.space).of_role(Role.ARCHITECTURE)
    if knob is not None and knob.count == 1:
        knob = None  # nothing to tell apart
    for trial in trials:
        if trial.score is None or trial.purpose is not TrialPurpose.SEARCH:
            continue
        name = run.target if knob is None else str(trial.configuration[knob.name])
        if name not in best or trial.score > (best[name].score or 0.0):
            best[name] = trial
    curves = repository.goodput_curves(run.id)
    return [
        ArchitectureBest(
            run_id=run.id,
            workload=workload_label(run.workload, run.workload_parameters),
            architecture=name,
            trial=trial.number,
            score_mbps=trial.score or 0.0,
            peak_mbps=max(curves[trial.number].values()),
        )
        for name, trial in sorted(best.items())
    ]
