"""Optuna's tree-structured Parzen estimator behind ask and tell.

Bergstra and others, Algorithms for Hyper-Parameter Optimization, NIPS 2011. Every knob is a number on its own
scale; a failed trial is told as one with half the worst verified score, as Optuna leaves failed trials out.
A score that is only bounded from below (the load generator gave out) is told as the bound: left out, the best
configurations would be those of which the estimator knows nothing.
The sampler is seeded anew for every proposal, from the seed and the number of trials, so that a search told
the recorded trials goes on as if it had never stopped.
"""

import warnings
from collections.abc import Sequence
from typing import Any

from trimtab_trials.configuration import Configuration
from trimtab_trials.trial import Trial

from trimtab_tuner.space import Space
from trimtab_tuner.strategies.base import BaseStrategy, Options, Proposal
from trimtab_tuner.strategies.pool import Pool

STARTUP_TRIALS = 5
TRIES = 20


class Tpe(BaseStrategy):
    """The strategy; see the module's docstring, and `strategies.base` for the contract."""

    def __init__(self, space: Space, options: Options) -> None:
        import optuna  # it takes a second to import, which only those who use it should pay

        super().__init__(space, options)
        self._optuna = optuna
        self._pool = Pool(space, options.seed)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._distributions: dict[str, Any] = {
            knob.name: optuna.distributions.CategoricalDistribution(list(knob.choices))
            if knob.kind == "categorical"
            else optuna.distributions.FloatDistribution(0.0, 1.0)
            for knob in space.free
        }
        self._study = self._new_study()
        self._scores: list[float] = []

    def tell(self, result: Trial, *, answers: bool = True) -> None:
        """Take in a finished trial, asked for or not."""
        super().tell(result, answers=answers)
        score = result.least_score if result.known_score is None else result.known_score
        if score is None:
            if not result.verdict.failed:
                return
            score = min(self._scores, default=0.0) / 2
        if result.score is not None:
            self._scores.append(score)
        configuration = {**self.default, **result.configuration}
        parameters = {
            knob.name: configuration[knob.name]
            if knob.kind == "categorical"
            else min(max(knob.position(configuration[knob.name]), 0.0), 1.0)
            for knob in self.space.free
        }
        if any(k.kind == "categorical" and parameters[k.name] not in k.choices for k in self.space.free):
            return  # a default outside a restricted set of choices
        self._study.add_trial(
            self._optuna.trial.create_trial(params=parameters, distributions=self._distributions, value=score)
        )

    def revise(self, results: Sequence[Trial]) -> None:
        """Begin the study anew with these results."""
        self._study, self._scores = self._new_study(), []
        super().revise(results)

    def _propose(self) -> Proposal | None:
        for attempt in range(TRIES):
            wanted = self._suggest(attempt)
            for configuration in self._pool.nearest(wanted):
                if not self.knows(configuration) and self.space.allows(configuration):
                    return Proposal(configuration=configuration, level=1, reason="Suggested by TPE.")
        return None

    def _suggest(self, attempt: int) -> Configuration:
        seed = (self.options.seed * 1_000_003 + self.spent * 101 + attempt) % 2**32
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # multivariate TPE calls itself experimental
            sampler = self._optuna.samplers.TPESampler(
                seed=seed, n_startup_trials=STARTUP_TRIALS, multivariate=True
            )
            self._study.sampler = sampler
            trial = self._study.ask(self._distributions)
        self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        chosen = {
            knob.name: trial.params[knob.name]
            if knob.kind == "categorical"
            else knob.at(trial.params[knob.name])
            for knob in self.space.free
        }
        return self.space.settled({**self.default, **chosen})

    def _new_study(self) -> Any:  # noqa: ANN401 - Optuna is imported late
        return self._optuna.create_study(direction="maximize")
