"""The limits that live tuning keeps to: the user's guards, and the rails that say when nothing is tried.

A guard is a limit that what people see must keep, written as in `p99 <= 50ms`. It is asked about while an
episode runs, and before one begins. The rails only say whether an episode may begin; but quiet hours end one
as well. `refused` asks all of them, the strongest first, so that the reason which it tells is the weightiest.

Times are seconds of a clock that does not go back, the same for all that is asked; only quiet hours are told
the local time of day.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import time
from enum import StrEnum

from pydantic import Field
from trimtab_trials.configuration import Configuration

from trimtab_tuner.frozen import Frozen
from trimtab_tuner.judging.limits import LATENCIES, TIMES_US, parse_bound
from trimtab_tuner.live.budget import DAY_S, Spent
from trimtab_tuner.live.steps import changes, is_within
from trimtab_tuner.space import Space, SpaceError
from trimtab_tuner.wording import counted, in_percent

HOUR_S = 3600.0
# So many requests a latency needs before it means anything: ten of them are then expected to take longer than
# the percentile, so that one straggler does not decide. A mean is led by its tail too.
LEAST_REQUESTS = {"mean": 100, "p50": 20, "p90": 100, "p99": 1000, "p999": 10_000}
# So few errors are no share yet, whatever they are a share of.
FEW_ERRORS = 3
SHARES = {"%": 0.01}
UNITS: Mapping[str, Mapping[str, float]] = {
    **dict.fromkeys(LATENCIES, TIMES_US),
    "errors": SHARES,
    "cpu": SHARES,
    "queue": {"": 1.0, "connections": 1.0},
}
EXAMPLE = "for instance p99 <= 50ms, errors <= 0.1%, cpu <= 80% or queue <= 100"
# Baseline and canary: each may come to need what production needs.
SERVERS_BESIDE = 2


@dataclass(frozen=True, slots=True)
class Shown:
    """What an arm has shown over a while: one period, or several merged.

    `latency_us`: service times by statistic (`mean`, `p50`, `p90`, `p99`, `p999`), as far as they are known.
    `errors`: replies 5xx and aborted ones. `cpu_share`: CPU time used, of what the arms may use. `waiting`:
    connections in the accept queue. None is what is not observed.
    """

    requests: int
    errors: int
    latency_us: Mapping[str, float]
    cpu_share: float | None = None
    waiting: int | None = None


class Guard(Frozen):
    """An upper bound on what people see, in microseconds, as a share or in connections; `text` is how it is
    written.
    """

    statistic: str
    bound: float = Field(ge=0)
    text: str

    def breached(self, shown: Shown) -> str:
        """The sentence that says how it does not hold; empty where it holds, or too little was seen to say.

        A guard on what is not observed does not hold: nobody would see it fail.
        """
        if self.statistic == "errors":
            return self._breached_by_errors(shown)
        if self.statistic in LATENCIES:
            if shown.requests < LEAST_REQUESTS[self.statistic]:
                return ""
            value, words = shown.latency_us.get(self.statistic), "{:,.3g} ms"
            said = None if value is None else words.format(value / 1e3)
        elif self.statistic == "cpu":
            value = shown.cpu_share
            said = None if value is None else f"{value:.0%}"
        else:
            value = shown.waiting
            said = None if value is None else counted(int(value), "connection")
        if value is None or said is None:
            return f"{self.statistic} is not observed: expected {self.text}"
        return f"{self.statistic} = {said}: expected {self.text}" if value > self.bound else ""

    def _breached_by_errors(self, shown: Shown) -> str:
        """Where errors are allowed, a few of them are none too many: of ten requests one is 10 %."""
        # Aborted requests are no replies, so errors may be more than those.
        requests = max(shown.requests, shown.errors)
        if shown.errors <= max(self.bound * requests, FEW_ERRORS if self.bound else 0):
            return ""
        share = f"{shown.errors / requests:.2%}"
        return f"errors = {share} ({shown.errors:,} of {requests:,} requests): expected {self.text}"


def parse_guard(text: str) -> Guard:
    """The guard that a text states; ValueError says what is wrong with it, and what is expected."""
    statistic, bound, usual = parse_bound(text, UNITS, EXAMPLE)
    if not bound and statistic not in ("errors", "queue"):
        raise ValueError(f"{text!r}: expected a bound above 0, {EXAMPLE}")
    if UNITS[statistic] is SHARES and bound > 1:
        raise ValueError(f"{text!r}: expected at most 100%, {EXAMPLE}")
    return Guard(statistic=statistic, bound=bound, text=usual)


def breached(guards: Collection[Guard], shown: Shown) -> str:
    """The sentence about the first guard that does not hold; empty if all hold."""
    return next((sentence for guard in guards if (sentence := guard.breached(shown))), "")


class QuietHours(Frozen):
    """From when until when in the local day nothing is tried; `begin` may be later than `end`."""

    begin: time
    end: time

    def includes(self, local: time) -> bool:
        """Whether it is quiet now; the end is not."""
        if self.begin < self.end:
            return self.begin <= local < self.end
        return local >= self.begin or local < self.end

    def __str__(self) -> str:
        return f"{self.begin:%H:%M}-{self.end:%H:%M}"


def parse_quiet_hours(text: str) -> QuietHours:
    """The quiet hours that a text states; ValueError says what is wrong with it."""
    expected = "expected BEGIN-END of the local day, for instance 22:00-06:00"
    begin, dash, end = (part.strip() for part in text.partition("-"))
    try:
        hours = QuietHours(begin=_time_of_day(begin), end=_time_of_day(end))
    except ValueError:
        raise ValueError(f"{text!r}: {expected}") from None
    if not dash or hours.begin == hours.end:
        raise ValueError(f"{text!r}: {expected}, two different times")
    return hours


def _time_of_day(text: str) -> time:
    """Hours and minutes; ValueError for anything else."""
    hours, colon, minutes = text.partition(":")
    if not (colon and hours.isdecimal() and minutes.isdecimal() and len(minutes) == 2):
        raise ValueError(text)
    return time(int(hours), int(minutes))


class Reloads(Frozen):
    """When production was reloaded for us, in the last hour."""

    at_s: tuple[float, ...] = ()

    def one_more(self, at_s: float) -> "Reloads":
        """With a reload at `at_s`; those of more than an hour before are forgotten."""
        return Reloads(at_s=(*(each for each in self.at_s if each > at_s - HOUR_S), at_s))

    def within_hour(self, at_s: float) -> int:
        """How many there were in the hour before `at_s`."""
        return sum(each > at_s - HOUR_S for each in self.at_s)


class CoolDown(Frozen):
    """Rollbacks in a row, and when the last of them was."""

    in_a_row: int = Field(default=0, ge=0)
    last_at_s: float = 0.0

    def rolled_back(self, at_s: float) -> "CoolDown":
        """After one more rollback."""
        return CoolDown(in_a_row=self.in_a_row + 1, last_at_s=at_s)

    def ended_well(self) -> "CoolDown":
        """After an episode without harm, which breaks the row."""
        return CoolDown()

    def left_s(self, at_s: float, first_s: float) -> float:
        """How long nothing is tried from `at_s` on; the first rollback takes `first_s`, each next twice that.

        It is never longer than a day.
        """
        if not self.in_a_row:
            return 0.0
        # A day of the shortest cool-down, a second, is less than 2 to the 17th.
        lasts_s = min(first_s * 2.0 ** min(self.in_a_row - 1, 17), DAY_S)
        return max(0.0, self.last_at_s + lasts_s - at_s)


class Rails(Frozen):
    """What a user allows.

    `most_step`: how far one knob may go in one episode, as a share of its scale. `memory_share`: how much of
    the available memory the servers beside production may take. `reloads_an_hour` counts promotions and ways
    back. `cool_down_s` is how long nothing is tried after the first rollback.
    """

    guards: tuple[Guard, ...] = ()
    most_step: float = Field(default=0.3, gt=0, le=1)
    memory_share: float = Field(default=0.5, gt=0, le=1)
    quiet_hours: QuietHours | None = None
    reloads_an_hour: int = Field(default=4, ge=0)
    cool_down_s: float = Field(default=600.0, ge=1)

    def quiet(self, local: time) -> str:
        """The sentence about the quiet hours if it is quiet at that time of day; else an empty one."""
        hours = self.quiet_hours
        if hours is None or not hours.includes(local):
            return ""
        return f"it is {local:%H:%M}, and nothing is tried in the quiet hours {hours}"


@dataclass(frozen=True, slots=True)
class Now:
    """What the rails look at. `shown` is production's; `spent` of its risk budget.

    `available_bytes` is memory that can be had without swapping, `production_bytes` what production has
    (PSS, all its processes together).
    """

    at_s: float
    local: time
    shown: Shown
    spent: Spent
    available_bytes: float
    production_bytes: float
    reloads: Reloads
    cool_down: CoolDown


@dataclass(frozen=True, slots=True)
class Candidate:
    """What an episode would try, in place of the incumbent, both complete.

    `space` has the ranges that the user allows. `measured`: a run of this host has measured it whole, so it
    may be further away than a step. `by_reload`: to promote it, production is reloaded. `beside`: servers
    beside production try it, and not production itself.
    """

    space: Space
    incumbent: Configuration
    configuration: Configuration
    measured: bool
    by_reload: bool
    beside: bool = True


class Rail(StrEnum):
    """The rails, the strongest first."""

    GUARD = "guard"
    RISK_BUDGET = "risk budget"
    STEP_AND_RANGE = "step and range"
    MEMORY = "memory"
    QUIET_HOURS = "quiet hours"
    RELOADS = "reloads"
    COOL_DOWN = "cool-down"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an episode may not begin: the rail, and the sentence."""

    rail: Rail
    reason: str


