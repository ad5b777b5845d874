"""The search of a run: asks the strategy, has measured what it proposes, and the reference in between.

It begins with what the default's calibration points to (first_changes.py): each such change is measured
alone, before the strategy proposes anything, and what it brings is told at once.

The strategy is kept, and told one trial after the other. What is known of noise and drift changes with the
reference; with a drift, with two objectives, and with a ladder that has grown, all that was told before means
something else, and is told anew. With two objectives each question is about another trade-off between them,
so that what is recommended under the first is asked of a second strategy, which is told the scores as they
are.
"""

from collections.abc import Callable, Sequence

from trimtab_db import Repository, records
from trimtab_db.records import RunPhase
from trimtab_trials.trial import Trial, TrialPurpose
from trimtab_tuner.certainty.confirmation import describe
from trimtab_tuner.certainty.luck import rival_of
from trimtab_tuner.certainty.noise import smallest_gain
from trimtab_tuner.certainty.pareto import steered
from trimtab_tuner.diagnosis.first_changes import FirstChange
from trimtab_tuner.judging.job import EarlyEnd
from trimtab_tuner.judging.ladder import RUNG_RISE
from trimtab_tuner.judging.second_objective import axis
from trimtab_tuner.presets import RunSettings
from trimtab_tuner.space import Space
from trimtab_tuner.strategies import make_strategy
from trimtab_tuner.strategies.base import Proposal, Strategy
from trimtab_tuner.wording import counted, in_percent
from trimtab_tuner.workloads.parameters import clients_of

from trimtab_agent.study.announcer import Announcer
from trimtab_agent.study.dispatcher import Dispatcher
from trimtab_agent.study.dividing import DRIVEN_AGAIN, generator_gave_out
from trimtab_agent.study.earlier_runs import earlier_runs, features
from trimtab_agent.study.first_changes import best_so_far, first_changes_of, so_far
from trimtab_agent.study.history import History
from trimtab_agent.study.orders import Order
from trimtab_agent.study.progress import RunProgress
from trimtab_agent.study.rungs import ladder_grows, ladder_of_default, searched_rungs

FEWEST_FOR_FIRST = 4  # trials of the search: of fewer none can be spared


