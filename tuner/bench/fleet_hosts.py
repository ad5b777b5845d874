"""Which rule finds a configuration that holds on other hosts, in the fewest host-minutes; simulated hosts.

Every rule tunes the same generated problems (generated.py, held-out seeds) on the same eight hosts with the
same strategy, and is judged by twenty hosts that it has never seen. Hosts differ in speed by 5 to 15 %. Of
the configurations one in five is unstable: on two hosts of five it loses a third to two thirds. Every trial
takes a minute of its host.

    ours         trimtab_tuner/fleet/allocation.py
    TUNA's rule  1 -> 3 -> all hosts, a third of each stage goes on; the worst score counts, half of it where
                 scores differ by 30 % of their mean; no default in between (Freischuetz and others, 2025)
    every host   each configuration on all hosts, by its mean
    one host     everything on one host

SEEDS in the environment sets how many problems (200).
"""

import math
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.trial import Trial, Verdict
from trimtab_tuner.fleet.allocation import Allocation, Tried
from trimtab_tuner.strategies import DEFAULT_STRATEGY, make_strategy
from trimtab_tuner.strategies.base import Strategy

sys.path.insert(0, str(Path(__file__).resolve().parent))
from generated import FAMILIES, Problem, problem

SEEDS = int(os.environ.get("SEEDS", "200"))
FIRST_SEED = int(os.environ.get("FIRST_SEED", "1000"))  # held out
HOSTS, NEW_HOSTS = 8, 20
MINUTES = 800  # of hosts, all together
NOISE = 0.05
UNSTABLE_SHARE, BAD_HOST_SHARE, LOSS = 0.2, 0.4, (0.35, 0.65)
INTERACTION = 0.02
WITHIN = 0.05
LOST = 0.30
RULES = ("ours", "tuna", "every", "one")


@dataclass
class World:
    """A problem on hosts; what a configuration does on a host is drawn once, from both their names."""

    problem: Problem
    seed: int
    levels: list[float] = field(init=False)
    spread: float = field(init=False)

    def __post_init__(self) -> None:
        generator = np.random.default_rng([self.seed, 1])
        self.spread = float(generator.uniform(0.05, 0.15))
        self.levels = list(np.exp(generator.normal(0, self.spread, HOSTS + NEW_HOSTS)))
        self._noise = np.random.default_rng([self.seed, 2])

    def value(self, configuration: Configuration) -> float:
        """On a host of speed 1, all being well."""
        return self.problem.value(self.problem.positions(configuration))

    def on_host(self, configuration: Configuration, host: int) -> float:
        """As a multiple of what the best does on a host of speed 1; without the host's level."""
        digest = int(configuration_hash(configuration)[:12], 16)
        drawn = np.random.default_rng([self.seed, 4, digest, host])
        factor = math.exp(drawn.normal(0, INTERACTION))
        if self.unstable(configuration) and drawn.random() < BAD_HOST_SHARE:
            factor *= 1 - drawn.uniform(*LOSS)
        return self.value(configuration) * factor

    def measured(self, configuration: Configuration, host: int) -> float | None:
        """One trial there; None where it fails."""
        if self._noise.random() < self.problem.failing(configuration, NOISE):
            return None
        error = math.exp(self._noise.normal(0, NOISE))
        return 1000 * self.levels[host] * self.on_host(configuration, host) * error

    def over_hosts(self, configuration: Configuration) -> float:
        """The mean over all hosts there might be, those that it loses on among them."""
        loses = BAD_HOST_SHARE * statistics.fmean(LOSS) if self.unstable(configuration) else 0.0
        return self.value(configuration) * math.exp(INTERACTION**2 / 2) * (1 - loses)

    def unstable(self, configuration: Configuration) -> bool:
        """Whether there are hosts that it loses on; never the default."""
        if configuration == self.problem.space.default():
            return False
        digest = int(configuration_hash(configuration)[:12], 16)
        return np.random.default_rng([self.seed, 3, digest]).random() < UNSTABLE_SHARE


@dataclass
class Search:
    """What a rule has come to: configurations by hash, and the pick after so many minutes."""

    known: dict[str, Configuration] = field(default_factory=dict)
    picks: list[tuple[int, str]] = field(default_factory=list)

    def remember(self, configuration: Configuration) -> str:
        """Its hash."""
        digest = configuration_hash(configuration)
        self.known[digest] = configuration
        return digest


def strategy_for(world: World) -> Strategy:
    """The same for every rule."""
    return make_strategy(
        DEFAULT_STRATEGY, world.problem.space, seed=world.seed, budget_trials=4 * MINUTES, noise=NOISE
    )


