"""Samples of a session come one after the other, whatever becomes of the clock."""

import itertools
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from trimtab_agent.live import telling
from trimtab_agent.live.telling import Teller
from trimtab_tuner.live.budget import Spent

BEGAN = datetime(2026, 11, 23, 12, tzinfo=UTC)
SPENT = Spent(requests=0, harmed=0, allowed=0)


@pytest.fixture
def clock(monkeypatch):
    """What clocks say: `passed_s` seconds have passed, and the one on the wall was set by `set_by`."""
    now = SimpleNamespace(passed_s=1000.0, set_by=timedelta())
    wall = SimpleNamespace(now=lambda _: BEGAN + timedelta(seconds=now.passed_s) + now.set_by)
    monkeypatch.setattr(telling, "datetime", wall)
    monkeypatch.setattr(telling, "time", SimpleNamespace(monotonic=lambda: now.passed_s))
    return now


@pytest.fixture
def sampled(clock):
    """Takes a sample after so many seconds; when they were taken, as it is recorded."""
    recorded = []
    repository = SimpleNamespace(add_live_sample=lambda _, sample: recorded.append(sample.at))
    teller = Teller(repository, 1)

    def after(seconds):
        clock.passed_s += seconds
        teller.sample({}, {}, SPENT)
        return recorded

    return after


def test_clock_that_was_set_back_makes_no_sample_older_than_the_one_before(clock, sampled):
    """Whoever asks for what came since the last one goes on getting it, and the clock is caught up with."""
    sampled(0)
    clock.set_by = timedelta(minutes=-1)
    for _ in range(4):
        recorded = sampled(20)
    steps = [later - earlier for earlier, later in itertools.pairwise(recorded)]
    assert steps[:3] == [timedelta(seconds=10)] * 3
    for _ in range(4):
        recorded = sampled(20)
    assert recorded[-1] == BEGAN + timedelta(seconds=clock.passed_s) + clock.set_by


def test_clock_that_was_set_forward_is_followed_and_no_sample_is_left_out(clock, sampled):
    """How often they are taken is another clock's business."""
    sampled(0)
    clock.set_by = timedelta(days=1)
    assert len(sampled(1)) == 1
    assert sampled(10)[-1] == BEGAN + timedelta(days=1, seconds=clock.passed_s)
