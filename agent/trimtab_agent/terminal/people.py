"""What the finalists of a run do in people's terms, as headings and rows for terminal and Markdown."""

from trimtab_tuner.confirmation import describe
from trimtab_tuner.performance import Figure, Performance

from trimtab_agent.results.outcome import Outcome, RankedConfiguration


def people_rows(outcome: Outcome | None) -> tuple[list[str], list[list[str]]]:
    """One row for the default, the recommended and the expert's advice, and for every other finalist.

    No rows where nothing of the kind is known.
    """
    known = [] if outcome is None else [one for one in outcome.ranking if one.performance is not None]
    loads = {one.performance.load_rps for one in known if one.performance is not None}
    load = next((f" at {load:,.0f}/s" for load in loads if load is not None), "")
    heads = [
        "configuration",
        "capacity, requests/s",
        "capacity, Mbps",
        "more than the default",
        *(f"{name}{load}, ms" for name in ("p50", "p99", "p99.9")),
        f"CPU ms per 1,000 requests{load}",
        "memory (PSS), MB",
        "score, Mbps",
    ]
    if outcome is None:
        return heads, []
    known.sort(key=lambda one: (one.configuration != outcome.best, one.is_default))
    return heads, [
        [_name(one, outcome), *_cells(one.performance), _number(one.mean_score_mbps, "{:.1f}")]
        for one in known
        if one.performance is not None
    ]


def _name(one: RankedConfiguration, outcome: Outcome) -> str:
    name = describe(one.configuration, outcome.default)
    name += " *" * (one.configuration == outcome.best)
    return f"{name} (expert advice)" if one.is_expert else name


def _cells(own: Performance) -> list[str]:
    least = "at least " if own.at_least else ""
    gain = own.capacity_gain
    return [
        "none" if own.capacity_rps is None else least + _figure(own.capacity_rps, 1, "{:,.0f}"),
        _figure(own.capacity_mbps, 1, "{:,.0f}"),
        "" if gain is None else f"{least}{gain.gain:+.0%}",
        *(_figure(tail, 1e-3, "{:.3g}") for tail in (own.p50_us, own.p99_us, own.p999_us)),
        _figure(own.cpu_s_per_1000_requests, 1e3, "{:.3g}"),
        _figure(own.memory_bytes, 1e-6, "{:.3g}"),
    ]


def _figure(figure: Figure | None, factor: float, form: str) -> str:
    """A mean with its interval."""
    if figure is None:
        return ""
    mean = form.format(figure.mean * factor)
    if figure.low is None or figure.high is None:
        return mean
    low, high = (form.format(bound * factor) for bound in (figure.low, figure.high))
    return f"{mean} ({low} to {high})"


def _number(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)
