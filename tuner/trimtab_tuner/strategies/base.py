"""What every strategy offers.

A strategy proposes configurations (`ask`) and is told what became of them (`tell`). Callers may tell trials
that were never asked for: that is how a strategy is rebuilt from the recorded trials of an interrupted run.
The first proposal is always the space's default configuration, which is every run's reference. Given the same
seed and the same history, a strategy proposes the same configurations; it never proposes a configuration
twice, except knowingly with `Proposal.repeat`.
"""

from typing import Protocol

from trimtab_tuner.records import Proposal, TrialResult


class Strategy(Protocol):
    """Proposes configurations; see the module's docstring for the contract."""

    def ask(self) -> Proposal | None:
        """The next configuration to measure, or None when the search is over.

        May be called again before the answer is told; proposals in flight are not proposed again.
        """
        ...

    def tell(self, result: TrialResult) -> None:
        """Take in a finished trial; any verdict is information, none is an error."""
        ...

    def best(self) -> TrialResult | None:
        """The trial to recommend so far, ties broken by least resources; None if none was verified."""
        ...

    def expected_trials(self) -> int:
        """Present best estimate of the total number of trials of this search, those told included."""
        ...
