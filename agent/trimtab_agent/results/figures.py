"""Figures of a run as SVG, for documents that stand alone: plain shapes, coloured by the document's style.

A figure is drawn in a box of `WIDTH` by `HEIGHT`; curves are told apart by colour and dash, and each has its
name in the legend above. Every text that goes in is escaped here.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 84, 16, 34, 40
TICKS = 5
BAR = 26
NAME_WIDTH = 150
VALUE_WIDTH = 130
CHARACTER_WIDTH = 6.6

Format = Callable[[float], str]


@dataclass(frozen=True)
class Line:
    """A curve by its points (x, y). `scattered`: the points alone."""

    name: str
    points: Sequence[tuple[float, float]]
    scattered: bool = False


@dataclass(frozen=True)
class Bar:
    """A value with its 95 % interval, where it has one; `own` is what the document is about."""

    name: str
    value: float
    low: float | None
    high: float | None
    own: bool = False


@dataclass(frozen=True)
class Axis:
    """What an axis shows, from `low` to `high`, on a logarithmic scale or an even one."""

    name: str
    text: Format
    low: float
    high: float
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """How far along the axis a value lies, 0 to 1."""
        low, high, at = (self._scaled(v) for v in (self.low, self.high, value))
        return (at - low) / (high - low) if high > low else 0.5

    def ticks(self) -> list[float]:
        """Where the axis is labelled: powers of ten, or round steps."""
        if self.logarithmic:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            return [10.0**power for power in range(first, last + 1)]
        span = self.high - self.low
        if span <= 0:
            return [self.low]
        size = 10 ** math.floor(math.log10(span / TICKS))
        step = next(size * times for times in (1, 2, 5, 10) if span / (size * times) <= TICKS)
        first = math.ceil(self.low / step)
        return [step * number for number in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self.logarithmic else value


def curves(
    title: str,
    lines: Sequence[Line],
    x: tuple[str, Format],
    y: tuple[str, Format],
    *,
    logarithmic: bool = False,
) -> str:
    """A chart of curves, each axis by its name and format; empty where there is no point.

    `logarithmic`: the y axis, without the values that are not above 0.
    """
    drawn = [
        Line(line.name, [(px, py) for px, py in line.points if py > 0 or not logarithmic], line.scattered)
        for line in lines
    ]
    points = [point for line in drawn for point in line.points]
    if not points:
        return ""
    xs, ys = [px for px, _ in points], [py for _, py in points]
    across = Axis(*x, min(0.0, *xs), max(xs))
    lowest = 10 ** math.floor(math.log10(min(ys))) if logarithmic else 0.0
    highest = 10 ** math.ceil(math.log10(max(ys))) if logarithmic else 1.05 * max(ys)
    up = Axis(*y, lowest, max(highest, 10 * lowest) if logarithmic else highest, logarithmic)
    parts = [*_grid(across, up), *_legend(drawn)]
    for index, line in enumerate(drawn):
        places = [(_x(across, px), _y(up, py)) for px, py in line.points]
        if not line.scattered:
            path = " ".join(f"{px:.1f},{py:.1f}" for px, py in places)
            parts.append(f'<polyline class="line s{index}" points="{path}"/>')
        parts += [f'<circle class="point s{index}" cx="{px:.1f}" cy="{py:.1f}" r="3"/>' for px, py in places]
    return _svg(title, HEIGHT, parts)


def bars(title: str, values: Sequence[Bar], text: Format) -> str:
    """Named values from zero, each with its interval as a whisker; empty without values."""
    if not values:
        return ""
    most = max(max(bar.value, bar.high or 0.0) for bar in values) or 1.0
    room = WIDTH - NAME_WIDTH - VALUE_WIDTH
    parts = []
    for row, bar in enumerate(values):
        top = row * (BAR + 10) + 6
        middle = top + BAR / 2
        parts.append(f'<text x="{NAME_WIDTH - 8}" y="{middle + 4:.1f}" class="end">{escape(bar.name)}</text>')
        kind = "own" if bar.own else "other"
        parts.append(
            f'<rect class="{kind}" x="{NAME_WIDTH}" y="{top}" width="{room * bar.value / most:.1f}" '
            f'height="{BAR}"/>'
        )
        end = bar.value
        if bar.low is not None and bar.high is not None:
            low, high = (NAME_WIDTH + room * bound / most for bound in (bar.low, bar.high))
            parts.append(
                f'<path class="whisker" d="M{low:.1f} {middle - 5:.1f}v10m0 -5H{high:.1f}m0 -5v10"/>'
            )
            end = bar.high
        at = NAME_WIDTH + room * max(end, bar.value) / most + 8
        parts.append(f'<text x="{at:.1f}" y="{middle + 4:.1f}">{escape(text(bar.value))}</text>')
    return _svg(title, len(values) * (BAR + 10) + 6, parts)


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )


def _x(axis: Axis, value: float) -> float:
    return LEFT + axis.share(value) * (WIDTH - LEFT - RIGHT)


def _y(axis: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - axis.share(value) * (HEIGHT - TOP - BOTTOM)


def _grid(across: Axis, up: Axis) -> Iterator[str]:
    """Both axes with their labels, and the lines of the grid."""
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    for value in up.ticks():
        at = _y(up, value)
        yield f'<path class="grid" d="M{LEFT} {at:.1f}H{right}"/>'
        yield f'<text class="end tick" x="{LEFT - 6}" y="{at + 4:.1f}">{escape(up.text(value))}</text>'
    for value in across.ticks():
        at = _x(across, value)
        yield f'<path class="grid" d="M{at:.1f} {TOP}V{bottom}"/>'
        yield f'<text class="middle tick" x="{at:.1f}" y="{bottom + 16}">{escape(across.text(value))}</text>'
    middle = (LEFT + right) / 2
    yield f'<text class="middle tick" x="{middle:.0f}" y="{HEIGHT - 6}">{escape(across.name)}</text>'


def _legend(lines: Sequence[Line]) -> Iterator[str]:
    at = float(LEFT)
    for index, line in enumerate(lines):
        if line.scattered:
            yield f'<circle class="point s{index}" cx="{at + 11:.1f}" cy="12" r="3"/>'
        else:
            yield f'<path class="line s{index}" d="M{at:.1f} 12h22"/>'
        yield f'<text x="{at + 28:.1f}" y="16">{escape(line.name)}</text>'
        at += 28 + CHARACTER_WIDTH * len(line.name) + 20


STANDALONE_STYLE = """
svg { font: 12px system-ui, sans-serif; background: #fff; }
text { fill: #16222b; } .tick { fill: #51606b; } .end { text-anchor: end; } .middle { text-anchor: middle; }
.grid { stroke: #dbe2e7; } .whisker { fill: none; stroke: #16222b; stroke-width: 1.5; }
.own { fill: #14708f; } .other { fill: #51606b; opacity: .55; }
"""


def standalone(svg: str) -> str:
    """A figure of bars as a file of its own, with colours that need no document."""
    start = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return start.replace("<title>", f"<style>{STANDALONE_STYLE}</style><title>", 1) + "\n"
