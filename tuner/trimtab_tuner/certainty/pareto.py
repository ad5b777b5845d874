"""Two objectives at once: the front of a run, and how a search for a single score is steered along it.

*Front*: the configurations that no other beats in both objectives (Pareto). Its ends are the best in either;
its *knee* is the member farthest from the straight line between the ends, both objectives scaled to the
front: where a little more of the one begins to cost much of the other (Das, Structural Optimization 18,
1999).

*Steering* (ParEGO: Knowles, IEEE Transactions on Evolutionary Computation 10, 2006). Strategies look for the
highest of one score. Before every proposal a weight w is drawn from the run's seed and the number of trials,
and each trial is told with the augmented Chebyshev scalarisation of both objectives under that weight, so
that one proposal after the other looks at another part of the front. Each objective counts by the logarithm
of its ratio to the best, divided by how far that ranges among the trials; the result is put on the scale on
which the first objective ranges, so that what is known of its noise still holds:

    score = exp(-range_1 · (max(w·a, (1-w)·b) + RHO · (w·a + (1-w)·b))),   a, b from 0 (best) to 1 (worst)
"""

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from trimtab_trials.configuration import Configuration
from trimtab_trials.trial import Trial

from trimtab_tuner.certainty.standing import standings
from trimtab_tuner.frozen import Frozen

RHO = 0.05  # Knowles' own
LEAST = 1e-9  # stands for a figure of 0, which has no logarithm

Place = Literal["best-first", "best-second", "knee", "between"]


class Point(Frozen):
    """A configuration with its figures under both objectives."""

    configuration: Configuration
    first: float
    second: float


def front(points: Sequence[Point], *, minimised: bool) -> tuple[Point, ...]:
    """The points that no other beats in both, best first objective first.

    `minimised` says whether less is better in the second; more is always better in the first. Of points
    equal in both the first one stands for all.
    """
    kept: list[Point] = []
    for point in sorted(points, key=lambda p: (-p.first, p.second if minimised else -p.second)):
        if not kept or (point.second < kept[-1].second if minimised else point.second > kept[-1].second):
            kept.append(point)
    return tuple(kept)


def front_points(trials: Iterable[Trial]) -> dict[str, Point]:
    """The configurations of a run that never failed and have figures under both objectives, by their hash.

    A configuration counts with its means over the confirmation, or over the search where it has not been
    confirmed.
    """
    return {
        digest: Point(configuration=one.configuration, first=first, second=second)
        for digest, one in standings(trials).items()
        if not one.failed and (first := one.score) is not None and (second := one.second_score) is not None
    }


def places(members: Sequence[Point]) -> tuple[Place, ...]:
    """Where each member of a front lies on it; one alone is the best in the first."""
    found: list[Place] = ["between"] * len(members)
    if len(members) > 2:
        found[_knee(members)] = "knee"
    if members:
        found[-1] = "best-second"
        found[0] = "best-first"
    return tuple(found)


def worth_confirming(members: Sequence[Point]) -> tuple[Configuration, ...]:
    """The ends of a front and its knee."""
    named = zip(members, places(members), strict=True)
    return tuple(member.configuration for member, place in named if place != "between")


def steered(results: Sequence[Trial], *, minimised: bool, seed: int) -> list[Trial]:
    """The results with the score that the next proposal is to raise; see the module's docstring.

    A verified result without a figure of the second objective counts as the worst in it.
    """
    verified = [r for r in results if r.score is not None]
    weight = random.Random(f"{seed}/{len(results)}").random()  # noqa: S311 - a search's course, no secret
    first = _losses([r.score for r in verified], minimised=False)
    second = _losses([r.second_score for r in verified], minimised=minimised)
    scale = max(first, default=0.0) or max(second, default=0.0)
    scores = iter(
        math.exp(-scale * _chebyshev(weight * a, (1 - weight) * b))
        for a, b in zip(_normalised(first), _normalised(second), strict=True)
    )
    return [r if r.score is None else replace(r, score=next(scores)) for r in results]


def _chebyshev(a: float, b: float) -> float:
    return max(a, b) + RHO * (a + b)


def _losses(figures: Sequence[float | None], *, minimised: bool) -> list[float]:
    """How far each figure is from the best, as the logarithm of their ratio; the worst for None."""
    logs = [None if f is None else math.log(max(f, LEAST)) for f in figures]
    known = [value for value in logs if value is not None]
    best = (min if minimised else max)(known, default=0.0)
    losses = [None if value is None else abs(value - best) for value in logs]
    worst = max((loss for loss in losses if loss is not None), default=0.0)
    return [worst if loss is None else loss for loss in losses]


def _normalised(losses: Sequence[float]) -> list[float]:
    widest = max(losses, default=0.0)
    return [loss / widest if widest > 0 else 0.0 for loss in losses]


def _knee(members: Sequence[Point]) -> int:
    """The member between the ends that lies farthest from the line between them, towards better."""
    ends = members[0], members[-1]
    first_range, second_range = ends[0].first - ends[1].first, ends[1].second - ends[0].second

    def beyond(member: Point) -> float:
        # Both run from 0 at the worse end to 1 at the better one, whichever way is better.
        return (member.first - ends[1].first) / first_range + (member.second - ends[0].second) / second_range

    return max(range(1, len(members) - 1), key=lambda i: beyond(members[i]))
