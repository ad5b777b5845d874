"""Two files of one server, an old one and a new one: whether the new one loses capacity.

They are measured in the blocks of a confirmation, as two configurations that differ in the knob `file`. What
is lost is told by the capacities of both, paired within blocks. Its interval reaches from the least that the
new file may follow against the most that the old one may, to the other way round, so what the steps of the
climb leave open is part of it.
"""

from typing import Literal

from trimtab_trials.configuration import Configuration

from trimtab_tuner.certainty.statistics import Gain, paired_gain
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.telling.capacity import Capacity
from trimtab_tuner.telling.performance import Block, OfBlocks, capacities_of, capacity_gain

FILE = Knob(
    name="file",
    kind="categorical",
    choices=("old", "new"),
    default="old",
    help="Which of the two files the server runs with.",
)

Verdict = Literal["kept", "lost", "undecided"]


class Loss(Frozen):
    """Whether the new file loses more than the share `most_loss` of the old one's capacity.

    `lost`: the whole interval of the `gain` lies below that, or it follows nothing in most blocks; `kept`:
    the whole interval lies above; else `undecided`. `gain` is None where no percentage can be stated.
    """

    verdict: Verdict
    most_loss: float
    gain: Gain | None
    follows_nothing: bool = False

    @property
    def sentence(self) -> str:
        """In words, without the figures of the two."""
        share = f"{100 * self.most_loss:.3g} %"
        if self.follows_nothing:
            return "The new file loses all capacity: in most blocks it follows none of the rates."
        if self.verdict == "lost":
            return f"The new file loses more than {share} of the old one's capacity."
        if self.verdict == "kept":
            return f"The new file loses no more than {share} of the old one's capacity."
        return (
            f"A loss of more than {share} of the old file's capacity is neither shown nor ruled out: more "
            "blocks narrow the interval (--set confirmation_repeats=NUMBER)."
        )


def space_of_two(space: Space) -> Space:
    """The space of the two files, from that with the old one's values as defaults: only the file is free."""
    return Space(knobs=(*space.knobs, FILE), fixed=space.default())


def with_file(space: Space, values: Configuration) -> Configuration:
    """The configuration of the new file, whose values these are."""
    return {**space.default(), **values, FILE.name: "new"}


def without_file(configuration: Configuration) -> Configuration:
    """A configuration as the server knows it."""
    return {name: value for name, value in configuration.items() if name != FILE.name}


def judged(old: OfBlocks, new: OfBlocks, most_loss: float) -> Loss:
    """The loss that what was measured of both in each block shows."""
    of_old, of_new = capacities_of(old), capacities_of(new)
    nothing = [block for block in new if of_new[block] is None and not _unknown(new, block)]
    if 2 * len(nothing) > len(new):
        return Loss(verdict="lost", most_loss=most_loss, gain=None, follows_nothing=True)
    gain, most = capacity_gain(of_old, of_new), _at_most(of_old, of_new)
    verdict: Verdict = "undecided"
    if most is not None and most < -most_loss:
        verdict = "lost"
    elif gain is not None and gain.low is not None and gain.low >= -most_loss and not nothing:
        verdict = "kept"
    return Loss(verdict=verdict, most_loss=most_loss, gain=gain)


def _unknown(blocks: OfBlocks, block: Block) -> bool:
    """Whether it is the generator's fault that nothing is known of the server."""
    return any(measurement.generator_limited for measurement in blocks[block])


def _at_most(old: dict[Block, Capacity | None], new: dict[Block, Capacity | None]) -> float | None:
    """The upper bound of the gain; also where the old file is only bounded from below, so that no gain can be
    stated. None where the new one is.
    """
    pairs = [(a, b) for block in sorted(old.keys() & new.keys()) if (a := old[block]) and (b := new[block])]
    highest = paired_gain([a.low_rps for a, _ in pairs], [b.high_rps for _, b in pairs])
    return None if highest is None or highest.blocks < len(pairs) else highest.high
