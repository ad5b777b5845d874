"""A climb to the capacity as a chart in text: a bar of replies for each offered rate."""

from collections.abc import Sequence

from trimtab_trials.measurement import Measurement
from trimtab_tuner.telling.capacity import Capacity

WIDTH = 48  # characters of the longest bar
EIGHTHS = " ▏▎▍▌▋▊▉"
ANSWERED, MISSING = "█", "░"
SCALE = 1.25  # of the highest reply rate: what is offered beyond is cut off


def climb_lines(rates: Sequence[Measurement], capacity: Capacity | None) -> list[str]:
    """One line for each rate, in the order given: offered, a bar of what was answered with what was not
    behind it, and the replies. The highest rate that was followed is marked.
    """
    most = SCALE * max((m.reply_rate_rps for m in rates), default=0.0)
    if most == 0.0:
        return []
    offered = [f"{m.rate_rps:,.0f}" for m in rates]
    answered = [f"{m.reply_rate_rps:,.0f}" for m in rates]
    left, right = (max(map(len, texts)) for texts in (offered, answered))
    heads = f"{'offered/s':>{max(left, 9)}}  {'answered':<{WIDTH}}  {'replies/s':>{max(right, 9)}}"
    return [
        heads,
        *(
            f"{asked:>{max(left, 9)}}  {_bar(m, most):<{WIDTH}}  {replies:>{max(right, 9)}}"
            f"{_remark(m, capacity)}".rstrip()
            for m, asked, replies in zip(rates, offered, answered, strict=True)
        ),
    ]


def _bar(rate: Measurement, most: float) -> str:
    """The replies in full blocks, to an eighth; behind them, shaded, what was offered besides."""
    eighths = round(8 * WIDTH * min(1.0, rate.reply_rate_rps / most))
    bar = ANSWERED * (eighths // 8) + EIGHTHS[eighths % 8].strip()
    asked = round(WIDTH * min(1.0, rate.rate_rps / most))
    return bar + MISSING * (0 if rate.followed else asked - len(bar))


def _remark(rate: Measurement, capacity: Capacity | None) -> str:
    if capacity is not None and rate.rate_rps == capacity.rate_rps:
        return "  ◀ followed"
    if rate.generator_limited:
        return "  the load generator gave out"
    return "" if rate.held else "  a rule broken"
