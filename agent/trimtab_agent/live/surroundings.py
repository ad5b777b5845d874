"""What is taken over from a server that runs: its environment, its user, and no more rights than that has."""

import ctypes
import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROC = Path("/proc")
# The columns of a process's ids (proc_pid_status(5)): real, effective, saved, file system.
REAL, EFFECTIVE = 0, 1
# setgroups(2) as the kernel has it, for one thread; glibc's is for all threads of a process.
SETGROUPS = {"x86_64": 116, "aarch64": 159, "riscv64": 159}
SAME = 0xFFFFFFFF  # an id that there is not: nothing changes, and what was is told
READS_ALL = 1 << 1 | 1 << 2  # capabilities(7): DAC_OVERRIDE, DAC_READ_SEARCH
# What tells a process of sockets or of whoever has started it: of production that is no longer true.
_OF_ONE_START = frozenset(
    {
        "INVOCATION_ID",
        "JOURNAL_STREAM",
        "LISTEN_FDNAMES",
        "LISTEN_FDS",
        "LISTEN_PID",
        "MAINPID",
        "NGINX",
        "NOTIFY_SOCKET",
        "SERVER_STARTER_PORT",
        "WATCHDOG_PID",
        "WATCHDOG_USEC",
    }
)
_libc = ctypes.CDLL(None, use_errno=True)
for _set in (_libc.setfsuid, _libc.setfsgid):
    _set.argtypes, _set.restype = [ctypes.c_uint32], ctypes.c_uint32


def user_of(pid: int) -> tuple[int, int, list[int]]:
    """User, group and further groups that a process has (proc_pid_status(5)); raises OSError."""
    return _ids(pid, EFFECTIVE)


@contextmanager
def as_its_user(pid: int) -> Iterator[None]:
    """What this thread opens meanwhile it may open only if the user of that process may; raises OSError.

    Whoever runs a server has named its file, and in there what that includes. Trimtab as root is not to read
    for them what they may not read. The user is the one who has started it: a program with the bit setuid has
    another's rights, and still the arguments of that one. Of Trimtab that is not root nothing changes.
    """
    if os.geteuid() != 0:
        yield
        return
    wanted = _ids(pid, REAL)
    own = (_libc.setfsuid(SAME), _libc.setfsgid(SAME), os.getgroups())
    if wanted[0] == own[0] or _reads_all(pid):
        yield
        return
    try:
        _become(*wanted)
        yield
    finally:
        _become(*own)


def _become(user: int, group: int, groups: Sequence[int]) -> None:
    """The rights of this thread in the file system (credentials(7)); raises OSError."""
    machine = os.uname().machine
    number = SETGROUPS.get(machine)
    if number is None:
        raise PermissionError(errno.EPERM, f"not known how on {machine}")
    if _libc.syscall(number, len(groups), (ctypes.c_uint32 * len(groups))(*groups)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    _libc.setfsgid(group)
    _libc.setfsuid(user)
    if (_libc.setfsuid(SAME), _libc.setfsgid(SAME)) != (user, group):  # they tell of no failure
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def _ids(pid: int, column: int) -> tuple[int, int, list[int]]:
    status = _status(pid)
    user, group = (int(status[name].split()[column]) for name in ("Uid", "Gid"))
    return user, group, [int(each) for each in status["Groups"].split()]


def _reads_all(pid: int) -> bool:
    """Whether its user was given a capability to read every file; raises OSError.

    A program with the bit setuid has it from its owner, and in a user namespace of its own anybody has all.
    """
    own, its = ((PROC / which / "ns" / "user").stat().st_ino for which in ("self", str(pid)))
    real, effective, *_ = _status(pid)["Uid"].split()
    return own == its and real == effective and bool(int(_status(pid)["CapEff"], 16) & READS_ALL)


def _status(pid: int) -> dict[str, str]:
    lines = (PROC / str(pid) / "status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines)


def environment_of(pid: int) -> dict[str, str]:
    """What a process was started with, for another of its kind; raises OSError.

    A process that writes over its title, as nginx does, may leave parts: what names no variable is left out.
    """
    entries = (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    pairs = (entry.decode(errors="surrogateescape").partition("=") for entry in entries if b"=" in entry)
    return {name: value for name, _, value in pairs if name and name not in _OF_ONE_START}


def like(pid: int) -> dict[str, Any]:
    """How subprocess runs a program as that process runs: its environment, its user; raises OSError.

    Whoever runs a server has chosen its program and its environment. If Trimtab is root, they are not to
    become that by it.
    """
    options: dict[str, Any] = {"env": environment_of(pid)}
    user, group, groups = user_of(pid)
    if os.geteuid() == 0 and user != 0:
        options |= {"user": user, "group": group, "extra_groups": groups}
    return options


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for that signal, which otherwise ends it (proc_pid_status(5)).

    A server has none until it is about to serve. One that has ended has none either.
    """
    try:
        status = (PROC / str(pid) / "status").read_text()
    except OSError:
        return False
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught >> (number - 1) & 1)
