"""A number of workers for all CPUs of the machine that a file goes to.

While it was measured the server had some of the CPUs, and the load generator the others. So what a run finds
is a number of workers *per CPU*, and that is what is exported: as many on each CPU of the machine. Where the
default follows the number of CPUs by itself (`auto`, also where only the values of a file were taken, or a
server that counts them) it stays as it is, unless another number was shown to be better.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner.certainty.setting_effects import SettingEffect
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob
from trimtab_tuner.targets.base import Target, space_of
from trimtab_tuner.targets.editing import own_values


@dataclass(frozen=True)
class Scaled:
    """The `knob` that has the number of workers: `measured` on `server_cpus` of the machine's `cpus`.

    The files hold `value`. One that `stays` is the default, which follows the number of CPUs; `undecided` if
    what was measured is another number, that was not shown to differ.
    """

    knob: str
    measured: Value
    server_cpus: int
    cpus: int
    value: Value
    stays: bool = False
    undecided: bool = False

    def sentence(self) -> str:
        """What the files hold and why; how pages, the terminal, reports and files tell it."""
        on = f"on {self.server_cpus} of the machine's {self.cpus} CPUs"
        if self.undecided:
            return (
                f"{self.knob} stays one per CPU, which is the default: {self.measured} {on} was not shown to "
                "differ."
            )
        if self.stays:
            return f"{self.knob} stays one per CPU, which is the default; {self.measured} was measured {on}."
        each = f"{int(self.measured) / self.server_cpus:.3g} per CPU"
        return (
            f"{self.knob} is {self.value} in the exported files, {each} on all CPUs: {self.measured} was "
            f"measured {on}."
        )

    def note(self) -> str:
        """That the exported file was driven with the number as it was measured."""
        return (
            f"It was driven with {self.knob} = {self.measured} as measured, on the CPUs that the server had."
        )


def scale(
    target: Target,
    configuration: Configuration,
    default: Configuration,
    base: str | None,
    server_cpus: int,
    cpus: int,
    effects: Sequence[SettingEffect] = (),
    each_cpu: Collection[str] = (),
) -> Scaled | None:
    """The number of workers for all CPUs; None where the server had them all, or a number stays as it is that
    is the default and does not follow them.

    `base` is the text of a user's own file, in which a setting that stays is left alone; `each_cpu` are knobs
    whose default is known to be one for each CPU.
    """
    knob = space_of(target, configuration, cpus).of_role(Role.WORKERS)
    if knob is None or not isinstance(measured := configuration.get(knob.name), int):
        return None
    if not 0 < server_cpus < cpus:
        return None

    def said(number: int) -> Value:
        """What the default is on so many CPUs."""
        if base is None and knob.name in each_cpu:
            return number
        if base is None:
            return space_of(target, configuration, number).default()[knob.name]
        return own_values(target, base, number)[knob.name]

    follows = said(server_cpus) != said(cpus) and default.get(knob.name) == said(server_cpus)
    same = measured == default.get(knob.name)
    effect = next((one for one in effects if one.knob == knob.name), None)
    gain = None if effect is None or effect.together else effect.gain
    undecided = not same and gain is not None and gain.low is not None and not gain.significant
    if follows and (same or undecided):
        value = said(cpus) if base is None else default[knob.name]  # a word in a file is left alone
        return Scaled(knob.name, measured, server_cpus, cpus, value, stays=True, undecided=undecided)
    if same:
        return None
    value = _nearest(knob, measured * cpus / server_cpus)
    return None if value == measured else Scaled(knob.name, measured, server_cpus, cpus, value)


def _nearest(knob: Knob, wanted: float) -> int:
    """The value that the knob can have which is nearest."""
    if knob.choices:
        return min((n for n in knob.choices if isinstance(n, int)), key=lambda n: abs(n - wanted))
    return min(max(round(wanted), knob.low or 1), knob.high or round(wanted))
