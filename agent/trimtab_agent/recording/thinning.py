"""Fewer samples for long windows: a chart of an hour shows no more points than one of five minutes.

`thinned` puts samples together that were read from the database; `StepMeans` does the same as they are taken,
for the coarser steps that are kept longer (trimtab_db.repository.counters says which).
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any

from pydantic_core import from_json
from trimtab_db.records import CounterSample, StoredSample

from trimtab_agent.counters.source import Values

# Numbers that say what a sample is about: a mean of them would name something else.
NAMES = {"time", "run_id", "trial", "rate_rps", "cpu", "worker", "pid"}


def decoded(sample: StoredSample) -> CounterSample:
    """The sample that was recorded; this parser takes a third of the standard library's time."""
    return CounterSample(
        host_id=sample.host_id,
        taken_at=sample.taken_at,
        values=from_json(sample.values_json),
        run_id=sample.run_id,
        trial_number=sample.trial_number,
        step_s=sample.step_s,
    )


def thinned(samples: Sequence[CounterSample], step_s: int) -> tuple[CounterSample, ...]:
    """One sample for each `step_s` seconds of the clock: the mean of those taken in them, at the last's time.

    Groups are counted on the clock, so that the same sample always falls into the same group. A group belongs
    to the trial that its last sample belongs to.
    """
    if step_s <= 1:
        return tuple(samples)

    def step(sample: CounterSample) -> int:
        return int(_seconds(sample.taken_at) // step_s)

    return tuple(_mean_sample(tuple(group)) for _, group in groupby(samples, key=step))


class StepMeans:
    """Collects samples as they are taken, and gives the mean of each step once it is over.

    A step ends with the clock, or where another trial begins: a trial's means are its own. With
    `without_lists` what is told per CPU or worker is left out, which makes a day of 100 CPUs a small thing.
    """

    def __init__(self, step_s: int, *, without_lists: bool = False) -> None:
        self._step_s = step_s
        self._without_lists = without_lists
        self._group: list[CounterSample] = []

    def add(self, sample: CounterSample) -> CounterSample | None:
        """Takes a sample in; the mean of the step that it ended, if it did."""
        done = None
        if self._group and self._key(sample) != self._key(self._group[-1]):
            done = self.finish()
        self._group.append(sample)
        return done

    def finish(self) -> CounterSample | None:
        """The mean of what has been collected; None if that is nothing."""
        group, self._group = self._group, []
        if not group:
            return None
        mean = _mean_sample(group)
        values = _scalars(mean.values) if self._without_lists else mean.values
        return replace(mean, step_s=self._step_s, values=values)

    def _key(self, sample: CounterSample) -> tuple[int, int | None, int | None]:
        return int(_seconds(sample.taken_at) // self._step_s), sample.run_id, sample.trial_number


def _scalars(values: Values) -> Values:
    """The values without their lists, at every depth."""
    return {
        name: _scalars(value) if isinstance(value, dict) else value
        for name, value in values.items()
        if not isinstance(value, list)
    }


def _seconds(at: datetime) -> float:
    return at.timestamp()


def _mean_sample(group: Sequence[CounterSample]) -> CounterSample:
    last = group[-1]
    if len(group) == 1:
        return last
    values: Values = _mean([sample.values for sample in group])
    values["interval_s"] = sum(sample.values.get("interval_s", 0) for sample in group)
    return replace(last, values=values)


def _mean(values: Sequence[Any], name: str = "") -> Any:  # noqa: ANN401 - JSON of any shape
    """Number by number; of anything else, and where shapes differ, the last."""
    last = values[-1]
    if type(last) is dict and _alike(values):  # nearly always, and then it is quick
        columns = zip(last, zip(*[value.values() for value in values], strict=True), strict=True)
        return {key: _mean_column(column, key) for key, column in columns}
    if isinstance(last, bool | str) or last is None:
        return last
    if isinstance(last, int | float):
        if name in NAMES:
            return last
        numbers = [value for value in values if isinstance(value, int | float)]
        return sum(numbers) / len(numbers)
    if isinstance(last, dict):
        keys = {key: None for value in values if isinstance(value, dict) for key in value}
        return {
            key: _mean([value[key] for value in values if isinstance(value, dict) and key in value], key)
            for key in keys
        }
    if isinstance(last, list):
        alike = [value for value in values if isinstance(value, list) and len(value) == len(last)]
        return [_mean(row) for row in zip(*alike, strict=True)]
    return last


def _alike(values: Sequence[Any]) -> bool:
    """Whether all of them have the names of the last, in its order."""
    names = list(values[-1])
    return all(type(value) is dict and list(value) == names for value in values)


def _mean_column(column: Sequence[Any], name: str) -> Any:  # noqa: ANN401 - JSON of any shape
    """The same as `_mean`, at once where all are numbers."""
    if type(column[-1]) is float and name not in NAMES:
        try:
            return sum(column) / len(column)
        except TypeError:
            pass  # one of them is missing, or of another shape
    return _mean(column, name)
