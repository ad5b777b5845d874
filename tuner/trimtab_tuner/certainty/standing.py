"""Where each configuration of a run stands: what its trials in search and confirmation have shown so far.

One configuration may have several trials: repeats in the search, one for each block of the confirmation, and
a slot of a block that was spoilt is measured again. What counts of them is settled here, for everybody who
asks. A calibration has no scores, a trial that was cut short says nothing, and a repeat that somebody asked
for beside the blocks changes nothing: none of these counts.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import fmean

from trimtab_trials.configuration import Configuration
from trimtab_trials.trial import Trial, TrialPurpose, Verdict


@dataclass
class Standing:
    """One configuration: its trials of the `search` in order, and of each `block` the last."""

    configuration: Configuration
    search: list[Trial] = field(default_factory=list)
    blocks: dict[int, Trial] = field(default_factory=dict)
    failed: bool = False

    @property
    def judged(self) -> list[Trial]:
        """What it is judged by: its scores of the confirmation, or the search's where that has none."""
        return [trial for trial in self.blocks.values() if trial.score is not None] or self.search

    @property
    def score(self) -> float | None:
        """The mean score of those; None if none was verified."""
        return _mean([trial.score for trial in self.judged])

    @property
    def second_score(self) -> float | None:
        """The mean figure of the second objective; None where it was not measured."""
        return _mean([trial.second_score for trial in self.judged])

    @property
    def search_score(self) -> float | None:
        """The mean score of the search's trials."""
        return _mean([trial.score for trial in self.search])


def standings(trials: Iterable[Trial]) -> dict[str, Standing]:
    """The configurations of a run by their hash, in the order in which they were first measured."""
    found: dict[str, Standing] = {}
    for trial in trials:
        counts = trial.purpose is TrialPurpose.SEARCH or trial.in_block
        if not counts or trial.verdict is Verdict.ABORTED:
            continue
        standing = found.setdefault(trial.configuration_hash, Standing(trial.configuration))
        if trial.in_block:
            standing.blocks[trial.block] = trial
        else:
            standing.search.append(trial)
        standing.failed |= trial.verdict.failed
    return found


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
