"""Whether the load generator may run at a higher priority than everything else.

An open-loop generator must send on time. On a host with few CPUs it shares its CPU with whatever else runs
there, the agent and a browser that shows the run for two, and a time slice given to those is an arrival some
milliseconds late. At nice -20 the scheduler gives it nearly all the time it asks for and still lets the
others in for short moments. Real-time priority (sched(7)) does worse: of a real-time process that needs its
whole CPU the kernel takes 50 ms of each second in one piece (`sched_rt_runtime_us`), and every arrival of
that time is late.
"""

import functools
import os

COMMAND = ("nice", "-n", "-20")
"""What puts a program at the highest priority of ordinary processes; from coreutils."""


@functools.cache
def priority_allowed() -> bool:
    """Whether this process may start children at that priority (root, CAP_SYS_NICE or a limit of `ulimit
    -e`).

    Found out by trying it for a moment on the calling thread; the kernel has no question to ask.
    """
    before = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    except PermissionError:
        return False
    os.setpriority(os.PRIO_PROCESS, 0, before)
    return True
