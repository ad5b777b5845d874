"""Which rungs of a run's ladder its trials are driven at.

The ladder begins with what was made for the default, and grows with what is found. Whatever is driven at all
of it costs the more the better the best is, so trials of the search have the lowest rung and the highest few,
and the default has those that the ladder began with: at the others it had given way.

On several hosts each is driven up to what it has itself been seen to do. At the rates of a faster one it
would be overloaded whatever its configuration, and could break a rule for that alone.
"""

from collections.abc import Sequence

from trimtab_db import records
from trimtab_tuner.judging.ladder import rungs_to_search
from trimtab_tuner.presets import RunSettings
from trimtab_tuner.workloads.parameters import clients_of

from trimtab_agent.study.fleet_history import FleetHistory
from trimtab_agent.study.history import History


def ladder_grows(run: records.Run, settings: RunSettings) -> bool:
    """Whether the ladder grows with what is found: not one that was asked for, nor that of a closed loop."""
    return not settings.ladder and clients_of(run.workload_parameters).loop == "open"


def searched_rungs(run: records.Run, settings: RunSettings, ladder: Sequence[float]) -> Sequence[float]:
    """What a trial of the search is driven at, of its whole ladder."""
    objectives = filter(None, (run.objective, run.second_objective))
    grows = ladder_grows(run, settings)
    return rungs_to_search(ladder, settings.ladder_points, objectives) if grows else ladder


def ladder_of_host(
    run: records.Run, settings: RunSettings, history: FleetHistory, host: str
) -> Sequence[float]:
    """The part of the ladder that a host is driven at; what it can do beyond, a trial finds as it rises."""
    if not ladder_grows(run, settings):
        return history.ladder
    return history.ladder_at(host, settings.ladder_points)


def ladder_of_default(run: records.Run, settings: RunSettings, history: History) -> Sequence[float]:
    """The part of the ladder that the default is driven at.

    All of it where the default followed what the ladder began with, because the calibration was disturbed:
    then that shows nothing else.
    """
    first = history.ladder[: settings.ladder_points]
    if not ladder_grows(run, settings) or history.default_followed(first[-1]):
        return history.ladder
    return first
