"""Listening sockets of running processes: which there are, and a descriptor of our own for one.

pidfd_getfd(2) gives another process's descriptor to whoever may trace that process: root, or the same user
where the machine allows it (kernel/yama/ptrace_scope). The process is not stopped and notices nothing.
"""

import ctypes
import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

from trimtab_agent.live.socket_diag import accept_queues

PIDFD_GETFD = 438  # the same on every architecture of Debian's (asm-generic/unistd.h)
LISTEN = "0A"  # TCP_LISTEN in /proc/PID/net/tcp (include/net/tcp_states.h)
PROC = Path("/proc")
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, order=True)
class Listener:
    """A listening socket of a process: its descriptor there, and where it listens."""

    host: str
    port: int
    descriptor: int

    @property
    def address(self) -> str:
        """As people write it: 127.0.0.1:80, [::1]:80."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def listeners_of(pid: int) -> tuple[Listener, ...]:
    """The TCP sockets on which a process listens, in the order of their addresses.

    A socket that has several descriptors, as h2o makes one for each thread, is one. Raises OSError for a
    process that is gone or may not be looked into.
    """
    addresses = _listening(pid)
    found: dict[int, Listener] = {}
    for link in (PROC / str(pid) / "fd").iterdir():
        try:
            inode = link.stat().st_ino if str(link.readlink()).startswith("socket:") else None
        except OSError:
            continue  # closed meanwhile
        if inode is not None and (address := addresses.get(inode)):
            listener = Listener(*address, int(link.name))
            found[inode] = min(found.get(inode, listener), listener)
    return tuple(sorted(found.values()))


def sockets_at(pid: int, listener: Listener) -> int:
    """How many sockets listen at that address in the process's network namespace, whoever has them; raises
    OSError.
    """
    return list(_listening(pid).values()).count((listener.host, listener.port))


def inode_of(pid: int, listener: Listener) -> int:
    """The number of a process's socket, which the kernel tells of it by; raises OSError."""
    return (PROC / str(pid) / "fd" / str(listener.descriptor)).stat().st_ino


def is_there(pid: int, listener: Listener) -> bool:
    """Whether a process still listens there with that descriptor, which may be another socket's by now.

    Raises OSError for a process that is gone or may not be looked into.
    """
    addresses = _listening(pid)
    try:
        return addresses.get(inode_of(pid, listener)) == (listener.host, listener.port)
    except FileNotFoundError:
        return False


def take(pid: int, descriptor: int) -> socket.socket:
    """A descriptor of our own for a socket of another process; raises OSError, also PermissionError."""
    process = os.pidfd_open(pid)
    try:
        taken = _libc.syscall(PIDFD_GETFD, process, descriptor, 0)
        if taken < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(process)
    try:
        return socket.socket(fileno=taken)
    except OSError:  # it is no socket any more
        os.close(taken)
        raise


def listening_sockets() -> set[int]:
    """The inodes of all TCP sockets that listen in this network namespace."""
    return set(accept_queues())


def _listening(pid: int) -> dict[int, tuple[str, int]]:
    """Address and port of the listening sockets in the process's network namespace, by inode."""
    found = {}
    for name, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        path = PROC / str(pid) / "net" / name
        if family == socket.AF_INET6 and not path.exists():
            continue  # a kernel without IPv6
        with path.open() as table:
            next(table)  # the names of the columns
            for fields in map(str.split, table):
                if fields[3] != LISTEN:
                    break  # the listening ones come first, and a busy server has many others
                packed, _, port = fields[1].partition(":")
                found[int(fields[9])] = (socket.inet_ntop(family, _address(packed)), int(port, 16))
    return found


def _address(packed: str) -> bytes:
    """The bytes of an address that the kernel prints as words of the machine's byte order."""
    words = [packed[start : start + 8] for start in range(0, len(packed), 8)]
    return b"".join(int(word, 16).to_bytes(4, sys.byteorder) for word in words)
