"""The front of a run with two objectives, from its recorded trials."""

from collections.abc import Sequence

from trimtab_db import records
from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.trial import Trial, TrialPurpose
from trimtab_tuner.certainty.pareto import front, front_points, places, worth_confirming
from trimtab_tuner.certainty.standing import standings
from trimtab_tuner.judging.second_objective import axis
from trimtab_tuner.space import Space

from trimtab_agent.results.outcome import Front, FrontMember


def run_front(run: records.Run, best: Configuration | None, trials: Sequence[Trial]) -> Front | None:
    """The front as far as the run has come; None for a run with one objective.

    A configuration counts with its means over the confirmation, or over the search where it has not been
    confirmed; not at all if it has failed even once. `best` is what the run recommends.
    """
    if run.second_objective is None:
        return None
    second = axis(run.second_objective)
    members = front(list(front_points(trials).values()), minimised=second.minimised)
    standing = standings(trials)
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
                confirmed=bool(standing[digest].blocks),
                place=place,
                is_default=digest == default,
                is_best=digest == recommended,
            )
        )
    return Front(first=axis(run.objective), second=second, members=tuple(found))


def finalists_of_front(run: records.Run, trials: Sequence[Trial]) -> tuple[Configuration, ...]:
    """What the confirmation measures of the search's front; the same whenever it is resumed."""
    if run.second_objective is None:
        return ()
    searched = front_points([t for t in trials if t.purpose is TrialPurpose.SEARCH])
    minimised = axis(run.second_objective).minimised
    return worth_confirming(front(list(searched.values()), minimised=minimised))
