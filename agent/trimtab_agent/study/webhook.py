"""Tells a URL of the user's that a run has ended: a chat, a pager, a script of one's own.

The address comes from the environment of whoever starts Trimtab, never through the API: a browser shall not
make the daemon send requests to a place of its choice.
"""

import logging

import httpx
from trimtab_db import records

from trimtab_agent.results.outcome import Outcome

log = logging.getLogger(__name__)

TIMEOUT_S = 5.0


def tell_webhook(url: str, run: records.Run) -> str:
    """Posts how the run ended as JSON; what went wrong with that in a sentence, "" if nothing did.

    `text` has it in words, under the name that chats look for, `gain` that over the default as lists and
    reports tell it, `capacity_gain` its figures (null where there is none). A reply that is no success
    counts as a failure; nothing is tried again.
    """
    outcome = Outcome.model_validate(run.outcome) if run.outcome else None
    found = "" if outcome is None else outcome.sentence
    gain = None if outcome is None else outcome.capacity_gain
    text = f"Trimtab: run {run.id} ({run.target}, {run.workload}) is {run.state.value}."
    body = {
        "event": "run-ended",
        "run_id": run.id,
        "host": run.host,
        "target": run.target,
        "workload": run.workload,
        "state": run.state.value,
        "error": run.error,
        "gain": "" if outcome is None else outcome.gain_told,
        "capacity_gain": None if gain is None else gain.model_dump(mode="json"),
        "capacity_at_least": outcome is not None and outcome.capacity_at_least,
        "text": " ".join(part for part in (text, run.error, found) if part),
    }
    try:
        httpx.post(url, json=body, timeout=TIMEOUT_S).raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        log.warning("the webhook could not be told of run %d: %s", run.id, error)
        return f"The webhook could not be told that the run has ended: {error}"
    return ""
