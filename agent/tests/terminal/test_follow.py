"""Following a run in the terminal, in this process."""

import io
import json
import os
import signal
import threading
from contextlib import ExitStack

import httpx
from live_support import tiny_spec
from rich.console import Console
from trimtab_agent.errors import HostError
from trimtab_agent.paths import VarPaths
from trimtab_agent.terminal.daemon import API, Daemon
from trimtab_agent.terminal.follow import Follower, RunsHere
from trimtab_db.records import RunState
from waiting import until


def test_stop_that_does_not_arrive_is_told_and_tried_again(simulated, runtime):
    """A daemon that hangs, say: nothing pretends that the run is stopping, and the next Ctrl-C asks anew."""
    simulated.hold(trial=1, rate=2)
    shown = io.StringIO()
    runs = RunsHere(runtime.service, runtime.broadcaster)
    stop, failures = runs.stop, [HostError("the daemon does not answer")]

    def stop_the_second_time(run_id):
        if failures:
            raise failures.pop()
        stop(run_id)

    runs.stop = stop_the_second_time

    def ask_again():
        pause = threading.Event()
        while "It could not be stopped: the daemon does not answer" not in shown.getvalue():
            pause.wait(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    asking = threading.Thread(target=ask_again)
    asking.start()
    with Follower(Console(file=shown, width=200), runs) as follower:
        run_id = runs.start(tiny_spec())
        signal.raise_signal(signal.SIGINT)
        end = follower.follow(runtime.repository.run(run_id))
    asking.join()
    assert end.state is RunState.STOPPED


def test_last_line_of_a_stopped_run_says_that_it_was_stopped(simulated, runtime, listener):
    """And not that it ends in 0:00, with all of its trials done."""
    simulated.hold(trial=3)
    shown = io.StringIO()
    runs = RunsHere(runtime.service, runtime.broadcaster)
    with Follower(Console(file=shown, width=200), runs) as follower:
        run_id = runs.start(tiny_spec())
        listener.wait_for("progress", lambda data: data["trial"] == 3)
        signal.raise_signal(signal.SIGINT)
        assert follower.follow(runtime.repository.run(run_id)).state is RunState.STOPPED
    last = [line for line in shown.getvalue().splitlines() if " % searching, " in line][-1]
    assert " % searching, stopped, trial 3/" in last
    assert "trial 3/3 " not in last


def test_line_ends_where_there_is_no_more_to_tell(simulated, runtime):
    """And not with a comma, before the first trial."""
    shown = io.StringIO()
    runs = RunsHere(runtime.service, runtime.broadcaster)
    with Follower(Console(file=shown, width=200), runs) as follower:
        run_id = runs.start(tiny_spec())
        follower.follow(runtime.repository.run(run_id))
    preparing = [line for line in shown.getvalue().splitlines() if " % preparing, ETA " in line]
    assert preparing
    assert not [line for line in preparing if line.endswith((",", " "))]


def test_run_whose_end_was_missed_is_known_by_what_is_recorded(simulated, runtime):
    """As by a terminal that was stopped by Ctrl-Z overnight: the stream keeps so many events for it."""
    run_id = runtime.service.start(tiny_spec())
    runtime.service.wait()
    VarPaths(runtime.settings.var).daemon_lock.write_text(json.dumps({"database": runtime.repository.place}))
    over = threading.Event()

    def stream():
        yield b'event: lost\ndata: {"events": 30000}\n\n'
        over.wait()

    def answered(request):
        if request.method == "POST":
            return httpx.Response(201, json={"id": run_id})
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=stream())

    transport = httpx.MockTransport(answered)
    with ExitStack() as opened, httpx.Client(transport=transport, base_url=API) as client:
        opened.callback(over.set)
        daemon = Daemon(client, runtime.settings, opened).listen(runtime.repository)
        assert daemon.start(tiny_spec()) == run_id
        until(daemon.ended)
        assert daemon.end(run_id).state is RunState.FINISHED
        over.set()


class HeldWhileCleared(threading.Event):
    """An event whose lock its own thread holds when a Ctrl-C comes, as it now and then does by chance."""

    def __init__(self):
        super().__init__()
        self._held = False
        self._signalled = False
        self.waited_for_itself = False

    def clear(self):
        """Takes note, and is interrupted the first time."""
        if not self._signalled:
            self._signalled = self._held = True
            signal.raise_signal(signal.SIGINT)
            self._held = False
        super().clear()

    def set(self):
        """Needs the lock that its own thread may hold."""
        if self._held and threading.current_thread() is threading.main_thread():
            self.waited_for_itself = True  # with a real lock: for ever
            return
        super().set()


def test_ctrl_c_that_comes_while_an_arrival_is_noted_stops_the_run_and_does_not_hang(simulated, runtime):
    """A handler that needs the lock of the event that its own thread takes note of would wait for itself."""
    simulated.hold(trial=1, rate=2)
    runs = RunsHere(runtime.service, runtime.broadcaster)
    interrupted = HeldWhileCleared()
    runs.arrived = interrupted
    with Follower(Console(file=io.StringIO(), width=200), runs) as follower:
        run_id = runs.start(tiny_spec())
        end = follower.follow(runtime.repository.run(run_id))
    assert not interrupted.waited_for_itself
    assert end.state is RunState.STOPPED
