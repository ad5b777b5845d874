"""The chart behind a finding: what its rule looked at, and the threshold at which the rule fires."""

from collections.abc import Callable, Mapping
from typing import Literal

from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial

from trimtab_tuner.clients import Clients
from trimtab_tuner.frozen import Frozen

Reading = Callable[[Measurement], float | None]
"""What a rule looks at in one rate; None where it was not counted."""


class ChartPoint(Frozen):
    """A value at one place of the chart's axis."""

    x: float
    y: float


class ChartSeries(Frozen):
    """A named curve; places without a value are left out."""

    name: str
    points: tuple[ChartPoint, ...]


class EvidenceChart(Frozen):
    """Curves of `y_name` over `x_name`. The rule fires where a curve is `above` or `below` the threshold;
    what else it asks for stands in the finding's facts.
    """

    x_name: str
    x_unit: str
    y_name: str
    y_unit: str
    series: tuple[ChartSeries, ...]
    threshold: float
    fires: Literal["above", "below"]


def over_rates(
    clients: Clients,
    y_name: str,
    y_unit: str,
    curves: Mapping[str, tuple[Trial, Reading]],
    *,
    threshold: float,
    fires: Literal["above", "below"] = "above",
) -> EvidenceChart:
    """A chart over the ladder of trials of one run; each curve is read from the rates of a trial."""
    closed = clients.loop == "closed"
    return EvidenceChart(
        x_name="connections" if closed else "rate",
        x_unit="connections" if closed else "requests/s",
        y_name=y_name,
        y_unit=y_unit,
        series=tuple(
            ChartSeries(
                name=name,
                points=tuple(
                    ChartPoint(x=rate.rate_rps, y=round(value, 3))
                    for rate in trial.measurements
                    if (value := read(rate)) is not None
                ),
            )
            for name, (trial, read) in curves.items()
        ),
        threshold=round(threshold, 3),
        fires=fires,
    )
