"""The live stream over real connections: order, gaps, slow listeners, heartbeat, the daemon's end."""

import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import httpx
import pytest
from fastapi import routing
from trimtab_agent.station.short_directory import KIND
from trimtab_agent.study.announcer import Announcer
from trimtab_trials.trial import TrialPurpose

COMMAND = [sys.executable, "-c", "from trimtab_agent.terminal.main import main; main()"]


@contextmanager
def live(client: httpx.Client, **headers: str) -> Iterator[Iterator[dict[str, str]]]:
    """The events of the stream as they come; comments are under the key ``."""
    with client.stream("GET", "/api/v1/live", headers=headers) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")

        def events() -> Iterator[dict[str, str]]:
            event: dict[str, str] = {}
            for line in response.iter_lines():
                if line:
                    name, _, value = line.partition(": ")
                    event[name] = value
                elif event:
                    yield event
                    event = {}

        yield events()


def _is_progress(event: dict[str, str]) -> bool:
    return event["event"] == "progress"


def await_listeners(daemon, count: int) -> None:
    """Waits until so many listeners are subscribed: what is published then reaches them."""
    ready = threading.Event()
    while len(daemon.context.broadcaster._subscriptions) != count:
        ready.wait(0.01)


def test_events_arrive_in_order_with_names_and_numbers(daemon):
    """What one thread publishes, every listener gets."""
    with (
        httpx.Client(base_url=daemon.client.base_url, timeout=60) as other,
        live(daemon.client) as first,
        live(other) as second,
    ):
        await_listeners(daemon, 2)
        for index in range(3):
            daemon.context.broadcaster.publish("log", {"run_id": None, "message": f"größer {index}"})
        for listener in (first, second):
            events = [next(listener) for _ in range(3)]
            assert [event["event"] for event in events] == ["log"] * 3
            assert [event["id"] for event in events] == ["1", "2", "3"]
            assert [json.loads(event["data"])["message"] for event in events] == [
                "größer 0",
                "größer 1",
                "größer 2",
            ]


def test_listener_that_comes_back_gets_what_it_missed(daemon):
    """The browser names the last event it has seen."""
    for index in range(4):
        daemon.context.broadcaster.publish("log", {"message": str(index)})
    with live(daemon.client, **{"Last-Event-ID": "2"}) as events:
        assert [next(events)["id"], next(events)["id"]] == ["3", "4"]


def test_present_progress_never_comes_before_an_older_one(daemon, monkeypatch):
    """However much happens while a listener is taken in: a bar that it draws does not run backwards."""
    steps = [{"fraction": 0.1}, {"fraction": 0.2}]

    def progress():
        """A run that gets on while it is asked how far it has come."""
        for step in steps:
            daemon.context.broadcaster.publish("progress", step)
        return steps[-1]

    monkeypatch.setattr(daemon.context.service, "progress", progress)
    with live(daemon.client) as events:
        await_listeners(daemon, 1)
        daemon.context.broadcaster.publish("log", {"message": "after"})
        told = [json.loads(event["data"]) for event in itertools.takewhile(_is_progress, events)]
    assert told == steps


def test_whoever_comes_in_the_middle_of_a_trial_gets_what_it_has_measured(daemon, recorded_run, monkeypatch):
    """A page that is reloaded draws the curve from its first rate on; recorded trials are read elsewhere."""
    announcer = Announcer(daemon.repository, daemon.context.broadcaster, recorded_run.id)
    recorded = daemon.repository.trial(recorded_run.id, 1)

    def measure(trial: int, number: int) -> None:
        measured = replace(recorded.measurements[0], number=number)
        announcer.measured(trial, TrialPurpose.SEARCH, recorded.configuration, measured)

    # The fourth trial was cut short, and has begun anew.
    for trial, number in [(3, 1), (3, 2), (4, 1), (4, 2), (4, 1), (4, 2)]:
        measure(trial, number)
    announcer.recorded(replace(recorded, number=3))
    monkeypatch.setattr(daemon.context.service, "under_way", lambda: announcer.under_way)
    with live(daemon.client) as events:
        await_listeners(daemon, 1)
        measure(4, 3)
        lines = [json.loads(next(events)["data"]) for _ in range(3)]
    assert [(line["trial"], line["number"]) for line in lines] == [(4, 1), (4, 2), (4, 3)]


