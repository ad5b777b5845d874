"""The keeper of an episode: the process that holds everything that must be put back.

    python -m trimtab_agent.live.keeper DESCRIPTOR

The agent decides, the keeper does: it shares production's ports, starts the two servers beside it, and sets
their shares. It is asked through a socket (DESCRIPTOR), a line of JSON for each request and each answer. When
the socket ends, because the agent has ended the episode or has been killed, it puts everything back: first
all new connections go to production again, then the servers beside it end when they have answered what they
have begun. The same happens at once when one of those servers ends by itself.

The first line is the order (`Order`). Then `{"shares": [0.05, 0.05]}` sets the shares of the arms, in their
order. Each is answered by `{}`, or by `{"error": sentence}`. `{"ended": sentence}` comes unasked when an arm
has ended by itself. The last line is `{"complaints": [sentence, …]}`: production has everything again, but
for what they tell; after it the keeper lives as long as the arms take to end.

A keeper that is killed leaves a note (restoring.py), which the agent or the next Trimtab finds; the servers
that it has started get their signal to end from the kernel (joined.py).
"""

import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trimtab_tuner.targets.beside import Inherited

from trimtab_agent.errors import HostError
from trimtab_agent.live import joined, steering
from trimtab_agent.live.listening import Listener, listeners_of
from trimtab_agent.live.restoring import LOOK_EVERY_S, Arm, Note, Process, Touched
from trimtab_agent.live.steering import SharedPort
from trimtab_agent.live.surroundings import environment_of, user_of
from trimtab_agent.os_settings.journal import BOOT_ID

APPENDED = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
LISTEN_S = 4.0  # so long an arm that opens its sockets itself may take to do so


@dataclass(frozen=True, kw_only=True)
class ArmOrder:
    """A server to be started beside production.

    `command` runs it in the foreground; `environment` tells it of its sockets, which it finds from descriptor
    3 on in the order of the listeners; it writes to `log`.
    """

    name: str
    command: tuple[str, ...]
    environment: dict[str, str]
    quit_signal: int
    log: str


