"""Replies about live tuning: servers that run, sessions, what they decided, what their arms did."""

from datetime import datetime
from typing import Any

from trimtab_db.records import LiveDecisionKind, LiveMode, LiveRequest, LiveState
from trimtab_trials.configuration import Configuration

from trimtab_agent.api.schemas import Reply


class LiveServer(Reply):
    """A web server that runs here.

    `obstacles` are sentences about why a share of its connections cannot go to another server, `no_reload` is
    one about why it cannot take up a changed file; `values` are those of knobs that its `file` sets, and
    `trouble` says why they are not known. `attachable`: the request came through a door through which this
    server may be attached to (`TRIMTAB_LIVE_SERVERS`).
    """

    target: str
    pid: int
    program: str
    processes: int
    user: str
    addresses: tuple[str, ...]
    file: str | None
    unit: str | None
    obstacles: tuple[str, ...]
    no_reload: str | None
    values: Configuration
    trouble: str | None
    attachable: bool


class LiveSessionReply(Reply):
    """A live session; `dead`: it has not ended, but its process is gone."""

    id: int
    target: str
    pid: int
    addresses: tuple[str, ...]
    unit: str
    file: str
    mode: LiveMode
    settings: dict[str, Any]
    state: LiveState
    sentence: str
    share: float
    context: dict[str, Any] | None
    asked: LiveRequest | None
    started_at: datetime
    seen_at: datetime
    ended_at: datetime | None
    dead: bool


class LiveDecisionReply(Reply):
    """What a session decided or met with, and what that rests on.

    `configuration` has the knobs that change: the value before and the value after of each.
    """

    id: int
    at: datetime
    kind: LiveDecisionKind
    sentence: str
    share: float
    configuration: dict[str, tuple[Any, Any]] | None
    evidence: dict[str, Any]


class LiveSessionDetail(LiveSessionReply):
    """A session with its decisions, oldest first, and the incumbents that are known for its file."""

    decisions: tuple[LiveDecisionReply, ...]
    incumbents: dict[str, Any] | None


class LiveArm(Reply):
    """What one arm did in the time of a sample; null where that is not known."""

    requests_per_s: float | None = None
    cpu_s_per_1000: float | None = None
    service_ms: float | None = None
    errors_per_s: float | None = None
    waiting: float | None = None
    bytes_per_s: float | None = None


Interval = tuple[float | None, float | None]


class LiveChange(Reply):
    """The canary against the baseline, as shares (-0.05: 5 % less); null where a bound is not known.

    `errors` is the difference of the shares of requests that fail (0.01: one more in a hundred).
    """

    cost: Interval | None = None
    time: Interval | None = None
    errors: Interval | None = None


class LiveBudget(Reply):
    """Of the requests of the last 24 hours: how many met harm, and how many may."""

    requests: int
    harmed: int
    allowed: int


class LiveSampleData(Reply):
    """What the arms did; those that are not there have not run. `share` is the canary's."""

    share: float = 0.0
    production: LiveArm | None = None
    baseline: LiveArm | None = None
    canary: LiveArm | None = None
    change: LiveChange | None = None
    budget: LiveBudget | None = None


class LiveSampleReply(Reply):
    """A sample of a live session."""

    at: datetime
    data: LiveSampleData
