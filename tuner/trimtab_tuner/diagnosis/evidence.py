"""What the rules of diagnosis look at: a trial's measurements with everything that was counted meanwhile.

`counters` are the averages over one rate as the agent's counters name them (`cpu.total.iowait` is reached as
`rate.counter("cpu", "total", "iowait")`), in percent of one CPU's time, or of all CPUs' in totals.
`server` are what the server itself counted during the rate. Anything may be missing: a rule whose evidence is
not there stays silent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trimtab_tuner.records import Configuration, SizeClassCounts, Verdict
from trimtab_tuner.space import Space
from trimtab_tuner.workloads.clients import Clients

OPEN_LOOP = Clients()
KEPT_UP = 0.95


@dataclass(frozen=True, kw_only=True)
class RateEvidence:
    """One rate of a trial. `timed_out_before_read` and the like count requests, `duration_s` is the
    window.
    """

    rate_rps: float
    duration_s: float
    goodput_mbps: float
    reply_rate_rps: float
    asked: int
    timed_out_before_read: int
    timed_out_after_read: int
    generator_limited: bool = False
    generator_cpu: float | None = None
    size_classes: tuple[SizeClassCounts, ...] = ()
    counters: Mapping[str, Any] = field(default_factory=dict)
    server: Mapping[str, float] = field(default_factory=dict)

    def counter(self, *path: str) -> float | None:
        """A number in the counters, None where it was not counted."""
        found: Any = self.counters
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        return float(found) if isinstance(found, int | float) else None

    def cpus(self, numbers: Sequence[int]) -> list[Mapping[str, float]]:
        """The time of each of some CPUs, by state in percent."""
        cpu = self.counters.get("cpu")
        each = cpu.get("cpus", []) if isinstance(cpu, Mapping) else []
        return [entry for entry in each if entry.get("cpu") in numbers]


@dataclass(frozen=True, kw_only=True)
class TrialEvidence:
    """One trial of a run with its rates in ascending order.

    Where `clients` are a closed loop, numbers of connections take the place of the rates.
    """

    number: int
    configuration: Configuration
    verdict: Verdict
    score: float | None
    rates: tuple[RateEvidence, ...]
    clients: Clients = OPEN_LOOP

    @property
    def top(self) -> RateEvidence:
        """The highest rate."""
        return self.rates[-1]

    def level(self, rate: RateEvidence) -> str:
        """A rung of the ladder in words."""
        return self.clients.level(rate.rate_rps)

    def saturated(self, rate: RateEvidence) -> bool:
        """Whether the server could not keep up with what was offered.

        A closed loop offers no more than is answered; there the server is saturated where it replies hardly
        more often than to half as many connections. Without such a rung below that is not known.
        """
        if self.clients.loop == "open":
            return rate.reply_rate_rps < KEPT_UP * rate.rate_rps
        below = [other.reply_rate_rps for other in self.rates if 2 * other.rate_rps <= rate.rate_rps]
        return bool(below) and KEPT_UP * rate.reply_rate_rps < max(below)


@dataclass(frozen=True, kw_only=True)
class RunEvidence:
    """What is diagnosed: a run's trials, the one in question (`best`), and the CPUs of server and
    generator.
    """

    space: Space
    best: TrialEvidence
    trials: tuple[TrialEvidence, ...]
    server_cpus: tuple[int, ...] = ()
    link_mbps: float | None = None

    def server_cpu_mean(self, rate: RateEvidence, state: str) -> float | None:
        """The mean share of time in a state over the server's CPUs (all, if they are not known), in
        percent.
        """
        own = rate.cpus(self.server_cpus)
        if own:
            return sum(float(entry.get(state, 0.0)) for entry in own) / len(own)
        return rate.counter("cpu", "total", state)

    def value(self, knob: str) -> int | None:
        """The best trial's value of a numeric knob, None if there is no such knob."""
        value = self.best.configuration.get(knob)
        return value if isinstance(value, int) else None
