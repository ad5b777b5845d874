"""What a server of ours beside production takes over from it: its user, its environment."""

from pathlib import Path

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
