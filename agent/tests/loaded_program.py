"""`trimtab` as a process of its own that does not have to load the program first.

Loading it takes seconds of CPU, more than most of the commands that tests start have to do. So an interpreter
loads it once for all tests of this process and forks for each command, which then has the environment, the
directory and the CPUs that it would have been started with, and a process id of its own, and ends as a
program does.

    the tests ── an order, with the ends of two pipes ──▶ the loaded interpreter
                                                               │ forks
    the tests ◀── process id, later its status ────────── who waits for the command
                                                               │ forks
    the tests ◀── what it prints ───────────────────────── the command

The interpreter is nobody's child, since tests count the children of theirs. It ends when the tests do.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

NUMBER = struct.Struct("i")
LARGEST_ORDER = 1 << 20


class LoadedProgram:
    """The interpreter, as seen from the tests."""

    def __init__(self) -> None:
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            subprocess.run(
                # -P: without the directory of this file among those that modules are looked for in.
                [sys.executable, "-P", __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                check=True,
            )

    def start(self, arguments: tuple[str, ...], environment: dict[str, str]) -> LoadedProcess:
        """Starts `trimtab` with these arguments."""
        order = {
            "arguments": arguments,
            "environment": environment,
            "directory": str(Path.cwd()),
            "cpus": sorted(os.sched_getaffinity(0)),
        }
        printed, prints = os.pipe()
        statuses, tells = os.pipe()
        socket.send_fds(self._orders, [json.dumps(order).encode()], [prints, tells])
        os.close(prints)
        os.close(tells)
        return LoadedProcess(statuses, printed)

    def close(self) -> None:
        """No further command starts; those that run go on."""
        self._orders.close()


class LoadedProcess:
    """A command, as `subprocess.Popen` has it: standard output and errors in `stdout`."""

    def __init__(self, statuses: int, printed: int) -> None:
        self._statuses = statuses
        self.stdout: IO[str] | None = os.fdopen(printed, encoding="utf-8")
        self.returncode: int | None = None
        self.pid = self._next_number()

    def _next_number(self) -> int:
        told = os.read(self._statuses, NUMBER.size)
        assert len(told) == NUMBER.size, "the loaded interpreter has ended"
        return int(NUMBER.unpack(told)[0])

    def poll(self) -> int | None:
        """How it ended, None while it runs; minus the number of the signal that ended it."""
        if self.returncode is None and select.select([self._statuses], [], [], 0)[0]:
            self.returncode = os.waitstatus_to_exitcode(self._next_number())
            os.close(self._statuses)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Waits for its end; raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            select.select([self._statuses], [], [], timeout)
        status = self.poll()
        if status is None:
            raise subprocess.TimeoutExpired("trimtab", timeout or 0.0)
        return status

    def send_signal(self, number: int) -> None:
        """Sends it a signal, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Asks it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it."""
        self.send_signal(signal.SIGKILL)


def serve(orders: socket.socket) -> None:
    """Carries orders out until there are no more; returns in a command only."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal, it is for the tests
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody here asks how those who wait ended
    while True:
        text, descriptors, _, _ = socket.recv_fds(orders, LARGEST_ORDER, 2)
        if not text:
            sys.exit()
        if os.fork() == 0:
            orders.close()
            attend(json.loads(text), *descriptors)
            return
        for descriptor in descriptors:
            os.close(descriptor)


def attend(order: dict[str, Any], prints: int, tells: int) -> None:
    """Starts the command, tells its process id and at last its status; returns in the command only."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    command = os.fork()
    if command == 0:
        os.close(tells)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for standard in (1, 2):
            os.dup2(prints, standard)
        os.close(prints)
        os.environ.clear()
        os.environ.update(order["environment"])
        os.chdir(order["directory"])
        os.sched_setaffinity(0, order["cpus"])
        sys.argv = ["-c", *order["arguments"]]
        return
    os.close(prints)  # the end of what is printed is that of the command
    os.write(tells, NUMBER.pack(command))
    os.write(tells, NUMBER.pack(os.waitpid(command, 0)[1]))
    os._exit(0)


if __name__ == "__main__":
    if os.fork():
        os._exit(0)
    # All commands, and the slowest of what they load when they need it.
    import typer
    from scipy import stats  # noqa: F401
    from trimtab_agent.api import daemon  # noqa: F401
    from trimtab_agent.terminal.main import app, main
    from trimtab_tuner.understanding.importance import load_trees

    dict(typer.main.get_command(app).commands)  # all commands
    load_trees()
    gc.freeze()  # so that collecting garbage in a command does not copy all of it
    serve(socket.socket(fileno=int(sys.argv[1])))
    main()
