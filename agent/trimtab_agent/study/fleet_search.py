"""The search of a run on several hosts: whoever has nothing to do gets what is most worth measuring there.

What that is decides trimtab_tuner.fleet.allocation, from what is recorded: the default, a configuration that
another host has measured, or something new, which the strategy proposes. When the model of hosts and
configurations has been fitted anew (fleet_history.py), all scores are others, and the strategy is told all of
them anew and asked what it would recommend; in between it is told one trial after the other. So of a run of
thousands of trials each costs as much as one of the first hundreds.
"""

from collections.abc import Sequence
from dataclasses import replace

from trimtab_db import Repository, records
from trimtab_db.records import RunPhase
from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.certainty.noise import USUAL_NOISE
from trimtab_tuner.fleet.allocation import Task
from trimtab_tuner.judging.job import EarlyEnd
from trimtab_tuner.judging.ladder import RUNG_RISE
from trimtab_tuner.presets import RunSettings
from trimtab_tuner.space import Space
from trimtab_tuner.strategies import make_strategy
from trimtab_tuner.wording import counted, in_percent
from trimtab_tuner.workloads.parameters import clients_of

from trimtab_agent.errors import FleetError
from trimtab_agent.study.announcer import Announcer
from trimtab_agent.study.dispatcher import Dispatcher, TrialLost
from trimtab_agent.study.earlier_runs import earlier_runs, features
from trimtab_agent.study.fleet_history import FleetHistory
from trimtab_agent.study.orders import Order
from trimtab_agent.study.progress import RunProgress
from trimtab_agent.study.rungs import ladder_grows, ladder_of_host, searched_rungs


