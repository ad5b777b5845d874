"""The search of a run: asks the strategy, measures what it proposes, and the reference in between.

The strategy is rebuilt from the recorded trials before each question: what is known of noise and drift has
changed with the trial before, and with it what all the others mean. With two objectives each question is
about another trade-off between them.
"""

from collections.abc import Sequence

from trimtab_db import Repository, records
from trimtab_db.records import RunPhase, TrialPurpose
from trimtab_tuner.pareto import steered
from trimtab_tuner.presets import RunSettings
from trimtab_tuner.records import Proposal, TrialResult
from trimtab_tuner.reference import smallest_gain
from trimtab_tuner.second_objective import axis
from trimtab_tuner.space import Space
from trimtab_tuner.strategies import make_strategy
from trimtab_tuner.strategies.base import Strategy
from trimtab_tuner.wording import counted

from trimtab_agent.study.announcer import Announcer
from trimtab_agent.study.earlier_runs import earlier_runs, features
from trimtab_agent.study.executor import TrialExecutor
from trimtab_agent.study.history import History
from trimtab_agent.study.progress import RunProgress


class Search:
    """The search of one run, as far as it is recorded in `history`."""

    def __init__(
        self, repository: Repository, run: records.Run, settings: RunSettings, space: Space, history: History
    ) -> None:
        self._run = run
        self._settings = settings
        self._space = space
        self._history = history
        self._experience = earlier_runs(repository, run) if settings.learn else []
        self._strategy = self._rebuilt_strategy()

    def best(self) -> TrialResult | None:
        """What the strategy recommends under the first objective; None if nothing has been verified."""
        if self._one_objective:
            return self._strategy.best()
        return self._strategy_told(self._history.results()).best()

    def carry_out(
        self,
        ladder: Sequence[float],
        executor: TrialExecutor,
        progress: RunProgress,
        announcer: Announcer,
    ) -> None:
        """Searches on until the strategy has no more questions; raises what the executor raises."""
        self._tell(progress)
        while True:
            if self._history.reference_due(self._settings.budget_trials):
                # It answers no proposal: that is how it is known later.
                executor.climb(TrialPurpose.SEARCH, self._space.default(), ladder)
            else:
                proposal = self._strategy.ask()
                if proposal is None:
                    break
                may_stop_early = self._may_stop_early(proposal)
                executor.climb(
                    TrialPurpose.SEARCH,
                    proposal.configuration,
                    ladder,
                    level=proposal.level,
                    proposal_number=self._history.propose(proposal),
                    may_stop_early=may_stop_early,
                    leader=self._history.leader() if may_stop_early and self._one_objective else None,
                )
            self._strategy = self._rebuilt_strategy()
            self._tell(progress)
        announcer.note("info", self._noise_sentence())
        if saved := self._history.rates_saved(ladder):
            announcer.note("info", f"Stopping early has saved {counted(saved, 'rate')} of the search.")

    @property
    def _one_objective(self) -> bool:
        """A trial far from the leader under one objective may still be the best under the other."""
        return self._run.second_objective is None

    def _may_stop_early(self, proposal: Proposal) -> bool:
        """Not the default, which all others are compared with, nor a repeat, which is to be exact."""
        is_default = proposal.configuration == self._space.default()
        return self._settings.early_stopping and not is_default and not proposal.repeat

    def _tell(self, progress: RunProgress) -> None:
        asked = self._strategy.expected_trials() - len(self._history.results())
        references = self._history.references_left(self._settings.budget_trials)
        progress.expect(RunPhase.SEARCHING, asked + references)
        best = self.best()
        if best is not None and best.score is not None:
            progress.best_changed(best.configuration, best.score)

    def _noise_sentence(self) -> str:
        """How much trials differ on this host, and what the confirmation can tell."""
        reference, repeats = self._history.reference(), self._settings.confirmation_repeats
        times = f"{reference.measured} measurements of the default" if reference.measured >= 2 else "assumed"
        sentence = f"Trials on this host differ by {reference.noise:.1%} (standard deviation; {times})"
        if reference.drift_per_trial:
            sentence += f", and drifted by {reference.drift_per_trial:+.2%} per trial, which was taken out"
        if repeats >= 2:
            sentence += f"; {repeats} repeats tell a gain of {smallest_gain(reference.noise, repeats):.1%}"
        return sentence + "."

    def _rebuilt_strategy(self) -> Strategy:
        results = self._history.results()
        if self._run.second_objective is not None:
            minimised = axis(self._run.second_objective).minimised
            results = steered(results, minimised=minimised, seed=self._run.seed)
        return self._strategy_told(results)

    def _strategy_told(self, results: Sequence[TrialResult]) -> Strategy:
        settings = self._settings
        strategy = make_strategy(
            settings.strategy,
            self._space,
            seed=self._run.seed,
            budget_trials=self._history.strategy_budget(settings.budget_trials),
            coarse_grid=settings.coarse_grid,
            levels=settings.levels,
            tie_tolerance=settings.tie_tolerance,
            noise=self._history.reference().noise,
            experience=self._experience,
            features=features(self._run),
        )
        for result in results:
            strategy.tell(result)
        return strategy
