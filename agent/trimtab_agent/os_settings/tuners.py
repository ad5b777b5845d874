"""Other programs on this host that set the kernel by themselves: what they would do to a measurement.

Known by the names of their processes. From within a container those of the host are not seen.
"""

import psutil
from trimtab_tuner.frozen import Frozen

SETS = {
    "tuned": ("TuneD", "sets values of the kernel when it is started or its profile changes"),
    "bpftune": ("bpftune", "sets buffers, congestion control and queues of TCP as the traffic changes"),
    "power-profiles-daemon": ("power-profiles-daemon", "sets the frequency governor by its profile"),
    "auto-cpufreq": ("auto-cpufreq", "sets the frequency governor by the load"),
}
"""The name and a sentence for each, by how its process is called."""


class KernelTuner(Frozen):
    """A program that sets the kernel by itself; `sets` says what, after its name."""

    name: str
    pid: int
    sets: str

    def __str__(self) -> str:
        return f"{self.name} runs (process {self.pid}): it {self.sets}"


def kernel_tuners() -> tuple[KernelTuner, ...]:
    """Those that run in this PID namespace."""
    return tuple(
        KernelTuner(name=SETS[name][0], pid=process.pid, sets=SETS[name][1])
        for process in psutil.process_iter(["name"])
        if (name := process.info["name"]) in SETS
    )