def refused(rails: Rails, now: Now, candidate: Candidate) -> Refusal | None:
    """None if an episode with the candidate may begin now, else the strongest rail that is in the way."""
    reasons = {
        Rail.GUARD: breached(rails.guards, now.shown),
        Rail.RISK_BUDGET: _over_budget(now.spent),
        Rail.STEP_AND_RANGE: out_of_reach(candidate, rails.most_step),
        Rail.MEMORY: too_little_memory(now, candidate, rails.memory_share),
        Rail.QUIET_HOURS: rails.quiet(now.local),
        Rail.RELOADS: _reloaded_enough(rails.reloads_an_hour, now, by_reload=candidate.by_reload),
        Rail.COOL_DOWN: _cooling_down(rails.cool_down_s, now),
    }
    return next((Refusal(rail, reasons[rail]) for rail in Rail if reasons[rail]), None)


def out_of_reach(candidate: Candidate, most_step: float) -> str:
    """Why the candidate is outside the ranges or further away than a step; empty if it is neither."""
    try:
        candidate.space.check(candidate.configuration)
    except SpaceError as error:
        return str(error)
    if candidate.measured:
        return ""
    for change in changes(candidate.space, candidate.incumbent, candidate.configuration):
        if not is_within(candidate.space.knob(change.knob), change, most_step):
            return f"{change}: expected a step of at most {in_percent(most_step)} of its range"
    return ""


