"""How far a run has come, by what is recorded of it: its history, its search, its elimination, what it
measures in blocks, and the outcome of one that did not come to its end.
"""

from trimtab_db import Repository, records
from trimtab_db.records import RunPhase
from trimtab_trials.trial import TrialPurpose
from trimtab_tuner.presets import RunSettings
from trimtab_tuner.space import Space

from trimtab_agent.results.outcome import Outcome
from trimtab_agent.study.conclusion import unfinished_outcome
from trimtab_agent.study.confirmation import Confirmation, InBlocks
from trimtab_agent.study.elimination import BackwardElimination
from trimtab_agent.study.file_comparison import FileComparison
from trimtab_agent.study.fleet_confirmation import FleetConfirmation
from trimtab_agent.study.fleet_elimination import FleetElimination
from trimtab_agent.study.fleet_history import FleetHistory
from trimtab_agent.study.fleet_search import FleetSearch
from trimtab_agent.study.history import History
from trimtab_agent.study.search import Search


def history_of(repository: Repository, run: records.Run, space: Space) -> History:
    """What is recorded of a run."""
    if run.fleet is None or not run.over_hosts:
        return History(repository, run.id)
    return FleetHistory(repository, run.id, run.fleet, space)


def search_of(
    repository: Repository, run: records.Run, settings: RunSettings, space: Space, history: History
) -> Search | FleetSearch | None:
    """The search of a run; None of one without, which needs no free knob either."""
    if not settings.searches:
        return None
    if isinstance(history, FleetHistory):
        return FleetSearch(repository, run, settings, space, history)
    return Search(repository, run, settings, space, history)


def elimination_of(
    run: records.Run,
    settings: RunSettings,
    space: Space,
    history: History,
    search: Search | FleetSearch,
) -> BackwardElimination:
    """What shows which settings of the best of a search that is over are worth something."""
    if isinstance(history, FleetHistory):
        return FleetElimination(run, settings, space, history, search.best())
    best = search.to_confirm() if isinstance(search, Search) else search.best()
    return BackwardElimination(run, settings, space, history, best)


def in_blocks(
    run: records.Run,
    settings: RunSettings,
    space: Space,
    history: History,
    search: Search | FleetSearch | None,
) -> InBlocks | FleetConfirmation:
    """What a run measures in blocks: its two files, or what its search has found."""
    if isinstance(history, FleetHistory) and run.fleet is not None:
        best = None if search is None else search.best()
        return FleetConfirmation(run, settings, space, history, best, run.fleet)
    if settings.two_files:
        return FileComparison(run, settings, space, history)
    return Confirmation(
        run, settings, space, history, search.to_confirm() if isinstance(search, Search) else None
    )


def early_outcome(
    run: records.Run,
    settings: RunSettings,
    space: Space,
    history: History,
    search: Search | FleetSearch | None,
) -> Outcome:
    """The outcome of a run that did not come to its end: what its search recommends so far, if it has one."""
    if run.outcome and run.phase in (RunPhase.EXPORTING, RunPhase.DONE):
        return Outcome.model_validate(run.outcome)  # it had been concluded
    best = None if search is None else search.best()
    if any(trial.in_block for trial in history.finished(TrialPurpose.CONFIRMATION)):
        outcome = in_blocks(run, settings, space, history, search).so_far()
        if outcome is not None:
            return outcome
    return unfinished_outcome(run, best, history)


def found_so_far(repository: Repository, run_id: int) -> Outcome:
    """The outcome of a recorded run as far as it has come, whoever carried it out."""
    run = repository.run(run_id)
    settings, space = RunSettings.model_validate(run.settings), Space.model_validate(run.space)
    history = history_of(repository, run, space)
    search = search_of(repository, run, settings, space, history)
    return early_outcome(run, settings, space, history, search)
