"""Whether a calibration has shown that the load generator needs more of the CPUs than it has."""

from collections.abc import Sequence

from trimtab_trials.measurement import Measurement

from trimtab_agent.host.cpu_layout import CpuLayout, redivide
from trimtab_agent.host.topology import Cpu

IDLE_STATES = ("idle", "iowait")


def divided_anew(
    layout: CpuLayout, topology: Sequence[Cpu], measurements: Sequence[Measurement]
) -> CpuLayout | None:
    """The layout to repeat a calibration with that has ended because the generator gave out.

    It goes by the highest rate that the replies followed, or by the highest of all where they followed none.
    None if there is no CPU to move, or nothing was counted that tells how many are needed.
    """
    counted = [m for m in measurements if m.generator_cpu_share is not None and m.cpus(layout.server)]
    followed = [m for m in counted if m.followed]
    highest = max(followed or counted, key=lambda m: m.rate_rps, default=None)
    if highest is None or highest.generator_cpu_share is None:
        return None
    served = highest.cpus(layout.server)
    idle_percent = sum(cpu.get(state, 0.0) for cpu in served for state in IDLE_STATES) / len(served)
    return redivide(layout, topology, highest.generator_cpu_share, 1 - idle_percent / 100)
