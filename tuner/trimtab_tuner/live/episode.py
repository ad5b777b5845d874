"""An episode: one candidate beside the baseline on live traffic, from its first connections to a decision.

The canary begins with a small share of the connections, and the baseline with the same. After every period
the episode decides: harm sends all connections back to production at once; when a step has shown that the
candidate is not worse, the next step has a larger share; after the last one a candidate that has been shown
to be better by more than a margin is worth promoting. What can be shown neither way within the time of a step
is given up, without harm.

Decisions hold at any time (evidence.py): that of harm with an error of `alpha` over the whole episode, which
is divided over what is watched; that of a gain with `alpha` as well.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, field_validator

from trimtab_tuner.frozen import Frozen
from trimtab_tuner.live.cost_model import CostModel
from trimtab_tuner.live.evidence import Above, Excess, Fewer, Middle, share_bounds
from trimtab_tuner.live.observed import ArmPeriod, cost_difference, time_difference, together
from trimtab_tuner.wording import in_percent


class Action(StrEnum):
    """What is to be done after a period."""

    GO_ON = "go-on"
    NEXT_STEP = "next-step"
    PROMOTE = "promote"
    GIVE_UP = "give-up"
    ROLL_BACK = "roll-back"


Share = Annotated[float, Field(gt=0, le=0.5)]


class Rules(Frozen):
    """What an episode goes by.

    `steps`: shares of the connections that the canary gets, one step after the other; the baseline gets the
    same, so no more than a half. `margin`: by how much a candidate may be worse and still not count as worse;
    in earlier steps more (step_margin()).
    `least_pairs`: so many comparisons a step takes at least. `most_periods`: so long a step lasts at most.
    `hang_periods`: so many periods with connections waiting and no reply are a hang.
    """

    objective: Literal["cost", "time"] = "cost"
    steps: tuple[Share, ...] = Field(default=(0.05, 0.15, 0.5), min_length=1)
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    margin: float = Field(default=0.02, gt=0, lt=1)
    least_pairs: int = Field(default=20, ge=1)
    most_periods: int = Field(default=1200, ge=1)
    hang_periods: int = Field(default=4, ge=1)

    @field_validator("steps")
    @classmethod
    def _rise(cls, steps: tuple[float, ...]) -> tuple[float, ...]:
        if list(steps) != sorted(set(steps)):
            raise ValueError(f"steps = {list(steps)}: expected each larger than the one before")
        return steps

    def step_margin(self, step: int) -> float:
        """The margin of a step: noise falls with the root of the share, and so does the margin.

        A small share is a small risk, and would take long to show anything with the margin of a large one.
        """
        return self.margin * math.sqrt(self.steps[-1] / self.steps[step])


@dataclass(frozen=True, slots=True)
class Decision:
    """What an episode decided after a period, and why; `share` is the canary's from now on."""

    action: Action
    share: float
    reason: str


class _Silence:
    """How long the canary has answered nothing while the baseline, with the same share, did.

    Connections that it has accepted and does not answer wait in no queue: a worker that blocks is seen by
    this alone. Where few connections carry all requests the canary may have none of them by chance, so it
    takes many requests as well as time.
    """

    LEAST_REQUESTS = 200

    def __init__(self, periods: int) -> None:
        self._needed = periods
        self._periods, self._requests = 0, 0

    def tell(self, baseline: int, canary: int) -> None:
        """The requests that each has answered in one more period."""
        if canary:
            self._periods, self._requests = 0, 0
        elif baseline:
            self._periods += 1
            self._requests += baseline

    def __str__(self) -> str:
        """The sentence about it, or an empty one."""
        if self._periods < self._needed or self._requests < self.LEAST_REQUESTS:
            return ""
        return (
            f"it answered nothing in {self._periods} periods, in which the baseline answered "
            f"{self._requests:,} requests"
        )


