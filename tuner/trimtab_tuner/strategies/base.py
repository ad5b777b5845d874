"""What every strategy offers, and the bookkeeping that all of them share.

A strategy proposes configurations (`ask`) and is told what became of them (`tell`). Callers may tell trials
that were never asked for: that is how a strategy is rebuilt from the recorded trials of an interrupted run.
What is known of the host while a search goes on (`adjust`), and scores that mean something else now
(`revise`), leave a strategy as if it had been made and told so from the beginning.
The first proposal is the space's default configuration, which is every run's reference (a replay of a
recorded table, which has no default, lifts that). Before it come only the configurations that evidence points
to, where there are any (`begin_with`). Given the same seed and the same history, a strategy proposes the same
configurations; it never proposes a configuration twice, except knowingly with `Proposal.repeat`.

`BaseStrategy` keeps the books: budget, trials told, proposals in flight, the tally of every configuration,
the best. A strategy inherits it and writes `_propose`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from pydantic import Field
from trimtab_trials.configuration import Configuration, Value, configuration_hash
from trimtab_trials.trial import Trial, Verdict

from trimtab_tuner.certainty.cost import CostOfTrial, least_costly
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.space import Space, SpaceError
from trimtab_tuner.strategies.past_runs import Features, PastRun

Key = tuple[Value, ...]
CostsOf = Callable[[Sequence[Configuration]], Mapping[str, Sequence[CostOfTrial]]]


def nothing_counted(_configurations: Sequence[Configuration]) -> Mapping[str, Sequence[CostOfTrial]]:
    """For a search of which only scores are known, such as one of a recorded table."""
    return {}


class Proposal(Frozen):
    """A configuration that a strategy wants measured, and why.

    `level` is 0 for the default configuration, 1 for the coarse search and rises as the search gets finer.
    `repeat` says that the strategy knows it has proposed this configuration before.
    """

    configuration: Configuration
    level: int = Field(ge=0)
    reason: str
    repeat: bool = False


class Strategy(Protocol):
    """Proposes configurations; see the module's docstring for the contract."""

    def ask(self) -> Proposal | None:
        """The next configuration to measure, or None when the search is over.

        May be called again before the answer is told; proposals in flight are not proposed again.
        """
        ...

    def begin_with(self, first: Sequence[Proposal]) -> None:
        """Propose these before anything else, those that are known already left out."""
        ...

    def tell(self, result: Trial, *, answers: bool = True) -> None:
        """Take in a finished trial; any verdict is information, none is an error.

        It `answers` the proposal of its configuration that is in flight; else that stays in flight.
        """
        ...

    def take_back(self, configuration: Configuration) -> None:
        """The answer to this proposal will not come: it may be proposed again."""
        ...

    def adjust(self, *, noise: float, budget_trials: int) -> None:
        """From now on trials differ by so much, and the search may take so many in all."""
        ...

    def revise(self, results: Sequence[Trial]) -> None:
        """Forget what has been told, and take these in its place; proposals in flight stay in flight."""
        ...

    def best(self) -> Trial | None:
        """The trial to recommend so far, ties broken by what they cost; None if none was verified.

        Where a configuration was measured more than once, its score is the mean. One whose score is only
        known to be at least so much (`generator-limited`, with an estimated score) is recommended only if no
        verified one scores as much.
        """
        ...

    def expected_trials(self) -> int:
        """Present best estimate of the total number of trials of this search, those told included."""
        ...


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a search is told besides its space.

    `coarse_grid` is the number of grid values per knob of strategies with a grid, `levels` how often
    `coarse-to-fine` refines. Scores within `tie_tolerance` (a share) of the best count as equal to it.
    `noise` is the relative standard deviation of one trial on this host, 0 if trials repeat exactly.
    `costs` says what the trials of configurations have cost, by their hashes, as far as that is known.
    `experience` are earlier runs and `features` what describes the present one in their terms. Without
    `default_first` the search may begin anywhere.
    """

    seed: int
    budget_trials: int
    coarse_grid: Mapping[str, int] = field(default_factory=dict)
    levels: int = 3
    tie_tolerance: float = 0.01
    noise: float = 0.0
    default_first: bool = True
    costs: CostsOf = nothing_counted
    experience: Sequence[PastRun] = ()
    features: Features = field(default_factory=dict)


@dataclass
class Tally:
    """What is known of one configuration: verified scores, failures, and the last result told.

    `estimate` is what a trial that was stopped early would have scored at most: a model may learn from it,
    but nothing is recommended, repeated or taken for the best by it. `bound` is what it scores at least, by
    `limited` trials in which the load generator gave out before the server did.
    """

    configuration: Configuration
    last: Trial
    scores: list[float] = field(default_factory=list)
    failures: int = 0
    estimate: float | None = None
    bound: float | None = None
    limited: int = 0

    @property
    def verified(self) -> bool:
        """Whether it passed verification every time it was judged, and at least once."""
        return bool(self.scores) and not self.failures

    @property
    def known(self) -> float | None:
        """The mean of its verified scores, else the bound, else the estimate; None if it failed or nothing is
        known at all.

        A model that has no notion of a bound takes it for the score: it says too little of the configuration,
        but more than nothing.
        """
        if self.failures:
            return None
        if self.scores:
            return self.mean
        return self.estimate if self.bound is None else self.bound

    @property
    def only_bounded(self) -> bool:
        """Whether what is known of it is only what it scores at least."""
        return self.bound is not None and not self.scores and not self.failures

    @property
    def mean(self) -> float:
        """The mean of its verified scores."""
        return sum(self.scores) / len(self.scores)


class BaseStrategy:
    """The books of a strategy; see the module's docstring."""

    def __init__(self, space: Space, options: Options) -> None:
        if not space.free:
            raise SpaceError(
                space.knobs[0].name, "every knob is fixed: expected at least one free knob to tune"
            )
        if options.budget_trials < 1:
            raise ValueError(f"budget_trials = {options.budget_trials}: expected at least 1")
        self.space = space
        self.options = options
        self.default = space.default()
        self.tallies: dict[Key, Tally] = {}
        self.told = 0
        self._in_flight: list[Key] = []
        self._asked: set[Key] = set()
        self._first: tuple[Proposal, ...] = ()
        self._over = False

    def begin_with(self, first: Sequence[Proposal]) -> None:
        """Propose these before anything else, those that are known already left out."""
        self._first = tuple(first)

    def ask(self) -> Proposal | None:
        """The next configuration, or None when the search is over."""
        proposal = self._next() if self.spent < self.options.budget_trials else None
        self._over = proposal is None
        if proposal is not None:
            key = self.key(proposal.configuration)
            self._in_flight.append(key)
            self._asked.add(key)
        return proposal

    def tell(self, result: Trial, *, answers: bool = True) -> None:
        """Take in a finished trial, asked for or not."""
        configuration = {**self.default, **result.configuration}
        key = self.key(configuration)
        if answers and key in self._in_flight:
            self._in_flight.remove(key)
        told = (
            result if result.configuration == configuration else replace(result, configuration=configuration)
        )
        tally = self.tallies.setdefault(key, Tally(configuration, told))
        tally.last = told
        if result.verdict is Verdict.VERIFIED and result.score is not None:
            tally.scores.append(result.score)
        elif result.verdict.failed:
            tally.failures += 1
        elif result.verdict is Verdict.GENERATOR_LIMITED and result.estimated_score is not None:
            tally.bound = max(result.estimated_score, tally.bound or 0.0)
            tally.limited += 1
        elif result.estimated_score is not None:
            tally.estimate = result.estimated_score
        self.told += 1

    def take_back(self, configuration: Configuration) -> None:
        """Forget that the configuration was asked for."""
        key = self.key({**self.default, **configuration})
        if key in self._in_flight:
            self._in_flight.remove(key)
        if key not in self._in_flight:
            self._asked.discard(key)

    def adjust(self, *, noise: float, budget_trials: int) -> None:
        """Take in what is known of the host now."""
        self.options = replace(self.options, noise=noise, budget_trials=budget_trials)

    def revise(self, results: Sequence[Trial]) -> None:
        """Keep the books anew from these results."""
        self.tallies.clear()
        self.told = 0
        self._asked = set(self._in_flight)
        for result in results:
            self.tell(result, answers=False)

    def best(self) -> Trial | None:
        """The cheapest verified configuration whose mean is within the tie tolerance of the highest, unless
        another one is known to score more than all of them.
        """
        verified, unbeaten = self.verified(), self.unbeaten()
        if unbeaten is not None:
            return self.as_result(unbeaten)
        if not verified:
            return None
        bar = max(tally.mean for tally in verified) * (1 - self.options.tie_tolerance)
        return self.as_result(self.cheapest([tally for tally in verified if tally.mean >= bar]))

    def expected_trials(self) -> int:
        """The whole budget, until the search is over."""
        return self.told if self._over else max(self.options.budget_trials, self.told)

    @property
    def spent(self) -> int:
        """Trials told and in flight."""
        return self.told + len(self._in_flight)

    def key(self, configuration: Configuration) -> Key:
        """The configuration's values in the order of the space's knobs: cheap to compare."""
        return tuple(configuration[knob.name] for knob in self.space.knobs)

    def knows(self, configuration: Configuration) -> bool:
        """Whether the configuration has been told or asked for."""
        key = self.key(configuration)
        return key in self.tallies or key in self._asked

    @property
    def tried(self) -> int:
        """How many configurations have been told or asked for."""
        return len(self.tallies) + len(self._asked.difference(self.tallies))

    def in_flight(self) -> list[Configuration]:
        """The configurations asked for and not told yet."""
        names = [knob.name for knob in self.space.knobs]
        return [dict(zip(names, key, strict=True)) for key in self._in_flight]

    def verified(self) -> list[Tally]:
        """The configurations that passed verification every time they were judged."""
        return [tally for tally in self.tallies.values() if tally.verified]

    def unbeaten(self) -> Tally | None:
        """The configuration that scores more than every verified one, though it is not known how much;
        None if there is none.
        """
        bounded = [tally for tally in self.tallies.values() if tally.only_bounded]
        highest = max(bounded, key=lambda tally: tally.bound or 0.0, default=None)
        if highest is None or any(tally.mean >= (highest.bound or 0.0) for tally in self.verified()):
            return None
        return highest

    def cheapest(self, tallies: Sequence[Tally]) -> Tally:
        """The cheapest of some configurations by what was measured, then the nearest to the default, then the
        best.
        """
        ordered = sorted(tallies, key=lambda t: (-t.mean, configuration_hash(t.configuration)))
        configurations = [tally.configuration for tally in ordered]
        chosen = least_costly(
            self.space, configurations, self.options.costs(configurations), self.options.noise
        )
        return next(tally for tally in ordered if tally.configuration == chosen)

    def as_result(self, tally: Tally) -> Trial:
        """A verified configuration with its mean score, or one whose score is bounded with that bound."""
        if tally.only_bounded:
            return replace(tally.last, verdict=Verdict.GENERATOR_LIMITED, estimated_score=tally.bound)
        return Trial(
            configuration=tally.configuration,
            verdict=Verdict.VERIFIED,
            score=tally.mean,
            reason=tally.last.reason,
        )

    def _next(self) -> Proposal | None:
        """What evidence points to, then the default, then what the strategy makes of both."""
        for first in self._first:
            if not self.knows(first.configuration):
                return first
        if self.options.default_first and not self.knows(self.default):
            return Proposal(
                configuration=self.default, level=0, reason="The default configuration, the reference."
            )
        return self._propose()

    def _propose(self) -> Proposal | None:
        """The next configuration, the default being known; None when nothing is left to try."""
        raise NotImplementedError
