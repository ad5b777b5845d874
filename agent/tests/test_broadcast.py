"""Fan-out of events to listeners that may be slow, late or gone."""

import threading

from live_support import Listener
from trimtab_agent.broadcast import Broadcaster


def test_every_listener_gets_every_event_in_order():
    """Numbers count up without gaps."""
    broadcaster = Broadcaster()
    listeners = [broadcaster.subscribe(lambda: None) for _ in range(2)]
    for n in range(3):
        broadcaster.publish("log", {"n": n})
    for listener in listeners:
        events = listener.drain()
        assert [event.data["n"] for event in events] == [0, 1, 2]
        assert [event.id for event in events] == [1, 2, 3]
        assert listener.drain() == []


def test_slow_listener_loses_the_oldest_and_is_told_how_many():
    """A queue is bounded; the publisher never waits."""
    broadcaster = Broadcaster()
    listener = broadcaster.subscribe(lambda: None, capacity=2)
    for n in range(5):
        broadcaster.publish("log", {"n": n})
    assert listener.lost == 3
    assert [event.data["n"] for event in listener.drain()] == [3, 4]


def test_listener_that_comes_back_gets_what_it_missed():
    """As far as it is still kept."""
    broadcaster = Broadcaster(keep=3)
    for n in range(5):
        broadcaster.publish("log", {"n": n})
    woken = threading.Event()
    listener = broadcaster.subscribe(woken.set, after_id=3)
    assert woken.is_set()
    assert [event.id for event in listener.drain()] == [4, 5]
    assert [event.id for event in broadcaster.subscribe(woken.set, after_id=0).drain()] == [3, 4, 5]


def test_closed_listener_is_not_woken():
    """Closing twice does no harm."""
    broadcaster = Broadcaster()
    woken = threading.Event()
    listener = broadcaster.subscribe(woken.set)
    listener.close()
    listener.close()
    broadcaster.publish("log", {})
    assert not woken.is_set()


def test_events_of_many_threads_arrive_once_each():
    """Publishing is safe from any thread."""
    broadcaster = Broadcaster()
    listener = broadcaster.subscribe(lambda: None, capacity=10_000)
    threads = [
        threading.Thread(target=lambda: [broadcaster.publish("log", {}) for _ in range(500)])
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [event.id for event in listener.drain()] == list(range(1, 4001))


def test_listener_from_before_a_restart_gets_everything_since():
    """A daemon's first number is larger than all that the one before it gave."""
    broadcaster = Broadcaster(first_id=5000)
    broadcaster.publish("log", {"message": "after the restart"})
    listener = broadcaster.subscribe(lambda: None, after_id=4321)
    assert [event.id for event in listener.drain()] == [5000]


def test_tests_that_wait_for_two_events_get_both_of_one_batch():
    """The listener of the tests: what comes together with the one that was waited for is not lost."""
    broadcaster = Broadcaster()
    listener = Listener(broadcaster)
    for n in range(4):
        broadcaster.publish("measurement" if n % 2 else "sample", {"n": n})
    assert [listener.wait_for("measurement").data["n"] for _ in range(2)] == [1, 3]
    assert [event.data["n"] for event in listener.seen] == [0, 1, 2, 3]
