"""Tells every listener what happens, while it happens: samples, progress, trials, changes of state.

The study and the sampler publish from their own threads; the API's SSE stream and the terminal listen.
A publisher never waits for a listener: each subscription has a bounded queue, and a listener that does not
keep up loses the oldest events and is told how many (`Subscription.lost`).  Events are numbered without
gaps, and the last few hundred are kept, so that a browser that reconnects with the id of the last event it
has seen gets what it missed.  A daemon begins with a number larger than any that one before it can have
given, so that a browser that was there before a restart gets everything since.
"""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Event:
    """One thing that happened: `id` counts up by one, `data` is ready for JSON.

    `name` is one of `sample`, `progress`, `measurement`, `trial`, `run`, `log`.
    """

    id: int
    name: str
    data: dict[str, Any]


class Subscription:
    """The events of one listener that it has not taken yet; made by `Broadcaster.subscribe`."""

    def __init__(self, broadcaster: "Broadcaster", wake: Callable[[], None], capacity: int) -> None:
        self._broadcaster = broadcaster
        self._events: deque[Event] = deque()
        self._capacity = capacity
        self.wake = wake
        self.lost = 0

    def put(self, event: Event) -> None:
        """Queues an event, dropping the oldest when full; called by the broadcaster under its lock."""
        if len(self._events) == self._capacity:
            self._events.popleft()
            self.lost += 1
        self._events.append(event)

    def drain(self) -> list[Event]:
        """Takes everything that waits, oldest first; never blocks."""
        return self._broadcaster.drain(self._events)

    def close(self) -> None:
        """Ends the subscription; nothing wakes the listener any more."""
        self._broadcaster.unsubscribe(self)


class Broadcaster:
    """Thread-safe fan-out of numbered events to bounded subscriptions."""

    def __init__(self, *, keep: int = 500, first_id: int = 1) -> None:
        self._lock = threading.Lock()
        self._recent: deque[Event] = deque(maxlen=keep)
        self._subscriptions: list[Subscription] = []
        self._next_id = first_id

    def publish(self, name: str, data: dict[str, Any]) -> None:
        """Hands an event to every listener; returns at once, from any thread."""
        with self._lock:
            event = Event(id=self._next_id, name=name, data=data)
            self._next_id += 1
            self._recent.append(event)
            listeners = list(self._subscriptions)
            for subscription in listeners:
                subscription.put(event)
        for subscription in listeners:
            subscription.wake()

    def subscribe(
        self,
        wake: Callable[[], None],
        *,
        after_id: int | None = None,
        capacity: int = 1000,
    ) -> Subscription:
        """Starts to listen.

        `wake` is called, from the publisher's thread, whenever something has arrived; it must not block
        (`threading.Event.set`, or `loop.call_soon_threadsafe` of an asyncio event).  With `after_id` the kept
        events with a larger number are delivered first; without it only what happens from now on.
        """
        subscription = Subscription(self, wake, capacity)
        with self._lock:
            if after_id is not None:
                for event in self._recent:
                    if event.id > after_id:
                        subscription.put(event)
            self._subscriptions.append(subscription)
        if after_id is not None:
            wake()
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Forgets a listener; a second call does nothing."""
        with self._lock:
            if subscription in self._subscriptions:
                self._subscriptions.remove(subscription)

    def drain(self, events: deque[Event]) -> list[Event]:
        """Empties a subscription's queue; for `Subscription.drain`."""
        with self._lock:
            taken = list(events)
            events.clear()
        return taken