class Search:
    """The search of one run, as far as it is recorded in `history`."""

    def __init__(
        self, repository: Repository, run: records.Run, settings: RunSettings, space: Space, history: History
    ) -> None:
        self._run = run
        self._settings = settings
        self._space = space
        self._history = history
        self._past_runs = earlier_runs(repository, run) if settings.learn else []
        self._clients = clients_of(run.workload_parameters)
        self._first: tuple[FirstChange, ...] = ()
        self._drifting = False
        self._strategy = self._recommender = self._made()
        if not self._one_objective:
            self._strategy = self._made()
        for result in history.results():
            self._recommender.tell(result)
        self._revise_if_due()

    def best(self) -> Trial | None:
        """What the strategy recommends under the first objective; None if nothing has been verified."""
        return self._recommender.best()

    def to_confirm(self) -> Trial | None:
        """What has to show in blocks that it takes more than the default: what the strategy recommends or,
        where that is the default itself, another that may be as good. The default where there is none.
        """
        best = self.best()
        default = self._space.default()
        if best is None or not best.score or best.configuration != default:
            return best
        if not self._settings.confirmation_repeats:
            return best  # nothing will be shown
        return rival_of(default, self._history.without_drift(), self._history.noise().share) or best

    def carry_out(
        self,
        dispatcher: Dispatcher,
        progress: RunProgress,
        announcer: Announcer,
        begins_anew: Callable[[Trial], bool] = lambda _limited: False,
    ) -> bool:
        """Searches on until the strategy has no more questions; raises what the dispatcher raises.

        `begins_anew` is asked at each trial at which the load generator gave out; True if it said that the
        search is to begin anew, by another one, as the CPUs are divided otherwise now.
        """
        self._begin_with_evidence(announcer, progress)
        # A run that was killed may have recorded a trial, and not yet what its ladder became by it.
        recorded = self._history.finished(TrialPurpose.SEARCH)
        grown = [self._grow(trial, dispatcher, announcer) for trial in recorded]
        if any(grown):
            self._revise_if_due(grown=True)
        self._tell_progress(progress)
        while True:
            while dispatcher.free and (order := self._next_order(dispatcher)) is not None:
                dispatcher.start(order)
            if not dispatcher.in_flight:
                break
            trial = dispatcher.wait()
            if generator_gave_out(trial) and begins_anew(trial):
                return True
            self._tell_so_far(trial, announcer, progress)
            self._take_in(trial, grown=self._grow(trial, dispatcher, announcer))
            self._tell_progress(progress)
        announcer.note("info", self._noise_sentence())
        if saved := self._history.rates_saved(self._rungs):
            announcer.note("info", f"Stopping early has saved {counted(saved, 'rate')} of the search.")
        return False

    @property
    def _one_objective(self) -> bool:
        """A trial far from the leader under one objective may still be the best under the other."""
        return self._run.second_objective is None

    @property
    def _grows(self) -> bool:
        return ladder_grows(self._run, self._settings)

    @property
    def _rungs(self) -> Sequence[float]:
        """What the next trial is driven at."""
        return searched_rungs(self._run, self._settings, self._history.ladder)

    @property
    def _reference_rungs(self) -> Sequence[float]:
        """What the default is driven at."""
        own = ladder_of_default(self._run, self._settings, self._history)
        return searched_rungs(self._run, self._settings, own)

    def _grow(self, trial: Trial, dispatcher: Dispatcher, announcer: Announcer) -> bool:
        """Has the ladder follow what a trial followed; whether it has grown."""
        if not self._grows or not self._history.grow(trial, dispatcher.scores_of):
            return False
        top = clients_of(self._run.workload_parameters).level(self._history.ladder[-1])
        announcer.ladder_grown(trial, self._history.ladder, top)
        return True

    def _begin_with_evidence(self, announcer: Announcer, progress: RunProgress) -> None:
        """Has the changes that the calibration points to asked first, and says why."""
        if self._settings.budget_trials < FEWEST_FOR_FIRST:
            return
        self._first = first_changes_of(self._run, self._space, self._history)
        asked = [
            Proposal(configuration=one.configuration, level=0, reason=one.finding.sentence)
            for one in self._first
        ]
        if (limited := self._run.layout.get(DRIVEN_AGAIN)) is not None and self._space.allows(limited):
            reason = "The load generator gave out at it, and has more CPUs now."
            asked.append(Proposal(configuration=limited, level=0, reason=reason))
        self._strategy.begin_with(asked)
        if not self._history.finished(TrialPurpose.SEARCH):
            for one in self._first:
                announcer.note(
                    "info", f"{one.finding.sentence} So {describe(one.changed, {})} is tried first."
                )
        elif (told := best_so_far(self._first, self._history)) is not None:
            progress.told_so_far(told.sentence)

    def _tell_so_far(self, trial: Trial, announcer: Announcer, progress: RunProgress) -> None:
        """What a change that was tried first brings, when it has been measured the first time."""
        own = next((one for one in self._first if one.configuration == trial.configuration), None)
        seen = [t for t in self._history.trials if t.configuration == trial.configuration]
        if own is None or len(seen) > 1 or (told := so_far(own, trial, self._history)) is None:
            return
        announcer.note("info", told.sentence)
        if (best := best_so_far(self._first, self._history)) is not None:
            progress.told_so_far(best.sentence)

    def _next_order(self, dispatcher: Dispatcher) -> Order | None:
        """What is to be measured next; None when nothing is, as far as is known yet."""
        budget, before = self._settings.budget_trials, len(self._first)
        if self._history.reference_due(budget, dispatcher.in_flight, before=before):
            # It answers no proposal: that is how it is known later.
            return dispatcher.orders.trial(TrialPurpose.SEARCH, self._space.default(), self._reference_rungs)
        proposal = self._strategy.ask()
        if proposal is None:
            return None
        return dispatcher.orders.trial(
            TrialPurpose.SEARCH,
            proposal.configuration,
            self._reference_rungs if proposal.configuration == self._space.default() else self._rungs,
            rise=RUNG_RISE if self._grows else None,
            level=proposal.level,
            proposal_number=self._history.propose(proposal),
            end_early=self._end_early(proposal, dispatcher),
        )

    def _end_early(self, proposal: Proposal, dispatcher: Dispatcher) -> EarlyEnd | None:
        """Not the default, which all others are compared with, nor a repeat, which is to be exact."""
        is_default = proposal.configuration == self._space.default()
        if not self._settings.early_stopping or is_default or proposal.repeat:
            return None
        leader = self._history.leader(dispatcher.in_flight) if self._one_objective else None
        return EarlyEnd(
            objective=self._run.objective, ladder=self._history.ladder, limit=dispatcher.limit, leader=leader
        )

    def _take_in(self, trial: Trial, *, grown: bool) -> None:
        """Tells the strategies of a trial that has just been recorded, and what is known since."""
        trial = trial.without_measurements()
        asked = trial.proposal_number is not None
        for strategy in {id(each): each for each in (self._strategy, self._recommender)}.values():
            if asked and self._history.answers(trial):
                strategy.tell(trial)
            elif asked:
                strategy.take_back(trial.configuration)
            strategy.adjust(noise=self._history.noise().share, budget_trials=self._budget_trials)
        self._revise_if_due(grown=grown)

    def _revise_if_due(self, *, grown: bool = False) -> None:
        """Tells everything anew where it means something else now, as after the ladder has `grown`."""
        drifting = bool(self._history.noise().drift_per_trial)
        if drifting or self._drifting or grown:
            self._recommender.revise(self._history.results())
        self._drifting = drifting
        if self._run.second_objective is not None:
            minimised = axis(self._run.second_objective).minimised
            results = self._history.results()
            self._strategy.revise(steered(results, minimised=minimised, seed=self._run.seed))

    def _tell_progress(self, progress: RunProgress) -> None:
        asked = self._strategy.expected_trials() - len(self._history.results())
        references = self._history.references_left(self._settings.budget_trials)
        progress.expect(RunPhase.SEARCHING, asked + references)
        best = self.best()
        if best is not None and best.score is not None:
            progress.best_changed(best.configuration, best.score)

    def _noise_sentence(self) -> str:
        """How much trials differ on this host, and what the confirmation can tell."""
        noise, repeats = self._history.noise(), self._settings.confirmation_repeats
        sentence = (
            f"Trials on this host are taken to differ by {in_percent(noise.share, 1)} (standard deviation, "
            f"{noise.basis})"
        )
        if noise.drift_per_trial:
            sentence += (
                f"; they drifted by {100 * noise.drift_per_trial:+.2f} % per trial, which was taken out"
            )
        if repeats >= 2:
            challengers = 1 + self._settings.runners_up + self._settings.expert_baseline
            gain = smallest_gain(noise.share, repeats, challengers=challengers)
            sentence += (
                f"; in nine of ten cases {repeats} repeats are enough to show a gain of {in_percent(gain, 1)}"
            )
        return sentence + "."

    @property
    def _budget_trials(self) -> int:
        """What the strategy may ask for."""
        return self._history.strategy_budget(self._settings.budget_trials)

    def _made(self) -> Strategy:
        """A strategy that has been told nothing yet."""
        settings = self._settings
        return make_strategy(
            settings.strategy,
            self._space,
            seed=self._run.seed,
            budget_trials=self._budget_trials,
            coarse_grid=settings.coarse_grid,
            levels=settings.levels,
            tie_tolerance=settings.tie_tolerance,
            noise=self._history.noise().share,
            costs=lambda configurations: self._history.costs(configurations, self._clients),
            experience=self._past_runs,
            features=features(self._run),
        )
