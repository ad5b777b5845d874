"""Shows a run's progress until it ends: a bar in a terminal, plain lines at intervals elsewhere."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Protocol, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from trimtab_db import records
from trimtab_db.records import RunState
from trimtab_trials.trial import Verdict
from trimtab_tuner.clients import Clients
from trimtab_tuner.space import Space
from trimtab_tuner.wording import in_mbps
from trimtab_tuner.workloads.parameters import clients_of

from trimtab_agent.broadcast import Broadcaster, Event
from trimtab_agent.errors import RunNotRunning, TrimtabError
from trimtab_agent.study.own_file_report import OwnFileReport
from trimtab_agent.study.run_spec import RunSpec
from trimtab_agent.study.runs import RunService
from trimtab_agent.study.study import RunEnd
from trimtab_agent.terminal.report import describe_configuration

PLAIN_INTERVAL_S = 10.0
WAKE_S = 0.25  # how long a Ctrl-C waits at most until it is looked at


class Runs(Protocol):
    """Who carries a run out; it listens from the beginning, so that nothing of the run is missed.

    `arrived` is set whenever something has happened.
    """

    arrived: threading.Event

    def start(self, spec: RunSpec) -> int:
        """Starts a run and returns its number; raises what RunService.start does."""

    def told(self, spec: RunSpec) -> OwnFileReport:
        """What happens to the user's own file in such a run; raises what RunService.told does."""

    def resume(self, run_id: int, even_if_changed: bool = False) -> int:
        """Goes on with a run and returns its number; raises what RunService.resume does."""

    def stop(self, run_id: int) -> None:
        """Asks it to stop; raises RunNotRunning when it has just ended by itself."""

    def events(self) -> list[Event]:
        """What has happened since the last call."""

    def ended(self) -> bool:
        """Whether nothing happens any more."""

    def end(self, run_id: int) -> RunEnd:
        """How a run that has ended did so."""


class RunsHere:
    """Runs of this process."""

    def __init__(self, service: RunService, broadcaster: Broadcaster) -> None:
        self.arrived = threading.Event()
        self.start, self.resume, self.stop = service.start, service.resume, service.stop
        self.told = service.told
        self._service = service
        self._subscription = broadcaster.subscribe(self.arrived.set)

    def events(self) -> list[Event]:
        """What has happened since the last call."""
        return self._subscription.drain()

    def ended(self) -> bool:
        """Whether the run's thread has."""
        return self._service.wait(0)

    def end(self, run_id: int) -> RunEnd:
        """As the run's thread has left it, which a full disk may have kept from recording it."""
        end = self._service.last_end
        if end is None or end.run_id != run_id:
            raise RunNotRunning(run_id)
        return end


class Follower:
    """Follows one run; within it a first signal stops the run, and a second ends everything."""

    def __init__(self, console: Console, runs: Runs) -> None:
        self._console = console
        self._runs = runs
        self._space: Space  # comes with the run
        self._clients: Clients
        self._signals = 0
        self._before: dict[int, Any] = dict.fromkeys((signal.SIGINT, signal.SIGTERM))
        self._last_plain = 0.0
        self._last_phase = ""
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def follow(self, run: records.Run) -> RunEnd:
        """Shows the run, which has just been started, until it has ended, and says how."""
        self._space = Space.model_validate(run.space)
        self._clients = clients_of(run.workload_parameters)
        with self._display():
            stopping = False
            while not self._runs.ended():
                self._runs.arrived.wait(WAKE_S)
                self._runs.arrived.clear()
                self._show_all(run.id)
                if self._signals and not stopping:
                    stopping = self._stop(run.id)
            self._show_all(run.id)
        return self._runs.end(run.id)

    def __enter__(self) -> Self:
        for number in self._before:
            self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _stop(self, run_id: int) -> bool:
        """Asks for the end; False if nobody could be asked, so that the next signal tries again."""
        self._console.print("Stopping: finished trials are kept. Ctrl-C again ends at once.")
        try:
            self._runs.stop(run_id)
        except RunNotRunning:
            return True  # it has just ended by itself
        except TrimtabError as error:
            self._signals = 0
            self._console.print(f"It could not be stopped: {error.sentence}", markup=False)
            return False
        return True

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """Counts, and nothing more: its own thread may just hold the lock of `arrived`."""
        del frame
        self._signals += 1
        if self._signals > 1:
            # As the shell would have it without our handler; the kernel kills the children with us.
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    @contextmanager
    def _display(self) -> Iterator[None]:
        if not self._console.is_terminal:
            yield
            return
        with Progress(
            TextColumn("{task.fields[phase]}"),
            BarColumn(bar_width=28),
            TextColumn("{task.percentage:3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            TextColumn("{task.fields[what]}"),
            console=self._console,
        ) as bar:
            self._bar = bar
            self._task = bar.add_task("run", total=1.0, phase="preparing", left="ETA …", what="")
            yield
            self._bar = None

    def _show_all(self, run_id: int) -> None:
        for event in self._runs.events():
            if event.data.get("run_id") in (None, run_id):
                self._show(event)

    def _show(self, event: Event) -> None:
        if event.name == "progress":
            self._show_progress(event.data)
        elif event.name == "trial":
            self._console.print(self._trial_line(event.data))
        elif event.name == "log":
            self._console.print(f"{event.data['level']}: {event.data['message']}", markup=False)

    def _show_progress(self, data: dict[str, Any]) -> None:
        if self._bar is not None:
            self._bar.update(
                self._task,
                completed=data["fraction"],
                phase=data["phase"],
                left=_left(data),
                what=escape(self._what(data)),
            )
        elif self._plain_line_due(data):
            self._last_plain, self._last_phase = time.monotonic(), data["phase"]
            said = (f"{data['fraction'] * 100:3.0f} % {data['phase']}", _left(data), self._what(data))
            self._console.print(", ".join(filter(None, said)), markup=False)

    def _plain_line_due(self, data: dict[str, Any]) -> bool:
        """At intervals, whenever the phase changes, and when the run ends before its last phase."""
        return (
            time.monotonic() - self._last_plain >= PLAIN_INTERVAL_S
            or data["phase"] != self._last_phase
            or _ended_early(data)
        )

    def _what(self, data: dict[str, Any]) -> str:
        parts = []
        if data["trial"] is not None:
            parts.append(f"trial {data['trial']}/{data['trials_expected']}")
            parts.append(describe_configuration(data["configuration"], self._space))
        if data["rate_rps"] is not None:
            parts.append(
                f"{self._clients.level(data['rate_rps'])} ({data['rate_index'] + 1}/{data['rates']})"
            )
        if data["best"] is not None:
            parts.append(f"best {in_mbps(data['best']['score'])}")
        return " · ".join(filter(None, parts))

    def _trial_line(self, trial: dict[str, Any]) -> str:
        score = "" if trial["score"] is None else f" {in_mbps(trial['score'])}"
        what = describe_configuration(trial["configuration"], self._space)
        reason = "" if trial["verdict"] == Verdict.VERIFIED else f" ({trial['reason']})"
        return escape(
            f"trial {trial['number']} {trial['purpose']}: {what}: {trial['verdict']}{score}{reason}"
        )


def _ended_early(data: dict[str, Any]) -> bool:
    return data["state"] not in (RunState.RUNNING.value, RunState.FINISHED.value)


def _left(data: dict[str, Any]) -> str:
    """When the run will end; how it has ended, of one that did before its last phase."""
    return str(data["state"]) if _ended_early(data) else f"ETA {_clock(data['eta_s'])}"


def _clock(seconds: float) -> str:
    """Minutes and seconds: `4:05`."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