class FleetSearch:
    """The search of one run, as far as it is recorded in `history`."""

    def __init__(
        self,
        repository: Repository,
        run: records.Run,
        settings: RunSettings,
        space: Space,
        history: FleetHistory,
    ) -> None:
        self._run = run
        self._settings = settings
        self._space = space
        self._history = history
        self._hosts = history.searched_hosts
        self._budget_trials = settings.budget_trials * len(self._hosts)
        self._known: dict[str, Configuration] = {history.default: space.default()}
        self._in_flight: dict[int, Order] = {}
        self._homeless: list[Order] = []
        self._revision = self._told = 0
        self._recommended: str | None = None
        self._strategy = make_strategy(
            settings.strategy,
            space,
            seed=run.seed,
            budget_trials=self._budget_trials,
            coarse_grid=settings.coarse_grid,
            levels=settings.levels,
            tie_tolerance=settings.tie_tolerance,
            noise=history.noise().share,
            experience=earlier_runs(repository, run) if settings.learn else [],
            features=features(run),
        )
        self._revise()

    def best(self) -> Trial | None:
        """What is recommended: one trial that stands for all of its configuration; None if there is none."""
        allocation = self._history.allocation(self._hosts)
        best = allocation.best() or allocation.best_so_far()
        own = () if best is None else self._history.results_of(best)
        measured = [trial for trial in own if trial.score is not None]
        if not measured:
            return None
        return replace(measured[-1], score=sum(t.score or 0.0 for t in measured) / len(measured))

    def carry_out(self, dispatcher: Dispatcher, progress: RunProgress, announcer: Announcer) -> None:
        """Searches on until the budget is spent; raises what the dispatcher raises."""
        for trial in self._history.finished(TrialPurpose.SEARCH):
            self._grow(trial, dispatcher, announcer)
        self._tell_progress(progress)
        while True:
            for host in dispatcher.idle_stations:
                if host in self._hosts and (order := self._order_for(host, dispatcher)) is not None:
                    self._in_flight[order.number] = order
                    dispatcher.start(order)
            if not dispatcher.in_flight:
                break
            try:
                trial = dispatcher.wait()
            except TrialLost as lost:
                self._lose(lost, announcer)
                continue
            order = self._in_flight.pop(trial.number)
            if order.proposal_number is not None:
                self._strategy.take_back(order.configuration)  # if it has an answer, that is told next
            self._grow(trial, dispatcher, announcer)
            self._revise()
            self._tell_progress(progress)
        if not set(dispatcher.stations) & set(self._hosts):
            raise FleetError("every host of the search is lost; resume the run when some are back")
        announcer.note("info", self._sentence())

    @property
    def _spent(self) -> int:
        return len(self._history.tried()) + len(self._in_flight)

    def _order_for(self, host: str, dispatcher: Dispatcher) -> Order | None:
        """What a host is to measure next; None when the budget is spent."""
        if self._homeless:
            return replace(self._homeless.pop(0), station=host)
        if self._spent >= self._budget_trials:
            return None
        stations = set(dispatcher.stations)
        alive = [name for name in self._hosts if name in stations]
        flight = [(order.station or "", order.configuration_hash) for order in self._in_flight.values()]
        task = self._history.allocation(alive, flight, self._recommended).next_task(host)
        if task.kind != "new":
            return self._order(dispatcher, host, task, self._known[task.configuration])
        proposal = self._strategy.ask()
        if proposal is None:
            return None
        number = self._history.propose(proposal)
        self._known[configuration_hash(proposal.configuration)] = proposal.configuration
        return self._order(dispatcher, host, task, proposal.configuration, proposal.level, number)

    def _order(
        self,
        dispatcher: Dispatcher,
        host: str,
        task: Task,
        configuration: Configuration,
        level: int = 0,
        proposal_number: int | None = None,
    ) -> Order:
        is_default = task.kind == "default"
        return dispatcher.orders.trial(
            TrialPurpose.SEARCH,
            configuration,
            searched_rungs(
                self._run,
                self._settings,
                ladder_of_host(self._run, self._settings, self._history, host),
            ),
            rise=RUNG_RISE if ladder_grows(self._run, self._settings) and not is_default else None,
            level=level,
            block=task.block,
            proposal_number=proposal_number,
            station=host,
            # Never for a leader's sake: what it scores elsewhere is no measure here.
            end_early=EarlyEnd(
                objective=self._run.objective, ladder=self._history.ladder, limit=dispatcher.limit
            )
            if self._settings.early_stopping and not is_default
            else None,
        )

    def _lose(self, lost: TrialLost, announcer: Announcer) -> None:
        """What was new is measured elsewhere; the rest is decided anew."""
        announcer.note("warning", str(lost))
        order = self._in_flight.pop(lost.order.number)
        if order.proposal_number is not None:
            self._homeless.append(order)

    def _grow(self, trial: Trial, dispatcher: Dispatcher, announcer: Announcer) -> None:
        grows = ladder_grows(self._run, self._settings)
        if grows and self._history.grow(trial, dispatcher.scores_of):
            top = clients_of(self._run.workload_parameters).level(self._history.ladder[-1])
            announcer.ladder_grown(trial, self._history.ladder, top)

    def _revise(self) -> None:
        """Tells the strategy what all hosts together say of every configuration, as far as that is new."""
        history = self._history
        if history.revision != self._revision:
            self._revision, self._told = history.revision, history.fitted
            results = history.results()[: self._told]
            self._strategy.adjust(noise=history.noise().share, budget_trials=self._budget_trials)
            self._strategy.revise(results)
            self._remember(results)
            best = self._strategy.best()
            self._recommended = (
                None
                if best is None or best.verdict is not Verdict.VERIFIED
                else configuration_hash({**self._space.default(), **best.configuration})
            )
        later = history.results(after=self._told)
        for result in later:
            self._strategy.tell(result, answers=False)
        self._remember(later)
        self._told += len(later)

    def _remember(self, results: Sequence[Trial]) -> None:
        for trial in results:
            self._known.setdefault(trial.configuration_hash, trial.configuration)

    def _tell_progress(self, progress: RunProgress) -> None:
        progress.expect(RunPhase.SEARCHING, max(0, self._budget_trials - len(self._history.tried())))
        best = self.best()
        if best is not None and best.score is not None:
            progress.best_changed(best.configuration, best.score)

    def _sentence(self) -> str:
        """What the search has shown about hosts."""
        effects = self._history.allocation(self._hosts).effects
        levels = effects.levels()
        spread = max(levels.values()) / min(levels.values()) - 1 if levels else 0.0
        tried = counted(len(effects.configurations()) - 1, "configuration")
        return (
            f"{tried} on {counted(len(levels), 'host')}: on one host trials are taken to "
            f"differ by {in_percent(effects.noise, 1)} (standard deviation, from an assumed "
            f"{in_percent(USUAL_NOISE)} and what was measured), a configuration from host to host by "
            f"{in_percent(effects.usual_instability, 1)} more; the default is {in_percent(spread)} faster on "
            "the fastest host than on the slowest."
        )
