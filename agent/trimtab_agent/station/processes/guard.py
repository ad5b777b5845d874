"""Runs a server in the foreground and sees to it that nothing of it is left in the end.

    python guard.py PARENT_PID COMMAND…

A server of several processes outlives the kernel's parent-death signal: it reaches the master only, and the
workers of a master that was killed go on serving. So this small program stands between the agent and the
server. It is the subreaper (prctl(2)) of everything the server forks, however far away, and kills it all when
the server ends, when the agent asks (SIGHUP) and when the agent dies (SIGHUP too, as parent-death signal).
SIGTERM is passed on to the server. The guard ends as the server did: with its exit code, or by its signal.

It is started for every trial, so it imports nothing but the standard library.
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
WATCHED = {signal.SIGCHLD, signal.SIGHUP, signal.SIGINT, signal.SIGTERM}


def descendants() -> list[int]:
    """The children of this process, which soon are all that the server ever forked (proc_pid_task(5))."""
    return [int(pid) for pid in Path("/proc/self/task", str(os.getpid()), "children").read_text().split()]


def kill_all() -> None:
    """Kills generation after generation: the children of a killed process become ours."""
    while children := descendants():
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def guard(command: list[str]) -> int:
    """Runs the command and returns its wait status; SIGKILL's when it was cut short."""
    server = os.posix_spawnp(command[0], command, os.environ, setsigmask=())
    while True:
        woken_by = signal.sigwait(WATCHED)
        if woken_by == signal.SIGHUP:
            return signal.SIGKILL
        if woken_by in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(ProcessLookupError):
                os.kill(server, signal.SIGTERM)
            continue
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == server:
                    return ended[1]


def main() -> None:
    """The whole life of a guard."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if os.getppid() != parent:
        return  # the agent died before its death could be announced
    # Apache and lighttpd take the soft limit of descriptors as it is.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        status = guard(command)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        sys.exit(127)
    finally:
        kill_all()
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # one core, the server's, is enough
        os.kill(os.getpid(), number)
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
