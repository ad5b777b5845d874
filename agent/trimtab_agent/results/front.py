"""The front of a run with two objectives, from its recorded trials."""

from collections.abc import Sequence
from statistics import fmean

from trimtab_db import records
from trimtab_db.records import TrialPurpose
from trimtab_tuner.pareto import Point, front, places, worth_confirming
from trimtab_tuner.records import Configuration, Verdict
from trimtab_tuner.second_objective import axis
from trimtab_tuner.space import Space, configuration_hash
from trimtab_tuner.strategies.base import FAILURES

from trimtab_agent.results.outcome import Front, FrontMember


def run_front(
    run: records.Run, best: Configuration | None, trials: Sequence[records.TrialLine]
) -> Front | None:
    """The front as far as the run has come; None for a run with one objective.

    A configuration counts with its means over the confirmation, or over the search where it has not been
    confirmed; not at all if it has failed even once. `best` is what the run recommends.
    """
    if run.second_objective is None:
        return None
    second = axis(run.second_objective)
    points = _points(trials)
    members = front(list(points.values()), minimised=second.minimised)
    confirmed = {t.configuration_hash for t in trials if _of_block(t)}
    default = configuration_hash(Space.model_validate(run.space).default())
    recommended = None if best is None else configuration_hash(best)
    found = []
    for member, place in zip(members, places(members), strict=True):
        digest = configuration_hash(member.configuration)
        found.append(
            FrontMember(
                configuration=member.configuration,
                configuration_hash=digest,
                score_mbps=member.first,
                second_score=member.second,
                confirmed=digest in confirmed,
                place=place,
                is_default=digest == default,
                is_best=digest == recommended,
            )
        )
    return Front(first=axis(run.objective), second=second, members=tuple(found))


def finalists_of_front(run: records.Run, trials: Sequence[records.TrialLine]) -> tuple[Configuration, ...]:
    """What the confirmation measures of the search's front; the same whenever it is resumed."""
    if run.second_objective is None:
        return ()
    searched = [t for t in trials if t.purpose is TrialPurpose.SEARCH]
    minimised = axis(run.second_objective).minimised
    return worth_confirming(front(list(_points(searched).values()), minimised=minimised))


def _of_block(trial: records.TrialLine) -> bool:
    """Whether the trial belongs to the confirmation; in block 0 are repeats that somebody asked for."""
    return trial.purpose is TrialPurpose.CONFIRMATION and trial.block > 0


def _points(trials: Sequence[records.TrialLine]) -> dict[str, Point]:
    """The configurations that never failed and have both figures, by their hash."""
    judged = [t for t in trials if t.purpose is TrialPurpose.SEARCH or _of_block(t)]
    failed = {t.configuration_hash for t in judged if Verdict(t.verdict) in FAILURES}
    measured: dict[str, list[records.TrialLine]] = {}
    for trial in judged:
        if trial.score is not None and trial.second_score is not None:
            measured.setdefault(trial.configuration_hash, []).append(trial)
    points = {}
    for digest, own in measured.items():
        if digest not in failed:
            taken = [t for t in own if _of_block(t)] or own
            points[digest] = Point(
                configuration=taken[0].configuration,
                first=fmean(t.score for t in taken if t.score is not None),
                second=fmean(t.second_score for t in taken if t.second_score is not None),
            )
    return points
