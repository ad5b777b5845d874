"""What a rule of diagnosis says when it fires."""

from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial

from trimtab_tuner.diagnosis.chart import EvidenceChart
from trimtab_tuner.frozen import Frozen


class Fact(Frozen):
    """One piece of evidence: what was counted, how much of it, in which unit."""

    name: str
    value: float
    unit: str = ""


class Finding(Frozen):
    """A rule that fired: what it saw (`sentence`, `facts`, `chart`), where, what to do about it, and who says
    so.

    `knob` is the knob to turn, None if the remedy is not a knob. `trial` and `rate_rps` say where it was
    seen.
    """

    rule: str
    sentence: str
    facts: tuple[Fact, ...]
    chart: EvidenceChart
    suggestion: str
    knob: str | None
    source: str
    trial: int
    rate_rps: float


def finding(
    rule: str,
    trial: Trial,
    rate: Measurement,
    *,
    sentence: str,
    facts: dict[str, tuple[float, str]],
    chart: EvidenceChart,
    suggestion: str,
    knob: str | None,
    source: str,
) -> Finding:
    """A finding at one rate of one trial; `facts` are name: (value, unit)."""
    return Finding(
        rule=rule,
        sentence=sentence,
        facts=tuple(
            Fact(name=name, value=round(value, 3), unit=unit) for name, (value, unit) in facts.items()
        ),
        chart=chart,
        suggestion=suggestion,
        knob=knob,
        source=source,
        trial=trial.number,
        rate_rps=rate.rate_rps,
    )
