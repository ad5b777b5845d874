"""Which trial on which host: a configuration is measured on one host, then on three, then on all.

As TUNA does (Freischuetz and others, EuroSys 2025), with three changes. Every host measures the default again
and again, so what is compared are ratios to it, from which the host's level has gone (effects.py). A
configuration is promoted when its effect may, by its upper bound, be better than what the best one has at
least, by that one's lower bound: so what hosts disagree on is trusted the less, and the last stage is left as
soon as there is nothing more to gain. And instability is a variance with an interval, not a range of 30 %.

What a search recommends is the configuration with the highest lower bound among those that all hosts have
measured.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from trimtab_tuner.fleet.classes import share_of_stage
from trimtab_tuner.fleet.effects import Effect, Effects, Observation

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
        here = [each for each in tried if each.host in set(hosts)]
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
        for each in here:
            self._measured_by.setdefault(each.configuration, set()).add(each.host)
        self._trials = Counter(each.host for each in here)
        self._blocks: dict[str, int] = {}
        self._since_default: Counter[str] = Counter()
        for each in here:
            self._blocks[each.host] = max(each.block, self._blocks.get(each.host, 0))
        for each in here:
            if each.block == self._blocks[each.host] and each.configuration != default:
                self._since_default[each.host] += 1
        self._known = {
            name: effect
            for name in self.effects.configurations()
            if name != default and (effect := self.effects.of(name)) is not None
        }
        self._upper = {name: effect.upper(CONFIDENCE) for name, effect in self._known.items()}
        self._by_upper = sorted(self._known, key=lambda name: -self._upper[name])

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
        return max(self._known, key=lambda name: self._known[name].lower(CONFIDENCE), default=None)

    def standing(self) -> Mapping[str, Effect]:
        """What is known of every configuration but the default, and that did not fail."""
        return self._known

    def _leader(self) -> str | None:
        everywhere = [name for name in self._known if self._hosts_of(name) >= len(self._hosts)]
        leader = max(everywhere, key=lambda name: self._known[name].lower(CONFIDENCE), default=None)
        return None if leader is None or self._known[leader].lower(CONFIDENCE) <= 0 else leader

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
        bar, going_on = self._bar(), self._going_on()
        wanted = [
            name
            for name in self._by_promise()
            if self._upper[name] > bar
            and host not in self._measured_by[name]
            and (host, name) not in self._in_flight
        ]
        for name in wanted:
            stage = going_on.get(name, 0)
            if self._hosts_of(name) + self._waiting[name] < stage and self._has_turn(host, name, stage):
                return name
        new = sum(name not in self._measured_by for _, name in self._in_flight)
        if wanted and 2 * new >= len(self._hosts):
            return max(wanted, key=lambda name: self._known[name].mean)
        return None

    def _by_promise(self) -> list[str]:
        """What is recommended, if it is known here, and then the others by what they may be at most."""
        if self._recommended not in self._known:
            return self._by_upper
        return [self._recommended, *(name for name in self._by_upper if name != self._recommended)]

    def _has_turn(self, host: str, configuration: str, stage: int) -> bool:
        """Whether a host's class still lacks hosts in that stage of a configuration."""
        stratum = self._strata.get(host, 0)
        taken = {*self._measured_by[configuration]}
        taken |= {other for other, name in self._in_flight if name == configuration}
        own = sum(self._strata.get(other, 0) == stratum for other in taken)
        return own < share_of_stage(host, self._hosts, self._strata, stage)

    def _going_on(self) -> dict[str, int]:
        """The configurations that are on their way to a stage, with its number of hosts.

        Of each stage the best by their means go on, a third of those that have come to it.
        """
        going: dict[str, int] = {}
        stages = [stage for stage in STAGES if stage < len(self._hosts)]
        for stage, target in pairwise([*stages, len(self._hosts)]):  # none where there is one host
            come = [name for name in self._known if self._hosts_of(name) >= stage]
            come.sort(key=lambda name: -self._known[name].mean)
            for name in come[: math.ceil(len(come) / SHARE)]:
                going[name] = target
        if self._recommended in self._known:
            hosts = self._hosts_of(self._recommended)
            going[self._recommended] = next((s for s in stages if s > hosts), len(self._hosts))
        return going

    def _why(self, configuration: str) -> str:
        effect = self._known[configuration]
        hosts = self._hosts_of(configuration)
        on = f"{hosts} host" + "s" * (hosts != 1)
        return f"{effect.ratio:.2f} times the default on {on} so far, and worth measuring on more."
