"""Child processes that never outlive the agent, and whose death is seen at once.

DESIGN.  Every child is started through setpriv(1) with a parent-death signal, so the kernel kills it when the
agent dies, even by kill -9.  The signal is bound to the *thread* that started the child, hence whoever starts
children must outlive them.  A child has its own process group: Ctrl-C in the terminal reaches only the agent,
which then ends its children in good order, and whatever a child has forked is ended with it.

A server is started through a guard (guard.py), which ends all its processes when it ends or the agent dies.

A pidfd per child makes its death an event to select on, beside the output of another child and a stop signal
(stopping.py); nothing here polls or sleeps.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from trimtab_agent.errors import BinaryMissing, HostError
from trimtab_agent.host import priority
from trimtab_agent.host.cpu_layout import format_cpus
from trimtab_agent.host.own_cpus import given_cpus
from trimtab_agent.station.processes import guard
from trimtab_agent.stopping import wait_readable

STOP_GRACE_S = 3.0
GUARD = (sys.executable, "-I", "-S", guard.__file__)


@contextlib.contextmanager
def borrowed_cpus(name: str, cpus: Sequence[int]) -> Iterator[None]:
    """What is started meanwhile runs on `cpus`: affinity is per thread and inherited.

    Raises HostError if this process may not use them; `name` is what would have run there.
    """
    own_cpus = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, cpus)
    except OSError as error:
        raise HostError(
            f"cannot run {name} on the CPUs {format_cpus(tuple(cpus))}: {error.strerror}; "
            f"this process may use {format_cpus(given_cpus())}"
        ) from error
    try:
        yield
    finally:
        os.sched_setaffinity(0, own_cpus)


class Child:
    """A running program.

    `cpus` are the CPUs it may use.  Its standard error goes to the file `log`, its standard output as well,
    unless `capture` asks for a pipe (`stdout`).  With `prioritised` it gets the priority of host/priority.py.
    With `guarded` whatever it forks ends with it; `prefix` is a command that goes before it and
    becomes it (another user, a control group, a network namespace).
    Raises BinaryMissing if it cannot be started, HostError if the machine does not let it run there.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        cpus: Sequence[int],
        log: Path,
        capture: bool = False,
        prioritised: bool = False,
        guarded: bool = False,
        prefix: Sequence[str] = (),
    ) -> None:
        self.name = Path(command[0]).name
        self.log = log
        self._guarded = guarded
        with log.open("ab") as log_file, borrowed_cpus(self.name, cpus):
            try:
                self._process = subprocess.Popen(
                    [
                        "setpriv",
                        "--pdeathsig",
                        "HUP" if guarded else "KILL",
                        "--",
                        *(priority.COMMAND if prioritised else ()),
                        *(GUARD if guarded else ()),
                        *((str(os.getpid()),) if guarded else ()),
                        *prefix,
                        *command,
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE if capture else log_file,
                    stderr=log_file,
                    process_group=0,
                )
            except OSError as error:
                raise BinaryMissing(
                    f"cannot start {self.name}: {error.strerror}: {error.filename}"
                ) from error
        self.pid = self._process.pid
        self.exit_descriptor = -1
        try:
            self.exit_descriptor = os.pidfd_open(self.pid)
        except OSError as error:
            os.killpg(self.pid, signal.SIGKILL)  # nobody else will know of it
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            raise HostError(f"cannot watch over {self.name}: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop(grace_s=0.0 if error else STOP_GRACE_S)

    @property
    def stdout(self) -> IO[bytes]:
        """The pipe from the child's standard output; only with `capture`."""
        assert self._process.stdout is not None  # noqa: S101 - the caller asked for it
        return self._process.stdout

    @property
    def exit_code(self) -> int | None:
        """None while it runs, else its exit code; -N if signal N ended it."""
        return self._process.poll()

    def wait(self, timeout_s: float) -> int | None:
        """Waits for its end; None if it still runs after `timeout_s`."""
        if self._process.poll() is None:
            wait_readable([self.exit_descriptor], timeout_s)
        return self._process.poll()

    def stop(self, grace_s: float = STOP_GRACE_S) -> int:
        """Asks it to end (SIGTERM), after `grace_s` kills its whole group; returns the exit code.

        Does no harm to a child that has ended, and may be called again.
        """
        if self._process.poll() is None and grace_s > 0:
            self._process.send_signal(signal.SIGTERM)
            self.wait(grace_s)
        if self._guarded and self._process.poll() is None:
            # The guard also finds what has left the process group.
            self._process.send_signal(signal.SIGHUP)
            self.wait(STOP_GRACE_S)
        if self.exit_descriptor >= 0:
            with contextlib.suppress(ProcessLookupError):  # the whole group has ended
                os.killpg(self.pid, signal.SIGKILL)
            os.close(self.exit_descriptor)
            self.exit_descriptor = -1
            if self._process.stdout is not None:
                self._process.stdout.close()
        return self._process.wait()

    def death_sentence(self) -> str:
        """How it ended, in words, with the last line of its log; for a child that has ended."""
        code = self._process.poll()
        if code is not None and code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
        else:
            how = f"ended with exit code {code}"
        return f"{self.name} (process {self.pid}) {how}" + self._said()

    def silence_sentence(self, where: str, limit_s: float) -> str:
        """That it runs and yet did not answer, with the last line of its log, if there is one."""
        silent = f"{self.name} had not ended, but did not answer on {where} within {limit_s:.0f} s"
        return silent + self._said()

    def _said(self) -> str:
        last = last_line(self.log)
        return f": {last}" if last else ""


def last_line(path: Path, about: str = "") -> str:
    """The last line of a log that is not empty and has the words `about`, at most its last 400 characters;
    empty if there is none.
    """
    try:
        text = path.read_text(errors="replace").strip()
    except OSError:
        return ""
    lines = [line for line in text.splitlines() if about in line]
    return lines[-1][-400:] if lines else ""
