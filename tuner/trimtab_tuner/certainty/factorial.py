"""What the server's knobs gain alone, the kernel's alone, and both: a factorial of two families.

Of a best configuration that differs from the default in both families two halves take part in the
confirmation: the server's knobs of the best on the kernel as it was, and the default server on the kernel of
the best. With the default and the best they are the four cells of a 2 × 2 factorial, measured in the same
blocks. Were the families independent, the gains would multiply; `interaction` is what both together score
beside that.
"""

from collections.abc import Mapping, Sequence

from trimtab_trials.configuration import Configuration, configuration_hash

from trimtab_tuner.certainty.statistics import Gain, paired_gain
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.space import Space

Scores = Sequence[float | None]


class Cell(Frozen):
    """One cell beside the default: its gains in score and, where rates were climbed, in capacity.

    With `at_least` its capacity was only bounded from below.
    """

    configuration_hash: str
    gain: Gain | None
    capacity_gain: Gain | None
    at_least: bool = False


class Factorial(Frozen):
    """What each family of knobs gains alone, and both together, in `sentence` as well.

    `interaction` is by how much the score of both differs from that of two independent families; None where
    a cell was not verified.
    """

    server: Cell
    kernel: Cell
    both: Cell
    interaction: Gain | None
    sentence: str


def halves(space: Space, best: Configuration) -> tuple[Configuration, ...]:
    """The two other cells of the factorial: the best server on the kernel as it was, and the reverse.

    None where the best differs from the default in one family only, or the space allows a half not.
    """
    default = space.default()
    server = {**best, **_kernel_part(space, default)}
    kernel = {**default, **_kernel_part(space, best)}
    cells = {configuration_hash(each) for each in (default, best, server, kernel)}
    if len(cells) < 4 or not (space.allows(server) and space.allows(kernel)):
        return ()
    return server, kernel


def leaves_kernel(space: Space, configuration: Configuration) -> bool:
    """Whether a configuration leaves the kernel as the default has it."""
    return _kernel_part(space, configuration) == _kernel_part(space, space.default())


def _kernel_part(space: Space, configuration: Configuration) -> Configuration:
    of_kernel = {knob.name for knob in space.knobs if knob.of_kernel}
    return {name: value for name, value in configuration.items() if name in of_kernel}


def factorial(
    space: Space, best: Configuration, parts: Mapping[str, Cell], scores: Mapping[str, Scores]
) -> Factorial | None:
    """The outcome of the factorial; `parts` and `scores` by hash, the scores in the order of the blocks.

    None where there is no factorial, or one of its cells was not measured.
    """
    default, cells = space.default(), halves(space, best)
    if not cells:
        return None
    of_default, of_server, of_kernel, of_both = (configuration_hash(each) for each in (default, *cells, best))
    if not {of_server, of_kernel, of_both} <= parts.keys():
        return None
    interaction = paired_gain(
        _products(scores[of_server], scores[of_kernel]), _products(scores[of_both], scores[of_default])
    )
    server, kernel, both = parts[of_server], parts[of_kernel], parts[of_both]
    return Factorial(
        server=server,
        kernel=kernel,
        both=both,
        interaction=interaction,
        sentence=_sentence(server, kernel, both, interaction),
    )


def _products(one: Scores, other: Scores) -> list[float | None]:
    return [a * b if a and b else None for a, b in zip(one, other, strict=True)]


def _sentence(server: Cell, kernel: Cell, both: Cell, interaction: Gain | None) -> str:
    by_capacity = all(part.capacity_gain is not None for part in (server, kernel, both))
    measure = "capacity" if by_capacity else "score"
    told = ", ".join(
        f"{name} {_gain(part, by_capacity=by_capacity)}"
        for name, part in (
            ("the server's knobs alone", server),
            ("the kernel's alone", kernel),
            ("both", both),
        )
    )
    sentence = f"Gains in {measure} over the default: {told}."
    if interaction is None or interaction.low is None:
        return sentence
    if not interaction.significant:
        return f"{sentence} That the two families depend on each other is not shown."
    more = "more" if interaction.gain > 0 else "less"
    return f"{sentence} Together they score {more} than each alone promises: {interaction}."


def _gain(part: Cell, *, by_capacity: bool) -> str:
    gain = part.capacity_gain if by_capacity else part.gain
    if gain is None:
        return "cannot be stated"
    return gain.told(at_least=by_capacity and part.at_least)
