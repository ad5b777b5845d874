"""The thesis' comparison as a document: our order of servers beside the published one, and the tuned values.

`thesis_markdown` writes it as Markdown, `figures` draws a figure for each size. Every number of ours comes
from the runs that are named at the end.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from trimtab_trials.configuration import Configuration
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.markdown import markdown_table
from trimtab_tuner.thesis.costs import Costs, cheaper_is_faster
from trimtab_tuner.thesis.evaluation import ALIKE, Pair, Placed, SizeResult, Verdict
from trimtab_tuner.thesis.shapes import NEAR_HERE, NEAR_PUBLISHED, Shape, Span
from trimtab_tuner.wording import counted, in_digits, in_percent
from trimtab_tuner.workloads.conditions import Memory

from trimtab_agent.results.figures import Bar, bars, standalone

UNKNOWN = "–"
DIRECTIONS = {1: "up", -1: "down", 0: "overlap"}

INTRODUCTION = (
    "A. Harji's thesis (Waterloo 2010) tuned nine web servers at three memory sizes on one CPU and ranked "
    "them. Here trimtab-httpd takes the part of each, with a memory limit that leaves the same share of the "
    "files in the page cache. `trimtab study thesis --{form}` made this page."
)
HOW_PAIRS_ARE_JUDGED = (
    "A pair of servers is *agreed* when Tukey's test over the rounds (5 %) puts the two in the published "
    "order, it *differs* when the test puts them in the other order, and otherwise it *cannot be told*. Two "
    "that the thesis ranks alike are agreed when the 95 % interval of their difference lies within "
    f"{in_percent(ALIKE)}, and differ when the test tells them apart."
)


class StudyResult(Frozen):
    """What a study has found. `runs` are the numbers of its runs by what they measure, `costs` what replies
    took at each size.

    `steps_left` is how many steps of the plan have not been taken, 0 for a study that is complete.
    """

    form: str
    machine: str
    layout: str
    steps_left: int
    sizes: tuple[SizeResult, ...]
    costs: Mapping[Memory, tuple[Costs, ...]]
    shapes: tuple[Shape, ...]
    runs: Mapping[str, int]


def figures(result: StudyResult) -> dict[str, str]:
    """An SVG for each size that has a score, by the end of its file's name."""
    drawn = {
        size.memory: bars(f"{size.memory}: servers here and in the thesis", list(_bars(size)), in_percent)
        for size in result.sizes
        if any(one.score_mbps for one in size.servers)
    }
    return {f"{memory}.svg": standalone(svg) for memory, svg in drawn.items()}


def thesis_markdown(result: StudyResult, images: Mapping[str, str]) -> str:
    """The page; `images` names the file of each figure, by its key in `figures`."""
    parts = [
        "# The thesis' comparison of architectures, measured here",
        INTRODUCTION.format(form=result.form),
        f"Machine: {result.machine}. CPUs: {result.layout or UNKNOWN}.",
    ]
    if result.steps_left:
        parts.append(f"**Not complete:** {counted(result.steps_left, 'step')} of the plan not taken.")
    parts.append(HOW_PAIRS_ARE_JUDGED)
    for size in result.sizes:
        parts += _size(size, images.get(f"{size.memory}.svg"))
        parts += _costs(result.costs[size.memory], [one.server for one in size.servers])
    parts += _shapes(result.shapes)
    listed = ", ".join(f"{name}: {number}" for name, number in sorted(result.runs.items()))
    parts += ["## Runs", f"`trimtab show ID` tells all of a run. {listed or 'None yet'}."]
    return "\n\n".join(parts) + "\n"


def _bars(size: SizeResult) -> Iterator[Bar]:
    """Of each server ours and the thesis', as shares of the best of each."""
    best = max(one.published_area for one in size.servers)
    for one in size.servers:
        over = one.over_first
        if one.score_mbps is not None:
            value = 1.0 if over is None else 1 + over.gain
            known = (
                over is not None and over.low is not None and over.high is not None and not over.says_nothing
            )
            low, high = (1 + over.low, 1 + over.high) if known else (None, None)  # type: ignore[union-attr, operator]
            yield Bar(one.server, value, low, high, own=True)
        yield Bar("in the thesis", one.published_area / best, None, None)