@dataclass(frozen=True, kw_only=True)
class Order:
    """What a keeper is to do: share the `listeners` of `production` with the arms, and put everything back.

    `note` is where it writes down what it changes, `directory` has the arms' files, and `drain_s` is how long
    the arms may take to answer what they have begun. With `arms_open` the arms open their sockets themselves.
    """

    production: int
    listeners: tuple[Listener, ...]
    arms: tuple[ArmOrder, ...]
    note: str
    directory: str
    drain_s: float
    arms_open: bool = False

    def as_json(self) -> dict[str, Any]:
        """For the line that it is sent as."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "Order":
        """What `as_json` made."""
        return cls(
            **{
                **fields,
                "listeners": tuple(Listener(**each) for each in fields["listeners"]),
                "arms": tuple(
                    ArmOrder(**{**each, "command": tuple(each["command"])}) for each in fields["arms"]
                ),
            }
        )


def inherited(listeners: Sequence[Listener]) -> tuple[Inherited, ...]:
    """Where an arm finds its sockets."""
    first = joined.FIRST_DESCRIPTOR
    return tuple(Inherited(each.address, first + place) for place, each in enumerate(listeners))


class Keeper:
    """Carries out one order; `put_back` undoes it."""

    def __init__(self, order: Order) -> None:
        """Raises HostError, with everything as it was."""
        self._order = order
        self._children: list[subprocess.Popen[bytes]] = []
        self._ports: list[SharedPort] = []
        try:
            production = Process.of(order.production)
        except OSError as error:
            raise HostError(f"process {order.production} has ended") from error
        touched = Touched(
            keeper=Process.of(os.getpid()),
            production=production,
            boot_id=BOOT_ID.read_text().strip(),
            directory=order.directory,
        )
        self._others = Note.of_living_keepers(Path(order.note).parent)
        for other in self._others:
            if other.production == production:
                raise HostError(
                    f"process {other.keeper.pid} shares connections of process {production.pid} already: "
                    "expected one Trimtab at a time"
                )
        try:
            self._note = Note(Path(order.note), touched)
        except OSError as error:
            raise HostError(f"{order.note} cannot be written: {error.strerror}") from error
        try:
            self._let_connections_migrate()
            for listener in order.listeners:
                self._share(listener)
            with ExitStack() as opened:
                for arm in order.arms:
                    if order.arms_open:
                        self._start(arm, ())
                        self._wait_until_it_listens(arm)  # the next one's sockets come after its
                    else:
                        self._start(arm, [opened.enter_context(port.open()) for port in self._ports])
        except (HostError, OSError) as error:
            self.put_back()
            self.wait()
            raise error if isinstance(error, HostError) else HostError(str(error)) from error

    @property
    def arms(self) -> tuple[tuple[str, int], ...]:
        """Names and main processes of the arms, in their order."""
        return tuple(
            (arm.name, child.pid) for arm, child in zip(self._order.arms, self._children, strict=True)
        )

    def weigh(self, shares: Sequence[float]) -> None:
        """The arms' shares of the connections, on every port; raises HostError."""
        for port in self._ports:
            port.weigh(shares)

    def put_back(self) -> list[str]:
        """Puts everything back; returns sentences about what could not be. The arms may still answer."""
        return self._note.put_back()

    def wait(self) -> None:
        """Waits for the arms to end, as long as they may take."""
        self._note.end(self._order.drain_s)
        for child in self._children:
            child.wait()

    def _let_connections_migrate(self) -> None:
        if steering.can_migrate():
            # Whoever ends last puts back what was before the first.
            known = (other.migrate_before for other in self._others)
            before = next((each for each in known if each is not None), None)
            self._note.becomes(migrate_before=before)
        elif steering.MIGRATE.exists():
            self._note.becomes(migrate_before=steering.MIGRATE.read_text().strip())
            steering.MIGRATE.write_text("1")

    def _share(self, listener: Listener) -> None:
        option = steering.option_of(self._order.production, listener)
        self._note.becomes(ports=(*self._note.touched.ports, (listener, option)))
        self._ports.append(SharedPort(self._order.production, listener))

    def _start(self, arm: ArmOrder, sockets: Sequence[socket.socket]) -> None:
        descriptors = [each.fileno() for each in sockets]
        order = {
            "command": arm.command,
            "sockets": descriptors,
            "environment": {**environment_of(self._order.production), **arm.environment},
            "directory": self._order.directory,
            "descriptors": resource.prlimit(self._order.production, resource.RLIMIT_NOFILE),
            "user": user_of(self._order.production),
            "cpus": sorted(os.sched_getaffinity(self._order.production)),
            "quit_signal": arm.quit_signal,
            "parent": os.getpid(),
        }
        # Its directory is the server's, who may have put a link there: as root that would write elsewhere.
        with os.fdopen(os.open(arm.log, APPENDED, 0o600), "ab") as log:
            child = subprocess.Popen(
                (sys.executable, "-I", "-S", joined.__file__, json.dumps(order)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=descriptors,
                process_group=0,
            )
        self._children.append(child)
        started = Arm(Process.of(child.pid), arm.quit_signal)
        self._note.becomes(arms=(*self._note.touched.arms, started))

    def _wait_until_it_listens(self, arm: ArmOrder) -> None:
        """Until the arm that was started last listens on every port; raises HostError where it does not."""
        child, expected = self._children[-1], {each.address for each in self._order.listeners}
        deadline = time.monotonic() + LISTEN_S
        while child.poll() is None and time.monotonic() < deadline:
            with suppress(OSError):  # it has just ended
                if {each.address for each in listeners_of(child.pid)} == expected:
                    return
            time.sleep(LOOK_EVERY_S)
        raise HostError(f"the {arm.name} does not listen on {', '.join(sorted(expected))}")


def main() -> None:
    """The whole life of a keeper."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # it ends with its socket, when all is as it was
    with socket.socket(fileno=int(sys.argv[1])) as asked, asked.makefile("rb") as lines:

        def answer(document: dict[str, Any]) -> None:
            with suppress(OSError):  # the agent has gone
                asked.sendall(json.dumps(document).encode() + b"\n")

        first = lines.readline()
        if not first:
            return
        try:
            keeper = Keeper(Order.from_json(json.loads(first)))
        except HostError as error:
            answer({"error": error.sentence})
            return
        try:
            answer({"pids": [pid for _, pid in keeper.arms]})
            _obey(keeper, lines, answer)
        finally:
            answer({"complaints": keeper.put_back()})
            keeper.wait()


def _obey(keeper: Keeper, lines: Any, answer: Any) -> None:  # noqa: ANN401 - a file and a function
    """Until the socket ends or an arm does."""
    poll = select.poll()
    poll.register(lines.fileno(), select.POLLIN)
    ends = {os.pidfd_open(pid): name for name, pid in keeper.arms}
    for descriptor in ends:
        poll.register(descriptor, select.POLLIN)
    try:
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            for descriptor in ready & set(ends):
                with suppress(HostError):  # production may have ended too
                    keeper.weigh(())
                answer({"ended": f"the {ends[descriptor]} has ended by itself"})
                return
            request = lines.readline()
            if not request:
                return
            try:
                keeper.weigh(json.loads(request)["shares"])
            except HostError as error:
                answer({"error": error.sentence})
            else:
                answer({})
    finally:
        for descriptor in ends:
            os.close(descriptor)


if __name__ == "__main__":
    main()
