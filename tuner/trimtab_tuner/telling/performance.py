"""What a configuration does in people's terms, from the blocks of a confirmation: how much it takes, how fast
it answers, and what that costs.

*Capacity* is the highest rate that it follows while all rules hold; each block has climbed to it anew.
Latency and CPU per request depend on the load, so they are told at *one* load for all that are compared: the
highest rung of the ladder that every one of them followed in every block. Memory is the most that the server
took at any rate.

Each figure is a geometric mean over the blocks with its interval, as gains are made of ratios; the gains in
capacity are paired within blocks, as those in score are. A climb finds a capacity between the last rate that
was followed and the first that was not (`capacity.py`): what that leaves open and what chance does are both
in the interval, added by their squares.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean, stdev

from pydantic import Field
from trimtab_trials.measurement import Measurement

from trimtab_tuner.certainty.statistics import Gain, paired_gain
from trimtab_tuner.certainty.student_t import t_quantile
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.telling.capacity import Capacity, capacity_of

MOST_APART = 10.0  # times the lower bound of a figure: an interval that is wider says nothing

Block = int
OfBlocks = Mapping[Block, Sequence[Measurement]]
"""What was measured of one configuration in each block."""


class Figure(Frozen):
    """A (geometric) mean over blocks with its 95 % interval. There is none with fewer than two blocks, nor
    where it would say nothing.
    """

    mean: float
    low: float | None = None
    high: float | None = None


class Performance(Frozen):
    """What one configuration does; None where it was not measured.

    `capacity_rps` and `capacity_mbps` are None where it followed no rate in any block. `at_least` says that
    in some block nothing was met that it did not follow: then there is no upper bound. `load_rps` is the load
    of the latencies and of `cpu_s_per_1000_requests`, None where there is none that all followed.
    `capacity_gain` is over the default, None where the default is only bounded.
    """

    capacity_rps: Figure | None = None
    capacity_mbps: Figure | None = None
    at_least: bool = False
    capacity_gain: Gain | None = None
    load_rps: float | None = None
    p50_us: Figure | None = None
    p99_us: Figure | None = None
    p999_us: Figure | None = None
    cpu_s_per_1000_requests: Figure | None = None
    memory_bytes: Figure | None = None
    blocks: int = Field(default=0, ge=0)


def performances(
    measured: Mapping[str, OfBlocks], default: str, ladder: Sequence[float], *, confidence: float = 0.95
) -> dict[str, Performance]:
    """The performance of each configuration, by its hash; `default` is the hash that gains are over, and
    `confidence` that of all gains' intervals together (Bonferroni, as of the gains in score).
    """
    each = 1 - (1 - confidence) / max(1, len(measured) - 1)
    counting = {
        digest: {block: _counting(rates) for block, rates in blocks.items()}
        for digest, blocks in measured.items()
    }
    load_rps = common_load(counting, ladder)
    capacities = {digest: capacities_of(blocks) for digest, blocks in counting.items()}
    found = {}
    for digest, blocks in counting.items():
        own = list(capacities[digest].values())
        known = [capacity for capacity in own if capacity is not None]
        found[digest] = Performance(
            capacity_rps=_between(known),
            capacity_mbps=figure([capacity.goodput_mbps for capacity in known]),
            at_least=any(capacity.lost_rps is None for capacity in known),
            capacity_gain=None
            if digest == default
            else capacity_gain(capacities[default], capacities[digest], confidence=each),
            load_rps=load_rps,
            p50_us=_at(load_rps, blocks, lambda m: m.reply_latency.p50_us),
            p99_us=_at(load_rps, blocks, lambda m: m.reply_latency.p99_us),
            p999_us=_at(load_rps, blocks, lambda m: m.reply_latency.p999_us),
            cpu_s_per_1000_requests=_at(load_rps, blocks, lambda m: m.cpu_s_per_1000_requests),
            memory_bytes=figure(
                [most for rates in measured[digest].values() if (most := _most_memory(rates))]
            ),
            blocks=len(blocks),
        )
    return found


def capacities_of(blocks: OfBlocks) -> dict[Block, Capacity | None]:
    """The capacity that each block shows; None where it followed no rate."""
    return {block: capacity_of(_counting(rates)) for block, rates in blocks.items()}


def common_load(measured: Mapping[str, OfBlocks], ladder: Sequence[float]) -> float | None:
    """The highest rung that every configuration followed in every block, all rules holding."""
    every = [rates for blocks in measured.values() for rates in blocks.values()]
    followed = [{m.rate_rps for m in rates if m.followed and m.held} for rates in every]
    return max((rung for rung in ladder if followed and all(rung in own for own in followed)), default=None)


def figure(values: Sequence[float]) -> Figure | None:
    """The geometric mean of some values with its 95 % interval (Student's t on their logarithms), whose lower
    end is never 0; None of none. What has no logarithm, as a CPU time below the kernel's tick, is taken as it
    is.
    """
    if len(values) < 2:
        return Figure(mean=values[0]) if values else None
    if min(values) == max(values):
        return Figure(mean=values[0], low=values[0], high=values[0])
    positive = min(values) > 0
    told = [math.log(value) for value in values] if positive else list(values)
    back = math.exp if positive else partial(max, 0.0)
    mean = fmean(told)
    half = t_quantile(len(told) - 1, 0.975) * stdev(told) / math.sqrt(len(told))
    low, high = back(mean - half), back(mean + half)
    if high > MOST_APART * low and positive:
        return Figure(mean=back(mean))
    return Figure(mean=back(mean), low=low, high=high)


def capacity_gain(
    default: Mapping[Block, Capacity | None],
    other: Mapping[Block, Capacity | None],
    *,
    confidence: float = 0.95,
) -> Gain | None:
    """How much more `other` takes than the default, paired by block; None where no block has both, or where
    the default is only bounded in one of them: no gain over what may be more can be stated.

    What is left open downwards is how much less the other may follow and how much more the default, upwards
    the other way round. Without an upper bound of the other there is none of the gain: it is at least what it
    says.
    """
    blocks = sorted(default.keys() & other.keys())
    pairs = [(a, b) for block in blocks if (a := default[block]) and (b := other[block])]

    def gain(default_rps: Sequence[float | None], other_rps: Sequence[float | None]) -> Gain | None:
        return paired_gain(default_rps, other_rps, confidence=confidence)

    middle = paired_gain(
        [a.likely_rps for a, _ in pairs], [b.likely_rps for _, b in pairs], confidence=confidence
    )
    if middle is None or any(a.high_rps is None for a, _ in pairs):
        return None
    mean, low, high = 1 + middle.gain, None, None
    if middle.low is not None and middle.high is not None:
        less = fmean(_open_below(b) + _open_above(a) for a, b in pairs)
        more = fmean(_open_above(b) + _open_below(a) for a, b in pairs)
        low = mean / _apart(mean, 1 + middle.low, less) - 1
        if all(b.high_rps is not None for _, b in pairs):
            high = mean * _apart(mean, 1 + middle.high, more) - 1
    significant = (low is not None and low > 0) or (high is not None and high < 0)
    return middle.model_copy(update={"low": low, "high": high, "significant": significant})


def _open_below(capacity: Capacity) -> float:
    """How far below what is likely a climb leaves the capacity open: a logarithm."""
    return math.log(capacity.likely_rps / capacity.low_rps)


def _open_above(capacity: Capacity) -> float:
    """The same above it; nothing where the capacity is not bounded there."""
    return 0.0 if capacity.high_rps is None else math.log(capacity.high_rps / capacity.likely_rps)


def _apart(mean: float, bound: float, left_open: float) -> float:
    """How many times a bound lies apart from a mean, by chance (as `bound` does) and by what is `left_open`.

    The two have nothing to do with each other, so they add up as uncertainties do: by their squares.
    """
    return math.exp(math.hypot(math.log(bound / mean), left_open))


def _counting(rates: Sequence[Measurement]) -> list[Measurement]:
    """What was measured last at each rate, a calibration driving the one that it doubts twice; without what
    the generator could not offer, which says nothing of the server.
    """
    return list({m.rate_rps: m for m in rates if not m.generator_limited}.values())


def _between(capacities: Sequence[Capacity]) -> Figure | None:
    """The mean capacity with its interval, in which is what the climbs leave open."""
    likely = figure([capacity.likely_rps for capacity in capacities])
    if likely is None or likely.low is None or likely.high is None:
        return likely
    low = likely.mean / _apart(likely.mean, likely.low, fmean(map(_open_below, capacities)))
    if any(capacity.high_rps is None for capacity in capacities):
        return likely.model_copy(update={"low": low, "high": None})
    high = likely.mean * _apart(likely.mean, likely.high, fmean(map(_open_above, capacities)))
    return likely.model_copy(update={"low": low, "high": high})


def _at(
    rate_rps: float | None, blocks: OfBlocks, value: Callable[[Measurement], float | None]
) -> Figure | None:
    """A figure at one load."""
    there = (value(m) for rates in blocks.values() for m in rates if m.rate_rps == rate_rps)
    return figure([one for one in there if one is not None])


def _most_memory(rates: Sequence[Measurement]) -> float | None:
    return max((m.memory_bytes for m in rates if m.memory_bytes is not None), default=None)
