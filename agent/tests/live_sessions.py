"""What the tests of live sessions share: minutes that are seconds, and ways to wait for what happens."""

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from asking import Asked
from live_support import Tune
from trimtab_agent.live import episodes, service, steering, telling
from trimtab_agent.live import session as sessions
from trimtab_agent.live.episodes import EpisodeEnd
from trimtab_agent.live.listening import take
from trimtab_agent.live.service import LiveService
from trimtab_agent.terminal.main import main
from trimtab_db import Repository
from trimtab_db.records import LiveDecision, LiveDecisionKind, LiveRequest, LiveSession, LiveState
from trimtab_tuner.live import contexts, watch
from trimtab_tuner.live.budget import RiskBudget
from trimtab_tuner.live.episode import Action, Decision, Rules
from trimtab_tuner.live.replicas_policy import ReplicasPolicy
from waiting import LIMIT_S, until

# A step that shows nothing ends soon.
RULES = Rules(steps=(0.4,), margin=0.9, least_pairs=3, most_periods=10)
# Neither harm nor anything else is found: the test ends the episode.
ENDLESS = Rules(steps=(0.3,), margin=0.9, alpha=1e-9, least_pairs=100_000, most_periods=100_000)


def _never(*_: object) -> bool:
    return False


def shortened(
    monkeypatch: pytest.MonkeyPatch, rules: Rules = RULES, *, takes_turns: Callable[..., bool] = _never
) -> None:
    """Minutes are seconds, the traffic never becomes another kind, and a few requests may be risked.

    Everything is tried beside production, unless `takes_turns` says otherwise.
    """
    memory = sessions.Memory
    monkeypatch.setattr(sessions, "takes_turns", takes_turns)
    monkeypatch.setattr(sessions, "PERIOD_S", 0.1)
    monkeypatch.setattr(sessions, "CONTEXT_PERIODS", 8)
    monkeypatch.setattr(sessions, "WAIT_AFTER_REFUSAL_S", 0.3)
    monkeypatch.setattr(sessions, "Memory", lambda: _generous(memory))
    monkeypatch.setattr(episodes, "SETTLE_PERIODS", 20)
    monkeypatch.setattr(episodes, "LINGER_PERIODS", 10)
    monkeypatch.setattr(contexts, "LEARNING", 100_000)
    monkeypatch.setattr(watch, "WATCH_S", 1.0)
    monkeypatch.setattr(telling, "SEEN_EVERY_S", 0.1)
    monkeypatch.setattr(service, "Rules", lambda **_: rules)


def improving(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every episode finds its candidate better, after one period."""

    def carry_out(**order: Any) -> EpisodeEnd:
        order["tick"]()
        decision = Decision(Action.PROMOTE, 0.5, "CPU time per request is 30.0% to 20.0% lower")
        return EpisodeEnd(decision=decision, evidence={"periods": 1}, met_harm=0)

    monkeypatch.setattr(sessions, "carry_out", carry_out)


LOADED = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import live_sessions"


class Attach(Tune):
    """`trimtab live …` as a process of its own in which minutes are seconds and an episode does not end."""

    program = f"{LOADED}; live_sessions.carry_out()"


class Better(Tune):
    """The same, but what is tried is better at once: an episode promotes, and the minute after that does not
    end; replicas are on.
    """

    program = f"{LOADED}; live_sessions.carry_out_with_what_is_better()"


def carry_out() -> None:
    """The life of an `Attach`."""
    shortened(pytest.MonkeyPatch(), ENDLESS)
    main()


def carry_out_with_what_is_better() -> None:
    """The life of a `Better`."""
    patch = pytest.MonkeyPatch()
    shortened(patch, ENDLESS)
    improving(patch)
    patch.setattr(watch, "WATCH_S", 3600.0)
    patch.setattr(ReplicasPolicy, "told", lambda *_: True)
    main()


def _generous(memory: Any) -> Any:
    made = memory()
    made.budget = RiskBudget(0.9)
    return made


@dataclass
class Attached:
    """A session on a server, and the requests that the server is asked meanwhile."""

    server: Any
    asked: Asked
    repository: Repository
    service: LiveService
    id: int

    @property
    def record(self) -> LiveSession:
        """What is recorded of it."""
        return self.repository.live_session(self.id)

    @property
    def decisions(self) -> tuple[LiveDecision, ...]:
        """All of them."""
        return self.repository.live_decisions(self.id)

    @property
    def kinds(self) -> list[LiveDecisionKind]:
        """What they are about."""
        return [decision.kind for decision in self.decisions]

    def decision(self, kind: LiveDecisionKind) -> LiveDecision:
        """The first of that kind."""
        return next(decision for decision in self.decisions if decision.kind is kind)

    def incumbents(self) -> list[dict[str, Any]]:
        """What is kept for the next session on this file."""
        record = self.record
        return (self.repository.live_incumbents(record.host_id, record.target, record.file) or {"known": []})[
            "known"
        ]

    def ask(self, request: LiveRequest) -> None:
        """As a person does."""
        self.repository.ask_live_session(self.id, request)

    def until_decided(self, kind: LiveDecisionKind) -> None:
        """Waits for a decision of that kind."""
        self._until(lambda: kind in self.kinds)

    def until_state(self, state: LiveState) -> None:
        """Waits until it is in that state."""
        self._until(lambda: self.record.state is state)

    def until_told(self, part: str) -> None:
        """Waits until it says so."""
        self._until(lambda: part in self.record.sentence)

    def until_ended(self) -> None:
        """Waits for its end."""
        self._until(lambda: self.record.ended_at is not None)
        assert self.service.wait(self.id, LIMIT_S)
        assert self.record.process == os.getpid()

    def _until(self, condition: Any) -> None:
        """Waits; tells what the session has done where it does not come about."""
        try:
            until(condition)
        except AssertionError:
            said = [f"{decision.kind}: {decision.sentence}" for decision in self.decisions]
            raise AssertionError("\n".join([*said, self.record.sentence])) from None


def children() -> set[int]:
    """Processes of this one's own; other tests may have a server of theirs going on."""
    return {child.pid for child in psutil.Process().children()}


def touched_of(live: Attached) -> dict[str, Any]:
    """What an episode or a promotion would touch, as it is now."""
    seen = live.server.seen
    with take(seen.pid, seen.listeners[0].descriptor) as taken:
        option = taken.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT)
    listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    port = f":{live.server.port:04X}"
    return {
        "option": option,
        "listening": sum(line[3] == "0A" and line[1].endswith(port) for line in listening),
        "migrate": steering.MIGRATE.read_text(),
        "file": live.server.file.read_bytes(),
        "written": live.server.file.stat().st_mtime_ns,
        "workers": [child.pid for child in psutil.Process(seen.pid).children()],
        "children": children(),
    }
