"""Candidates that do harm, with real servers: how soon do they have no connection any more, and how many
requests fail for each?

Four kinds of harm are put into the canary: twice the CPU time per request (nginx logs each reply so many
times), 1 % of replies with status 503 (nginx), a limit of 64 connections (trimtab-httpd), a worker that stops
(nginx). Each episode is one as in production. How far it has come is kept: `python agent/bench/live_harm.py
SECONDS`.

Beside it stands Bluefin on production (A. Karthikeyan et al., "SelfTune", NSDI'23; two-point feedback): it
deploys what it proposes on production itself for a round of ROUND_S, measures its reward, and follows the
gradient. It begins in the middle of a knob whose upper half does the harm.
"""

from __future__ import annotations

import dataclasses
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

import psutil
from live_lab import Kept, Lab, Public, Ticking, bounded, failed, lab, section
from trimtab_agent.live import episodes
from trimtab_agent.live.arms import Arms, baseline_and_canary
from trimtab_agent.live.episodes import Told, carry_out
from trimtab_agent.live.observation import Observer
from trimtab_tuner.live.episode import Action, Rules
from trimtab_tuner.live.observed import observed_together

EPISODES = int(os.environ.get("TRIMTAB_EPISODES", "40"))
RATE_RPS = 2500
EPISODE_S = 30
HANGS_AFTER = 6  # periods from the first share on
ROUND_S, ROUNDS = 30, 6
LOGS = 150
SOON_S = 10

CPU = "twice the CPU time per request"
ERRORS = "1 % of 5xx"
LIMIT = "a limit of 64 connections"
HANG = "a hang"
# At 5 % of these connections 64 would do for a long time.
SHARES = {LIMIT: 0.3}
HARMS = (CPU, ERRORS, LIMIT, HANG)


def harmful(harm: str, text: str) -> str:
    """An nginx.conf that does that harm; it does none of a hang."""
    if harm == CPU:
        form = (
            "log_format long '$remote_addr $request $http_user_agent $request_time $status $host $uri $args';"
        )
        logs = "".join(f"access_log /dev/null long if=$request_method{' ' * n};\n" for n in range(LOGS))
        return text.replace("http {", f"http {{\n{form}\n", 1).replace("root ", f"{logs}root ", 1)
    if harm == ERRORS:
        split = 'split_clients "$connection $connection_requests" $bad { 1% 1; * ""; }'
        return text.replace("http {", f"http {{\n{split}\n", 1).replace(
            "root ", "if ($bad) { return 503; }\nroot ", 1
        )
    if harm == LIMIT:
        return text.replace("max_connections = 8192", "max_connections = 64")
    return text


def main() -> None:
    """Measures for as long as it may, and prints the section."""
    until_s = time.monotonic() + float(sys.argv[1] if len(sys.argv) > 1 else "inf")
    for harm in HARMS:
        kept = Kept(f"harm: {harm}")
        for _ in bounded(range(EPISODES), kept, until_s - EPISODE_S):
            with laboratory(harm) as made:
                kept.add(one(made, harm))
    for harm in HARMS:
        on_production = Kept(f"bluefin: {harm}")
        if not on_production.all() and time.monotonic() < until_s - ROUNDS * (ROUND_S + 15):
            with laboratory(harm) as made:
                bluefin(made, harm, on_production)
    show()


def laboratory(harm: str) -> Any:  # noqa: ANN401 - a context manager
    """With the kind of server that can do that harm."""
    return lab(kind="core") if harm == LIMIT else lab()


def public_of(made: Lab, harm: str, seconds: float) -> Public:
    """Who meets it: connections that are idle give way to others, so there half of them read slowly."""
    slowly = ("--slow-share", "0.5", "--timeout", "60")
    return made.public(RATE_RPS, seconds, *(slowly if harm == LIMIT else ()))


def one(made: Lab, harm: str) -> dict[str, Any]:
    """One episode with a harmful canary: how it ended, and what the public has met."""
    server, began_s, ended_s, is_met = made.server, 0.0, 0.0, False
    arms: list[Arms] = []
    beside = server.target.beside
    if beside is None:
        raise RuntimeError("arms can run beside it")

    def file(text: str, place: Any) -> str:  # noqa: ANN401 - a Place
        ours = beside.file(text, place)
        ours = ours.replace("access_log ", "@access_log ")
        changed = harmful(harm, ours) if place.directory.endswith("canary") else ours
        return changed.replace("@access_log ", "access_log ") if harm != CPU else _all_logs(changed, place)

    target = type("Harmful", (), {"__getattr__": lambda _, name: getattr(server.target, name)})()
    target.beside = dataclasses.replace(beside, file=file)

    def start(*order: Any) -> Arms:  # noqa: ANN401 - of baseline_and_canary
        arms.append(baseline_and_canary(*order))
        return arms[-1]

    def each(period: int) -> None:
        nonlocal began_s
        if not arms:
            return
        since = period - settled
        if since == 0:
            began_s = time.monotonic()
        if harm == HANG and since == HANGS_AFTER:
            for worker in psutil.Process(arms[0].pids[1]).children():
                worker.suspend()
            began_s = time.monotonic()

    def tell(told: Told) -> None:
        nonlocal began_s, ended_s, is_met
        if harm == LIMIT and told.canary.arm.waiting and not is_met:
            began_s, is_met = time.monotonic(), True  # all places are taken, and somebody waits
        if told.decision.action is Action.ROLL_BACK:
            ended_s = time.monotonic()

    observe = 6
    settled = observe + episodes.SETTLE_PERIODS + 1
    public = public_of(made, harm, EPISODE_S)
    with (
        mock.patch.object(episodes, "baseline_and_canary", start),
        made.observed() as observer,
        tempfile.TemporaryDirectory() as notes,
    ):
        tick = Ticking(observer, each)
        for _ in range(observe):
            tick()
        end = carry_out(
            server=dataclasses.replace(server, target=target),
            base=made.base,
            candidate=server.target.space().default(),
            knobs=[],
            notes=Path(notes),
            rules=Rules(steps=(SHARES.get(harm, 0.05),), most_periods=40),
            guards=(),
            slow_s=1.0,
            cpus=1,
            paths=observer.paths,
            tick=tick,
            tell=tell,
        )
    result = public.end()
    took_s = ended_s - began_s if end.decision.action is Action.ROLL_BACK else None
    return {
        "action": end.decision.action,
        "reason": end.decision.reason,
        "seconds": took_s,
        "requests": result["requests"]["offered"],
        "failed": failed(result),
        "failures": result["failures"],
        "cpu": {arm: end.evidence.get(arm, {}).get("cpu_s_per_1000") for arm in ("baseline", "canary")},
    }


