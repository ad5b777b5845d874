"""What the server's knobs gain alone, the kernel's alone, and both."""

import random

import pytest
from trimtab_trials.configuration import configuration_hash
from trimtab_tuner.certainty.factorial import Cell, factorial, halves
from trimtab_tuner.certainty.statistics import Gain, paired_gain
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.targets.kernel import kernel_knob, with_kernel

SPACE = with_kernel(
    Space(knobs=(Knob(name="workers", kind="integer", low=1, high=8, default=1, help="Processes."),)),
    [kernel_knob("swappiness").here(60)],
    free=("swappiness",),
)
DEFAULT, SERVER = {"workers": 1, "swappiness": 60}, {"workers": 4, "swappiness": 60}
KERNEL, BOTH = {"workers": 1, "swappiness": 10}, {"workers": 4, "swappiness": 10}
CELLS = [configuration_hash(cell) for cell in (DEFAULT, SERVER, KERNEL, BOTH)]


def test_halves_are_there_only_where_both_families_differ():
    """Of a best that changes one family alone the other half is the default."""
    assert halves(SPACE, BOTH) == (SERVER, KERNEL)
    assert halves(SPACE, SERVER) == halves(SPACE, KERNEL) == halves(SPACE, DEFAULT) == ()


def crossed(true, noise, drift, chance, blocks=6):
    """The factorial of measured scores: true ones by cell, drifting from block to block."""
    scores = {digest: [] for digest in CELLS}
    for _ in range(blocks):
        level = 1000 * (1 + chance.gauss(0, drift))
        for digest, share in zip(CELLS, true, strict=True):
            scores[digest].append(level * share * (1 + chance.gauss(0, noise)))
    cells = {
        digest: Cell(
            configuration_hash=digest, gain=paired_gain(scores[CELLS[0]], scores[digest]), capacity_gain=None
        )
        for digest in CELLS[1:]
    }
    return factorial(SPACE, BOTH, cells, scores)


def test_each_gain_is_found_although_the_machine_drifts():
    """10 % between blocks, 1 % within: the three gains lie in their intervals as often as said."""
    chance, runs = random.Random(11), 200
    hits = {"server": 0, "kernel": 0, "both": 0}
    for _ in range(runs):
        found = crossed((1, 1.2, 1.05, 1.26), 0.01, 0.1, chance)
        for name, true in (("server", 0.2), ("kernel", 0.05), ("both", 0.26)):
            gain = getattr(found, name).gain
            hits[name] += gain.low <= true <= gain.high
    assert all(0.9 * runs <= count <= runs for count in hits.values()), hits


def test_an_interaction_is_told_where_there_is_one_and_seldom_where_there_is_none():
    """By the product of the two gains, not their sum: 1.2 × 1.5 = 1.8 is no interaction."""
    chance, runs = random.Random(12), 200
    independent = [crossed((1, 1.2, 1.5, 1.8), 0.01, 0.1, chance).interaction for _ in range(runs)]
    assert sum(gain.significant for gain in independent) <= 0.1 * runs
    swallowed = [crossed((1, 1.2, 1.1, 1.2), 0.01, 0.1, chance) for _ in range(runs)]
    assert sum(each.interaction.significant for each in swallowed) >= 0.9 * runs
    assert "score less than each alone promises" in swallowed[0].sentence


def test_the_sentence_tells_capacity_where_it_was_climbed():
    """And says `at least` where the load generator was the end of it."""
    capacity = Gain(gain=0.5, low=0.4, high=None, significant=True, blocks=4)
    cells = {
        digest: Cell(
            configuration_hash=digest, gain=None, capacity_gain=capacity, at_least=digest == CELLS[3]
        )
        for digest in CELLS[1:]
    }
    found = factorial(SPACE, BOTH, cells, {digest: [None, None] for digest in CELLS})
    assert found.interaction is None
    assert found.sentence.startswith("Gains in capacity over the default: the server's knobs alone +50 %")
    assert found.sentence.count("at least") == 1


@pytest.mark.parametrize("missing", CELLS[1:])
def test_without_one_of_its_cells_there_is_no_factorial(missing):
    """A half that was not measured cannot be told."""
    cells = {
        digest: Cell(configuration_hash=digest, gain=None, capacity_gain=None)
        for digest in CELLS[1:]
        if digest != missing
    }
    assert factorial(SPACE, BOTH, cells, {digest: [1.0] for digest in CELLS}) is None
