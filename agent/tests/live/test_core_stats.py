"""What the core tells at its stats socket, also when it is reloaded."""

import pytest
from trimtab_agent.live import core_stats
from trimtab_agent.live.core_stats import CoreStats
from trimtab_agent.live.observation import ObservationLost
from trimtab_tuner.live.observed import Served, Statuses


@pytest.fixture
def core(monkeypatch, tmp_path):
    """Stats that a test sets, each of two workers with half of them, and what reads them."""
    told = {}

    class Socket:
        def __init__(self, _):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def metrics(self):
            for name, value in told.items():
                name, _, label = name.partition(" ")
                for worker in range(2):
                    labels = f'worker="{worker}",role="worker"' + (f",{label}" if label else "")
                    yield f"trimtab_httpd_{name}{{{labels}}} {value / 2}\n"

    monkeypatch.setattr(core_stats, "StatsSocket", Socket)
    return told, CoreStats(tmp_path)


def counts(requests, replied, opened=0):
    """What the core has counted; what was not replied to was aborted."""
    return {
        "requests_total": requests,
        "requests_aborted_total": requests - replied,
        'replies_total status="200"': replied,
        "connections_open": opened,
        "connections_closed_by_server_total": requests / 10,
        'service_time_seconds_bucket le="0.001"': replied / 2,
        'service_time_seconds_bucket le="+Inf"': replied,
        "service_time_seconds_sum": replied * 0.002,
    }


def test_all_workers_are_told_together_since_the_last_reading(core):
    """Replies, their times, and connections."""
    told, stats = core
    told.update(counts(10, 10))
    stats.read()
    told.update(counts(53, 50, opened=4))
    replies = stats.read()
    assert replies.served[0] == Served(40, pytest.approx(0.08))
    assert replies.statuses == Statuses(success=40)
    assert (replies.aborted, replies.connections_open, replies.connections_closed) == (3, 4, 4)
    assert (replies.service_times.replies, replies.service_times.slower_than(0.001)) == (40, 20)


def test_core_that_was_reloaded_counts_from_zero(core):
    """What it has counted since is what was answered."""
    told, stats = core
    told.update(counts(100, 100))
    stats.read()
    told.update(counts(30, 30))
    assert stats.read().served[0].requests == 30


def test_timeout_of_a_connection_is_no_reply(core):
    """Nobody asked."""
    told, stats = core
    told.update({**counts(2, 2), 'replies_total status="200"': 0, 'replies_total status="408"': 2})
    replies = stats.read()
    assert (replies.served[0].requests, replies.statuses, replies.aborted) == (0, Statuses(), 0)


def test_socket_where_nobody_answers_is_lost(tmp_path):
    """Its path is in the sentence."""
    with pytest.raises(ObservationLost, match="no-socket"):
        CoreStats(tmp_path / "no-socket").read()
