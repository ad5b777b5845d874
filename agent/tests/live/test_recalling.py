"""What a session takes over of what earlier ones on its file have risked, and how one ends on a full disk."""

import os
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from trimtab_agent.host.identity import describe_host
from trimtab_agent.live import session as sessions
from trimtab_agent.live.plan import Plan
from trimtab_agent.live.proposing import Memory
from trimtab_agent.live.recalling import recalled
from trimtab_agent.live.restoring import Process
from trimtab_agent.live.session import Session
from trimtab_agent.runtime import open_repository
from trimtab_agent.stopping import StopSignal
from trimtab_db.errors import DatabaseFullError
from trimtab_db.records import (
    LiveDecisionKind,
    LiveMode,
    LiveSample,
    LiveState,
    NewLiveDecision,
    NewLiveSession,
)
from trimtab_tuner.live.episode import Rules
from trimtab_tuner.live.guards import Rails

KINDS = LiveDecisionKind
SPENT = {"requests": 1_000_000, "harmed": 1_200, "allowed": 1_000}


@pytest.fixture
def repository(settings):
    """Where sessions record."""
    with open_repository(settings) as opened:
        yield opened


@pytest.fixture
def begin(repository, tmp_path):
    """Begins a session on a file, with decisions of these kinds."""
    host_id = repository.register_host(describe_host(tmp_path))

    def begun(*kinds, file="/etc/nginx/nginx.conf"):
        own = Process.of(os.getpid())
        record = repository.begin_live_session(
            NewLiveSession(
                host_id=host_id,
                target="nginx",
                pid=own.pid,
                addresses=(),
                unit="",
                file=file,
                mode=LiveMode.AUTO,
                settings={},
                process=own.pid,
                process_started=own.started,
            )
        )
        for kind in kinds:
            repository.add_live_decision(NewLiveDecision(session_id=record.id, kind=kind, sentence="x"))
        return record

    return begun


def sampled(repository, record, age=timedelta(), spent=SPENT):
    """It has spent its budget and more."""
    at = datetime.now(UTC) - age
    repository.add_live_sample(record.id, LiveSample(at=at, data={"share": 0.0, "budget": spent}))


def test_budget_that_was_spent_is_spent_for_the_next_session(repository, begin):
    """With the requests of which it was a share."""
    sampled(repository, begin())
    spent = recalled(Memory(), repository, begin()).budget.spent(sessions.time.monotonic())
    assert spent.model_dump() == SPENT
    assert spent.is_spent


def test_budget_is_taken_over_once_though_every_session_has_taken_over_the_last(repository, begin):
    """The latest one has told all of it."""
    for _ in range(3):
        sampled(repository, begin())
    spent = recalled(Memory(), repository, begin()).budget.spent(sessions.time.monotonic())
    assert spent.harmed == SPENT["harmed"]


def test_other_file_has_a_budget_of_its_own(repository, begin):
    """It is another server's."""
    sampled(repository, begin(KINDS.ROLL_BACK, file="/etc/nginx/other.conf"))
    assert told(recalled(Memory(), repository, begin())) == told(Memory())


def test_first_session_begins_with_nothing(repository, begin):
    """Nor does it look at itself."""
    assert told(recalled(Memory(), repository, begin(KINDS.ROLL_BACK))) == told(Memory())


def told(memory):
    """All that is in it."""
    return memory.budget.spent(sessions.time.monotonic()), memory.reloads, memory.cool_down


@pytest.mark.parametrize(
    ("earlier", "latest", "in_a_row"),
    [
        ((), (KINDS.ROLL_BACK,), 1),
        ((KINDS.ROLL_BACK, KINDS.DETACHED), (KINDS.BEGAN, KINDS.ROLL_BACK, KINDS.TROUBLE), 2),
        ((KINDS.ROLL_BACK,), (KINDS.PROMOTE, KINDS.PROMOTED, KINDS.KEPT), 0),
        ((KINDS.ROLL_BACK,), (KINDS.PROMOTE, KINDS.PROMOTED, KINDS.UNDONE), 1),
        ((KINDS.ROLL_BACK,), (KINDS.GIVE_UP,), 0),
    ],
)
def test_cool_down_goes_on_over_sessions(earlier, latest, in_a_row, repository, begin):
    """As if they had been one."""
    begin(*earlier)
    begin(*latest)
    memory = recalled(Memory(), repository, begin())
    assert memory.cool_down.in_a_row == in_a_row
    left_s = memory.cool_down.left_s(sessions.time.monotonic(), 600.0)
    assert (left_s > 500) is (in_a_row > 0)


def test_reloads_of_the_last_hour_count_for_the_next_session(repository, begin):
    """A promotion and the way back are two."""
    begin(KINDS.PROMOTE, KINDS.PROMOTED, KINDS.UNDONE)
    memory = recalled(Memory(), repository, begin())
    assert memory.reloads.within_hour(sessions.time.monotonic()) == 2


def test_clock_that_was_set_back_makes_nothing_older_or_younger_than_now(repository, begin):
    """What was recorded tomorrow was recorded just now."""
    sampled(repository, begin(), age=timedelta(days=-1))
    spent = recalled(Memory(), repository, begin()).budget.spent(sessions.time.monotonic())
    assert spent.harmed == SPENT["harmed"]


@pytest.mark.parametrize("hours", [-1, 1])
def test_budget_is_the_one_that_was_told_last_whatever_the_clock_said(hours, repository, begin):
    """It was set back or forward in between."""
    record = begin()
    sampled(repository, record, timedelta(hours=hours), {**SPENT, "harmed": 0})
    sampled(repository, record)
    spent = recalled(Memory(), repository, begin()).budget.spent(sessions.time.monotonic())
    assert spent.harmed == SPENT["harmed"]


def test_end_of_a_session_is_recorded_when_the_disk_has_room_again(repository, begin, monkeypatch):
    """Until then its record would say that it goes on, and nobody could attach again."""
    record, faults = begin(), iter([DatabaseFullError("the disk is full")] * 3)
    add = repository.add_live_decision

    def full(decision):
        for fault in faults:
            raise fault
        return add(decision)

    monkeypatch.setattr(repository, "add_live_decision", full)
    monkeypatch.setattr(sessions, "RECORD_EVERY_S", 0.01)
    closed, stop = [], StopSignal()
    session = Session(
        record=record,
        attachment=SimpleNamespace(close=lambda: closed.append(True)),
        plan=Plan(
            mode=LiveMode.ADVISE,
            rules=Rules(),
            rails=Rails(),
            slow_s=1.0,
            seeds=(),
            notes=None,
            machine_lock=None,
            require_way=None,
        ),
        repository=repository,
        stop=stop,
    )
    session.run()
    stop.close()
    ended = repository.live_session(record.id)
    assert (ended.state, ended.sentence, closed) == (LiveState.ENDED, "the disk is full", [True])
