"""A run's trials and measurements as CSV, for spreadsheets and for programs such as R or pandas.

A line for each trial, or for each rate of each trial; the first line has the names of the columns, with
their units. A configuration is a column for each knob, called `knob:` and its name. A cell is empty where
nothing was measured. Each line names its host: that of a demo says that all is simulated. Lines are made a
page of trials at a time, so that a run of 10,000 trials takes no more memory than a small one. A trial
of a finalist has the gain in capacity of its configuration over the default, as shares, with the bounds of
its interval; none where that interval says nothing.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from enum import StrEnum
from functools import cache
from typing import Any

from trimtab_db import Repository
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial
from trimtab_tuner.space import Space

from trimtab_agent.results.outcome import Outcome, RankedConfiguration

PAGE_TRIALS = 200


class Table(StrEnum):
    """The tables there are."""

    TRIALS = "trials"
    MEASUREMENTS = "measurements"


def csv_lines(repository: Repository, run_id: int, table: Table) -> Iterator[str]:
    """The table as text, some lines at a time; raises RecordNotFoundError before the first."""
    run = repository.run(run_id)
    knobs = [knob.name for knob in Space.model_validate(run.space).knobs]
    outcome = Outcome.model_validate(run.outcome) if run.outcome else None
    finalists = {one.configuration_hash: one for one in outcome.ranking} if outcome else {}

    name_of = cache(lambda host_id: repository.host(host_id).name)

    def rows_of(trial: Trial) -> Iterator[dict[str, Any]]:
        host = name_of(trial.host_id)
        if table is Table.TRIALS:
            return _trial_rows(trial, host, knobs, finalists.get(trial.configuration_hash))
        return _measurement_rows(trial, host, knobs)

    return _lines(repository, run_id, rows_of)


def _lines(
    repository: Repository, run_id: int, rows_of: Callable[[Trial], Iterator[dict[str, Any]]]
) -> Iterator[str]:
    names: list[str] = []
    after = 0
    while page := repository.trials_with_curves(run_id, after=after, limit=PAGE_TRIALS):
        rows = [row for trial in page for row in rows_of(trial)]
        if rows:
            yield _text([*([] if names else [list(rows[0])]), *(list(row.values()) for row in rows)])
            names = list(rows[0])
        after = page[-1].number


def _text(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _trial_rows(
    trial: Trial, host: str, knobs: Sequence[str], finalist: RankedConfiguration | None
) -> Iterator[dict[str, Any]]:
    performance = None if finalist is None else finalist.performance
    gain = None if performance is None else performance.capacity_gain
    gain = None if gain is None or gain.says_nothing else gain
    yield {
        **_about(trial, host),
        "reason": trial.reason,
        "score_mbps": trial.score,
        "second_score": trial.second_score,
        "estimated_score_mbps": trial.estimated_score,
        "capacity_gain": gain and gain.gain,
        "capacity_gain_low": gain and gain.low,
        "capacity_gain_high": gain and gain.high,
        "capacity_at_least": None if performance is None or gain is None else performance.at_least,
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
