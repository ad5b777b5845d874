"""Sharing the connections of a port that a running server listens on, by weight.

SO_REUSEPORT lets several sockets listen on one address; the kernel gives each new connection to one of them.
Which one is for a filter to say (filters.py): a program that is attached to the group of sockets, and returns
the index of one.

    join      takes a descriptor of production's own socket and sets SO_REUSEPORT on it; production notices
              nothing, and keeps all connections
    open      one more socket on the same address, for a server of ours; it gets no connection yet
    weigh     says which share of the connections goes to each
    leave     takes the filter away, and puts SO_REUSEPORT back

The group's sockets are numbered in the order in which they began to listen, from production's 0; when one
closes, the last takes its number (net/core/sock_reuseport.c). An index that there is not falls back to the
kernel's own choice among those that there are: so a filter that is left behind by a kill sends nothing into
the void.

A group has a filter only once it is one, with two sockets. So a socket of our own joins first and leaves at
once, and the filter stays; a connection that came to it in those microseconds goes to production. That, and
every later leaving, takes net.ipv4.tcp_migrate_req = 1: otherwise connections that wait are reset.
"""

import ctypes
import errno
import os
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from trimtab_agent.errors import HostError
from trimtab_agent.live import listening
from trimtab_agent.live.filters import INSTRUCTION, filter_of
from trimtab_agent.live.listening import Listener

SO_ATTACH_REUSEPORT_CBPF = 51
SO_DETACH_REUSEPORT_BPF = 68
BACKLOG = 4096  # net.core.somaxconn limits it
MIGRATE = Path("/proc/sys/net/ipv4/tcp_migrate_req")
# A socket without a filter: somebody else has taken it away, or nobody has shared the port yet
# (reuseport_detach_prog()).
_NO_FILTER = frozenset({errno.ENOENT, errno.EINVAL})
_libc = ctypes.CDLL(None)


def can_migrate() -> bool:
    """Whether waiting connections of a socket that closes go to the others of its group."""
    try:
        return MIGRATE.read_text().strip() == "1"
    except FileNotFoundError:  # before Linux 5.14
        return False


class SharedPort:
    """A port that production listens on, and whose connections others can have a share of.

    Production's socket is taken for moments only: whoever held it would keep it listening when production has
    ended, with nobody to answer. Raises HostError where a port cannot be shared: the sentence says why, and
    nothing has changed.
    """

    def __init__(self, pid: int, listener: Listener) -> None:
        self._pid, self._listener = pid, listener
        try:
            beside = [other for other in listening.listeners_of(pid) if other.address == listener.address]
            at_all = listening.sockets_at(pid, listener)
        except OSError as error:
            raise HostError(f"cannot look into process {pid}: {error.strerror}") from error
        if len(beside) > 1:
            raise HostError(
                f"{listener.address}: process {pid} has {len(beside)} sockets on it (reuseport); expected one"
            )
        if at_all > 1:  # another Trimtab's, in a directory of its own, are numbered before those of this one
            raise HostError(f"{listener.address}: others listen there too; expected process {pid} alone")
        if not can_migrate():
            raise HostError("net.ipv4.tcp_migrate_req is 0: connections that wait would be reset; expected 1")
        self.option_before = option_of(pid, listener)
        with _taken(pid, listener) as production:
            self._only_ipv6 = production.family == socket.AF_INET6 and production.getsockopt(
                socket.IPPROTO_IPV6, socket.IPV6_V6ONLY
            )
            self._family, self._owner = production.family, os.fstat(production.fileno()).st_uid
            production.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            try:
                with self.open():
                    self.weigh(())
            except BaseException:
                production.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, self.option_before)
                raise

    def open(self) -> socket.socket:
        """One more socket that listens on the port, for a server of ours; raises HostError.

        It has no share of the connections until weigh() gives it one. It does not block: a server that takes
        it as it is, as nginx does, would wait in accept() while the connections that it has wait for it.
        """
        with _as_user(self._owner):
            joined = socket.socket(self._family, socket.SOCK_STREAM)
        try:
            joined.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            joined.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if joined.family == socket.AF_INET6:
                joined.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, self._only_ipv6)
            joined.bind((self._listener.host, self._listener.port))
            joined.listen(BACKLOG)
            joined.setblocking(False)
        except OSError as error:
            joined.close()
            raise HostError(f"cannot listen on {self._listener.address} too: {error.strerror}") from error
        return joined

    def weigh(self, shares: Sequence[float]) -> None:
        """Gives each socket that was opened, in their order, its share (0 to 1); production has the rest.

        It holds for new connections. Raises HostError, also when production has ended.
        """
        weigh(self._pid, self._listener, shares)

    def leave(self) -> None:
        """Takes the filter away and puts the option back. The sockets that were opened are closed before.

        Raises HostError when production has ended: then its socket has gone, and nothing is left to put back.
        """
        leave(self._pid, self._listener, self.option_before)


def option_of(pid: int, listener: Listener) -> int:
    """Whether production's socket has SO_REUSEPORT: 0 or 1; raises HostError."""
    with _taken(pid, listener) as production:
        return production.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT)


def weigh(pid: int, listener: Listener, shares: Sequence[float]) -> None:
    """Attaches the filter for these shares to the port of that process; see SharedPort.weigh()."""
    program = b"".join(INSTRUCTION.pack(*step) for step in filter_of(shares))
    instructions = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: a count, padding, and the address of the instructions.
    described = struct.pack("HP", len(program) // INSTRUCTION.size, ctypes.addressof(instructions))
    with _taken(pid, listener) as production:
        try:
            production.setsockopt(socket.SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, described)
        except OSError as error:
            raise HostError(f"cannot steer {listener.address}: {error.strerror}") from error


def leave(pid: int, listener: Listener, option_before: int) -> None:
    """Ends the sharing of a port of that process, whoever began it; raises HostError when it has ended."""
    with _taken(pid, listener) as production:
        try:
            production.setsockopt(socket.SOL_SOCKET, SO_DETACH_REUSEPORT_BPF, 0)
        except OSError as error:
            if error.errno not in _NO_FILTER:
                raise HostError(f"cannot stop sharing {listener.address}: {error.strerror}") from error
        finally:
            production.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, option_before)


def _taken(pid: int, listener: Listener) -> socket.socket:
    try:
        return listening.take(pid, listener.descriptor)
    except OSError as error:
        raise HostError(f"cannot share {listener.address} of process {pid}: {error.strerror}") from error


@contextmanager
def _as_user(uid: int) -> Iterator[None]:
    """What this thread makes meanwhile belongs to that user, if this one may do so.

    The kernel shares a port only between sockets of one user (inet_reuseport_add_sock()), and a socket is of
    the user as whom the file system knows its maker: setfsuid(2), which is of one thread alone.
    """
    before = _libc.setfsuid(uid)
    try:
        yield
    finally:
        _libc.setfsuid(before)
