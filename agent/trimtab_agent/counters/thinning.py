"""Fewer samples for long windows: a chart of an hour shows no more points than one of five minutes."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from trimtab_db.records import CounterSample

from trimtab_agent.counters.source import Values

# Numbers that say what a sample is about: a mean of them would name something else.
NAMES = {"time", "run_id", "trial", "rate_rps", "cpu", "worker", "pid"}


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


def _seconds(at: datetime) -> float:
    return at.timestamp()


def _mean_sample(group: Sequence[CounterSample]) -> CounterSample:
    last = group[-1]
    values: Values = _mean([sample.values for sample in group])
    values["interval_s"] = sum(sample.values.get("interval_s", 0) for sample in group)
    return CounterSample(
        host_id=last.host_id,
        taken_at=last.taken_at,
        values=values,
        run_id=last.run_id,
        trial_number=last.trial_number,
    )


def _mean(values: Sequence[Any], name: str = "") -> Any:  # noqa: ANN401 - JSON of any shape
    """Number by number; of anything else, and where shapes differ, the last."""
    last = values[-1]
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
