"""Optimisers of others behind one call, for the benchmark of the strategies; they need its requirements.

They see the knobs as the strategies do: numbers on a scale of 0 to 1, categories as such. Conditions between
knobs are settled before a trial, and a failed trial is told as half the worst score. What they recommend is
the best that they saw, as they do themselves.
"""

import importlib.util
import logging
import os
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generated import Problem
from trimtab_trials.configuration import Configuration
from trimtab_trials.trial import Trial
from trimtab_tuner.strategies.pool import Pool

Measure = Callable[[Configuration], Trial]


class Books:
    """What a peer's trials were: settles a configuration, measures it, and says what was best."""

    def __init__(self, problem: Problem, measure: Measure) -> None:
        self._problem, self._measure = problem, measure
        self._pool = Pool(problem.space, 0)
        self._worst = 0.0
        self._best: tuple[float, Configuration] | None = None

    def score(self, parameters: dict[str, Any]) -> float:
        """Measures the configuration of these parameters; higher is better."""
        space = self._problem.space
        chosen = {
            knob.name: parameters[knob.name] if knob.kind == "categorical" else knob.at(parameters[knob.name])
            for knob in space.knobs
        }
        configuration = self._pool.nearest(space.settled({**space.default(), **chosen}))[0]
        trial = self._measure(configuration)
        if trial.score is None:
            return self._worst / 2
        self._worst = min(self._worst or trial.score, trial.score)
        if self._best is None or trial.score > self._best[0]:
            self._best = trial.score, configuration
        return trial.score

    @property
    def best(self) -> Configuration | None:
        """The configuration of the highest score."""
        return None if self._best is None else self._best[1]

    @property
    def defaults(self) -> dict[str, Any]:
        """The default configuration as parameters."""
        return {
            knob.name: knob.default
            if knob.kind == "categorical"
            else min(max(knob.position(knob.default), 0.0), 1.0)
            for knob in self._problem.space.knobs
        }


def optuna_gp(problem: Problem, seed: int, measure: Measure) -> Configuration | None:
    """Optuna's Gaussian process."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    distributions: dict[str, Any] = {
        knob.name: optuna.distributions.CategoricalDistribution(list(knob.choices))
        if knob.kind == "categorical"
        else optuna.distributions.FloatDistribution(0.0, 1.0)
        for knob in problem.space.knobs
    }
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.GPSampler(seed=seed))
    books = Books(problem, measure)
    study.enqueue_trial(books.defaults)
    for _ in range(problem.budget_trials):
        trial = study.ask(distributions)
        study.tell(trial, books.score(trial.params))
    return books.best


def smac(problem: Problem, seed: int, measure: Measure) -> Configuration | None:
    """SMAC3 as its authors set it up for many knobs: a random forest, interleaved with random points."""
    from ConfigSpace import Categorical, ConfigurationSpace, Float
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.runhistory.dataclasses import TrialInfo, TrialValue

    os.environ["LOKY_MAX_CPU_COUNT"] = "1"  # its threads would wait for each other most of the time
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    books = Books(problem, measure)
    space = ConfigurationSpace(seed=seed)
    for knob in problem.space.knobs:
        default = books.defaults[knob.name]
        space.add(
            Categorical(knob.name, list(knob.choices), default=default)
            if knob.kind == "categorical"
            else Float(knob.name, (0.0, 1.0), default=default)
        )
    with tempfile.TemporaryDirectory() as directory:
        scenario = Scenario(
            space,
            deterministic=True,
            n_trials=problem.budget_trials,
            seed=seed,
            output_directory=Path(directory),
            use_default_config=True,
        )
        facade = HyperparameterOptimizationFacade(
            scenario,
            lambda _config, seed=0: 0.0,
            overwrite=True,
            logging_level=logging.ERROR,
        )
        for _ in range(problem.budget_trials):
            info = facade.ask()
            score = books.score(dict(info.config))
            facade.tell(TrialInfo(info.config, seed=info.seed), TrialValue(cost=-score))
    return books.best


@dataclass(frozen=True)
class Peer:
    """An optimiser: how it searches, the package it needs, and for how much there is time: how many seeds of
    problems with how many trials.
    """

    search: Callable[[Problem, int, Measure], Configuration | None]
    package: str
    seeds: int
    most_trials: int

    @property
    def installed(self) -> bool:
        """Whether its package is there."""
        return importlib.util.find_spec(self.package) is not None


PEERS = {"smac": Peer(smac, "smac", 4, 80), "optuna-gp": Peer(optuna_gp, "torch", 8, 24)}
