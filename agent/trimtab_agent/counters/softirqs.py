"""/proc/softirqs: which CPU does the kernel's deferred work, above all receiving and sending packets.

Kernel: filesystems/proc.rst §1.2.6, fs/proc/softirqs.c. One row a kind, one column a CPU; where the kernel
prints columns for CPUs that are offline or can never come, they stay at zero. A CPU that did nothing is left
out.
"""

from pathlib import Path

from trimtab_agent.counters.source import Values

KINDS = {
    "NET_RX": "receive_per_s",
    "NET_TX": "send_per_s",
    "TIMER": "timer_per_s",
    "SCHED": "scheduler_per_s",
}

Reading = dict[int, dict[str, int]]


def parse(text: str) -> Reading:
    """{CPU: {kind: count}} of the kinds in KINDS."""
    head, *rows = text.splitlines()
    cpus = [int(word[3:]) for word in head.split()]
    reading: Reading = {cpu: {} for cpu in cpus}
    for row in rows:
        kind, _, counts = row.partition(":")
        if kind.strip() in KINDS:
            for cpu, count in zip(cpus, counts.split(), strict=False):
                reading[cpu][kind.strip()] = int(count)
    return reading


class SoftirqSource:
    """Per CPU and second."""

    name = "softirqs"

    def __init__(self, path: Path = Path("/proc/softirqs")) -> None:
        self._path = path

    def read(self) -> Reading:
        """Reads /proc/softirqs."""
        return parse(self._path.read_text())

    def values(self, earlier: Reading, later: Reading, interval_s: float) -> Values:
        """`cpus`: for each CPU that did any, how many of each kind per second."""
        rows = []
        for cpu, counts in later.items():
            before = earlier.get(cpu, {})
            rates = {
                name: round((counts[kind] - before[kind]) / interval_s, 2)
                for kind, name in KINDS.items()
                if kind in counts and kind in before
            }
            if any(rates.values()):
                rows.append({"cpu": cpu, **rates})
        return {"cpus": rows}
