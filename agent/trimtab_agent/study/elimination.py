"""The backward elimination of a run: which settings of the search's best are worth something.

What is measured next, and what is left out, is decided by `trimtab_tuner.certainty.elimination` from the
recorded trials, so a resumed run goes on where it was. Each trial climbs from the rate that the search's best
follows to the first that it does not, and drives one between: what is compared is the capacity. A closed
loop, a ladder of the user's own, and `mat`, which is about a latency limit, are driven up the ladder as it
is, and compared by score.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean, median_low

from trimtab_db import records
from trimtab_db.records import RunPhase
from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.trial import Trial, TrialPurpose
from trimtab_tuner.certainty.cost import cost_of_trial, cpu_times
from trimtab_tuner.certainty.elimination import Elimination
from trimtab_tuner.certainty.elimination_judge import KnownNoise
from trimtab_tuner.certainty.setting_effects import SettingEffect, effect_sentences, with_the_last
from trimtab_tuner.judging.ladder import RUNG_RISE
from trimtab_tuner.judging.second_objective import is_mat
from trimtab_tuner.presets import RunSettings
from trimtab_tuner.space import Space
from trimtab_tuner.strategies.worth import worth_of
from trimtab_tuner.telling.capacity import likely_capacity
from trimtab_tuner.workloads.parameters import clients_of

from trimtab_agent.results.outcome import Outcome
from trimtab_agent.study.announcer import Announcer
from trimtab_agent.study.dispatcher import Dispatcher
from trimtab_agent.study.first_changes import first_changes_of
from trimtab_agent.study.history import History
from trimtab_agent.study.orders import Order
from trimtab_agent.study.progress import RunProgress

BETWEEN = 1  # rates between what the search's best follows and what it does not


class BackwardElimination:
    """The elimination of one run whose search is over and recommends `best`."""

    def __init__(
        self, run: records.Run, settings: RunSettings, space: Space, history: History, best: Trial | None
    ) -> None:
        self._run = run
        self._history = history
        self._space = space
        self._best = best
        self._budget_trials = settings.elimination_trials
        open_loop = clients_of(run.workload_parameters).loop == "open"
        self._by_capacity = open_loop and not settings.ladder and not is_mat(run.objective)
        changed = 0
        if best is not None and best.score != 0:
            changed = sum(best.configuration[name] != value for name, value in space.default().items())
            self._followed_rps = self._followed(history.followed_by(best.configuration) or [0.0])
        self._due = self._budget_trials > 0 and changed > 1
        if self._due and self._by_capacity:
            self._due = self._followed_rps > 0
        if self._due and best is not None:
            noise = history.noise().share
            first = [change.changed for change in first_changes_of(run, space, history)]
            self._worth = worth_of(space, best.configuration, history.without_drift(), noise, first)

    def carry_out(self, dispatcher: Dispatcher, progress: RunProgress, announcer: Announcer) -> None:
        """Has measured what is missing; raises what the dispatcher raises."""
        while (so_far := self._so_far()) is not None:
            progress.expect(RunPhase.ELIMINATING, so_far.trials_left)
            if so_far.next_slot is None:
                # The confirmation tells of the others.
                measured = [effect for effect in so_far.effects if effect.gain or not effect.kept]
                for sentence in effect_sentences(measured):
                    announcer.note("info", sentence)
                return
            self._measure(dispatcher, announcer, *so_far.next_slot)
        progress.expect(RunPhase.ELIMINATING, 0)

    def recommended(self) -> Trial | None:
        """What is to be confirmed: the search's best with what is worth something of its settings."""
        so_far = self._so_far()
        if so_far is None or self._best is None:
            return self._best
        return replace(self._best, configuration=so_far.current)

    def with_effects(self, outcome: Outcome) -> Outcome:
        """The outcome with the effect of each setting, if what is left of the best is what it recommends."""
        if self._best is None or self._budget_trials == 0:
            return outcome
        so_far = self._so_far()
        current = self._best.configuration if so_far is None else so_far.current
        if outcome.best != current or outcome.best == outcome.default:
            return outcome
        effects = _unmeasured(current, outcome.default) if so_far is None else so_far.effects
        if outcome.capacity_gain is None:
            effects = with_the_last(effects, outcome.gain, "score")
        else:
            effects = with_the_last(effects, outcome.capacity_gain, "capacity")
        return outcome.model_copy(update={"effects": effects})

    def _so_far(self) -> Elimination | None:
        """As far as it is measured; None where nothing has to show that it is worth anything."""
        if not self._due or self._best is None:
            return None
        return Elimination(
            self._space,
            self._best.configuration,
            self._recorded(),
            worth=self._worth.shares,
            suspects=self._worth.suspects,
            alone=self._worth.alone,
            figure=self._figure,
            cpu=self._cpu,
            budget_trials=self._budget_trials,
            seed=self._run.seed,
            noise=self._noise(),
            measure="capacity" if self._by_capacity else "score",
        )

    def _figure(self, trial: Trial) -> float | None:
        return likely_capacity(trial.measurements) if self._by_capacity else trial.least_score

    def _cpu(self, one: Trial, other: Trial) -> float | None:
        """How many times the CPU time a request of one trial the other has taken."""
        clients = clients_of(self._run.workload_parameters)
        return cpu_times(cost_of_trial(one, clients), cost_of_trial(other, clients))

    def _followed(self, rates_rps: Sequence[float]) -> float:
        """The rate that a trial begins with, by what the best's trials in the search have followed."""
        return median_low(rates_rps)

    def _recorded(self) -> list[Trial]:
        """The trials that count."""
        return self._history.eliminated()

    def _measure(
        self, dispatcher: Dispatcher, announcer: Announcer, block: int, configuration: Configuration
    ) -> None:
        del announcer
        dispatcher.carry_out(self._order(dispatcher, block, configuration))

    def _order(
        self, dispatcher: Dispatcher, block: int, configuration: Configuration, station: str | None = None
    ) -> Order:
        if not self._by_capacity:
            return dispatcher.orders.trial(
                TrialPurpose.ELIMINATION, configuration, self._history.ladder, block=block, station=station
            )
        return dispatcher.orders.trial(
            TrialPurpose.ELIMINATION,
            configuration,
            (self._followed_rps,),
            block=block,
            station=station,
            rise=RUNG_RISE,
            refinements=BETWEEN,
        )

    def _noise(self) -> KnownNoise:
        """By the default's trials in the search, without the usual noise that history.noise() adds."""
        default = configuration_hash(self._space.default())
        squares, freedom = 0.0, 0
        for comparable in self._comparable():
            logs = [math.log(t.score) for t in comparable if t.configuration_hash == default and t.score]
            if logs:
                middle = fmean(logs)
                squares += sum((each - middle) ** 2 for each in logs)
                freedom += len(logs) - 1
        return KnownNoise(squares, freedom)

    def _comparable(self) -> Iterable[Sequence[Trial]]:
        """The trials of the search, in groups within which one configuration differs by noise alone."""
        return [self._history.without_drift()]


def _unmeasured(configuration: Configuration, default: Configuration) -> tuple[SettingEffect, ...]:
    """The settings of a configuration whose effects were not measured one by one."""
    return tuple(
        SettingEffect(knob=name, value=value, default=default[name], kept=True)
        for name, value in configuration.items()
        if value != default[name]
    )
