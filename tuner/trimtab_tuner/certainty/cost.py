"""What configurations cost, as measured in the blocks of a confirmation, and which of some costs least.

Where scores cannot be told apart, CPU time per request decides, then memory, then nearness to the default.
That one is cheaper must itself be told from noise: a figure by which several cannot be told apart (the same
test as of scores, within the same blocks) leaves them all to the next. Figures compare only at one rate: the
highest that every one of them was driven at and followed, on the ladder or between its rungs.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.trial import Trial

from trimtab_tuner.certainty.ranking import rank_blocks
from trimtab_tuner.clients import Clients, follows
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.space import Space

Figure = Literal["cpu_s_per_1000_requests", "memory_bytes"]
FIGURES: tuple[Figure, ...] = ("cpu_s_per_1000_requests", "memory_bytes")
BYTES_PER_MB = 1e6
ALIKE_CPU = 0.05  # one trial tells CPU time no better, however quiet the host
ALIKE_MEMORY = 0.05

ByRate = dict[float, tuple[float | None, ...]]


class Cost(Frozen):
    """What one configuration cost at each rate that it followed whenever it was verified.

    For each rate one value a block, None where it has no score or nothing was counted: the CPU time of the
    server for 1000 requests, and its memory. `level_unit` is what the rates count (`Clients.level_unit`).
    """

    cpu_s_per_1000_requests: ByRate
    memory_bytes: ByRate
    level_unit: str


def cost_of(trials: Sequence[Trial], blocks: Sequence[int], clients: Clients) -> Cost:
    """The cost of a configuration by its trials of these blocks, with what was measured in them.

    A block counts where it counts in the confirmation: also one in which the load generator gave out, but for
    the rates at which it did.
    """
    scored = {
        t.block: {m.rate_rps: m for m in t.measurements if not m.generator_limited}
        for t in trials
        if t.least_score is not None
    }
    rates = set.intersection(*(set(own) for own in scored.values())) if scored else set()
    followed = [
        rate for rate in sorted(rates) if all(follows(own[rate], clients.loop) for own in scored.values())
    ]

    def by_rate(figure: Figure) -> ByRate:
        return {
            rate: tuple(getattr(scored[b][rate], figure) if b in scored else None for b in blocks)
            for rate in followed
        }

    return Cost(
        cpu_s_per_1000_requests=by_rate("cpu_s_per_1000_requests"),
        memory_bytes=by_rate("memory_bytes"),
        level_unit=clients.level_unit,
    )


def cheapest(
    space: Space, tied: Sequence[Configuration], costs: Mapping[str, Cost]
) -> tuple[Configuration, str]:
    """The cheapest of some configurations, and what makes it so: a sentence without its subject.

    `costs` has what was measured, by hash; what is missing there decides nothing.
    """
    left = {configuration_hash(configuration): configuration for configuration in tied}
    compared = False
    for figure in FIGURES:
        found = _rows(list(left), costs, figure)
        if found is None:
            continue
        rate, rows = found
        compared = True
        # The highest inverse is the lowest cost.
        first = rank_blocks({d: [1 / value if value else None for value in row] for d, row in rows.items()})
        cheap = {digest: left[digest] for digest in left if digest in first[0].members}
        if len(cheap) == 1:
            (digest,) = cheap
            at = f"{rate:,.0f} {costs[digest].level_unit}"
            return left[digest], _said(figure, at, _mean(rows[digest]), _next(rows, digest))
        left = cheap
    default = space.default()
    nearest = min(left.values(), key=lambda configuration: _distance(space, configuration, default))
    why = "cannot be told apart either" if compared else "could not be compared"
    return nearest, f"is nearest to the default; what they cost {why}"


@dataclass(frozen=True)
class CostOfTrial:
    """What one trial cost at each rate that it followed; None where it was not counted."""

    cpu_s_per_1000_requests: Mapping[float, float | None]
    memory_bytes: Mapping[float, float | None]


def cost_of_trial(trial: Trial, clients: Clients) -> CostOfTrial:
    """By what was measured in it, but for the rates at which the load generator gave out."""
    followed = [m for m in trial.measurements if not m.generator_limited and follows(m, clients.loop)]
    return CostOfTrial(
        cpu_s_per_1000_requests={m.rate_rps: m.cpu_s_per_1000_requests for m in followed},
        memory_bytes={m.rate_rps: m.memory_bytes for m in followed},
    )


def cpu_times(one: CostOfTrial, other: CostOfTrial) -> float | None:
    """How many times the CPU time a request of one trial the other took, at the highest rate that both have
    followed; None where there is no such rate.
    """
    mine, others = one.cpu_s_per_1000_requests, other.cpu_s_per_1000_requests
    both = [rate for rate, value in mine.items() if value and others.get(rate)]
    return others[max(both)] / mine[max(both)] if both else None  # type: ignore[operator]


def least_costly(
    space: Space,
    tied: Sequence[Configuration],
    costs: Mapping[str, Sequence[CostOfTrial]],
    noise: float,
) -> Configuration:
    """The cheapest of some configurations of a search, which has measured most of them once.

    `costs` has the trials of each, by hash. Where one trial is all there is, two are alike in CPU time that
    differ by less than `noise` (of one trial, a standard deviation) explains, and in memory, which is counted
    and not drawn by chance, within `ALIKE_MEMORY`.
    """
    left = {configuration_hash(configuration): configuration for configuration in tied}
    alike_cpu = max(ALIKE_CPU, 2 * math.sqrt(2) * noise)
    alike = {"cpu_s_per_1000_requests": alike_cpu, "memory_bytes": ALIKE_MEMORY}
    for figure in FIGURES:
        found = _means(left, costs, figure)
        if len(left) > 1 and found:
            most = (1 + alike[figure]) * min(found.values())
            left = {digest: left[digest] for digest, mean in found.items() if mean <= most}
    default = space.default()
    return min(left.values(), key=lambda configuration: _distance(space, configuration, default))


def _means(
    digests: Iterable[str], costs: Mapping[str, Sequence[CostOfTrial]], figure: Figure
) -> dict[str, float]:
    """The figure of each at the highest rate that all followed; empty where it is not known of all."""
    each = {digest: [getattr(trial, figure) for trial in costs.get(digest, ())] for digest in digests}
    if not all(each.values()):
        return {}
    followed = [
        {rate for rate, value in trial.items() if value} for trials in each.values() for trial in trials
    ]
    rate = max(set.intersection(*followed), default=None)
    if rate is None:
        return {}
    return {digest: fmean(trial[rate] for trial in trials) for digest, trials in each.items()}


def _rows(
    digests: Sequence[str], costs: Mapping[str, Cost], figure: Figure
) -> tuple[float, dict[str, tuple[float | None, ...]]] | None:
    """The highest rate that all followed and the figure of each there; None where it is not known of all."""
    each: dict[str, ByRate] = {d: getattr(costs[d], figure) for d in digests if d in costs}
    if len(digests) < 2 or len(each) < len(digests):
        return None
    rate = max(set.intersection(*(set(own) for own in each.values())), default=None)
    if rate is None:
        return None
    rows = {digest: own[rate] for digest, own in each.items()}
    known = all(sum(bool(value) for value in row) >= 2 for row in rows.values())
    return (rate, rows) if known else None


def _mean(row: Sequence[float | None]) -> float:
    return fmean(value for value in row if value is not None)


def _next(rows: Mapping[str, Sequence[float | None]], digest: str) -> float:
    return min(_mean(row) for other, row in rows.items() if other != digest)


def _said(figure: Figure, at: str, own: float, following: float) -> str:
    if figure == "cpu_s_per_1000_requests":
        own_ms, following_ms = f"{own * 1e3:.3g} ms", f"{following * 1e3:.3g} ms"
        return f"used the least CPU time: {own_ms} for 1,000 requests at {at}, the next {following_ms}"
    own_mb, following_mb = f"{own / BYTES_PER_MB:.4g} MB", f"{following / BYTES_PER_MB:.4g} MB"
    return f"needed the least memory: {own_mb} at {at}, the next {following_mb}"


def _distance(space: Space, configuration: Configuration, default: Configuration) -> tuple[int, float]:
    """How many knobs differ from the default, and how far in sum: on their scales, 1 for a category."""
    changed = [knob for knob in space.knobs if configuration.get(knob.name) != default.get(knob.name)]
    far = 0.0
    for knob in changed:
        one, other = configuration.get(knob.name), default.get(knob.name)
        ordered = knob.kind != "categorical" and one is not None and other is not None
        far += abs(knob.position(one) - knob.position(other)) if ordered else 1.0  # type: ignore[arg-type]
    return len(changed), far
