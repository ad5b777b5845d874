"""The process in which a station of the fleet carries its trials out, seen from the one that is in the fleet.

It is another process so that this one answers the engine while the host is saturated, and so that a trial
that takes its process down takes down no more. Both talk in lines of JSON over its standard input and output
(trial_lines.py has the other end). It ends in good order, with all settings put back, when its input ends or
it gets SIGTERM, which the kernel sends when this process dies.

    {"do": "job" | "prepare", …}  ──►
                                  ◄──  {"is": "ready" | "refused" | "event" | "report" | "failed", …}
"""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from trimtab_agent.errors import HostError
from trimtab_agent.station.processes.children import last_line

START_LIMIT_S = 120.0  # it puts back what a killed one has left behind
STOP_GRACE_S = 60.0

OnEvent = Callable[[dict[str, Any]], None]


class TrialProcessDied(Exception):
    """The process has ended in the middle of what it was asked for; the text says how."""


class TrialProcess:
    """One such process, started with `command` when it is first needed, and anew when it has died.

    `environment` is added to ours; its standard error goes to `log`. One request at a time; `end` may be
    called from any thread.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self._command = command
        self._environment = environment
        self._log = log
        # Its death signal is bound to the thread that starts it, which must live as long as we do.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="trial-process")
        self._process: subprocess.Popen[str] | None = None
        self._guard = threading.Lock()
        self._closed = self._ending = False
        self.settled = False  # whether it has said last that the machine's settings are as they were

    def start(self) -> None:
        """Starts it unless it runs; raises HostError with why it does not."""
        if self._process is not None and self._ending:
            self._reap(self._process)
        elif self._process is not None and self._process.poll() is None:
            return
        self._process, self._ending = None, False
        process = self._starter.submit(self._started).result()
        with self._guard:
            self._process = process
        ready = self._line(process)
        if ready is None or ready["is"] != "ready":
            said = last_line(self._log) if ready is None else ready["sentence"]
            self._reap(process)
            raise HostError(f"the trial process of this station does not start: {said}")
        self.settled = True  # it puts everything back before it is ready
        if self._closed:
            self.end()

    def ask(self, request: dict[str, Any], on_event: OnEvent) -> dict[str, Any]:
        """What it answers at last; `on_event` gets what it tells meanwhile.

        Raises HostError when it cannot be started, TrialProcessDied when it dies.
        """
        self.start()
        process = self._process
        if process is None or process.stdin is None:
            raise TrialProcessDied("it was ended")
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
        except OSError as error:
            raise TrialProcessDied(self._reap(process)) from error
        while (line := self._line(process)) is not None:
            if line["is"] != "event":
                self.settled = line["settled"]
                return line
            on_event(line["event"])
        raise TrialProcessDied(self._reap(process))

    def end(self) -> None:
        """Has it end: what it carries out is aborted, and its settings are put back. Returns at once."""
        with self._guard:
            if self._process is not None and self._process.poll() is None:
                self._ending = True
                self._process.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """Has it end, and waits for that."""
        self._closed = True
        self.end()
        process = self._process
        if process is not None:
            if process.stdin is not None:
                with suppress(OSError):
                    process.stdin.close()
            try:
                process.wait(STOP_GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
            self._reap(process)
        self._starter.shutdown()

    def _started(self) -> "subprocess.Popen[str]":
        self._log.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._log.open("ab") as log:
                return subprocess.Popen(
                    ["setpriv", "--pdeathsig", "TERM", "--", *self._command],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    bufsize=1,
                    process_group=0,
                    env={**os.environ, **self._environment},
                )
        except OSError as error:
            raise HostError(f"the trial process cannot be started: {error.strerror}") from error

    def _line(self, process: "subprocess.Popen[str]") -> dict[str, Any] | None:
        """Its next line; None when there is none any more."""
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        text = process.stdout.readline()
        if not text.endswith("\n"):
            return None
        line: dict[str, Any] = json.loads(text)
        return line

    def _reap(self, process: "subprocess.Popen[str]") -> str:
        """How it ended, in words."""
        code = process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        last = last_line(self._log)
        return f"the trial process {how}" + (f": {last}" if last and code > 0 else "")
