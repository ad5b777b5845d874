"""The order of servers that was measured beside the order that the thesis states, pair by pair."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import combinations
from math import exp, log
from statistics import fmean

from trimtab_trials.configuration import Configuration

from trimtab_tuner.certainty.ranking import rank_blocks, told_apart
from trimtab_tuner.certainty.statistics import Gain, paired_gain
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.thesis.documents import Published
from trimtab_tuner.workloads.conditions import Memory

ALIKE = 0.05
"""Two servers that the thesis ranks alike are alike here when the interval of their difference lies within
this share. It is more than what runs of one binary differ by on a quiet machine."""


class Verdict(StrEnum):
    """What our measurements say of a statement of the documents."""

    AGREED = "agreed"
    DIFFERS = "differs"
    UNTOLD = "cannot be told"


class Found(Frozen):
    """What was measured of one server at one size: its tuned configuration, and the scores of its repeats.

    `configuration` is None where no trial passed verification; a repeat without a score is None.
    """

    server: str
    configuration: Configuration | None
    scores: tuple[float | None, ...]


class Placed(Frozen):
    """One server at its place: `rank` among ours and in the documents, score, and where it stands.

    `score_mbps` is the geometric mean of the repeats. `over_first` is the gain over the server that is first
    here (0 or less, as a rule), None for that one and for what has no score.
    """

    server: str
    configuration: Configuration | None
    rank: int | None
    score_mbps: float | None
    over_first: Gain | None
    repeats: int
    published_rank: int
    published_area: float


class Pair(Frozen):
    """Two servers that the documents compare: `upper` above `lower`, or alike (`tied`).

    `gain` is that of `upper` over `lower` here, None where no round has scores of both.
    """

    upper: str
    lower: str
    tied: bool
    gain: Gain | None
    verdict: Verdict


class SizeResult(Frozen):
    """One memory size: the servers in our order, those without a score last, and every pair."""

    memory: Memory
    machine: str
    table: str
    servers: tuple[Placed, ...]
    pairs: tuple[Pair, ...]

    def count(self, verdict: Verdict) -> int:
        """How many pairs have that verdict."""
        return sum(pair.verdict is verdict for pair in self.pairs)


def evaluate(memory: Memory, published: Published, found: Sequence[Found]) -> SizeResult:
    """What the repeats at one size say of the published order of the servers that were measured.

    Servers are told apart by Tukey's test over the rounds, as in the thesis.
    """
    rows = _aligned(found)
    ranks = {server: group.rank for group in rank_blocks(rows) for server in group.members}
    means = {name: exp(fmean(logs)) for name, row in rows.items() if (logs := [log(s) for s in row if s])}
    first = max(means, key=lambda name: means[name], default=None)
    servers = tuple(
        Placed(
            server=one.server,
            configuration=one.configuration,
            rank=ranks.get(one.server),
            score_mbps=means.get(one.server),
            over_first=None
            if first is None or one.server == first
            else paired_gain(rows[first], rows[one.server]),
            repeats=sum(bool(score) for score in one.scores),
            published_rank=published.rank(one.server),
            published_area=published.areas[one.server],
        )
        for one in sorted(found, key=lambda one: -means.get(one.server, 0.0))
    )
    apart = told_apart(rows)
    pairs = tuple(
        _pair(published, rows, apart, *sorted(both, key=lambda name: (published.rank(name), name)))
        for both in combinations(sorted(rows), 2)
    )
    return SizeResult(
        memory=memory, machine=published.machine, table=published.table, servers=servers, pairs=pairs
    )


def _aligned(found: Sequence[Found]) -> dict[str, tuple[float | None, ...]]:
    """The scores by server, all as long as the longest: a round that is still missing has no score."""
    rounds = max((len(one.scores) for one in found), default=0)
    return {one.server: (*one.scores, *[None] * (rounds - len(one.scores))) for one in found}


def _pair(
    published: Published,
    rows: Mapping[str, Sequence[float | None]],
    apart: frozenset[tuple[str, str]],
    upper: str,
    lower: str,
) -> Pair:
    tied = published.rank(upper) == published.rank(lower)
    gain = paired_gain(rows[lower], rows[upper])
    if (lower, upper) in apart or (tied and (upper, lower) in apart):
        verdict = Verdict.DIFFERS
    elif (upper, lower) in apart or (tied and gain is not None and _within(gain)):
        verdict = Verdict.AGREED
    else:
        verdict = Verdict.UNTOLD
    return Pair(upper=upper, lower=lower, tied=tied, gain=gain, verdict=verdict)


def _within(gain: Gain) -> bool:
    return gain.low is not None and gain.high is not None and gain.low >= -ALIKE and gain.high <= ALIKE
