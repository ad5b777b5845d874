"""What is recorded of a run: its trials and proposals, with the questions the phases ask about them."""

from trimtab_db import Repository, records
from trimtab_db.records import TrialPurpose
from trimtab_tuner.records import Proposal, TrialResult, Verdict
from trimtab_tuner.space import configuration_hash


class History:
    """A run's trials, read once and kept up to date by recording through it.

    The trials come without their size classes, which only matter for judging a trial at its end.
    """

    def __init__(self, repository: Repository, run_id: int) -> None:
        self._repository = repository
        self._run_id = run_id
        self.trials: list[records.Trial] = list(repository.trials_of(run_id))
        proposals = repository.proposals_of(run_id)
        self._proposals = len(proposals)
        self._untried = {p.configuration_hash: p.number for p in proposals if p.trial_number is None}

    @property
    def next_number(self) -> int:
        """The number of the next trial."""
        return self.trials[-1].number + 1 if self.trials else 1

    @property
    def seconds(self) -> float:
        """How long all the trials took together."""
        return sum((t.finished_at - t.started_at).total_seconds() for t in self.trials)

    def finished(self, purpose: TrialPurpose) -> list[records.Trial]:
        """The trials of that purpose that were not cut short."""
        return [t for t in self.trials if t.purpose is purpose and t.verdict != Verdict.ABORTED]

    def results(self) -> list[TrialResult]:
        """The finished trials of the search, as the tuner wants them."""
        return [as_result(trial) for trial in self.finished(TrialPurpose.SEARCH)]

    def record(self, trial: records.Trial) -> None:
        """Records a trial."""
        self._repository.record_trial(trial)
        self.trials.append(trial)

    def propose(self, proposal: Proposal) -> int:
        """Writes down what the strategy asks for, before it is tried; its number.

        A proposal whose trial never finished keeps the number it has.
        """
        digest = configuration_hash(proposal.configuration)
        if digest in self._untried:
            return self._untried.pop(digest)
        self._proposals += 1
        self._repository.record_proposal(
            self._run_id,
            self._proposals,
            proposal.configuration,
            configuration_hash=digest,
            level=proposal.level,
            reason=proposal.reason,
        )
        return self._proposals


def as_result(trial: records.Trial) -> TrialResult:
    """A recorded trial as the tuner wants it."""
    return TrialResult(
        configuration=trial.configuration,
        verdict=Verdict(trial.verdict),
        score=trial.score,
        reason=trial.reason,
    )