def _size(size: SizeResult, image: str | None) -> Iterator[str]:
    yield f"## {size.memory} (in the thesis {size.machine}, table {size.table})"
    if image is not None:
        yield f"![Servers here and in the thesis, as shares of the best of each]({image})"
    heads = (
        "rank",
        "server",
        "score, Mbps",
        "beside the first",
        "workers",
        "connections",
        "thesis rank",
        "area",
    )
    yield markdown_table(heads, [_placed(one) for one in size.servers], right=(0, 2, 4, 5, 6, 7))
    yield f"Of {counted(len(size.pairs), 'pair')}: {_counts(pair.verdict for pair in size.pairs)}."
    yield markdown_table(("the thesis says", "here", "verdict"), [_pair(pair) for pair in size.pairs])


def _placed(one: Placed) -> tuple[str, ...]:
    if one.score_mbps is None:
        beside = "no verified repeat"
    else:
        beside = "first" if one.over_first is None else str(one.over_first)
    return (
        UNKNOWN if one.rank is None else str(one.rank),
        one.server,
        in_digits(one.score_mbps) or UNKNOWN,
        beside,
        _value(one.configuration, "workers"),
        _value(one.configuration, "max_connections"),
        str(one.published_rank),
        f"{one.published_area:.2f}",
    )


def _value(configuration: Configuration | None, knob: str) -> str:
    return UNKNOWN if configuration is None else f"{int(configuration[knob]):,}"


def _pair(pair: Pair) -> tuple[str, str, str]:
    said = f"{pair.upper} {'=' if pair.tied else '>'} {pair.lower}"
    return said, UNKNOWN if pair.gain is None else str(pair.gain), pair.verdict.value


def _costs(costs: Sequence[Costs], order: Sequence[str]) -> Iterator[str]:
    if not costs:
        return
    cheaper, pairs = cheaper_is_faster(costs, order)
    yield (
        "What the counters say, for each reply, at the rates that were followed. In "
        f"{cheaper} of {counted(pairs, 'pair')} the server with the higher score takes less CPU time."
    )
    heads = ("server", "CPU time, µs", "in the kernel", "switches", "calls for events", "files cached, MB")
    by_name = {each.server: each for each in costs}
    rows = [_cost(by_name[server]) for server in order if server in by_name]
    yield markdown_table(heads, rows, right=range(1, len(heads)))


def _cost(costs: Costs) -> tuple[str, ...]:
    cached_mb = None if costs.cached_bytes is None else costs.cached_bytes / 1e6
    return (
        costs.server,
        in_digits(costs.cpu_us),
        UNKNOWN if costs.kernel_share is None else in_percent(costs.kernel_share),
        in_digits(costs.switches) or UNKNOWN,
        in_digits(costs.event_calls) or UNKNOWN,
        in_digits(cached_mb) or UNKNOWN,
    )


def _shapes(shapes: tuple[Shape, ...]) -> Iterator[str]:
    yield "## Tuned values"
    yield (
        "Compared are directions, not numbers: whether a tuned value goes up or down from one case to the "
        f"other. A range holds the values of all configurations within {in_percent(NEAR_PUBLISHED)} of the "
        f"best in the thesis' tables, within {in_percent(NEAR_HERE)} here, with the best in brackets. Listed "
        "is every comparison for which the thesis' ranges lie apart; ours must lie apart to tell."
    )
    yield f"Of {counted(len(shapes), 'comparison')}: {_counts(shape.verdict for shape in shapes)}."
    if shapes:
        heads = ("knob", "from", "to", "in the thesis", "here", "verdict")
        yield markdown_table(heads, [_shape(shape) for shape in shapes])


def _shape(shape: Shape) -> tuple[str, ...]:
    one, other = shape.published_spans
    said = f"{DIRECTIONS[shape.published]}: {_span(one)} → {_span(other)}"
    here = UNKNOWN
    if None not in shape.spans:
        here = f"{DIRECTIONS[shape.here]}: {' → '.join(map(_span, shape.spans))}"
    return shape.knob, shape.one, shape.other, said, here, shape.verdict.value


def _span(span: Span | None) -> str:
    return UNKNOWN if span is None else f"{span.low:,}–{span.high:,} ({span.best:,})"


def _counts(verdicts: Iterable[Verdict]) -> str:
    found = Counter(verdicts)
    return ", ".join(f"{found[verdict]} {verdict.value}" for verdict in Verdict)
