"""Backward elimination: every setting of the search's best has to show that it is worth something.

A search that moves many knobs at once recommends many, most of them for nothing. So what it recommends is
measured with a setting and without it, in interleaved blocks, before it is confirmed. A setting whose absence
costs less than `MOST_LOSS` of the capacity (by the upper bound) and breaks no rule goes back to its default,
and stays there: so of two that do the same one is kept, and two that only help together are both kept.

*First question.* A change that the default's calibration points to may give the whole gain alone. If the
model of the search thinks so, that is asked first: the default with this change beside the whole
configuration. If no more than `MOST_LOSS` is lost, everything else goes at once.

*Screening.* One block of the whole configuration and of it without each setting, one at a time, shows what
matters much: that is kept. Where the trials are too few for that, what the model of the search says is worth
least is left out in groups there. Of two settings one that the model says is worth nothing goes straight on.

*Proof.* What seemed to matter little is then left out in one check: at the end of that block, and in further
ones with it and without it. If the check fails, each half has one of its own, down to single settings. Blocks
that are affordable after that measure what is kept, one setting at a time, beside what is recommended by
then. The last setting that is left needs no check: the confirmation measures it, beside the default.

*Bounds.* Each block gives for each candidate one ratio to the configuration that has the setting. Their noise
is pooled: over the blocks of the check, over the checks before it that found nothing, and with what the
search has seen of it. A candidate is left out as soon as the upper bound (95 %, one-sided) of what it costs,
with what earlier ones have cost, is below `MOST_LOSS`. It is kept as soon as the lower one is above, or as it
costs that much in the mean of three blocks, or breaks a rule. Where the trials are used up before, two that
cannot be told apart in capacity are left: the one nearer to the default is taken, unless it costs `MOST_LOSS`
in the mean.

It is a state machine without clock or network, rebuilt from the recorded trials like the blocks of a
confirmation: whoever carries it out measures `next_slot` until that is None.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from types import MappingProxyType

from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.trial import Trial, Verdict

from trimtab_tuner.certainty.blocks import FEWEST_BLOCKS, TRIES
from trimtab_tuner.certainty.elimination_rounds import Bounds, Figure, Group, Round
from trimtab_tuner.certainty.setting_effects import Measure, SettingEffect
from trimtab_tuner.certainty.statistics import Gain
from trimtab_tuner.space import Space

MOST_LOSS = 0.02
MOST_BLOCKS = 6  # of one check
PROOF_TRIALS = 3  # what screening leaves at least: one in its own block, and a block of two
QUIET_LOSS = 0.03  # what costs less in the one block of screening is not shown to matter
QUIET_ERRORS = 2.5  # standard errors: the same on a noisy host
BLOCKS_FOR_A_MEAN = 3  # and the most for a first question: what is undecided then needs the trials more
LEAST_VARIANCE = 1e-8  # of a logarithm: blocks that agree by chance do not prove anything


@dataclass(frozen=True)
class KnownNoise:
    """What is known of the noise of one trial before: squares of logarithms round their mean, and how many
    degrees of freedom they have.
    """

    squares: float = 0.0
    freedom: int = 0


class Elimination:
    """The elimination of one run, as far as its `trials` go.

    `winner` is what the search recommends, and `worth` what its model says that each of its settings gives,
    as a share of the score; `suspects` are those that are worth nothing together. `alone` are configurations
    of the default and one first change, which may do as much as the winner, likeliest first. `figure` says
    what a trial has shown: its capacity, or its score. At most `budget_trials` are measured, those that were
    spoilt included.
    """

    def __init__(
        self,
        space: Space,
        winner: Configuration,
        trials: Sequence[Trial],
        *,
        worth: Mapping[str, float],
        suspects: Sequence[str],
        alone: Sequence[Configuration] = (),
        figure: Figure,
        budget_trials: int,
        seed: int,
        noise: KnownNoise = KnownNoise(),
        measure: Measure = "capacity",
    ) -> None:
        self._space = space
        self._default = space.default()
        self._winner = winner
        self._figure = figure
        self._budget_trials = budget_trials
        self._seed = seed
        self._noise = noise
        self._measure: Measure = measure
        self._done: dict[tuple[int, str], list[Trial]] = {}
        for trial in trials:
            if trial.verdict is not Verdict.ABORTED:
                self._done.setdefault((trial.block, trial.configuration_hash), []).append(trial)
        self.current = dict(winner)
        self.next_slot: tuple[int, Configuration] | None = None
        self.spent = 0
        self._block = 0
        self._lost = 0.0  # by what has been left out: a logarithm
        self._effects: dict[str, SettingEffect] = {}
        self._worth = worth
        self._pointed_to = {name for one in alone for name in self._changed_of(one)}
        changed = self._changed_by_worth()
        first = tuple(name for name in changed if name in set(suspects))
        self._groups: list[Group] = [first] if first else []
        self._alone = [name for name in changed if name not in first]
        self._go_through([one for one in alone if len(self._changed_of(one)) < len(changed)])

    @property
    def effects(self) -> tuple[SettingEffect, ...]:
        """Each setting of the winner, those that are kept first; those not measured have no gain."""
        own = [
            self._effects.get(name) or self._effect(name, kept=self.current[name] != self._default[name])
            for name in self._winner
            if not self._winner[name] == self.current[name] == self._default.get(name)
        ]
        return tuple(sorted(own, key=lambda one: (not one.kept, -(one.gain.gain if one.gain else 0.0))))

    @property
    def trials_left(self) -> int:
        """How many more trials there are at most."""
        return 0 if self.next_slot is None else self._budget_trials - self.spent

    def _changed(self) -> list[str]:
        return self._changed_of(self.current)

    def _changed_of(self, configuration: Configuration) -> list[str]:
        return [name for name, value in configuration.items() if value != self._default.get(name)]

    def _changed_by_worth(self) -> list[str]:
        """What still differs from the default, the least worth by the model first; last what the calibration
        points to.
        """
        return sorted(
            self._changed(), key=lambda name: (name in self._pointed_to, self._worth.get(name, 0.0))
        )

    def _go_through(self, alone: Sequence[Configuration]) -> None:
        if len(self._changed()) < 2:  # the confirmation measures that one
            return
        begun = self._ask_of(alone)
        if self.next_slot is not None or len(self._changed()) < 2:
            return
        found = self._screen(begun)
        while self.next_slot is None and len(self._changed()) > 1:
            found = found or self._next_check()
            if found is None:
                return
            self._measure_round(found)
            found = None

    def _ask_of(self, alone: Sequence[Configuration]) -> dict[str, Trial]:
        """Whether one of these does as much as the winner: then only its settings are left.

        All are asked of in one block, one after the other, until one seems to. The trials of that block if it
        is of use to the screening, as none of them does.
        """
        begun: dict[str, Trial] = {}
        for configuration in alone:
            others = tuple(n for n, v in self.current.items() if configuration[n] != v)
            found = Round(self.current, {others: configuration})
            trials = self._next_block(found, [others], begun)
            if trials is None:
                return begun
            begun = trials
            found.take_in(trials, self._figure)
            if self._costs_little(found, others):
                self._measure_alone(found, others)
                return {}
        return begun

    def _measure_alone(self, found: Round, others: Group) -> None:
        """Further blocks of a first question, until it is answered."""
        while found.blocks < BLOCKS_FOR_A_MEAN and not self._answered(found, others):
            trials = self._next_block(found, [others])
            if trials is None:
                break
            found.take_in(trials, self._figure)
        enough = self._droppable(found, others) or not self._matters(found, others)
        if self.next_slot is None and enough:
            self._leave_out(others, found)

    def _answered(self, found: Round, group: Group) -> bool:
        return self._droppable(found, group) or self._justified(found, group, found.blocks)

    def _screen(self, begun: Mapping[str, Trial]) -> Round | None:
        """One block without each group of settings, perhaps `begun` already; the check of those that cost
        little, begun in it.
        """
        affordable = self._budget_trials - self.spent - (not begun) - PROOF_TRIALS
        groups: list[Group] = [(name,) for name in self._changed_by_worth()]
        if affordable < FEWEST_BLOCKS or (len(groups) == FEWEST_BLOCKS and self._groups):
            return None  # one check tells of both
        while len(groups) > affordable:
            groups.sort(key=len)
            groups[:2] = [groups[0] + groups[1]]
        found = Round(self.current, {g: c for g in groups if (c := self._without(g)) is not None})
        trials = self._next_block(found, list(found.candidates), begun)
        if trials is None:
            return None
        found.take_in(trials, self._figure)
        quiet = [group for group in found.candidates if self._costs_little(found, group)]
        loud = [group for group in groups if group not in quiet]
        self._groups = [g for g in (sum(quiet, ()), *(g for g in loud if len(g) > 1)) if g]
        self._alone = [group[0] for group in loud if len(group) == 1]
        for name in self._alone:
            self._note((name,), found)
        return self._begun(self._groups[0], trials) if quiet else None

    def _begun(self, group: Group, screened: Mapping[str, Trial]) -> Round | None:
        """The check of all that costs little, with what the block of screening can tell of it."""
        without = self._without(group)
        if without is None:
            return None
        found, digest = Round(self.current, {group: without}), configuration_hash(without)
        trial = screened.get(digest) or self._trial_of(without)
        if trial is not None and not trial.verdict.spoilt:
            now = configuration_hash(self.current)
            found.take_in({now: screened[now], digest: trial}, self._figure)
        return found

    def _costs_little(self, found: Round, group: Group) -> bool:
        losses = found.losses(group)
        if not losses or found.fails(group):
            return False
        bounds = self._bounds(losses)
        error = bounds.error if math.isfinite(bounds.error) else 0.0
        return bounds.mean < max(QUIET_LOSS, QUIET_ERRORS * error)

    def _next_check(self) -> Round | None:
        """The next check; None where nothing is left to check, or too few trials for two blocks."""
        most = (self._budget_trials - self.spent) // FEWEST_BLOCKS - 1
        groups = self._groups[:1] or [(name,) for name in self._alone][:most]
        candidates: dict[Group, Configuration] = {}
        for group in groups if most >= 1 else ():
            without = self._without(group)
            if without is None:
                self._keep(group, None)  # by itself it cannot be left out
            else:
                candidates[group] = without
        if candidates:
            return Round(self.current, candidates)
        return self._next_check() if most >= 1 and (self._groups or self._alone) else None

    def _measure_round(self, found: Round) -> None:
        """Goes on until something of it is left out, or nothing of it is undecided."""
        open_groups = list(found.candidates)
        for blocks in range(found.blocks + 1, MOST_BLOCKS + 1):
            trials = self._next_block(found, open_groups)
            if trials is None:
                break
            found.take_in(trials, self._figure)
            if blocks < FEWEST_BLOCKS:
                continue
            droppable = [group for group in open_groups if self._droppable(found, group)]
            if droppable:
                self._leave_out(self._least(droppable, found), found)
                return
            for group in [group for group in open_groups if self._justified(found, group, blocks)]:
                open_groups.remove(group)
                self._keep(group, found)
            if not open_groups:
                return
        if self.next_slot is None:
            self._settle(open_groups, found)

    def _settle(self, groups: Sequence[Group], found: Round) -> None:
        """What no block is left for: nearness to the default decides where capacity cannot."""
        alike = [group for group in groups if not self._matters(found, group)]
        if alike:
            self._leave_out(self._least(alike, found), found)
        for group in groups:
            if group not in alike:
                self._keep(group, found)
            elif len(group) == 1 and self.current[group[0]] != self._default[group[0]]:
                self._note(group, found)  # beside what is left now it may matter

    def _matters(self, found: Round, group: Group) -> bool:
        losses = found.losses(group)
        if len(losses) < FEWEST_BLOCKS or found.fails(group):
            return True
        bounds = self._bounds(losses)
        return bounds.lower() > 0 or bounds.mean > self._most_loss

    def _least(self, groups: Sequence[Group], found: Round) -> Group:
        return min(groups, key=lambda group: self._bounds(found.losses(group)).mean)

    @property
    def _most_loss(self) -> float:
        """What leaving something out may still cost: a logarithm."""
        return -math.log1p(-MOST_LOSS) - self._lost

    def _next_block(
        self, found: Round, groups: Sequence[Group], begun: Mapping[str, Trial] = MappingProxyType({})
    ) -> dict[str, Trial] | None:
        """The trials of the next block that is whole, or of the open one that is `begun`; None where there is
        none yet, or none any more.
        """
        trials = self._block_of(found, groups, begun)
        while trials is not None and not trials:
            trials = self._block_of(found, groups, {})
        return trials

    def _block_of(
        self, found: Round, groups: Sequence[Group], begun: Mapping[str, Trial]
    ) -> dict[str, Trial] | None:
        """The trials of the next block by configuration; empty of one that was spoilt.

        None where one of them is still to be measured (`next_slot`), or where there are too few left.
        """
        wanted = [found.current, *(found.candidates[group] for group in groups)]
        configurations = [each for each in wanted if configuration_hash(each) not in begun]
        if self.spent + len(configurations) > self._budget_trials:
            return None
        self._block += not begun
        shuffler = random.Random(f"{self._seed} {self._block}")  # noqa: S311 - an experiment's order
        trials = dict(begun)
        for configuration in shuffler.sample(configurations, len(configurations)):
            trial = self._trial_of(configuration)
            if trial is None:
                return None
            if trial.verdict.spoilt:
                return {}
            trials[trial.configuration_hash] = trial
        return trials

    def _trial_of(self, configuration: Configuration) -> Trial | None:
        """The one that counts of this block; None where it is still to be measured (`next_slot`)."""
        tries = self._done.get((self._block, configuration_hash(configuration)), [])
        self.spent += len(tries)
        if not tries or (tries[-1].verdict.spoilt and len(tries) < TRIES):
            self.next_slot = self._block, configuration
            return None
        return tries[-1]

    def _bounds(self, losses: Sequence[float]) -> Bounds:
        """Of what these blocks say is lost, with all that is known of noise."""
        mean = fmean(losses)
        squares = 2 * self._noise.squares + sum((loss - mean) ** 2 for loss in losses)
        freedom = self._noise.freedom + len(losses) - 1
        variance = max(LEAST_VARIANCE, squares / freedom) if freedom else math.inf
        return Bounds(mean, math.sqrt(variance / len(losses)), max(1, freedom))

    def _droppable(self, found: Round, group: Group) -> bool:
        losses = found.losses(group)
        if len(losses) < FEWEST_BLOCKS or found.fails(group):
            return False
        return self._bounds(losses).upper() < self._most_loss

    def _justified(self, found: Round, group: Group, blocks: int) -> bool:
        losses = found.losses(group)
        if found.fails(group):
            return True
        if len(losses) < FEWEST_BLOCKS:
            return False
        bounds, most = self._bounds(losses), self._most_loss
        return bounds.lower() > most or (blocks >= BLOCKS_FOR_A_MEAN and bounds.mean > most)

    def _leave_out(self, group: Group, found: Round) -> None:
        """The group is worth nothing: what is left goes on without it."""
        losses, left = found.losses(group), found.candidates[group]
        bounds = self._bounds(losses)
        gain = bounds.gain(len(losses))
        whole = [name for name in self._changed() if left[name] == self._default[name]]
        for name in whole:
            others = tuple(other for other in whole if other != name)
            self._effects[name] = self._effect(name, kept=False, gain=gain, together=others)
        mean = fmean(losses)
        self._noise = KnownNoise(
            self._noise.squares + sum((loss - mean) ** 2 for loss in losses) / 2,
            self._noise.freedom + len(losses) - 1,
        )
        self._lost += max(0.0, bounds.mean)
        self.current = left
        self._forget(group)
        self._groups = [rest for each in self._groups if (rest := self._not_among(each, whole))]
        self._alone = [name for name in self._alone if name not in whole]

    def _keep(self, group: Group, found: Round | None) -> None:
        """The group is worth something: its halves are checked, or its only setting is kept."""
        self._forget(group)
        if len(group) > 1:
            self._groups[:0] = [group[: len(group) // 2], group[len(group) // 2 :]]
            return
        self._note(group, found)

    def _note(self, group: Group, found: Round | None) -> None:
        """What leaving out a single setting has shown, though it is kept."""
        losses = [] if found is None or group not in found.candidates else found.losses(group)
        gain = self._bounds(losses).gain(len(losses)) if losses else None
        self._effects[group[0]] = self._effect(group[0], kept=True, gain=gain)

    def _forget(self, group: Group) -> None:
        """It is decided on."""
        if group in self._groups:
            self._groups.remove(group)
        elif group[0] in self._alone:
            self._alone.remove(group[0])

    @staticmethod
    def _not_among(group: Group, left_out: Sequence[str]) -> Group:
        return tuple(name for name in group if name not in left_out)

    def _effect(
        self, name: str, *, kept: bool, gain: Gain | None = None, together: Group = ()
    ) -> SettingEffect:
        return SettingEffect(
            knob=name,
            value=(self.current if kept else self._winner)[name],
            default=self._default[name],
            kept=kept,
            gain=gain,
            measure=self._measure,
            together=together,
        )

    def _without(self, group: Group) -> Configuration | None:
        """The current configuration without some settings, and without those that only exist with them; None
        where the space does not allow that.
        """
        back = {**self.current, **{name: self._default[name] for name in group}}
        back = self._space.settled(back)
        known = all(value in (self.current[name], self._default[name]) for name, value in back.items())
        return back if known and self._space.allows(back) and back != self.current else None