def too_little_memory(now: Now, candidate: Candidate, share: float) -> str:
    """Why there is no memory for the candidate, and for servers beside production; empty if there is.

    Each of them may come to need what production has, and the candidate what its values cost more.
    """
    costs_kib = (candidate.space.resource_cost(c) for c in (candidate.configuration, candidate.incumbent))
    after_kib, before_kib = costs_kib
    beside_bytes = SERVERS_BESIDE * now.production_bytes if candidate.beside else 0.0
    needed = beside_bytes + 1024 * max(0.0, after_kib - before_kib)
    if needed <= share * now.available_bytes:
        return ""
    who = "two servers beside production" if candidate.beside else "the candidate's values"
    return (
        f"{who} may take {needed / 1e6:,.0f} MB: expected at most "
        f"{in_percent(share)} of the {now.available_bytes / 1e6:,.0f} MB that are available"
    )


def _over_budget(spent: Spent) -> str:
    if not spent.is_spent:
        return ""
    if not spent.allowed:
        return (
            f"the risk budget is empty: only {counted(spent.requests, 'request')} seen in the last 24 hours"
        )
    return (
        f"the risk budget is spent: {counted(spent.harmed, 'request')} met harm in the last 24 hours, "
        f"{spent.allowed:,} may"
    )


def _reloaded_enough(most: int, now: Now, *, by_reload: bool) -> str:
    """A promotion wants a reload, and so does the way back."""
    done = now.reloads.within_hour(now.at_s)
    if not by_reload or done + 2 <= most:
        return ""
    return (
        f"{counted(done, 'reload')} in the last hour, of {most}: expected room for two more, a promotion and "
        "the way back"
    )


def _cooling_down(first_s: float, now: Now) -> str:
    left_s = now.cool_down.left_s(now.at_s, first_s)
    if not left_s:
        return ""
    return (
        f"{counted(now.cool_down.in_a_row, 'rollback')} in a row: nothing is tried for another "
        f"{max(left_s / 60, 1):,.0f} min"
    )
