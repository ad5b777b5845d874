"""How the thesis' comparison is carried out on this machine: sizes, servers, rungs, trials and repeats.

For each memory size one climb of a reference server finds a capacity. Shares of it are the ladder on which
all servers of that size are measured, so that their scores compare. Each server is then tuned in a run of its
own, and the configurations that were found are repeated in turn, a round at a time, in the manner of the
thesis, which ran each of its best three times. The rounds are the blocks of the comparison: drift of the
machine hits all servers of a round alike.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from trimtab_trials.configuration import Configuration

from trimtab_tuner.thesis.documents import PUBLISHED, SERVERS
from trimtab_tuner.workloads.conditions import Memory

REFERENCE: Configuration = {
    "architecture": "symped",
    "sendfile": "nonblocking",
    "workers": 4,
    "max_connections": 10_000,
}
"""The server whose capacity makes a size's ladder; a few processes, so that one may wait for the disk."""


@dataclass(frozen=True)
class StudyPlan:
    """One form of the study. `shares` of the reference's capacity are the rungs of the ladder.

    `settings` go to every run, `workers` and `connections` are the ranges that are searched. Each server is
    tuned with `budget_trials` at each of the `sizes`; what is found there is measured `repeats` times.
    """

    name: str
    sizes: tuple[Memory, ...]
    servers: tuple[str, ...]
    shares: tuple[float, ...]
    settings: Mapping[str, object]
    workers: tuple[int, int]
    connections: tuple[int, int]
    budget_trials: int
    repeats: int
    reference: Configuration = field(default_factory=lambda: dict(REFERENCE))
    seed: int = 1

    def ladder(self, capacity_rps: float) -> tuple[float, ...]:
        """The rates of a size at which the reference follows so many requests per second."""
        return tuple(float(max(1, round(share * capacity_rps))) for share in self.shares)

    def order(self, memory: Memory, round_: int) -> tuple[str, ...]:
        """The servers in the order of that round, 0 for the tuning; the same each time it is asked for."""
        drawn = random.Random(f"{self.seed} {memory} {round_}")  # noqa: S311 - an order, no secret
        return tuple(drawn.sample(self.servers, len(self.servers)))


SHORT = StudyPlan(
    name="short",
    sizes=("in-memory", "moderate-io", "heavy-io"),
    servers=("symped-nb", "symped-b", "sharedsymped-nb", "sharedsymped-b", "watpipe-nb", "watpipe-b"),
    shares=(0.4, 0.7, 1.0, 1.3, 1.7),
    settings={
        "directories": 100,
        "time_scale": 0.1,
        "timeout_s": 1.0,
        "calibration_step_s": 2.0,
        "rate_duration_s": 1.5,
        "warmup_s": 0.4,
        "gap_s": 0.0,
    },
    workers=(1, 128),
    connections=(256, 16_384),
    budget_trials=8,
    repeats=4,
)
"""About an hour: the servers of two families and the pipeline, without Knot."""

FULL = StudyPlan(
    name="full",
    sizes=tuple(PUBLISHED),
    servers=tuple(SERVERS),
    shares=(0.4, 0.55, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0),
    settings={
        "directories": 650,
        "time_scale": 0.2,
        "timeout_s": 2.0,
        "calibration_step_s": 8.0,
        "rate_duration_s": 30.0,
        "warmup_s": 8.0,
        "gap_s": 1.0,
    },
    workers=(1, 200),
    connections=(1_000, 18_000),
    budget_trials=24,
    repeats=5,
)
"""Days: all nine servers on the thesis' own file set, with as many rates as its fine grid."""