class _Queue:
    """How long connections have waited for the canary, and many fewer for the baseline.

    Both have the same share of them: where all servers are short of time, both have queues.
    """

    LEAST, TIMES = 4, 4

    def __init__(self, periods: int) -> None:
        self._needed = periods
        self._periods = 0

    def tell(self, baseline: int, canary: int) -> None:
        """The connections that wait for each at the end of one more period."""
        longer = canary >= self.LEAST and canary > self.TIMES * baseline
        self._periods = self._periods + 1 if longer else 0

    def __str__(self) -> str:
        """The sentence about it, or an empty one."""
        if self._periods < self._needed:
            return ""
        return f"more connections waited for it than for the baseline, in {self._periods} periods in a row"


class _Compared:
    """One thing in which canary and baseline are compared: differences, and the bets on them."""

    def __init__(self, subject: str, rules: Rules) -> None:
        self.subject = subject
        self._middle = Middle()
        self._harm = Above(math.log1p(rules.margin))
        self.begin_step(rules.step_margin(0))

    def begin_step(self, margin: float) -> None:
        """Each step has to show for itself that the candidate is not worse by more than its margin."""
        self._not_worse = Above(-math.log1p(margin))
        self.pairs_of_step = 0

    def tell(self, difference: float | None) -> None:
        """The difference of one period; None where there is none."""
        if difference is None:
            return
        self.pairs_of_step += 1
        self._middle.tell(difference)
        self._harm.tell(difference)
        self._not_worse.tell(-difference)

    @property
    def harm_evidence(self) -> float:
        """The logarithm of the evidence that it is worse by more than the margin."""
        return self._harm.evidence

    def is_unclear(self, needed: float) -> bool:
        """Whether the step has not shown yet that it is not worse by more than the margin."""
        return self._not_worse.evidence < needed

    def change(self, alpha: float) -> tuple[float, float]:
        """The interval of the change, as shares (-0.05: 5 % less)."""
        low, high = self._middle.bounds(alpha)
        return math.expm1(low), math.expm1(high) if math.isfinite(high) else math.inf


