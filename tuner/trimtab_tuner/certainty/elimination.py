"""Backward elimination: every setting of the search's best has to show that it is worth something.

A search that moves many knobs at once recommends many, most of them for nothing. So what it recommends is
measured with a setting and without it, in interleaved blocks, before it is confirmed. A setting whose absence
costs less than `MOST_LOSS` of the capacity (by the upper bound) and breaks no rule goes back to its default,
and stays there: so of two that do the same one is kept, and two that only help together are both kept.

*First question.* A change that the default's calibration points to may give the whole gain alone. If the
model of the search thinks so, that is asked first: the default with this change beside the whole
configuration, in up to `BLOCKS_FOR_A_MEAN` blocks, for one climb strays too far from the next to say no. If
no more than `MOST_LOSS` is lost, or nothing that is told from nothing and it takes less CPU time a request,
everything else goes at once. If more is, everything else is not left out together again.

*Screening.* One block of the whole configuration and of it without each setting, one at a time, shows what
matters much: that is kept. Where the trials are too few for that, what calibration and model agree on is kept
without one, and what the model says is worth least is left out in groups. Of two settings one that the model
says is worth nothing goes straight on.

*Proof.* What seemed to matter little is then left out in one check: at the end of that block, and in further
ones with it and without it. If the check fails, its parts have one each, down to single settings: halves, or
what cost most in the screening apart from the rest. Single ones are all measured in one block, and then one
after the other, the least costly first. Blocks that are affordable after that measure what is kept, one
setting at a time, beside what is recommended by then. So do those that are too few for a group: the settings
that have cost least are checked by themselves. Of what there is no trial left for, the one that has cost
least is left out, if what it has cost is not told from nothing. The last setting that is left needs no
check: the confirmation measures it, beside the default.

What may be left out and what is kept is asked of `Judge` (`elimination_judge.py`).

It is a state machine without clock or network, rebuilt from the recorded trials like the blocks of a
confirmation: whoever carries it out measures `next_slot` until that is None.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.trial import Trial

from trimtab_tuner.certainty.blocks import FEWEST_BLOCKS
from trimtab_tuner.certainty.elimination_judge import BLOCKS_FOR_A_MEAN, QUIET_LOSS, Judge, KnownNoise
from trimtab_tuner.certainty.elimination_rounds import Blocks, Figure, Group, Round, Times
from trimtab_tuner.certainty.setting_effects import Measure, SettingEffect
from trimtab_tuner.certainty.statistics import Gain
from trimtab_tuner.space import Space

MOST_BLOCKS = 6  # of one check
PROOF_TRIALS = 3  # what screening leaves at least: one in its own block, and a block of two


class Elimination:
    """The elimination of one run, as far as its `trials` go.

    `winner` is what the search recommends, and `worth` what its model says that each of its settings gives,
    as a share of the score; `suspects` are those that are worth nothing together. `alone` are configurations
    of the default and one first change, which may do as much as the winner, likeliest first. `figure` says
    what a trial has shown: its capacity, or its score; `cpu` how many times the CPU time a request of one
    trial another has taken, where that is known. At most `budget_trials` are measured, those that were spoilt
    included.
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
        cpu: Times | None = None,
        budget_trials: int,
        seed: int,
        noise: KnownNoise,
        measure: Measure = "capacity",
    ) -> None:
        self._space = space
        self._default = space.default()
        self._winner = winner
        self._figure, self._cpu = figure, cpu
        self._judge = Judge(noise)
        self._measure: Measure = measure
        self._blocks = Blocks(trials, budget_trials, seed)
        self.current = dict(winner)
        self._effects: dict[str, SettingEffect] = {}
        self._not_together: list[set[str]] = []
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
    def next_slot(self) -> tuple[int, Configuration] | None:
        """What is to be measured next: the number of its block, and the configuration; None at the end."""
        return self._blocks.next_slot

    @property
    def spent(self) -> int:
        """How many trials have been measured."""
        return self._blocks.spent

    @property
    def trials_left(self) -> int:
        """How many more trials there are at most."""
        return 0 if self.next_slot is None else self._blocks.left

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
        self._ask_of(alone)
        if self.next_slot is None and len(self._changed()) > 1:
            self._screen()
        while self.next_slot is None and len(self._changed()) > 1:
            found = self._next_check()
            if found is None:
                self._leave_out_least()
                return
            self._measure_round(found)

    def _round(self, candidates: dict[Group, Configuration]) -> Round:
        return Round(self.current, candidates, self._blocks.begun, self._figure, self._cpu)

    def _ask_of(self, alone: Sequence[Configuration]) -> None:
        """Whether one of these does as much as the winner: then only its settings are left.

        All are asked of in one block, one after the other, until one may. The screening goes on in the last
        block of the question, if none of them does.
        """
        for configuration in alone:
            others = tuple(n for n, v in self.current.items() if configuration[n] != v)
            found = self._round({others: configuration})
            if not self._measured(found, [others]):
                return
            may = self._judge.may_cost_little(found, others)
            if may and self._measure_alone(found, others):
                return
            self._not_together.append(set(others) - set(self._changed_of(configuration)))
            if may:
                return

    def _measure_alone(self, found: Round, others: Group) -> bool:
        """Further blocks of a first question; whether the answer is yes, or still to be measured."""
        while found.blocks(others) < BLOCKS_FOR_A_MEAN and not self._judge.answered(found, others):
            if not self._measured(found, [others]):
                break
        if self.next_slot is None:
            if not self._judge.does_as_much(found, others):
                return False
            self._leave_out(others, found)
        return True

    def _screen(self) -> None:
        """One block without each group of settings; what costs little there is checked next."""
        groups: list[Group] = [(name,) for name in self._changed_by_worth()]
        if len(groups) == FEWEST_BLOCKS and self._groups:
            return  # one check tells of both
        affordable = self._blocks.left - (not self._blocks.held(self.current)) - PROOF_TRIALS
        if affordable < FEWEST_BLOCKS:
            return
        while len(groups) > max(affordable, FEWEST_BLOCKS) and self._surely_kept(groups[-1][0]):
            groups.pop()
        while len(groups) > affordable:
            groups.sort(key=len)
            groups[:2] = [groups[0] + groups[1]]
        found = self._round({g: c for g in groups if (c := self._without(g)) is not None})
        if not self._measured(found, list(found.candidates)):
            return
        quiet = [group for group in found.candidates if self._judge.costs_little(found, group)]
        loud = [group for group in groups if group not in quiet and len(group) > 1]
        self._groups = [sum(quiet, ())] if quiet else []
        self._groups += [part for group in loud for part in self._parts(group)]
        self._alone = [name for name in self._changed_by_worth() if name not in sum(self._groups, ())]
        for name in self._alone:
            self._note((name,), found)

    def _surely_kept(self, name: str) -> bool:
        """What calibration and model agree on has no need of a trial where trials are few."""
        return name in self._pointed_to and self._worth.get(name, 0.0) > QUIET_LOSS

    def _next_check(self) -> Round | None:
        """The next check; None where nothing is left to check, or too few trials to decide on any."""
        self._split_what_is_refuted()
        singles = [group for group in self._groups if len(group) == 1]
        first = singles if self._groups[:1] == singles[:1] else self._groups[:1]
        found = self._affordable(first, whole=False)
        if found is not None:
            return found
        each = self._singles()
        by_cost = sorted(each.candidates, key=lambda one: fmean(each.losses(one) or [math.inf]))
        return self._affordable(by_cost, whole=True)

    def _singles(self) -> Round:
        """Every setting that is not decided on, as far as it can be left out by itself."""
        names = [name for group in self._groups for name in group] + self._alone
        return self._round({(n,): without for n in names if (without := self._without((n,))) is not None})

    def _affordable(self, groups: Sequence[Group], *, whole: bool) -> Round | None:
        """The first of these that the trials left can decide on, side by side; None where that is none."""
        candidates: dict[Group, Configuration] = {}
        for group in groups:
            without = self._without(group)
            if without is None:
                self._keep(group, None)  # by itself it cannot be left out
                return self._next_check()
            tried = self._round({**candidates, group: without})
            if self._trials_for(tried, whole=whole) > self._blocks.left:
                break
            candidates[group] = without
        return self._round(candidates) if candidates else None

    def _split_what_is_refuted(self) -> None:
        """What the first question has shown to matter together is not left out together once more."""
        for group in list(self._groups):
            if len(group) > 1 and any(those <= set(group) for those in self._not_together):
                self._keep(group, None)

    def _trials_for(self, found: Round, *, whole: bool) -> int:
        """How many it takes to decide on all candidates, or else on one of them once each has a block."""
        new = sum(not found.blocks(group) for group in found.candidates)
        held = self._blocks.held(self.current)
        further = 1 + (len(found.candidates) if whole else 1)
        if new:
            return new + (not held) + further
        joins = held and not any(configuration_hash(each) in held for each in found.candidates.values())
        return further - 1 if joins else further

    def _measure_round(self, found: Round) -> None:
        """Goes on until something of it is left out, or nothing of it is undecided."""
        undecided = list(found.candidates)
        while undecided:
            for group in [group for group in undecided if self._judge.justified(found, group)]:
                undecided.remove(group)
                self._keep(group, found)
            droppable = [group for group in undecided if self._judge.droppable(found, group)]
            if droppable:
                self._leave_out(self._least(droppable, found), found)
                return
            further = self._further(found, undecided)
            if not further or not self._measured(found, further):
                break
        if self.next_slot is None:
            self._settle(undecided, found)

    def _further(self, found: Round, undecided: Sequence[Group]) -> list[Group]:
        """What the next block holds: what has none yet; then what has cost least, or all that is kept."""
        new = [group for group in undecided if not found.blocks(group)]
        open_ones = [group for group in undecided if found.blocks(group) < MOST_BLOCKS]
        if new or not open_ones or open_ones[0] not in self._groups:
            return new or open_ones
        return [min(open_ones, key=lambda group: fmean(found.losses(group) or [math.inf]))]

    def _settle(self, groups: Sequence[Group], found: Round) -> None:
        """What no block is left for: nearness to the default decides where capacity cannot."""
        alike = [group for group in groups if not self._judge.matters(found, group)]
        if alike:
            self._leave_out(self._least(alike, found), found)
        for group in groups:
            if group not in alike:
                self._keep(group, found)
            elif len(group) == 1 and self.current[group[0]] != self._default[group[0]]:
                self._note(group, found)  # beside what is left now it may matter

    def _leave_out_least(self) -> None:
        """Of what no trials are left for, the setting that has cost least, where it is not told from nothing.

        One only: beside what is left then, another may matter.
        """
        found = self._singles()
        unproven = [single for single in found.candidates if self._judge.unproven(found, single)]
        if unproven:
            self._leave_out(self._least(unproven, found), found)

    def _least(self, groups: Sequence[Group], found: Round) -> Group:
        return min(groups, key=lambda group: self._judge.bounds(found.losses(group)).mean)

    def _measured(self, found: Round, groups: Sequence[Group]) -> bool:
        """Whether one more block of these groups is whole."""
        return self._blocks.go_on(self.current, [found.candidates[group] for group in groups])

    def _leave_out(self, group: Group, found: Round) -> None:
        """The group is worth nothing: what is left goes on without it."""
        losses, left = found.losses(group), found.candidates[group]
        gain = self._judge.bounds(losses).gain(len(losses))
        whole = [name for name in self._changed() if left[name] == self._default[name]]
        for name in whole:
            others = tuple(other for other in whole if other != name)
            self._effects[name] = self._effect(name, kept=False, gain=gain, together=others)
        self._judge.left_out(losses)
        self.current = left
        self._forget((*group, *whole))

    def _keep(self, group: Group, found: Round | None) -> None:
        """The group is worth something: its parts are checked, or its only setting is kept."""
        self._forget(group)
        if len(group) > 1:
            self._groups[:0] = self._parts(group)
            return
        self._note(group, found)

    def _parts(self, group: Group) -> list[Group]:
        """Halves; or what has cost most by itself, last, apart from the rest."""
        found = self._round({(name,): c for name in group if (c := self._without((name,))) is not None})
        costs = {name: found.losses((name,)) for (name,) in found.candidates}
        if len(costs) == len(group) and all(costs.values()):
            *rest, most = sorted(group, key=lambda name: fmean(costs[name]))
            return [tuple(rest), (most,)]
        return [group[: len(group) // 2], group[len(group) // 2 :]]

    def _note(self, group: Group, found: Round | None) -> None:
        """What leaving out a single setting has shown, though it is kept."""
        losses = [] if found is None or group not in found.candidates else found.losses(group)
        gain = self._judge.bounds(losses).gain(len(losses)) if losses else None
        self._effects[group[0]] = self._effect(group[0], kept=True, gain=gain)

    def _forget(self, names: Sequence[str]) -> None:
        """These are decided on."""
        self._groups = [rest for each in self._groups if (rest := self._not_among(each, names))]
        self._alone = [name for name in self._alone if name not in names]

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
