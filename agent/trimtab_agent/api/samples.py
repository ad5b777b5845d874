"""Stored counter samples as the API answers with them.

Thousands of samples are handed on as the JSON text that they are stored as: decoding, checking and encoding
them again would take ten times as long as reading them. What is in them is checked where they are taken.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from fastapi import Response
from pydantic_core import to_json
from trimtab_db.records import CounterSample, StoredSample
from trimtab_trials.trial import Trial

from trimtab_agent.recording.thinning import decoded, thinned


def as_stored(samples: Iterable[StoredSample]) -> Response:
    """The samples themselves: a list of `CounterSampleReply`."""
    return _reply(_document(sample, sample.values_json) for sample in samples)


def as_means(samples: Iterable[StoredSample], step_s: int) -> Response:
    """Their means over `step_s` seconds of the clock: a list of `CounterSampleReply`."""
    means = thinned([decoded(sample) for sample in samples], step_s)
    return _reply(_document(mean, to_json(mean.values)) for mean in means)


def as_simulated(trial: Trial, samples: Iterable[tuple[datetime, dict[str, Any]]]) -> Response:
    """Samples that have been made for a trial, with their times: a list of `CounterSampleReply`."""
    return _reply(_text(at, trial.run_id, trial.number, to_json(values)) for at, values in samples)


def _document(sample: StoredSample | CounterSample, values: bytes) -> bytes:
    return _text(sample.taken_at, sample.run_id, sample.trial_number, values)


def _text(taken_at: datetime, run_id: int | None, trial_number: int | None, values: bytes) -> bytes:
    about = {"taken_at": taken_at, "run_id": run_id, "trial_number": trial_number}
    return b'%s,"values":%s}' % (to_json(about)[:-1], values)


def _reply(documents: Iterable[bytes]) -> Response:
    return Response(b"[%s]" % b",".join(documents), media_type="application/json")
