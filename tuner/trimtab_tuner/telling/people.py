"""What configurations do, for people: a sentence, and a table of those that were compared."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from trimtab_tuner.certainty.statistics import Gain
from trimtab_tuner.telling.performance import Figure, Performance
from trimtab_tuner.wording import in_digits, in_time, in_unit

MUCH_MEMORY = 2.0  # times the default's: said with the gain, not only in the table


@dataclass(frozen=True)
class Compared:
    """A configuration that was compared with others: what it is called, what it does, and its mean score."""

    name: str
    performance: Performance
    score_mbps: float | None


DEFAULT = "the default"


def in_words(
    name: str, own: Performance, default: Performance | None = None, *, called: str = DEFAULT
) -> str:
    """What a configuration does, beside the default where that is another one; empty if nothing is known.

    `called` is what the default is in what is compared.
    """
    if own.capacity_rps is None:
        return ""
    least = "at least " if own.at_least else ""
    sentence = f"{name} follows {least}{_rates(own.capacity_rps)}"
    if default is not None:
        sentence += f", {called} " + (
            "none of the rates that it was driven at"
            if default.capacity_rps is None
            else ("at least " if default.at_least else "") + _rates(default.capacity_rps)
        )
        if own.capacity_gain is not None:
            sentence += f": {own.capacity_gain.told(at_least=own.at_least)}"
    sentence += "."
    if default is not None and (price := _price(own, default)):
        sentence += f" It comes at a price: {price}."
    costs = [text for text in (_cost(*each, called) for each in _costs(own, default)) if text]
    if costs and own.load_rps is not None:
        sentence += f" At {own.load_rps:,.0f} requests/s: {', '.join(costs)}."
    memory = None if default is None else default.memory_bytes
    most = _cost("memory at its peak (PSS)", _megabytes, own.memory_bytes, memory, called)
    return f"{sentence} {most[:1].upper()}{most[1:]}." if most else sentence


def gain_in_words(capacity: Gain | None, *, at_least: bool = False, score: Gain | None = None) -> str:
    """The gain over the default as pages, lists, reports and files tell it: in capacity, with `at_least` it
    may be more; in `score` where that is all that is known, and then it says so. Empty without either.
    """
    if capacity is not None:
        return f"{capacity.told(at_least=at_least)} in capacity"
    return "" if score is None else f"{score} in score"


def _price(own: Performance, default: Performance) -> str:
    """What is paid for it: much more memory, and replies that take longer at the same load; empty if neither.

    Memory is counted and not drawn by chance; latencies are told apart by their intervals.
    """
    paid = []
    if own.memory_bytes is not None and default.memory_bytes is not None and default.memory_bytes.mean > 0:
        times = own.memory_bytes.mean / default.memory_bytes.mean
        if times > MUCH_MEMORY:
            paid.append(f"{in_digits(times)} times the memory")
    if own.p99_us is not None and default.p99_us is not None and _above(own.p99_us, default.p99_us):
        times = own.p99_us.mean / default.p99_us.mean
        paid.append(f"{in_digits(times)} times the p99 at {own.load_rps:,.0f} requests/s")
    return " and ".join(paid)


def _above(one: Figure, other: Figure) -> bool:
    """Whether the first is higher, whatever chance does: both have intervals, and these do not meet."""
    if one.low is None or other.high is None:
        return False
    return other.mean > 0 and one.low > other.high


def _rates(rate: Figure) -> str:
    if rate.low is None or rate.high is None:
        return f"{rate.mean:,.0f} requests/s"
    return f"{rate.mean:,.0f} requests/s ({rate.low:,.0f} to {rate.high:,.0f})"


_Cost = tuple[str, Callable[[float], str], Figure | None, Figure | None]


def _costs(own: Performance, default: Performance | None) -> Iterator[_Cost]:
    """What is told beside the capacity: name, how a figure is told, own figure, the default's."""
    other = Performance() if default is None else default
    yield "p99", in_time, own.p99_us, other.p99_us
    own_s, other_s = own.cpu_s_per_1000_requests, other.cpu_s_per_1000_requests
    yield "CPU per 1,000 requests", lambda cpu_s: in_unit(cpu_s * 1e3, "ms"), own_s, other_s


def _megabytes(memory_bytes: float) -> str:
    return in_unit(memory_bytes * 1e-6, "MB")


def _cost(
    name: str, told: Callable[[float], str], own: Figure | None, other: Figure | None, called: str
) -> str:
    if own is None:
        return ""
    text = f"{name} {told(own.mean)}"
    return text if other is None else f"{text} ({called} {told(other.mean)})"


def table(compared: Sequence[Compared], called: str = DEFAULT) -> tuple[list[str], list[list[str]]]:
    """Headings and a row for each, with 95 % intervals; `called` as in `in_words`."""
    load = next((one.performance.load_rps for one in compared if one.performance.load_rps is not None), None)
    at = "" if load is None else f" at {load:,.0f}/s"
    heads = [
        "configuration",
        "capacity, requests/s",
        "capacity, Mbps",
        f"more than {called}",
        *(f"{name}{at}, ms" for name in ("p50", "p99", "p99.9")),
        f"CPU ms per 1,000 requests{at}",
        "memory (PSS), MB",
        "score, Mbps",
    ]
    return heads, [[one.name, *_cells(one.performance), in_digits(one.score_mbps)] for one in compared]


def _cells(own: Performance) -> list[str]:
    least = "at least " if own.at_least else ""
    gain = own.capacity_gain
    return [
        "none" if own.capacity_rps is None else least + _figure(own.capacity_rps, 1, "{:,.0f}".format),
        _figure(own.capacity_mbps),
        "" if gain is None else gain.in_short(at_least=own.at_least),
        *(_figure(tail, 1e-3) for tail in (own.p50_us, own.p99_us, own.p999_us)),
        _figure(own.cpu_s_per_1000_requests, 1e3),
        _figure(own.memory_bytes, 1e-6),
    ]


def _figure(figure: Figure | None, factor: float = 1, text: Callable[[float], str] = in_digits) -> str:
    """A mean with its interval."""
    if figure is None:
        return ""
    mean = text(figure.mean * factor)
    if figure.low is None or figure.high is None:
        return mean
    low, high = (text(bound * factor) for bound in (figure.low, figure.high))
    return f"{mean} ({low} to {high})"
