"""Becomes a server that finds its listening sockets open when it starts.

    python joined.py ORDER

ORDER is JSON: `command`, the `sockets` (descriptors of this process, which become 3, 4, …), the `environment`
(production's, and what tells the server of the sockets), `directory` to work in, the `cpus` and the number of
`descriptors` (soft and hard limit) that it may have, the `user` that it runs as (user, group, further
groups), and how it ends: `quit_signal` comes when the process `parent` dies, so that no server outlives its
keeper, and each still answers what it has begun.

It imports nothing but the standard library: it is started twice for every episode.
"""

import ctypes
import fcntl
import json
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h
FIRST_DESCRIPTOR = 3  # SD_LISTEN_FDS_START, sd_listen_fds(3)
OUT_OF_THE_WAY = 512


def main() -> None:
    """The whole of it; returns only where the parent has died."""
    order = json.loads(sys.argv[1])
    os.sched_setaffinity(0, order["cpus"])
    soft, hard = order["descriptors"]
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    # First all away from where they go: one may stand where another belongs.
    moved = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY) for each in order["sockets"]]
    for descriptor in order["sockets"]:
        os.close(descriptor)
    for place, descriptor in enumerate(moved, FIRST_DESCRIPTOR):
        os.dup2(descriptor, place, inheritable=True)
    os.chdir(order["directory"])
    user, group, groups = order["user"]
    if os.geteuid() == 0 and user != 0:
        os.setgroups(groups)
        os.setgid(group)
        os.setuid(user)
    # The keeper ignores these, and what is ignored stays so in a program that is started.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    # Not sooner: another user is not told of its parent's death.
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, order["quit_signal"], 0, 0, 0)
    if os.getppid() != order["parent"]:
        return
    environment = {**order["environment"], "LISTEN_PID": str(os.getpid())}
    os.execvpe(order["command"][0], order["command"], environment)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main()
