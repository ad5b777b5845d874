"""How the tuned values lie to each other, here and in the thesis' tuning tables: in shapes, not in numbers.

Neither the best number of processes nor that of connections carries over from one machine to another. What
can be compared is whether a value grows or shrinks when memory does, or between the two ways of sending. A
tuned value is therefore a range: all values of configurations that score nearly as well as the best. Only
where the thesis' two ranges lie apart does it say anything, and only where ours do can it be told.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from trimtab_trials.configuration import Configuration

from trimtab_tuner.frozen import Frozen
from trimtab_tuner.replay.surfaces import thesis_surfaces
from trimtab_tuner.roles import Role
from trimtab_tuner.thesis.documents import PUBLISHED
from trimtab_tuner.thesis.evaluation import Verdict
from trimtab_tuner.workloads.conditions import Memory

NEAR_PUBLISHED = 0.02  # the thesis measured 102 configurations twice: they differ by 0.5 % on average
NEAR_HERE = 0.05  # a trial of seconds is that much less certain
FEWEST = 3  # verified configurations without which a range says nothing

KNOBS = {"workers": Role.WORKERS, "max_connections": Role.CONNECTIONS}
"""What the tables tune, by the core target's names."""

Scored = tuple[Configuration, float]
Cell = tuple[Memory, str]
"""A memory size and a server."""


class Span(Frozen):
    """The values of a knob with which a configuration came near the best, and of the best itself."""

    low: int
    best: int
    high: int

    def beside(self, other: "Span") -> int:
        """1 if it lies above the other, -1 if below, 0 if they overlap."""
        return (self.low > other.high) - (self.high < other.low)


class Shape(Frozen):
    """One comparison of tuned values: `knob` from `one` to `other` goes up (1) or down (-1) in the thesis.

    `here` is the same of our measurements; 0 where the ranges overlap, or one of them is not known.
    """

    knob: str
    one: str
    other: str
    published: int
    published_spans: tuple[Span, Span]
    spans: tuple[Span | None, Span | None]
    here: int
    verdict: Verdict


def near_best(scored: Sequence[Scored], knob: str, share: float) -> Span | None:
    """The range of a knob's values within `share` of the best score; None with fewer than `FEWEST` scores."""
    if len(scored) < FEWEST:
        return None
    best, score = max(scored, key=lambda each: each[1])
    near = [int(configuration[knob]) for configuration, s in scored if s >= (1 - share) * score]
    return Span(low=min(near), best=int(best[knob]), high=max(near))


def published_spans() -> dict[Cell, dict[str, Span]]:
    """The tuned ranges of the thesis' tables, by size, server and knob."""
    by_name = {surface.name: surface for surface in thesis_surfaces()}
    spans: dict[Cell, dict[str, Span]] = {}
    for memory, published in PUBLISHED.items():
        for server in published.areas:
            surface = by_name[f"{server}-{published.machine.replace(' ', '')}"]
            scored = [(c, s) for c in surface.space.configurations if (s := surface.score(c)) is not None]
            spans[memory, server] = {
                knob: span
                for knob, role in KNOBS.items()
                if (axis := surface.space.of_role(role)) is not None
                and (span := near_best(scored, axis.name, NEAR_PUBLISHED)) is not None
            }
    return spans


def compare_shapes(
    sizes: Sequence[Memory], servers: Iterable[str], tried: Mapping[Cell, Sequence[Scored]]
) -> tuple[Shape, ...]:
    """Every shape that the thesis' tables show for these sizes and servers, with what `tried` says of it."""
    published = published_spans()
    shapes = []
    for one, other in _compared(sizes, tuple(servers)):
        for knob in KNOBS:
            spans = published[one][knob], published[other][knob]
            if not (direction := spans[1].beside(spans[0])):
                continue
            ours = tuple(near_best(tried.get(cell, ()), knob, NEAR_HERE) for cell in (one, other))
            here = 0 if ours[0] is None or ours[1] is None else ours[1].beside(ours[0])
            verdict = {direction: Verdict.AGREED, -direction: Verdict.DIFFERS}.get(here, Verdict.UNTOLD)
            shapes.append(
                Shape(
                    knob=knob,
                    one=_named(one),
                    other=_named(other),
                    published=direction,
                    published_spans=spans,
                    spans=(ours[0], ours[1]),
                    here=here,
                    verdict=verdict,
                )
            )
    return tuple(shapes)


def _compared(sizes: Sequence[Memory], servers: Sequence[str]) -> Iterator[tuple[Cell, Cell]]:
    """The cells that are compared: one server from size to size, and at one size -nb with -b."""
    for server in servers:
        for one, other in pairwise(sizes):
            yield (one, server), (other, server)
    for memory in sizes:
        for server in servers:
            blocking = f"{server.removesuffix('-nb')}-b"
            if server.endswith("-nb") and blocking in servers:
                yield (memory, server), (memory, blocking)


def _named(cell: Cell) -> str:
    return f"{cell[1]}, {cell[0]}"
