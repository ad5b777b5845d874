"""Whether a calibration has shown that the CPUs should be divided otherwise between server and generator."""

from collections.abc import Sequence

from trimtab_trials.measurement import Measurement
from trimtab_tuner.ladder import GENERATOR_FULL

from trimtab_agent.host.cpu_layout import CpuLayout, redivide
from trimtab_agent.host.topology import Cpu


def divided_anew(
    layout: CpuLayout, topology: Sequence[Cpu], measurements: Sequence[Measurement]
) -> CpuLayout | None:
    """The layout to repeat a calibration with that has measured these; None if it shall stay as it is.

    It goes by the CPU time of the processes of both, at the highest rate that the replies followed, or at the
    highest of all where they followed none. If the generator was the limit at any rate it may only gain
    CPUs: it can be the limit for another reason than them. Otherwise it only gives some away.
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
    limited = any(m.generator_limited or (m.generator_cpu_share or 0) >= GENERATOR_FULL for m in measurements)
    if divided is None or limited != (len(divided.generator) > len(layout.generator)):
        return None
    return divided
