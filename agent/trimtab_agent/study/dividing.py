"""How the CPUs are divided anew by what a calibration has shown, or a trial at which the load generator gave
out: it gets what it lacks, the server what that has to spare; and what follows from it for defaults.
"""

from collections.abc import Sequence

from trimtab_trials.configuration import Configuration
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial
from trimtab_tuner.space import Space
from trimtab_tuner.targets.base import Target, space_of
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.telling.capacity import capacity_of

from trimtab_agent.host.cpu_layout import CpuLayout, redivide
from trimtab_agent.host.topology import Cpu

DIVIDED_AFTER = "divided_after_trial"
"""In a run's layout: the trial after which the CPUs have been divided so; not there if they always were."""
DRIVEN_AGAIN = "driven_again"
"""In a run's layout: the configuration of the search at which the load generator gave out, so that the search
began anew with the CPUs divided otherwise; not there if it never did.
"""


def generator_gave_out(trial: Trial) -> bool:
    """Whether the load generator gave out before the server did, so that more may be in the configuration."""
    capacity = capacity_of(trial.measurements)
    reached_its_limit = any(m.generator_limited for m in trial.measurements)
    return reached_its_limit and (capacity is None or capacity.lost_rps is None)


def divided_anew(
    layout: CpuLayout, topology: Sequence[Cpu], measurements: Sequence[Measurement], *, limited: bool
) -> CpuLayout | None:
    """The layout to repeat what was measured with: with more cores for the generator if that was the limit
    (`limited`), else with its spare ones for the server.

    It goes by the CPU time of the processes of both, at the highest rate that the replies followed, or at the
    highest of all where they followed none. None if no core moves that way: there may be none to move, or the
    generator gave out for another reason than its CPUs.
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
    if divided is None or (len(divided.generator) > len(layout.generator)) is not limited:
        return None
    return divided


def following_cpus(
    space: Space, target: Target, base: str | None, before: int, after: int
) -> tuple[Space, Configuration]:
    """The space of a run whose server has so many CPUs now, and what is changed in it.

    Defaults that follow the number of CPUs (`auto` in the user's own file `base`, or among its values, or a
    server that counts them) do so, unless the user has fixed them at a value; ranges stay as they are.
    """

    def said(cpus: int) -> Configuration:
        if base is not None:
            return own_values(target, base, cpus)
        each_cpu = {knob.name: cpus for knob in space.knobs if knob.each_cpu}
        return {**space_of(target, space.default(), cpus).default(), **each_cpu}

    was, now, default = said(before), said(after), space.default()
    changed = {
        knob.name: now[knob.name]
        for knob in space.free
        if knob.name in was and default[knob.name] == was[knob.name] != now[knob.name]
    }
    return (space.with_defaults({**default, **changed}) if changed else space), changed
