"""Whether the load generator may run with real-time priority.

An open-loop generator must send on time. On a host with few CPUs it shares its CPU with whatever else runs
there, a browser that shows the run for one, and a time slice given to that is an arrival some milliseconds
late. Under SCHED_FIFO (sched(7)) it goes first; it sleeps whenever nothing is due, and the kernel keeps
ordinary processes a share of the CPU even from a real-time one that does not.
"""

import functools
import os

COMMAND = ("chrt", "--fifo", "1")
"""What puts a program under SCHED_FIFO at the lowest real-time priority; from util-linux."""


@functools.cache
def realtime_allowed() -> bool:
    """Whether this process may start real-time children (root, CAP_SYS_NICE or a limit of `ulimit -r`).

    Found out by trying it for a moment on the calling thread; the kernel has no question to ask.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return True
