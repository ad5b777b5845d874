"""What is recorded of a run: its trials and proposals, with the questions the phases ask about them."""

from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from trimtab_db import Repository
from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.certainty.cost import CostOfTrial, cost_of_trial
from trimtab_tuner.certainty.noise import (
    JUDGED_BY_RULES,
    Noise,
    noise_of,
    planned_references,
    reference_due,
    without_drift,
)
from trimtab_tuner.clients import Clients
from trimtab_tuner.judging.early_stop import Leader, find_leader
from trimtab_tuner.judging.judgement import SCORED, Scores
from trimtab_tuner.judging.ladder import grown, what_spoilt
from trimtab_tuner.judging.limits import Limit
from trimtab_tuner.judging.score import derived_limit, goodput_by_rung
from trimtab_tuner.space import Space
from trimtab_tuner.strategies.base import Proposal
from trimtab_tuner.telling.capacity import capacity_of

# A configuration whose trials were disturbed so often is not measured again.
MOST_DISTURBED = 2
PAGE_TRIALS = 100


class ScoresOf(Protocol):
    """What a trial is worth on a ladder."""

    def __call__(
        self, verdict: Verdict, measurements: Sequence[Measurement], *, ladder: Sequence[float]
    ) -> Scores:
        """Under the run's objectives."""