def told(search: Search, scores: dict[str, float | None]) -> list[Trial]:
    """What a strategy is told: one result for each configuration."""
    return [
        Trial(
            configuration=search.known[digest],
            verdict=Verdict.VERIFIED if score else Verdict.FAILED_VERIFICATION,
            score=score or None,
        )
        for digest, score in scores.items()
    ]


def ours(world: World) -> Search:
    """Our rule; all hosts ask at once, and are answered at the end of the minute."""
    search, strategy = Search(), strategy_for(world)
    default = search.remember(world.problem.space.default())
    hosts = [str(number) for number in range(HOSTS)]
    tried: list[Tried] = []
    recommended: str | None = None
    strategy.ask()  # the default, which every host measures first
    for minute in range(MINUTES // HOSTS):
        flight: list[tuple[str, str]] = []
        tasks = []
        for host in hosts:
            task = Allocation(hosts, default, tried, flight, recommended=recommended).next_task(host)
            digest = task.configuration
            if task.kind == "new":
                proposal = strategy.ask()
                if proposal is None:
                    continue
                digest = search.remember(proposal.configuration)
            flight.append((host, digest))
            tasks.append((host, digest, task.block))
        for host, digest, block in tasks:
            score = world.measured(search.known[digest], int(host))
            tried.append(Tried(digest, host, block, score))
        allocation = Allocation(hosts, default, tried)
        strategy.revise(of_each_host(search, allocation, tried, default))
        best = strategy.best()
        recommended = (
            None
            if best is None
            else configuration_hash({**world.problem.space.default(), **best.configuration})
        )
        search.picks.append(((minute + 1) * HOSTS, allocation.best() or default))
    return search


def of_each_host(search: Search, allocation: Allocation, tried: Sequence[Tried], default: str) -> list[Trial]:
    """What the strategy is told: what each host says of each configuration, without the host's level."""
    told = [
        Trial(configuration=search.known[digest], verdict=Verdict.FAILED_VERIFICATION, score=None)
        for digest in {each.configuration for each in tried if each.score is None}
    ]
    told.append(Trial(configuration=search.known[default], verdict=Verdict.VERIFIED, score=1000.0))
    for digest, effect in allocation.standing().items():
        told += [
            Trial(
                configuration=search.known[digest], verdict=Verdict.VERIFIED, score=1000 * math.exp(log_ratio)
            )
            for log_ratio in effect.by_host.values()
        ]
    return told


def tuna(world: World) -> Search:
    """TUNA's rule, as its paper describes it; hosts measure what is due on them, in the order it came."""
    search, strategy = Search(), strategy_for(world)
    scores: dict[str, dict[int, float]] = {}
    failed: set[str] = set()
    stages = (1, 3, HOSTS)
    order: list[str] = []

    def value(digest: str) -> float:
        seen = list(scores[digest].values())
        unstable = len(seen) > 1 and (max(seen) - min(seen)) / statistics.fmean(seen) >= 0.30
        return min(seen) * (0.5 if unstable else 1.0)

    def wanted(host: int, flight: Sequence[tuple[int, str]]) -> str | None:
        for stage, target in zip(reversed(stages[:-1]), reversed(stages[1:]), strict=True):
            come = [d for d in order if d not in failed and len(scores[d]) >= stage]
            come.sort(key=lambda d: -value(d))
            for digest in come[: len(come) // 3]:
                waiting = sum(d == digest for _, d in flight)
                if host not in scores[digest] and len(scores[digest]) + waiting < target:
                    return digest
        return None

    for minute in range(MINUTES // HOSTS):
        flight: list[tuple[int, str]] = []
        for host in range(HOSTS):
            digest = wanted(host, flight)
            if digest is None:
                proposal = strategy.ask()
                if proposal is None:
                    continue
                digest = search.remember(proposal.configuration)
            flight.append((host, digest))
        for host, digest in flight:
            if digest not in scores:
                scores[digest] = {}
                order.append(digest)
            score = world.measured(search.known[digest], host)
            if score is None:
                failed.add(digest)
            else:
                scores[digest][host] = score
        strategy.revise(
            told(search, {d: None if d in failed else value(d) for d in order if scores[d] or d in failed})
        )
        full = [d for d in order if d not in failed and len(scores[d]) == HOSTS]
        some = full or [d for d in order if d not in failed and scores[d]]
        best = max(some, key=value)
        search.picks.append(((minute + 1) * HOSTS, best))
    return search


def every(world: World) -> Search:
    """Each configuration on all hosts at once."""
    search, strategy = Search(), strategy_for(world)
    means: dict[str, float | None] = {}
    for minute in range(MINUTES // HOSTS):
        proposal = strategy.ask()
        if proposal is None:
            break
        digest = search.remember(proposal.configuration)
        seen = [world.measured(proposal.configuration, host) for host in range(HOSTS)]
        good = [score for score in seen if score is not None]
        means[digest] = statistics.fmean(good) if len(good) == HOSTS else None
        strategy.revise(told(search, means))
        verified = {d: mean for d, mean in means.items() if mean is not None}
        best = max(
            verified, key=lambda d: verified[d], default=search.remember(world.problem.space.default())
        )
        search.picks.append(((minute + 1) * HOSTS, best))
    return search


def one(world: World) -> Search:
    """Everything on the first host."""
    search, strategy = Search(), strategy_for(world)
    scores: dict[str, float | None] = {}
    for minute in range(MINUTES):
        proposal = strategy.ask()
        if proposal is None:
            break
        digest = search.remember(proposal.configuration)
        scores[digest] = world.measured(proposal.configuration, 0)
        strategy.revise(told(search, scores))
        verified = {d: score for d, score in scores.items() if score is not None}
        best = max(
            verified, key=lambda d: verified[d], default=search.remember(world.problem.space.default())
        )
        search.picks.append((minute + 1, best))
    return search


@dataclass(frozen=True)
class Result:
    """Of one rule on one problem: minutes until its pick is and stays near the best, what the pick does."""

    minutes: float
    pick: float
    worst: float
    lost_pairs: float


RULE: dict[str, Callable[[World], Search]] = {"ours": ours, "tuna": tuna, "every": every, "one": one}


def run(seed: int, rule: str) -> Result:
    """One rule on one problem."""
    names = sorted(FAMILIES)
    world = World(problem(names[seed % len(names)], seed), seed)
    search = RULE[rule](world)
    good = {
        digest: world.over_hosts(search.known[digest]) >= 1 - WITHIN
        for digest in {digest for _, digest in search.picks}
    }
    since: float = MINUTES
    for minutes, digest in reversed(search.picks):
        if not good[digest]:
            break
        since = minutes
    _, digest = search.picks[-1]
    configuration = search.known[digest]
    fair = world.value(configuration)
    on_new = [world.on_host(configuration, host) / fair for host in range(HOSTS, HOSTS + NEW_HOSTS)]
    return Result(
        minutes=since,
        pick=world.over_hosts(configuration),
        worst=min(on_new),
        lost_pairs=statistics.fmean(share <= 1 - LOST for share in on_new),
    )


def main() -> None:
    """Prints the page's beginning and its first section."""
    seeds = range(FIRST_SEED, FIRST_SEED + SEEDS)
    print("# A fleet in figures\n")
    print("Written by `make bench-fleet`.\n")
    print("## Which trial on which host\n")
    print(
        f"Simulated (`tuner/bench/fleet_hosts.py`): {SEEDS} generated problems, {MINUTES} minutes of {HOSTS} "
        f"hosts together, a minute a trial; what is picked at last is judged by {NEW_HOSTS} hosts that no "
        "rule has seen.\n",
        flush=True,
    )
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = {rule: list(pool.map(partial(run, rule=rule), seeds, chunksize=2)) for rule in RULES}
    print(
        "| rule | host-minutes to within 5 %, mean | median | never | picks that lose >= 30 % on new hosts "
        "| picks that do on any of 20 | pick, share of the best |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for rule, done in results.items():
        minutes = [each.minutes for each in done]
        print(
            f"| {rule} | {statistics.fmean(minutes):.0f} | {statistics.median(minutes):.0f} "
            f"| {statistics.fmean(m >= MINUTES for m in minutes):.0%} "
            f"| {statistics.fmean(each.lost_pairs for each in done):.1%} "
            f"| {statistics.fmean(each.worst <= 1 - LOST for each in done):.1%} "
            f"| {statistics.fmean(each.pick for each in done):.3f} |"
        )
    ours_minutes = np.array([each.minutes for each in results["ours"]])
    for rule in RULES[1:]:
        theirs = np.array([each.minutes for each in results[rule]])
        print(
            f"\nours / {rule}: ratio of the sums {ours_minutes.sum() / theirs.sum():.2f}, "
            f"median of the ratios {np.median(ours_minutes / theirs):.2f}"
        )


if __name__ == "__main__":
    main()
