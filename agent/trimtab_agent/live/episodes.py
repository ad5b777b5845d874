"""Carries out an episode: starts baseline and canary, observes the three servers, does what is decided.

Everything that ends it sends all connections back to production first: a decision, a guard that does not
hold, an arm that has ended, an observation that is lost, a session that is asked to detach.
"""

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab_trials.configuration import Configuration
from trimtab_tuner.live.episode import Action, Decision, Episode, Rules
from trimtab_tuner.live.guards import Guard, Shown, breached
from trimtab_tuner.live.observed import Observed, observed_together
from trimtab_tuner.live.service_times import CLASS_WIDTH
from trimtab_tuner.targets.log_formats import FORMATS

from trimtab_agent.base_file import BaseFile
from trimtab_agent.errors import HostError
from trimtab_agent.live.access_log import AccessLog
from trimtab_agent.live.arms import NAMES, ArmFiles, Arms, baseline_and_canary
from trimtab_agent.live.core_stats import CoreStats
from trimtab_agent.live.listening import inode_of, listeners_of
from trimtab_agent.live.observation import ObservationLost, Observer, Source
from trimtab_agent.live.running import RunningServer
from trimtab_agent.live.warming import Warming

SETTLE_PERIODS = 4  # two seconds to start, and as many after a new share, are not judged
GUARD_PERIODS = 20  # ten seconds
LINGER_PERIODS = 60  # half a minute at most