class History:
    """A run's trials by number, read once and kept up to date by recording through it.

    Of what was measured in them only what curves show is kept: everything else that is asked about a run of
    thousands of trials is asked about few of them, and read when it is.

    `ladder` is the run's as it is now, empty until it has one; it grows, and then all scores change (`grow`).
    `reference` is the default, which follows the CPUs where they are divided anew.
    """

    def __init__(self, repository: Repository, run_id: int) -> None:
        self._repository = repository
        self._run_id = run_id
        run = repository.run(run_id)
        self.ladder = run.ladder
        self.reference = Space.model_validate(run.space).default()
        recorded = repository.trials_with_curves(run_id)
        self.trials: list[Trial] = [trial.without_measurements() for trial in recorded]
        self._measured = {trial.number: trial.measurements for trial in recorded}
        self._costs: dict[int, CostOfTrial] = {}
        self._curves: dict[int, Mapping[float, float]] = {}
        self._draw_curves()
        self._last_number = self.trials[-1].number if self.trials else 0
        proposals = repository.proposals_of(run_id)
        self._proposals = len(proposals)
        self._untried = {p.configuration_hash: p.number for p in proposals if p.trial_number is None}

    def number_after(self, number: int) -> None:
        """Numbers of trials up to that one have been given to others."""
        self._last_number = max(self._last_number, number)

    def new_number(self) -> int:
        """The number of a trial that is about to be carried out."""
        self._last_number += 1
        return self._last_number

    def finished(self, purpose: TrialPurpose) -> list[Trial]:
        """The trials of that purpose that were not cut short."""
        return [trial for trial in self.trials if _finished(trial, purpose)]

    def results(self) -> list[Trial]:
        """What the strategy asked for and got, drift taken out; without the repeats of the reference.

        A disturbed trial is left out, so that the strategy asks for it again, until it has been disturbed
        `MOST_DISTURBED` times.
        """
        disturbed: Counter[str] = Counter()
        asked = []
        for position, trial in enumerate(self.finished(TrialPurpose.SEARCH), start=1):
            if trial.proposal_number is None:
                continue
            if trial.verdict is Verdict.DISTURBED:
                disturbed[trial.configuration_hash] += 1
                if disturbed[trial.configuration_hash] != MOST_DISTURBED:
                    continue
            asked.append((position, trial))
        return without_drift(asked, self.noise())

    def without_drift(self) -> list[Trial]:
        """All trials of the search that were not cut short, drift taken out."""
        return without_drift(list(enumerate(self.finished(TrialPurpose.SEARCH), start=1)), self.noise())

    def comparable(self) -> list[Trial]:
        """All trials of the search that were not cut short, with the scores that a table shows."""
        return self.finished(TrialPurpose.SEARCH)

    def answers(self, trial: Trial) -> bool:
        """Whether a trial that the strategy asked for, and that is recorded, is among the results."""
        if trial.verdict is not Verdict.DISTURBED:
            return True
        return (
            sum(
                other.verdict is Verdict.DISTURBED
                and other.proposal_number is not None
                and other.configuration_hash == trial.configuration_hash
                for other in self.finished(TrialPurpose.SEARCH)
            )
            == MOST_DISTURBED
        )

    def noise(self) -> Noise:
        """What the default's trials in the search say about noise and drift."""
        searched = [
            replace(trial, measurements=self._measured[trial.number])
            if trial.configuration == self.reference
            else trial
            for trial in self.finished(TrialPurpose.SEARCH)
        ]
        return noise_of(searched, self.reference)

    def leader(self, in_flight: int = 0) -> Leader | None:
        """What the next trial of the search must be able to reach, with so many in flight already.

        None while nothing has been verified.
        """
        return find_leader(self.finished(TrialPurpose.SEARCH), self._curves, self.noise(), in_flight)

    def rates_saved(self, ladder: Sequence[float]) -> int:
        """How many rates of a search up this ladder have not been driven because the outcome was settled."""
        settled = (Verdict.STOPPED_EARLY, Verdict.FAILED_VERIFICATION, Verdict.GENERATOR_LIMITED)
        return sum(
            max(0, len(ladder) - len(self._measured[trial.number]))
            for trial in self.finished(TrialPurpose.SEARCH)
            if trial.verdict in settled
        )

    def eliminated(self) -> list[Trial]:
        """The trials of the elimination that were not cut short, with the curves of what they measured."""
        trials = self.finished(TrialPurpose.ELIMINATION)
        return [replace(trial, measurements=self._measured[trial.number]) for trial in trials]

    def followed_by(self, configuration: Configuration) -> list[float]:
        """The highest rate that the configuration followed in each of its trials of the search, in requests
        per second, where it followed one.
        """
        searched = self.finished(TrialPurpose.SEARCH)
        own = [t for t in searched if t.configuration == configuration]
        found = (capacity_of(self._measured[trial.number]) for trial in own)
        return [capacity.rate_rps for capacity in found if capacity is not None]

    def costs(
        self, configurations: Sequence[Configuration], clients: Clients
    ) -> Mapping[str, Sequence[CostOfTrial]]:
        """What the verified trials of some configurations cost in the search, by hash; read once."""
        wanted = {configuration_hash(configuration) for configuration in configurations}
        searched = self.finished(TrialPurpose.SEARCH)
        own = [t for t in searched if t.configuration_hash in wanted and t.score is not None]
        unread = [trial.number for trial in own if trial.number not in self._costs]
        for trial in self.whole(unread) if unread else ():
            self._costs[trial.number] = cost_of_trial(trial, clients)
        found: dict[str, list[CostOfTrial]] = {}
        for trial in own:
            found.setdefault(trial.configuration_hash, []).append(self._costs[trial.number])
        return found

    def calibrations(self) -> list[Trial]:
        """The calibrations to go by, with all they measured: neither cut short nor spoilt by other
        programs.
        """
        numbers = [trial.number for trial in self.finished(TrialPurpose.CALIBRATION)]
        whole = [self._repository.trial(self._run_id, number) for number in numbers]
        return [calibration for calibration in whole if not what_spoilt(calibration)]

    def searched(self) -> Iterator[Trial]:
        """The trials of the search that were not cut short with their measurements, read a page at a time."""
        after = 0
        while page := self._repository.whole_trials(
            self._run_id, after=after, limit=PAGE_TRIALS, size_classes=False
        ):
            yield from (trial for trial in page if _finished(trial, TrialPurpose.SEARCH))
            after = page[-1].number

    def whole(self, numbers: Iterable[int]) -> tuple[Trial, ...]:
        """The trials of these numbers with their measurements."""
        return self._repository.whole_trials(self._run_id, numbers=set(numbers), size_classes=False)

    def low_load_limit(self) -> Limit | None:
        """The latency limit that the calibration suggests, by its lowest rate with replies, if any."""
        means_us = {
            m.rate_rps: m.reply_latency.mean_us
            for t in self.calibrations()
            for m in t.measurements
            if m.reply_latency.mean_us
        }
        return derived_limit(means_us[min(means_us)]) if means_us else None

    def reference_due(self, budget_trials: int, in_flight: int = 0, *, before: int = 0) -> bool:
        """Whether the search's next trial is to be the reference, with so many in flight already.

        Never if the default could not be measured. So many trials went `before` the default's first.
        """
        position = len(self.finished(TrialPurpose.SEARCH)) + in_flight + 1 - before
        return position > 1 and self._default_measured and reference_due(position, budget_trials)

    def default_followed(self, rate_rps: float) -> bool:
        """Whether the default was driven beyond that rate: a trial only rises from what it followed."""
        return any(
            measurement.rate_rps > rate_rps
            for trial in self._of_default()
            for measurement in self._measured[trial.number]
        )

    def references_left(self, budget_trials: int) -> int:
        """How many more times the search will measure the reference."""
        measured = sum(t.proposal_number is None for t in self.finished(TrialPurpose.SEARCH))
        return max(0, planned_references(budget_trials) - measured) if self._default_measured else 0

    def strategy_budget(self, budget_trials: int) -> int:
        """What is left of the search's budget for the strategy."""
        references = sum(t.proposal_number is None for t in self.finished(TrialPurpose.SEARCH))
        return max(1, budget_trials - references - self.references_left(budget_trials))

    @property
    def _default_measured(self) -> bool:
        """Whether the search's first trial of the default measured something, or is still to come.

        One that was disturbed says nothing; the strategy asks for it again.
        """
        judged = [trial for trial in self._of_default() if trial.verdict != Verdict.DISTURBED]
        return not judged or judged[0].verdict in JUDGED_BY_RULES

    def _of_default(self) -> list[Trial]:
        """The default's trials in the search."""
        searched = self.finished(TrialPurpose.SEARCH)
        return [trial for trial in searched if trial.configuration == self.reference]

    def record(self, trial: Trial) -> None:
        """Records a trial; those in flight may come to their ends in another order than they began."""
        self._repository.record_trial(trial)
        insort(self.trials, trial.without_measurements(), key=lambda each: each.number)
        self._measured[trial.number] = tuple(measurement.curve() for measurement in trial.measurements)
        if trial.purpose is TrialPurpose.SEARCH:
            self._curves[trial.number] = goodput_by_rung(trial.measurements, self.ladder)

    def set_ladder(self, ladder: Sequence[float]) -> None:
        """The ladder that the run begins with."""
        self._repository.set_run_ladder(self._run_id, ladder)
        self.ladder = tuple(ladder)
        self._draw_curves()

    def begin_anew(self, reason: str) -> None:
        """Takes back the ladder and the search on it: they do not compare with what is measured from now on.

        Their trials stay recorded, as aborted for that `reason`.
        """
        taken_back = [
            replace(trial, verdict=Verdict.ABORTED, reason=reason, **vars(Scores()))
            for trial in self.finished(TrialPurpose.SEARCH)
        ]
        self._repository.grow_run_ladder(self._run_id, (), taken_back)
        by_number = {trial.number: trial for trial in taken_back}
        self.trials = [by_number.get(trial.number, trial) for trial in self.trials]
        self.ladder = ()
        self._draw_curves()

    def grow(self, trial: Trial, scores_of: ScoresOf) -> bool:
        """Adds the rungs that a verified trial was driven at beyond the ladder; whether there were any.

        All trials of the search have other scores then, which `scores_of` says, given a verdict and what was
        measured. One that broke a rule at a rung which now belongs to the ladder is not verified any more.
        """
        ladder = grown(self.ladder, self._measured[trial.number])
        if trial.verdict is not Verdict.VERIFIED or ladder == self.ladder:
            return False
        self.ladder = ladder
        self._draw_curves()
        self.trials = [self._on_new_ladder(each, scores_of) for each in self.trials]
        searched = [each for each in self.trials if each.purpose is TrialPurpose.SEARCH]
        self._repository.grow_run_ladder(self._run_id, ladder, searched)
        return True

    def _on_new_ladder(self, trial: Trial, scores_of: ScoresOf) -> Trial:
        if trial.purpose is not TrialPurpose.SEARCH or trial.verdict not in SCORED:
            return trial
        measured = self._measured[trial.number]
        broken = [m.rate_rps for m in measured if m.rate_rps in self.ladder and not m.held]
        if broken:
            reason = f"At {broken[0]:,.0f} requests/s, to which the ladder has grown, it broke a rule."
            return replace(trial, verdict=Verdict.FAILED_VERIFICATION, reason=reason, **vars(Scores()))
        scores = scores_of(trial.verdict, measured, ladder=self.ladder)
        # A cost such as memory is not a matter of the ladder, nor of what curves show.
        second = trial.second_score if scores.second_score is None else scores.second_score
        return replace(trial, score=scores.score, second_score=second, estimated_score=scores.estimated_score)

    def _draw_curves(self) -> None:
        """Goodput at every rung of the ladder, for all trials of the search."""
        self._curves = {
            trial.number: goodput_by_rung(self._measured[trial.number], self.ladder)
            for trial in self.trials
            if trial.purpose is TrialPurpose.SEARCH
        }

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


def _finished(trial: Trial, purpose: TrialPurpose) -> bool:
    return trial.purpose is purpose and trial.verdict is not Verdict.ABORTED
