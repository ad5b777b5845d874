"""Why servers differ: what a reply took of each, from the counters of the rounds.

The thesis explains its orders by such figures (its profiles): CPU time, how often processes gave way
to each other, how often the kernel was asked for events, and how much of the files the page cache held. They
are medians over the rates of the rounds that the server followed: beyond those the load generator leaves the
reader of the counters too little time.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from statistics import median

from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial

from trimtab_tuner.frozen import Frozen


class Costs(Frozen):
    """What one server took, for each reply where nothing else is said; None for what was not counted.

    `cpu_us` is its CPU time, `kernel_share` the part of that in the kernel (0 to 1), without interrupts.
    `switches` counts how often one of its processes waited or was preempted, `event_calls` its calls for
    events. `cached_bytes` is what the page cache held of files, counted where memory was limited.
    """

    server: str
    cpu_us: float
    kernel_share: float | None
    switches: float | None
    event_calls: float | None
    cached_bytes: float | None


def costs_of(server: str, rounds: Iterable[Trial]) -> Costs | None:
    """What the server took in these trials; None where its CPU time was not counted."""
    followed = [m for trial in rounds for m in trial.measurements if m.followed]
    cpu_s = _median(followed, lambda m: m.cpu_s_per_1000_requests)
    if cpu_s is None:
        return None
    return Costs(
        server=server,
        cpu_us=1000 * cpu_s,
        kernel_share=_median(followed, _kernel_share),
        switches=_median(followed, _switches),
        event_calls=_median(followed, lambda m: _per_request(m.counter("server", "event_calls_per_s"), m)),
        cached_bytes=_median(followed, lambda m: m.counter("memory_group", "file_bytes")),
    )


def cheaper_is_faster(costs: Iterable[Costs], order: Sequence[str]) -> tuple[int, int]:
    """Of how many pairs the server that is ahead in `order` takes less CPU time for a reply, and of how many
    pairs there are.
    """
    by_name = {each.server: each.cpu_us for each in costs}
    pairs = list(combinations([name for name in order if name in by_name], 2))
    return sum(by_name[ahead] < by_name[behind] for ahead, behind in pairs), len(pairs)


def _median(measured: Iterable[Measurement], figure: Callable[[Measurement], float | None]) -> float | None:
    figures = [one for each in measured if (one := figure(each)) is not None]
    return median(figures) if figures else None


def _kernel_share(measurement: Measurement) -> float | None:
    user, system = (measurement.counter("server_processes", mode) for mode in ("user", "system"))
    return None if user is None or system is None or not user + system else system / (user + system)


def _switches(measurement: Measurement) -> float | None:
    kinds = [measurement.counter("server_processes", f"{how}_per_s") for how in ("waited", "preempted")]
    return None if None in kinds else _per_request(sum(kind or 0.0 for kind in kinds), measurement)


def _per_request(rate_per_s: float | None, measurement: Measurement) -> float | None:
    requests_per_s = measurement.counter("server", "requests_per_s")
    return rate_per_s / requests_per_s if rate_per_s is not None and requests_per_s else None
