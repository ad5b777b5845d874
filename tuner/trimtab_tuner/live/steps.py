"""How far a candidate is from the incumbent: which knobs it changes, and how far each goes on its scale."""

from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner.frozen import Frozen
from trimtab_tuner.space import Knob, Space

# Positions on a scale are floating-point numbers; a step of exactly the radius is within it.
ROUNDING = 1e-9


class Change(Frozen):
    """One knob, and its value before and after."""

    knob: str
    before: Value
    after: Value

    def __str__(self) -> str:
        return f"{self.knob} {self.before} → {self.after}"


def changes(space: Space, before: Configuration, after: Configuration) -> tuple[Change, ...]:
    """The knobs of the space that differ, in its order. Both configurations are complete."""
    return tuple(
        Change(knob=knob.name, before=before[knob.name], after=after[knob.name])
        for knob in space.knobs
        if before[knob.name] != after[knob.name]
    )


def is_within(knob: Knob, change: Change, radius: float) -> bool:
    """Whether a change is no longer than `radius` (a share of the knob's scale), or the least there is.

    A category has no length: it is always within.
    """
    if knob.kind == "categorical":
        return True
    length = abs(knob.position(change.after) - knob.position(change.before))
    return length <= radius + ROUNDING or _is_least(knob, change)


def _is_least(knob: Knob, change: Change) -> bool:
    """Whether no value lies between the two."""
    if isinstance(change.before, int) and isinstance(change.after, int) and knob.kind == "integer":
        return abs(change.after - change.before) == 1
    if knob.kind != "ordinal" or not {change.before, change.after} <= set(knob.choices):
        return False
    return abs(knob.choices.index(change.after) - knob.choices.index(change.before)) == 1
