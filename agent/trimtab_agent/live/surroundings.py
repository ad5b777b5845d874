"""What a server of ours beside production takes over from it: its user, its environment."""

import os
from pathlib import Path
from typing import Any

PROC = Path("/proc")
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


def user_of(pid: int) -> tuple[int, int, list[int]]:
    """User, group and further groups that a process has (proc_pid_status(5)); raises OSError."""
    lines = dict(line.split(":\t", 1) for line in (PROC / str(pid) / "status").read_text().splitlines())
    effective = 1  # the columns: real, effective, saved, file system
    user, group = (int(lines[name].split()[effective]) for name in ("Uid", "Gid"))
    return user, group, [int(each) for each in lines["Groups"].split()]


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
