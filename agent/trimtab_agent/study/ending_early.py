"""What is said of a run that did not come to its end: stopped, failed, or found dead."""

import logging

from trimtab_db import Repository, records
from trimtab_db.records import RunPhase, TrialPurpose
from trimtab_tuner.presets import RunSettings
from trimtab_tuner.records import TrialResult
from trimtab_tuner.space import Space

from trimtab_agent.results.outcome import Outcome
from trimtab_agent.study.conclusion import unfinished_outcome
from trimtab_agent.study.confirmation import Confirmation
from trimtab_agent.study.history import History
from trimtab_agent.study.search import Search

log = logging.getLogger(__name__)


def early_outcome(
    run: records.Run, settings: RunSettings, space: Space, history: History, best: TrialResult | None
) -> Outcome:
    """The outcome as far as the run has come; `best` is what its strategy recommends."""
    if run.outcome and run.phase in (RunPhase.EXPORTING, RunPhase.DONE):
        return Outcome.model_validate(run.outcome)  # it had been concluded
    if any(trial.block > 0 for trial in history.finished(TrialPurpose.CONFIRMATION)):
        outcome = Confirmation(run, settings, space, history, best).so_far()
        if outcome is not None:
            return outcome
    return unfinished_outcome(run, best, history, history.reference())


def interrupt_dead_runs(repository: Repository) -> None:
    """Marks the runs that only seem to go on as interrupted, with what they had found.

    For whoever holds the run lock: then no run can be going on.
    """
    for run_id in repository.interrupt_running_runs():
        run = repository.run(run_id)
        history = History(repository, run_id)
        try:
            settings, space = RunSettings.model_validate(run.settings), Space.model_validate(run.space)
            best = Search(repository, run, settings, space, history).best()
            outcome = early_outcome(run, settings, space, history, best)
        except Exception:
            # Of an earlier version, perhaps; that must not keep anybody from opening the database.
            log.warning("run %d was interrupted, and what it had found cannot be told", run_id, exc_info=True)
        else:
            repository.set_run_outcome(run_id, outcome.model_dump(mode="json"))