class Episode:
    """Judges one candidate; told of every period, in order.

    Baseline and canary serve `at_once`, or else take turns: then one may have nothing to answer.
    """

    def __init__(self, rules: Rules, *, at_once: bool = True) -> None:
        self._at_once = at_once
        self._rules = rules
        self._step = 0
        self._periods_of_step = 0
        self._hanging = 0
        self._silence = _Silence(2 * rules.hang_periods)
        self._queue = _Queue(2 * rules.hang_periods)
        self._connections = Fewer()
        self._cost_model = CostModel()
        self._failed = {"baseline": [0, 0], "canary": [0, 0]}
        self.periods_of_harm = 0
        """Periods up to now in which something spoke for harm without a break: what people met of it."""
        self._compared = {
            "cost": _Compared("CPU time per request", rules),
            "time": _Compared("service time", rules),
        }
        self._events = {
            "errors than the baseline": Excess(),
            "errors than all others": Excess(),
            "slow replies than the baseline": Excess(),
            # As where its places are too few: who keeps one open and asks for nothing gives way.
            "connections closed by it than by the baseline": Excess(),
        }

    @property
    def share(self) -> float:
        """The canary's share of the connections in the step under way."""
        return self._rules.steps[self._step]

    def told(self, production: ArmPeriod, baseline: ArmPeriod, canary: ArmPeriod) -> Decision:
        """Takes in one more period, and decides. After a decision that ends the episode, tell no more."""
        self._periods_of_step += 1
        self._compared["cost"].tell(cost_difference(baseline, canary, self._cost_model.expected_s))
        for arm in (baseline, canary):
            self._cost_model.tell(arm)
        self._compared["time"].tell(time_difference(baseline, canary))
        others = together((production, baseline))
        self._count("errors than the baseline", canary.errors, baseline.errors, canary, baseline)
        self._count("errors than all others", canary.errors, others.errors, canary, others)
        self._count("slow replies than the baseline", canary.slow, baseline.slow, canary, baseline)
        self._count(
            "connections closed by it than by the baseline", canary.closed, baseline.closed, canary, baseline
        )
        if canary.requests or not canary.waiting:
            self._hanging = 0
        elif baseline.requests:  # else the traffic may have stopped, and nothing is known
            self._hanging += 1
        for failed, arm in zip(self._failed.values(), (baseline, canary), strict=True):
            failed[0] += arm.errors
            failed[1] += max(arm.requests, arm.errors)
        if self._at_once:
            self._tell_of_connections(baseline, canary)
        self.periods_of_harm = self.periods_of_harm + 1 if self._speaks_for_harm() else 0
        if harm := self._harm():
            return Decision(Action.ROLL_BACK, 0.0, harm)
        return self._progress()

    def change(self, metric: Literal["cost", "time", "errors"]) -> tuple[float, float]:
        """The interval of the change of a metric, as shares (-0.05: 5 % less); infinite where unknown.

        That of errors is the difference of their shares of the requests (0.01: one more in a hundred).
        """
        if metric != "errors":
            return self._compared[metric].change(self._rules.alpha)
        (least, most), (least_own, most_own) = (
            share_bounds(events, asked, self._rules.alpha / 2) for events, asked in self._failed.values()
        )
        return least_own - most, most_own - least

    def _tell_of_connections(self, baseline: ArmPeriod, canary: ArmPeriod) -> None:
        self._silence.tell(baseline.requests, canary.requests)
        self._queue.tell(baseline.waiting, canary.waiting)
        if baseline.connections is not None and canary.connections is not None:
            self._connections.tell(canary.connections, baseline.connections)

    def _count(self, what: str, own: int, others: int, canary: ArmPeriod, beside: ArmPeriod) -> None:
        """Takes in events of the canary and of what it is compared with.

        Aborted requests are no replies, so errors count as requests too where they are more than those.
        """
        of_canary, of_others = max(canary.requests, own), max(beside.requests, others)
        if of_canary + of_others:
            self._events[what].tell(own, others, of_canary / (of_canary + of_others))

    def _speaks_for_harm(self) -> bool:
        """Whether any bet on harm has won more than its stake so far."""
        bets = [self._connections.evidence, *(each.evidence for each in self._events.values())]
        bets += [each.harm_evidence for each in self._compared.values()]
        return self._hanging > 0 or max(bets) > 0

    def _harm(self) -> str:
        """The sentence about the harm that has been shown, or an empty one."""
        if self._hanging >= self._rules.hang_periods:
            # Needs no share of the error: it does not happen by chance.
            return f"connections waited and none was answered in {self._hanging} periods"
        if said := str(self._silence) or str(self._queue):
            return said
        needed = math.log((len(self._compared) + len(self._events) + 1) / self._rules.alpha)
        if self._connections.evidence >= needed:
            return "it takes fewer of its connections than the baseline: some are lost or left waiting"
        for compared in self._compared.values():
            if compared.harm_evidence >= needed:
                margin = in_percent(self._rules.margin)
                return f"{compared.subject} is more than {margin} higher than the baseline's"
        for name, excess in self._events.items():
            if excess.evidence >= needed:
                return f"more {name}"
        return ""

    def _progress(self) -> Decision:
        """What comes next where no harm has been shown."""
        rules = self._rules
        needed = -math.log(rules.alpha)
        objective = self._compared[rules.objective]
        unclear = [each.subject for each in self._compared.values() if each.is_unclear(needed)]
        if objective.pairs_of_step >= rules.least_pairs and not unclear:
            if self._step < len(rules.steps) - 1:
                return self._next_step()
            low, high = objective.change(rules.alpha)
            if high < -rules.margin:
                lower = f"{in_percent(-high, 1)} to {in_percent(-low, 1)} lower"
                reason = f"{objective.subject} is {lower} than the baseline's"
                return Decision(Action.PROMOTE, self.share, reason)
        if self._periods_of_step >= rules.most_periods:
            what = (
                f"that {' and '.join(unclear)} is no worse"
                if unclear
                else f"of a gain in {objective.subject}"
            )
            return Decision(
                Action.GIVE_UP, 0.0, f"not enough evidence {what}, after {self._periods_of_step} periods"
            )
        return Decision(Action.GO_ON, self.share, "")

    def _next_step(self) -> Decision:
        reason = (
            f"no worse than the baseline by more than {in_percent(self._rules.step_margin(self._step), 1)}"
        )
        self._step += 1
        self._periods_of_step = 0
        for compared in self._compared.values():
            compared.begin_step(self._rules.step_margin(self._step))
        return Decision(Action.NEXT_STEP, self.share, reason)