def _all_logs(text: str, place: Any) -> str:  # noqa: ANN401 - a Place
    """What is logged so often is logged for us too: a site with logs of its own does not write others."""
    own = f'access_log "{place.access_log}" trimtab;\n'
    return text.replace("@access_log ", "access_log ").replace("root ", f"{own}root ", 1)


class Bluefin:
    """One knob from 0 to 1, by two-point feedback."""

    def __init__(self, centre: float, delta: float = 0.1, eta: float = 0.01) -> None:
        self.centre, self._delta, self._eta = centre, delta, eta
        self._plus: float | None = None

    @property
    def value(self) -> float:
        """What is to be deployed."""
        return self.centre + (self._delta if self._plus is None else -self._delta)

    def reward(self, reward: float) -> None:
        """What it came to."""
        if self._plus is None:
            self._plus = reward
            return
        largest = max(abs(self._plus), abs(reward)) or 1.0
        gradient = (self._plus - reward) / largest / (2 * self._delta)
        self.centre = min(max(self.centre + self._eta * gradient, self._delta), 1 - self._delta)
        self._plus = None


def bluefin(made: Lab, harm: str, kept: Kept) -> None:
    """Rounds on production; what the public has met in each that did harm."""
    policy, file = Bluefin(0.5), Path(made.base.path)
    good = file.read_text()
    bad = harmful(harm, good)
    if harm == CPU:  # a site with logs of its own does not write others
        bad = bad.replace("root ", f"access_log {made.folder}/access.log;\nroot ", 1)
    with made.observed() as observer:
        for _ in range(ROUNDS):
            does_harm = policy.value > 0.5
            file.write_text(bad if does_harm else good)
            os.kill(made.server.pid, signal.SIGHUP)
            time.sleep(2)
            workers = psutil.Process(made.server.pid).children()
            public = public_of(made, harm, ROUND_S)
            seen = _round(observer, workers if does_harm and harm == HANG else ())
            for worker in workers:
                with suppress(psutil.NoSuchProcess):
                    if worker.status() == psutil.STATUS_STOPPED:
                        worker.kill()
            public.process.terminate()
            result = public.end()
            lost = failed(result)
            policy.reward(-(seen + lost / max(result["requests"]["offered"], 1)))
            kept.add(
                {
                    "harm": does_harm,
                    "requests": result["requests"]["offered"],
                    "failed": lost,
                    "seconds": ROUND_S,
                }
            )


def _round(observer: Observer, that_hang: Sequence[psutil.Process]) -> float:
    """CPU seconds per 1,000 requests in a round, in which these processes stop."""

    def each(period: int) -> None:
        if period == HANGS_AFTER:
            for process in that_hang:
                process.suspend()

    tick = Ticking(observer, each)
    seen = observed_together([tick() for _ in range(2 * ROUND_S)])
    return 1000 * seen.arm.cpu_s / max(seen.arm.requests, 1)


def show() -> None:
    """The section of what there is."""
    rows = []
    for harm in HARMS:
        if ends := Kept(f"harm: {harm}").all():
            rows.append(_row(harm, "episode", ends))
        if rounds := [each for each in Kept(f"bluefin: {harm}").all() if each["harm"]]:
            rows.append(_row(harm, "Bluefin on production", rounds))
    about = (
        f"Candidates that do harm, beside nginx (the limit: beside trimtab-httpd) under {RATE_RPS:,} "
        f"requests/s, with 5 % of the connections (the limit: {100 * SHARES[LIMIT]:.0f} %); and Bluefin, "
        f"which tries them on production itself in rounds of {ROUND_S} s (`agent/bench/live_harm.py`). "
        f"Wanted: 95 of 100 have no connections within {SOON_S} s; and of the requests at most 0.2 % fail, "
        "and a tenth of what fails with Bluefin."
    )
    heads = (
        *("harm", "judged by", "bad candidates", f"no connections within {SOON_S} s"),
        *("seconds: median, 95 of 100", "failed requests each: mean, most", "of the traffic"),
    )
    print(section("Harmful candidates", about, heads, rows, left=2))


def _row(harm: str, judge: str, ends: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    took_s = sorted(float("inf") if each["seconds"] is None else each["seconds"] for each in ends)
    within = sum(seconds <= SOON_S for seconds in took_s)
    most = took_s[min(len(took_s) - 1, int(0.95 * len(took_s)))]
    lost = [each["failed"] for each in ends]
    share = sum(lost) / sum(each["requests"] for each in ends)
    return (
        *(harm, judge, str(len(ends)), str(within), f"{statistics.median(took_s):.1f}, {most:.1f}"),
        *(f"{statistics.mean(lost):.1f}, {max(lost)}", f"{share:.3%}"),
    )


if __name__ == "__main__":
    main()
