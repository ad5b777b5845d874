"""Who else moves interrupts on this host: irqbalance and TuneD, and what they would undo.

irqbalance moves interrupts every ten seconds unless they are banned; it is asked to leave ours alone through
its own socket (`/run/irqbalance/irqbalance*.sock`, "settings ban irqs …", irqbalance(1)). Each message has to
come with SCM_CREDENTIALS, and each connection takes one. TuneD pins by profile when it is started or a
profile is chosen, and does not come back by itself.
"""

import array
import os
import re
import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

SOCKETS = (Path("/run/irqbalance"), Path("/var/run/irqbalance"))
TIMEOUT_S = 2.0
LARGEST_REPLY = 65_536


@dataclass(frozen=True, kw_only=True)
class Balancer:
    """A program that moves interrupts: what it would undo, and whether it can be asked not to."""

    name: str
    pid: int
    would_undo: str
    can_ban: bool


def balancers(directories: Iterable[Path] = SOCKETS) -> tuple[Balancer, ...]:
    """Those that run in this PID namespace; from within a container the host's are not seen."""
    found = []
    for process in psutil.process_iter(["name"]):
        if process.info["name"] == "irqbalance":
            found.append(
                Balancer(
                    name="irqbalance",
                    pid=process.pid,
                    would_undo="moves every interrupt that is not banned within ten seconds; steering masks "
                    "(RPS, XPS) it leaves alone",
                    can_ban=irqbalance_socket(directories) is not None,
                )
            )
        elif process.info["name"] == "tuned":
            found.append(
                Balancer(
                    name="TuneD",
                    pid=process.pid,
                    would_undo="sets masks again when it is started or its profile changes",
                    can_ban=False,
                )
            )
    return tuple(found)


def irqbalance_socket(directories: Iterable[Path] = SOCKETS) -> Path | None:
    """The socket of irqbalance, where it has one."""
    for directory in directories:
        for path in sorted(directory.glob("irqbalance*.sock")):
            return path
    return None


def banned_interrupts(path: Path) -> tuple[int, ...]:
    """The interrupts that irqbalance leaves alone. Raises OSError."""
    setup = _ask(path, "setup")
    return tuple(int(number) for number in re.findall(r"IRQ (\d+)", setup))


def ban_interrupts(path: Path, irqs: Iterable[int]) -> tuple[int, ...]:
    """Has irqbalance leave these alone besides those it does already; all that are banned then.

    A restart of irqbalance forgets it. Raises OSError.
    """
    return _ban_exactly(path, set(banned_interrupts(path)) | set(irqs))


def unban_interrupts(path: Path, irqs: Iterable[int]) -> tuple[int, ...]:
    """Takes the ban of these back; all that are still banned then. Raises OSError."""
    return _ban_exactly(path, set(banned_interrupts(path)) - set(irqs))


def _ban_exactly(path: Path, irqs: set[int]) -> tuple[int, ...]:
    _ask(path, f"settings ban irqs {' '.join(map(str, sorted(irqs))) or 'NONE'}")
    return banned_interrupts(path)


def _ask(path: Path, command: str) -> str:
    """One command and its reply; irqbalance closes the connection after it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(TIMEOUT_S)
        connection.connect(str(path))
        who = array.array("b", struct.pack("3i", os.getpid(), os.geteuid(), os.getegid()))
        connection.sendmsg([command.encode()], [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, who)])
        if not command.startswith("setup"):
            return ""
        reply = b""
        while len(reply) < LARGEST_REPLY and (part := connection.recv(4096)):
            reply += part
        return reply.decode(errors="replace")
