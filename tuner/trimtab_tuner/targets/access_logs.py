"""Access logs of a user's own file as something to tune: never whether, where or in which format, only how
much of one a server gathers before it writes.

Such knobs exist only in runs whose file has a log that they are for, and are tuned where somebody asks for
it, since gathered lines come later, and are lost with the server.
"""

from collections.abc import Sequence

from trimtab_trials.configuration import Configuration

from trimtab_tuner.space import Knob, Space


def no_logs(_text: str) -> Configuration:
    """For servers whose logs are left as they are."""
    return {}


def with_logs(space: Space, knobs: Sequence[Knob], own: Configuration) -> Space:
    """The space with those of a target's knobs that a user's file has values of, fixed at these."""
    there = tuple(knob.model_copy(update={"default": own[k]}) for knob in knobs if (k := knob.name) in own)
    fixed = {**space.fixed, **{knob.name: knob.default for knob in there}}
    return space.model_copy(update={"knobs": (*space.knobs, *there), "fixed": fixed})
