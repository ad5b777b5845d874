"""Records of the database as JSON documents, for `--json`."""

from typing import Any

from pydantic import TypeAdapter
from trimtab_db import Repository, records
from trimtab_trials.trial import Trial

_RUN = TypeAdapter(records.Run)
_SUMMARIES = TypeAdapter(tuple[records.RunSummary, ...])
_TRIAL = TypeAdapter(Trial)
_EXPORTS = TypeAdapter(tuple[records.Export, ...])
_EVENTS = TypeAdapter(tuple[records.Event, ...])
_LIVE_SESSION = TypeAdapter(records.LiveSession)
_LIVE_DECISIONS = TypeAdapter(tuple[records.LiveDecision, ...])


def run_document(repository: Repository, run_id: int) -> dict[str, Any]:
    """A run with its trials, their measurements and size classes, its exports and its events."""
    return {
        "run": _RUN.dump_python(repository.run(run_id), mode="json"),
        "trials": [
            {**_TRIAL.dump_python(trial, mode="json"), "configuration_hash": trial.configuration_hash}
            for trial in repository.whole_trials(run_id)
        ],
        "exports": _EXPORTS.dump_python(repository.exports(run_id), mode="json"),
        "events": _EVENTS.dump_python(repository.events(run_id), mode="json"),
    }


def runs_document(summaries: tuple[records.RunSummary, ...]) -> list[dict[str, Any]]:
    """The list of runs: each run with the number of its trials and its best score."""
    return [{**line.pop("run"), **line} for line in _SUMMARIES.dump_python(summaries, mode="json")]


def live_session_document(repository: Repository, session: records.LiveSession) -> dict[str, Any]:
    """A session of live tuning with what it has decided."""
    decisions = _LIVE_DECISIONS.dump_python(repository.live_decisions(session.id), mode="json")
    return {**_LIVE_SESSION.dump_python(session, mode="json"), "decisions": decisions}
