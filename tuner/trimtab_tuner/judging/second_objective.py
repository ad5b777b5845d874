"""What a run may be tuned for besides its objective: another objective, or a cost to the server's keeper.

The objectives are those of `score.py`, in Mbps, more being better. The costs, less being better, are

`rss`    the memory of all server processes, shared pages counted once, where it is largest of all rates that
         were driven, in MB;
`p999`   the 99.9th percentile of the reply time at the ladder's lowest rate, in ms. Below saturation the
         tail is the server's own; in overload it is whatever the clients' timeout makes it.

A run with two objectives has no single best configuration but a front (`pareto.py`).
"""

from collections.abc import Sequence

from trimtab_trials.measurement import Measurement

from trimtab_tuner.frozen import Frozen
from trimtab_tuner.judging.limits import Limit, memory_bytes
from trimtab_tuner.judging.score import Objective, parse_objective, score

RSS, P999 = "rss", "p999"
COST_UNITS = {RSS: "MB", P999: "ms"}


class Axis(Frozen):
    """One of the two objectives: as it is written, the unit of its figures, whether less is better."""

    objective: str
    unit: str
    minimised: bool


def axis(text: str) -> Axis:
    """The axis of an objective or a cost; ValueError says what was expected."""
    name = text.strip()
    if name in COST_UNITS:
        return Axis(objective=name, unit=COST_UNITS[name], minimised=True)
    if name.partition(":")[0].strip() not in list(Objective):
        known = ", ".join((*(objective.value for objective in Objective), *COST_UNITS))
        raise ValueError(f"{text!r}: expected one of {known}")
    parse_objective(name)
    return Axis(objective=name, unit="Mbps", minimised=False)


def check_pair(first: str, second: str) -> None:
    """ValueError unless `second` is an objective or a cost, and another one than `first`."""
    if not axis(second).minimised and _meaning(first) == _meaning(second):
        raise ValueError(f"{second!r}: it is the first objective already; expected another one")


def _meaning(text: str) -> tuple[Objective, str, float]:
    """An objective and its limit, however the limit is written: 1ms is 1000us."""
    objective, limit = parse_objective(text)
    return (objective, "", 0.0) if limit is None else (objective, limit.statistic, limit.bound)


def is_mat(text: str) -> bool:
    """Whether an objective, or a cost, is `mat`, with or without a limit of its own."""
    return not axis(text).minimised and parse_objective(text)[0] is Objective.MAT


def needs_limit(text: str) -> bool:
    """Whether an objective is `mat` without a limit of its own, so that a calibration must give it one."""
    return is_mat(text) and parse_objective(text)[1] is None


def second_score(
    text: str, measurements: Sequence[Measurement], limit: Limit | None = None, ladder: Sequence[float] = ()
) -> float | None:
    """The figure of a second objective; None where the cost was not measured.

    `limit` is that of `mat`, and `ladder` the run's, as in `score`; costs are not a matter of it. ValueError
    as `axis` and `score` raise it.
    """
    if not axis(text).minimised:
        return score(text, measurements, limit, ladder)
    if text.strip() == RSS:
        seen = [size for size in map(memory_bytes, measurements) if size is not None]
        return max(seen) / 1e6 if seen else None
    lowest = min(measurements, key=lambda m: m.rate_rps)
    tail_us = lowest.reply_latency.p999_us
    return None if tail_us is None else tail_us / 1e3