Change = Mapping[str, tuple[float, float]]
"""The intervals of what has changed, by `cost`, `time` and `errors`."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """One period of an episode: the three servers, and what was decided after it."""

    production: Observed
    baseline: Observed
    canary: Observed
    decision: Decision
    change: Change


@dataclass(frozen=True, kw_only=True)
class EpisodeEnd:
    """How an episode ended; `met_harm` is how many requests the canary answered, or failed to, while it did
    harm. It was `cut_short` where it had to end for now, and nothing is known of the candidate.
    """

    decision: Decision
    evidence: Mapping[str, Any]
    met_harm: int
    cut_short: bool = False


Tick = Callable[[], Observed]
"""Waits for the next period and returns what production did in it; raises what ends a session."""

Over = Callable[[], str]
"""Says why an episode has to end for now; an empty sentence while it may go on."""


def never_over() -> str:
    """For an episode that goes on until it has shown something."""
    return ""


def carry_out(
    *,
    server: RunningServer,
    base: BaseFile,
    candidate: Configuration,
    knobs: Collection[str],
    notes: Path,
    rules: Rules,
    guards: Collection[Guard],
    slow_s: float,
    cpus: int,
    paths: Sequence[str],
    tick: Tick,
    tell: Callable[[Told], None],
    over: Over = never_over,
) -> EpisodeEnd:
    """From the start of the arms to the end; raises HostError where the arms cannot be had, and what `tick`
    raises, with production as it was.

    The arms are asked for `paths` before they get any connection. `tell` is told of every period, after which
    `over` is asked.
    """
    with baseline_and_canary(server, base, candidate, knobs, notes) as arms, ExitStack() as opened:
        warmed, failure = _settle(server, paths, tick)
        observers: list[Observer] = []
        if not failure:
            try:
                observers += [
                    opened.enter_context(observer_of(server, pid, files, slow_s))
                    for pid, files in zip(arms.pids, arms.files, strict=True)
                ]
            except HostError:
                failure = arms.ended()
                if not failure:
                    raise
        if failure:
            decision = Decision(Action.ROLL_BACK, 0.0, failure)
            return EpisodeEnd(decision=decision, evidence={"warmed": warmed}, met_harm=0)
        try:
            end = _observed(arms, observers, rules, guards, cpus, tick, tell, over)
            if end.decision.action is not Action.ROLL_BACK:
                _linger(arms, tick)
        finally:
            complaints = arms.close()
    return EpisodeEnd(
        decision=end.decision,
        evidence={"warmed": warmed, **end.evidence, **({"complaints": complaints} if complaints else {})},
        met_harm=end.met_harm,
        cut_short=end.cut_short,
    )


def _observed(
    arms: Arms,
    observers: Sequence[Observer],
    rules: Rules,
    guards: Collection[Guard],
    cpus: int,
    tick: Tick,
    tell: Callable[[Told], None],
    over: Over,
) -> EpisodeEnd:
    episode = Episode(rules)
    recent: deque[Observed] = deque(maxlen=GUARD_PERIODS)
    totals: list[list[Observed]] = [[], []]
    decision = Decision(Action.GO_ON, episode.share, "")
    judged_from, cut_short = SETTLE_PERIODS, False
    if why := _weigh(arms, episode.share):
        decision = Decision(Action.ROLL_BACK, 0.0, why)
    period = 0
    while decision.action in (Action.GO_ON, Action.NEXT_STEP):
        production = tick()
        period += 1
        why = arms.ended()
        arms.tidy()
        try:
            baseline, canary = (observer.read() for observer in observers)
        except HostError as error:
            why = why or error.sentence
        if why:
            decision = Decision(Action.ROLL_BACK, 0.0, why)
            break
        recent.append(canary)
        for total, seen in zip(totals, (baseline, canary), strict=True):
            total.append(seen)
        if period > judged_from or canary.arm.errors or (canary.arm.waiting and not canary.arm.requests):
            decision = episode.told(production.arm, baseline.arm, canary.arm)
        else:
            decision = Decision(Action.GO_ON, episode.share, "")
        if said := breached(guards, shown(observed_together(recent), cpus)):
            decision = Decision(Action.ROLL_BACK, 0.0, f"a guard does not hold: {said}")
        elif decision.action is not Action.ROLL_BACK and (said := over()):
            decision, cut_short = Decision(Action.GIVE_UP, 0.0, said), True
        if decision.action is Action.NEXT_STEP:
            judged_from = period + SETTLE_PERIODS
            if why := _weigh(arms, decision.share):
                decision = Decision(Action.ROLL_BACK, 0.0, why)
        tell(
            Told(
                production=production,
                baseline=baseline,
                canary=canary,
                decision=decision,
                change=changes_of(episode),
            )
        )
    evidence = {
        "periods": period,
        "change": {name: finite(bounds) for name, bounds in changes_of(episode).items()},
        "baseline": summary(totals[0]),
        "canary": summary(totals[1]),
    }
    # What ended without a decision of the episode (an arm that died) was met by those who came last.
    harmful = totals[1][-max(episode.periods_of_harm, 1) :] if decision.action is Action.ROLL_BACK else []
    met = sum(max(each.arm.requests, each.arm.errors) for each in harmful)
    return EpisodeEnd(decision=decision, evidence=evidence, met_harm=met, cut_short=cut_short)


def changes_of(episode: Episode) -> Change:
    """What an episode has shown so far."""
    return {
        "cost": episode.change("cost"),
        "time": episode.change("time"),
        "errors": episode.change("errors"),
    }


def shown(seen: Observed, cpus: int) -> Shown:
    """What guards ask about, of one server over a while, which may use so many CPUs."""
    times = seen.replies.service_times
    latency_us = {}
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)):
        value_s = times.quantile_s(share)
        if value_s is not None:
            # The class's beginning: a guard is broken when it is, and not because a class is wide.
            latency_us[name] = value_s / CLASS_WIDTH * 1e6
    if times.replies:
        latency_us["mean"] = 1e6 * sum(served.service_s for served in seen.arm.served) / times.replies
    return Shown(
        requests=seen.arm.requests,
        errors=seen.arm.errors,
        latency_us=latency_us,
        cpu_share=seen.arm.cpu_s / seen.seconds / cpus,
        waiting=seen.arm.waiting,
    )


def figures(seen: Observed) -> dict[str, float]:
    """One server over a while, for charts and decisions; what is not known is left out."""
    requests = seen.arm.requests
    service_s = sum(served.service_s for served in seen.arm.served)
    found = {
        "requests_per_s": requests / seen.seconds,
        "errors_per_s": seen.arm.errors / seen.seconds,
        "bytes_per_s": seen.replies.bytes_sent / seen.seconds,
        "waiting": float(seen.arm.waiting),
    }
    if requests:
        found["cpu_s_per_1000"] = 1000 * seen.arm.cpu_s / requests
    if requests and service_s:
        found["service_ms"] = 1000 * service_s / requests
    return {name: round(value, 6) for name, value in found.items()}


def _weigh(arms: Arms, share: float) -> str:
    """Gives each arm that share; the sentence about one that has ended before, empty where none has.

    Raises HostError for anything else.
    """
    try:
        arms.weigh(share)
    except HostError:
        if why := arms.ended():
            return why
        raise
    return ""


def _linger(arms: Arms, tick: Tick) -> None:
    """Nobody new comes to the arms; who has a connection keeps it for a while.

    A server that ends closes connections on which nothing is under way, and a client may be about to ask for
    something on one of them.
    """
    with suppress(HostError):  # one has ended by itself
        arms.weigh(0.0)
    for _ in range(LINGER_PERIODS):
        if not arms.open_connections():
            return
        tick()


def _settle(server: RunningServer, paths: Sequence[str], tick: Tick) -> tuple[int, str]:
    """The arms have started, and are asked for pages: for how many, and how the canary failed."""
    with closing(Warming(server.listeners, NAMES, paths)) as warming:
        goes_on = True
        for _ in range(SETTLE_PERIODS):
            tick()
            goes_on = goes_on and warming.go_on()
        return len(warming.warmed), warming.failure


def observer_of(server: RunningServer, pid: int, files: ArmFiles, slow_s: float) -> Observer:
    """Observes an arm beside that server; raises HostError when it tells nothing, which is not the loss of
    production's own observation.
    """
    source: Source
    try:
        if server.target.name in FORMATS:
            source = AccessLog(Path(files.place.access_log), FORMATS[server.target.name])
        else:
            source = CoreStats(Path(files.place.stats_socket))
        try:
            sockets = [inode_of(pid, listener) for listener in listeners_of(pid)]
        except OSError as error:
            source.close()
            raise HostError(f"process {pid} cannot be observed: {error.strerror}") from error
        return Observer(pid, source, sockets, slow_s)
    except ObservationLost as error:
        raise HostError(error.sentence) from error


def summary(periods: Sequence[Observed]) -> dict[str, float]:
    """One server over an episode, for its record; nothing where it was not seen."""
    if not periods:
        return {}
    seen = observed_together(periods)
    return {"requests": float(seen.arm.requests), "errors": float(seen.arm.errors), **figures(seen)}


def finite(bounds: tuple[float, float]) -> list[float | None]:
    """An interval for JSON, which knows no infinity: None for a side of which nothing is known."""
    return [bound if abs(bound) < float("inf") else None for bound in bounds]