@pytest.mark.parametrize("nonsense", ["x1", "-1", "9" * 5000])
def test_nonsense_as_last_event_is_no_obstacle(daemon, nonsense):
    """The stream begins with what happens next."""
    daemon.context.broadcaster.publish("log", {"message": "before"})
    with live(daemon.client, **{"Last-Event-ID": nonsense}) as events:
        await_listeners(daemon, 1)
        daemon.context.broadcaster.publish("log", {"message": "after"})
        assert json.loads(next(events)["data"])["message"] == "after"


def test_slow_listener_is_told_how_much_it_lost_and_slows_nobody(daemon):
    """A listener that does not read fills its own queue and nothing else."""
    broadcaster = daemon.context.broadcaster
    payload = {"message": "x" * 4096}
    with live(daemon.client) as events:
        await_listeners(daemon, 1)
        (subscription,) = broadcaster._subscriptions
        while subscription.lost == 0:
            broadcaster.publish("log", payload)
        published = broadcaster._next_id - 1
        seen = lost = 0
        while seen + lost < published:
            event = next(events)
            if event["event"] == "lost":
                lost += json.loads(event["data"])["events"]
            else:
                seen += 1
        assert lost > 0
        assert seen + lost == published


def test_silent_stream_gives_signs_of_life(daemon, monkeypatch):
    """A comment now and then tells proxies and browsers that the connection is alive."""
    monkeypatch.setattr(routing, "_PING_INTERVAL", 0.05)
    with live(daemon.client) as events:
        assert list(next(events)) == [""]


def test_listener_that_leaves_is_forgotten(daemon):
    """Closing the page frees its queue."""
    with live(daemon.client) as events:
        await_listeners(daemon, 1)
        daemon.context.broadcaster.publish("log", {"message": "1"})
        next(events)
    daemon.client.close()
    await_listeners(daemon, 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_daemon_ends_at_once_with_a_stream_open(tmp_path, number):
    """`trimtab up`: the signal ends the stream in order and the process with exit code 0."""
    with subprocess.Popen(
        [*COMMAND, "up", "--port", "0", "--var", str(tmp_path / "var")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("TRIMTAB_")},
    ) as process:
        try:
            greeting = process.stdout.readline()
            url = greeting.split(",")[0].removeprefix("Trimtab is at ")
            with httpx.Client(base_url=url, timeout=60) as client, live(client) as events:
                assert next(event for event in events if event.get("event") == "sample")
                process.send_signal(number)
                # The stream ends by itself: no error, and only events until then.
                assert all("event" in event or "" in event for event in events)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, errors) == (0, "")


def test_port_in_use_is_told_and_the_exit_code_says_so(daemon, trimtab):
    """A second daemon on the same port names the port and what to do."""
    code, output = trimtab("up", "--port", str(daemon.port)).finish()
    assert code == 1
    assert f"cannot listen on port {daemon.port} of 127.0.0.1: Address already in use" in output
    assert "Traceback" not in output


def test_log_line_of_the_daemon_has_date_and_time_zone(tmp_path):
    """A directory that a killed job has left, and that cannot be taken away, is one thing it tells of."""
    (tmp_path / "trimtab-left").write_text("a file")
    (tmp_path / "leftovers.json").write_text(json.dumps([[KIND, str(tmp_path / "trimtab-left")]]))
    with subprocess.Popen(
        [*COMMAND, "up", "--port", "0", "--var", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path), "TZ": "Asia/Kolkata"},
    ) as process:
        try:
            process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert re.match(
        r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d \+0530 trimtab: the directory .* of an earlier job stays", errors
    )


def test_connection_that_sends_nothing_does_not_delay_the_end(start_daemon):
    """An idle connection is closed by the daemon when it ends."""
    daemon = start_daemon()
    with socket.create_connection(("127.0.0.1", daemon.port)) as idle:
        accepted = threading.Event()
        while not daemon.server.server_state.connections:
            accepted.wait(0.01)
        daemon.server.should_exit = True
        daemon.thread.join(timeout=60)
        assert not daemon.thread.is_alive()
        assert idle.recv(1) == b""
