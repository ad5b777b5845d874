"""What the tests with real servers share: a tiny run, and ways to wait for what happens to it."""

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import psutil
from loaded_program import LoadedProgram
from trimtab_agent.broadcast import Broadcaster, Event
from trimtab_agent.kernel.reading import Kernel
from trimtab_agent.runtime import Runtime
from trimtab_agent.settings import AgentSettings
from trimtab_agent.study.run_spec import KnobSpec, RunSpec
from trimtab_agent.workloads.choice import make_workload
from trimtab_tuner.workloads import WORKLOADS, Workload
from trimtab_tuner.workloads.parameters import parameters

WAIT_S = 60.0

# A run of seconds.  16 connections saturate on the clients' pauses, at about a thousand requests a second
# whatever the machine is doing, so neither the generator nor the CPU becomes the limit.
TINY: dict[str, Any] = {
    "directories": 1,
    "time_scale": 0.02,
    "timeout_s": 0.5,
    "calibration_start_rps": 600.0,
    "calibration_step_s": 0.5,
    "rate_duration_s": 0.4,
    "warmup_s": 0.1,
    "ladder_points": 2,
    "budget_trials": 3,
    "elimination_trials": 0,
    "confirmation_repeats": 2,
    # Of so short measurements any rate may look hopeless.
    "early_stopping": False,
    # Fairness is tested where it is defined; here it would depend on who else uses the machine.
    "thresholds": {"all_files_limit": 1, "size_limit": 1, "size_over_mean_limit": 1, "failures_limit": 1},
}
TINY_KNOBS = {"workers": KnobSpec(low=1, high=4), "max_connections": KnobSpec(fixed=16)}


def tiny_spec(knobs: dict[str, KnobSpec] | None = None, **changes: Any) -> RunSpec:
    """A run of a few seconds; `changes` override its settings, `knobs` are narrowed besides."""
    return RunSpec(knobs={**TINY_KNOBS, **(knobs or {})}, settings={**TINY, **changes})


def specweb99(directories: int, time_scale: float = 1.0) -> Workload:
    """The main workload for a number of directories."""
    return make_workload(parameters(WORKLOADS["specweb99"].sized(directories), time_scale))


LADDER_RPS = (200.0, 400.0)


def nothing_here() -> Kernel:
    """A kernel without knobs."""
    return Kernel(here=(), lacking=())


def start_calibrated(runtime: Runtime, **changes: Any) -> int:
    """Starts a tiny run whose ladder is known already, so that it is in its search at once.

    By default with rates such that every server keeps up.
    """
    return runtime.service.start(tiny_spec(**{"ladder": LADDER_RPS, **changes}))


def tiny_options(**changes: Any) -> list[str]:
    """The same run as options of `trimtab tune`."""
    options = [f"--set={name}={json.dumps(value)}" for name, value in {**TINY, **changes}.items()]
    return [*options, "--knob=workers=1:4", "--knob=max_connections=16"]


class Listener:
    """Collects the events of a broadcaster, and waits for particular ones.

    What was taken together with the event that was waited for stays for the next wait: two that come
    at once, as from two stations, are two answers.
    """

    def __init__(self, broadcaster: Broadcaster) -> None:
        self._arrived = threading.Event()
        self._subscription = broadcaster.subscribe(self._arrived.set, capacity=100_000)  # all of a run's
        self._taken: deque[Event] = deque()
        self.seen: list[Event] = []

    def wait_for(self, name: str, matches: Callable[[dict[str, Any]], bool] = lambda _: True) -> Event:
        """The next event of that name that matches; fails after a minute."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            self._taken.extend(self._subscription.drain())
            while self._taken:
                event = self._taken.popleft()
                self.seen.append(event)
                if event.name == name and matches(event.data):
                    return event
            self._arrived.wait(1.0)
            self._arrived.clear()
        raise AssertionError(f"no event {name!r} came; seen: {[(e.name, e.data) for e in self.seen[-5:]]}")

    def wait_for_rate(self, trial: int) -> None:
        """Waits until that trial is driving a rate."""
        self.wait_for(
            "progress",
            lambda data: data["trial"] == trial and data["rate_rps"] is not None,
        )


def children_named(name: str, parent: int | None = None) -> list[psutil.Process]:
    """The processes of that name among the descendants of `parent` (this process if not given)."""
    found = []
    for child in psutil.Process(parent).children(recursive=True):
        try:
            if child.name() == name:
                found.append(child)
        except psutil.NoSuchProcess:
            continue
    return found


def wait_until_gone(pids: list[int]) -> None:
    """Waits until all these processes have ended (not necessarily been reaped); fails after a minute."""
    deadline = time.monotonic() + WAIT_S
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"process {pid} is still running"
        finally:
            os.close(descriptor)


class Tune:
    """`trimtab tune` (or another command) as a process of its own, its output read line by line."""

    program = "from trimtab_agent.terminal.main import main; main()"

    def __init__(self, settings: AgentSettings, *arguments: str, loaded: LoadedProgram | None = None) -> None:
        """`loaded`: what it is forked from; None: it begins as one that a user starts."""
        environment = {
            **os.environ,
            "TRIMTAB_VAR": str(settings.var),
            "TRIMTAB_HTTPD_PATH": str(settings.httpd_path),
            "TRIMTAB_LOAD_PATH": str(settings.load_path),
            "PYTHONUNBUFFERED": "1",
        }
        self.lines: list[str] = []
        if loaded:
            self.process = loaded.start(arguments, environment)
            return
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.program, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )

    def wait_for_line(self, part: str) -> str:
        """Reads on until a line contains `part`."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if part in line:
                return line
        raise AssertionError(f"{part!r} was never printed:\n{''.join(self.lines)}")

    def finish(self) -> tuple[int, str]:
        """Waits for the end: exit code and all that was printed."""
        assert self.process.stdout is not None
        self.lines += self.process.stdout.readlines()
        return self.process.wait(WAIT_S), "".join(self.lines)

    def descendants(self) -> list[int]:
        """The process ids of everything it has started."""
        return [child.pid for child in psutil.Process(self.process.pid).children(recursive=True)]
