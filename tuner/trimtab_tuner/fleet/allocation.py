"""Which trial on which host: a configuration is measured on one host, then on three, then on all.

As TUNA does (Freischuetz and others, EuroSys 2025), with three changes. Every host measures the default again
and again, so what is compared are ratios to it, from which the host's level has gone (effects.py). A
configuration is promoted when its effect may, by its upper bound, be better than what the best one has at
least, by that one's lower bound: so what hosts disagree on is trusted the less, and the last stage is left as
soon as there is nothing more to gain. And instability is a variance with an interval, not a range of 30 %.

What a search recommends is the configuration with the highest lower bound among those that all hosts have
measured.

What is known of the configurations is kept as vectors, in which one more trial changes what it tells of
(`Allocation.take_in`): only the fit of the model looks at all trials, and that is not due with each
(effects.py).
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trimtab_tuner.fleet.classes import share_of_stage
from trimtab_tuner.fleet.effects import Effect, Effects, Numbers, Observation, Vector

STAGES = (1, 3)
"""On so many hosts a configuration is judged; then on all."""

SHARE = 3
"""Of so many configurations of a stage one at most goes on to the next."""

DEFAULT_EVERY = 10
"""Each host measures the default before each so many other trials."""

CONFIDENCE = 0.9


@dataclass(frozen=True)
class Tried:
    """A trial that came to its end: `score` is None where the configuration failed."""

    configuration: str
    host: str
    block: int
    score: float | None


@dataclass(frozen=True)
class Task:
    """What a host is to measure next, and why.

    `default` begins a new block of the host; `promoted` is a configuration that others have measured, by its
    hash; `new` is for the strategy to say. Of none of them there is a `block` but the host's present one.
    """

    kind: Literal["default", "promoted", "new"]
    block: int
    configuration: str = ""
    reason: str = ""


class Allocation:
    """The decisions for these hosts, from what they have tried; `default` is the default's hash.

    `in_flight` are pairs of a host and a configuration that are being measured, `strata` the numbers of the
    hosts' classes. `recommended` is what the strategy would recommend now: it knows what neighbours say.
    """

    def __init__(
        self,
        hosts: Sequence[str],
        default: str,
        tried: Sequence[Tried],
        in_flight: Sequence[tuple[str, str]] = (),
        strata: Mapping[str, int] | None = None,
        recommended: str | None = None,
    ) -> None:
        self._hosts = tuple(hosts)
        self._default = default
        self._strata = strata or {}
        self._ask(in_flight, recommended)
        there = set(hosts)
        here = [each for each in tried if each.host in there]
        self._failed = {each.configuration for each in here if not each.score}
        self.effects = Effects(
            [
                Observation(each.configuration, each.host, each.block, each.score)
                for each in here
                if each.score and each.configuration not in self._failed
            ],
            default,
        )
        self._measured_by: dict[str, set[str]] = {}
        self._blocks: dict[str, int] = {}
        self._since_default: Counter[str] = Counter()
        for each in here:
            self._note(each)
        self._known = {
            name: effect
            for name in self.effects.configurations()
            if name != default and (effect := self.effects.of(name)) is not None
        }
        # What is known, and of how many hosts, as vectors: by the numbers of the names.
        self._names = list(self._known)
        self._numbers = {name: number for number, name in enumerate(self._names)}
        effects = self._known.values()
        self._mean: Vector = np.array([effect.mean for effect in effects])
        self._lower: Vector = np.array([effect.lower(CONFIDENCE) for effect in effects])
        self._upper: Vector = np.array([effect.upper(CONFIDENCE) for effect in effects])
        self._count: Numbers = np.array([self._hosts_of(name) for name in self._names], dtype=np.int64)

    def take_in(self, trial: Tried) -> None:
        """One more trial, held against levels and variances as they were fitted to those before.

        One of another host says nothing here. What `asked_with` gave before is not to be asked any more.
        """
        if trial.host not in self._hosts:
            return
        self._note(trial)
        name = trial.configuration
        if not trial.score:
            self._failed.add(name)
            self._known.pop(name, None)
        elif name not in self._failed:
            self.effects.take_in(Observation(name, trial.host, trial.block, trial.score))
            effect = self.effects.of(name)
            if name != self._default and effect is not None:
                self._known[name] = effect
        self._renew(name)

    def _note(self, trial: Tried) -> None:
        """That a trial was carried out, whatever it says."""
        host = trial.host
        self._measured_by.setdefault(trial.configuration, set()).add(host)
        if trial.block > self._blocks.setdefault(host, 0):
            self._blocks[host], self._since_default[host] = trial.block, 0
        if trial.block == self._blocks[host] and trial.configuration != self._default:
            self._since_default[host] += 1

    def _renew(self, name: str) -> None:
        """What the vectors say of that configuration; one that has failed counts as measured nowhere."""
        number, effect = self._numbers.get(name), self._known.get(name)
        if number is None and effect is not None:
            number = self._numbers[name] = len(self._names)
            self._names.append(name)
            self._mean, self._lower, self._upper = (
                np.append(vector, 0.0) for vector in (self._mean, self._lower, self._upper)
            )
            self._count = np.append(self._count, 0)
        if number is None:
            return
        if effect is None:
            self._mean[number] = self._lower[number] = self._upper[number] = -math.inf
            self._count[number] = 0
        else:
            self._mean[number], self._count[number] = effect.mean, self._hosts_of(name)
            self._lower[number], self._upper[number] = effect.lower(CONFIDENCE), effect.upper(CONFIDENCE)

    def asked_with(self, in_flight: Sequence[tuple[str, str]], recommended: str | None) -> "Allocation":
        """The decisions from the same trials, while these are in flight and that is recommended; nothing is
        fitted anew.
        """
        other = copy(self)
        other._ask(in_flight, recommended)
        return other

    def _ask(self, in_flight: Sequence[tuple[str, str]], recommended: str | None) -> None:
        self._in_flight = set(in_flight)
        self._waiting = Counter(name for _, name in self._in_flight)
        self._recommended = recommended

    def next_task(self, host: str) -> Task:
        """What a host that has nothing to do should measure."""
        block = self._blocks.get(host, 0)
        waiting = sum(other == host for other, _ in self._in_flight)
        if not block or self._since_default[host] + waiting >= DEFAULT_EVERY:
            return Task("default", block + 1, self._default, "The default, which this host is held against.")
        if (promoted := self._promoted(host)) is not None:
            return Task("promoted", block, promoted, self._why(promoted))
        return Task("new", block)

    def best(self) -> str | None:
        """The configuration with the highest lower bound of those that all hosts have measured; the default
        if none is above it, None while nothing is known of that either.
        """
        leader = self._leader()
        return self._default if leader is None and self._default in self._measured_by else leader

    def best_so_far(self) -> str | None:
        """The configuration with the highest lower bound, on however few hosts; None if nothing is known."""
        return self._names[self._lower.argmax()] if self._known else None

    def standing(self) -> Mapping[str, Effect]:
        """What is known of every configuration but the default, and that did not fail."""
        return self._known

    def _leader(self) -> str | None:
        everywhere = np.flatnonzero(self._count >= len(self._hosts))
        if not everywhere.size:
            return None
        leader = int(everywhere[self._lower[everywhere].argmax()])
        return self._names[leader] if self._lower[leader] > 0 else None

    def _hosts_of(self, configuration: str) -> int:
        return len(self._measured_by.get(configuration, ()))

    def _bar(self) -> float:
        """What a configuration must be able to exceed: what the leader has at least, or the default."""
        leader = self._leader()
        return 0.0 if leader is None else self._known[leader].lower(CONFIDENCE)

    def _promoted(self, host: str) -> str | None:
        """The configuration that this host is to measure next, so that it comes to its next stage.

        Only what may still be better than the leader. Beside those of which it is their turn, anything is
        worth more than something new as long as half of the hosts measure that.
        """
        hopeful, stages, taken = self._hopeful(), self._stages(), self._count.copy()
        for name, waiting in self._waiting.items():
            if name in self._known:
                taken[self._numbers[name]] += waiting
        for number in map(int, hopeful[taken[hopeful] < stages[hopeful]]):
            name = self._names[number]
            if self._is_new_on(host, name) and self._has_turn(host, name, int(stages[number])):
                return name
        new = sum(name not in self._measured_by for _, name in self._in_flight)
        if 2 * new < len(self._hosts):
            return None
        best_first = hopeful[np.argsort(-self._mean[hopeful], kind="stable")]
        names = (self._names[number] for number in map(int, best_first))
        return next((name for name in names if self._is_new_on(host, name)), None)

    def _is_new_on(self, host: str, configuration: str) -> bool:
        measured = host in self._measured_by[configuration]
        return not measured and (host, configuration) not in self._in_flight

    def _hopeful(self) -> NDArray[np.intp]:
        """What may be better than the leader and has hosts left that have not measured it: first what is
        recommended, and then the others by what they may be at most.
        """
        hopeful = np.flatnonzero((self._upper > self._bar()) & (self._count < len(self._hosts)))
        hopeful = hopeful[np.argsort(-self._upper[hopeful], kind="stable")]
        if self._recommended not in self._known:
            return hopeful
        recommended = self._numbers[self._recommended]
        return hopeful[np.argsort(hopeful != recommended, kind="stable")]

    def _has_turn(self, host: str, configuration: str, stage: int) -> bool:
        """Whether a host's class still lacks hosts in that stage of a configuration."""
        stratum = self._strata.get(host, 0)
        taken = {*self._measured_by[configuration]}
        taken |= {other for other, name in self._in_flight if name == configuration}
        own = sum(self._strata.get(other, 0) == stratum for other in taken)
        return own < share_of_stage(host, self._hosts, self._strata, stage)

    def _stages(self) -> Numbers:
        """How many hosts each configuration is on its way to; 0 for one that does not go on.

        Of each stage the best by their means go on, a third of those that have come to it.
        """
        going: Numbers = np.zeros(len(self._names), dtype=np.int64)
        stages = [stage for stage in STAGES if stage < len(self._hosts)]
        for stage, target in pairwise([*stages, len(self._hosts)]):  # none where there is one host
            come = np.flatnonzero(self._count >= stage)
            best_first = come[np.argsort(-self._mean[come], kind="stable")]
            going[best_first[: math.ceil(len(come) / SHARE)]] = target
        if self._recommended in self._known:
            hosts = self._hosts_of(self._recommended)
            beyond = (stage for stage in stages if stage > hosts)
            going[self._numbers[self._recommended]] = next(beyond, len(self._hosts))
        return going

    def _why(self, configuration: str) -> str:
        effect = self._known[configuration]
        hosts = self._hosts_of(configuration)
        on = f"{hosts} host" + "s" * (hosts != 1)
        return f"{effect.ratio:.2f} times the default on {on} so far, and worth measuring on more."
