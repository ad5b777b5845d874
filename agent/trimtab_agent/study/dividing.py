"""Whether a calibration has shown that the load generator needs more of the CPUs than it has."""

from collections.abc import Sequence

from trimtab_trials.measurement import Measurement

from trimtab_agent.host.cpu_layout import CpuLayout, redivide
from trimtab_agent.host.topology import Cpu


def divided_anew(
    layout: CpuLayout, topology: Sequence[Cpu], measurements: Sequence[Measurement]
) -> CpuLayout | None:
    """The layout to repeat a calibration with that has ended because the generator gave out.

    It goes by the CPU time of the processes of both, at the highest rate that the replies followed, or at the
    highest of all where they followed none. None if the generator gains no core by it: there may be none to
    move, or it gave out for another reason than its CPUs.
    """
    used = [
        (m, share, user + system)
        for m in measurements
        if (share := m.generator_cpu_share) is not None
        and (user := m.counter("server_processes", "user")) is not None
        and (system := m.counter("server_processes", "system")) is not None
    ]
    followed = [each for each in used if each[0].followed]
    highest = max(followed or used, key=lambda each: each[0].rate_rps, default=None)
    if highest is None:
        return None
    _, generator_share, server_percent = highest
    divided = redivide(layout, topology, generator_share, server_percent / 100 / len(layout.server))
    return divided if divided is not None and len(divided.generator) > len(layout.generator) else None
