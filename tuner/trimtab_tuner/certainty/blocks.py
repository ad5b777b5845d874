"""Which trials a confirmation still needs, and which of its blocks count.

A block is worth something only as a whole: a gain compares scores within blocks. A trial that something else
spoilt (the host was busy) says nothing about its configuration. It is carried out once more; if that is
spoilt too, so is the block, and a further block takes its place, up to as many as were wanted in the first
place. A configuration for which the load generator gives out spoils nothing: it can do at least what it has
followed.
"""

from collections.abc import Sequence

from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.trial import Trial, Verdict

from trimtab_tuner.certainty.confirmation import confirmation_schedule
from trimtab_tuner.certainty.standing import standings

TRIES = 2
FEWEST_BLOCKS = 2  # with fewer there is no interval
BLOCK_SEEDS = 100_000_007  # apart, so that the rate added to one block's seed never makes another's


def seed_of_block(seed: int, block: int) -> int:
    """The seed of the arrivals in a block of a run with that seed: another in every block, so that what is
    found holds for more than one realisation of them, and the same for all that are compared within one.
    """
    return seed + block * BLOCK_SEEDS


class Blocks:
    """The blocks of a confirmation of these finalists, `repeats` of them wanted, as far as they are measured.

    Of the `trials` those count that belong to the confirmation and came to an end, in their order. A single
    finalist, as where the default was the best, is measured as often: what it does is told with an interval.
    """

    def __init__(
        self, finalists: Sequence[Configuration], repeats: int, seed: int, trials: Sequence[Trial]
    ) -> None:
        trials = [t for t in trials if t.in_block and t.verdict is not Verdict.ABORTED]
        self.wanted = repeats if finalists else 0
        self._size = len(finalists)
        self.whole: list[int] = []
        self.spoilt: list[int] = []
        self.next_slot: tuple[int, Configuration] | None = None
        self._judged_in_open = 0
        tried: dict[tuple[int, str], list[Verdict]] = {}
        for trial in trials:
            tried.setdefault((trial.block, trial.configuration_hash), []).append(trial.verdict)
        schedule = confirmation_schedule(finalists, 2 * self.wanted, seed)
        for block, configurations in enumerate(schedule, start=1):
            if len(self.whole) == self.wanted:
                return
            for position, configuration in enumerate(configurations):
                digest = configuration_hash(configuration)
                verdicts = tried.get((block, digest), [])
                spoilt = bool(verdicts) and verdicts[-1].spoilt
                if not verdicts or (spoilt and len(verdicts) < TRIES):
                    self.next_slot = block, configuration
                    self._judged_in_open = position
                    return
                if spoilt:
                    self.spoilt.append(block)
                    break
            else:
                self.whole.append(block)

    def measured(self, trials: Sequence[Trial]) -> list[Trial]:
        """The trials of the whole blocks, one for each slot."""
        whole = set(self.whole)
        return [
            trial
            for standing in standings(trials).values()
            for block, trial in standing.blocks.items()
            if block in whole
        ]

    def slots(self, trials: Sequence[Trial]) -> list[Trial]:
        """What is compared block by block: these trials."""
        return self.measured(trials)

    @property
    def trials_left(self) -> int:
        """How many more trials are needed if none of them is spoilt."""
        if self.next_slot is None:
            return 0
        return (self.wanted - len(self.whole)) * self._size - self._judged_in_open
