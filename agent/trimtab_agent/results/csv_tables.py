"""A run's trials and measurements as CSV, for spreadsheets and for programs such as R or pandas.

A line for each trial, or for each rate of each trial; the first line has the names of the columns, with
their units. A configuration is a column for each knob, called `knob:` and its name. A cell is empty where
nothing was measured. Each line names its host: that of a demo says that all is simulated. Lines are made a
page of trials at a time, so that a run of 10,000 trials takes no more memory than a small one.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from enum import StrEnum
from functools import cache
from typing import Any

from trimtab_db import Repository
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial
from trimtab_tuner.space import Space

PAGE_TRIALS = 200


class Table(StrEnum):
    """The tables there are."""

    TRIALS = "trials"
    MEASUREMENTS = "measurements"


def csv_lines(repository: Repository, run_id: int, table: Table) -> Iterator[str]:
    """The table as text, some lines at a time; raises RecordNotFoundError before the first."""
    knobs = [knob.name for knob in Space.model_validate(repository.run(run_id).space).knobs]
    return _lines(repository, run_id, table, knobs)


def _lines(repository: Repository, run_id: int, table: Table, knobs: Sequence[str]) -> Iterator[str]:
    rows_of = _trial_rows if table is Table.TRIALS else _measurement_rows
    name_of = cache(lambda host_id: repository.host(host_id).name)
    names: list[str] = []
    after = 0
    while page := repository.trials_with_curves(run_id, after=after, limit=PAGE_TRIALS):
        rows = [row for trial in page for row in rows_of(trial, name_of(trial.host_id), knobs)]
        if rows:
            yield _text([*([] if names else [list(rows[0])]), *(list(row.values()) for row in rows)])
            names = list(rows[0])
        after = page[-1].number


def _text(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _trial_rows(trial: Trial, host: str, knobs: Sequence[str]) -> Iterator[dict[str, Any]]:
    yield {
        **_about(trial, host),
        "reason": trial.reason,
        "score_mbps": trial.score,
        "second_score": trial.second_score,
        "estimated_score_mbps": trial.estimated_score,
        "started_at": trial.started_at.isoformat(),
        "finished_at": trial.finished_at.isoformat(),
        "configuration_hash": trial.configuration_hash,
        **{f"knob:{name}": trial.configuration.get(name) for name in knobs},
    }


def _measurement_rows(trial: Trial, host: str, knobs: Sequence[str]) -> Iterator[dict[str, Any]]:
    for measurement in trial.measurements:
        yield {
            **_about(trial, host),
            **_measured(measurement),
            **{f"knob:{name}": trial.configuration.get(name) for name in knobs},
        }


def _about(trial: Trial, host: str) -> dict[str, Any]:
    """What tells a trial from the others of its run, where it was measured, and what became of it."""
    return {
        "run": trial.run_id,
        "trial": trial.number,
        "host": host,
        "purpose": trial.purpose.value,
        "block": trial.block,
        "verdict": trial.verdict.value,
    }


def _measured(measurement: Measurement) -> dict[str, Any]:
    """What curves and tables show of a rate; in a closed loop `rate_rps` is a number of connections."""
    return {
        "number": measurement.number,
        "rate_rps": measurement.rate_rps,
        "duration_s": measurement.duration_s,
        "due_rate_rps": measurement.due_rate_rps,
        "reply_rate_rps": measurement.reply_rate_rps,
        "goodput_mbps": measurement.goodput_mbps,
        **{f"requests_{name}": count for name, count in asdict(measurement.requests).items()},
        **{f"reply_{name}": value for name, value in asdict(measurement.reply_latency).items()},
        "held": measurement.held,
        "generator_limited": measurement.generator_limited,
    }
