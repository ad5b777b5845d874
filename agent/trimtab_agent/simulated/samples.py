"""The counters of a simulated trial over its time, made of what its rates have measured.

The machine's own samples say nothing of it: no server runs, and the station's clock is another. So each
second of a rate has the mean of that rate.
"""

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial
from trimtab_tuner.clients import Loop


def samples_of(trial: Trial, loop: Loop) -> Iterator[tuple[datetime, dict[str, Any]]]:
    """When each sample was taken and what is in it, oldest first: one a second, at least one of each rate.

    The values are those of `api.counter_schemas.CounterValues`.
    """
    begins = trial.started_at
    for measurement in trial.measurements:
        about = {
            "run_id": trial.run_id,
            "trial": trial.number,
            "loop": loop,
            "rate_rps": measurement.rate_rps,
        }
        line = progress_line(measurement)
        count = max(1, math.floor(measurement.duration_s))
        interval_s = measurement.duration_s / count
        for number in range(1, count + 1):
            at = begins + timedelta(seconds=number * interval_s)
            load = {**line, **about, "elapsed_s": number * interval_s}
            del load["type"]
            sample = {"time": at.timestamp(), "interval_s": interval_s, "missing": {}, "load": load}
            yield at, {**measurement.counters, **sample}
        begins += timedelta(seconds=measurement.duration_s)


def progress_line(measurement: Measurement) -> dict[str, Any]:
    """A line as the generator prints once a second."""
    return {
        "type": "progress",
        "elapsed_s": measurement.duration_s,
        "sessions_open": measurement.sessions.started,
        "requests_replied": measurement.requests.replied,
        "requests_timed_out": measurement.requests.timed_out,
        "reply_rate_rps": measurement.reply_rate_rps,
        "goodput_mbps": measurement.goodput_mbps,
        "reply_p50_us": measurement.reply_latency.p50_us,
        "reply_p90_us": measurement.reply_latency.p90_us,
        "reply_p99_us": measurement.reply_latency.p99_us,
        "reply_p999_us": measurement.reply_latency.p999_us,
    }
