"""The CPU time of a server with all its processes, in nanoseconds.

The ticks of /proc/PID/stat are 10 ms long, too coarse for half a second of a server with a small share of the
connections.
"""

from collections.abc import Iterator
from pathlib import Path

from trimtab_agent.counters.process import NS_PER_S, cpu_time_ns

PROC = Path("/proc")
# What writes the log of lighttpd for us (trimtab_tuner.targets.log_formats) serves nobody.
NOT_SERVING = frozenset({"cat"})


class CpuTime:
    """What a process and its descendants use from now on; raises OSError when it is gone.

    What a descendant used between the last reading and its end is not known, and left out.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._used_ns = dict(_processes(pid))

    def read_s(self) -> float:
        """Seconds of CPU time since the last reading; raises OSError when the process is gone."""
        before_ns, self._used_ns = self._used_ns, dict(_processes(self._pid))
        total_ns = 0
        for pid, used_ns in self._used_ns.items():
            earlier_ns = before_ns.get(pid, 0)
            # A process that has used less than before is another one, with the same number.
            total_ns += used_ns - earlier_ns if used_ns >= earlier_ns else used_ns
        return total_ns / NS_PER_S


def _processes(pid: int) -> Iterator[tuple[int, int]]:
    """A process and its descendants, each with the nanoseconds that it has used; raises OSError.

    A child is found where the first thread of its parent has started it, as servers do.
    """
    yield pid, cpu_time_ns(pid)
    for child in map(int, (PROC / str(pid) / "task" / str(pid) / "children").read_text().split()):
        try:
            if (PROC / str(child) / "comm").read_text().strip() not in NOT_SERVING:
                yield from _processes(child)
        except OSError:
            continue  # it has ended meanwhile
