"""The confirmation on several hosts: on each of them blocks as on a single one, and what they say together.

A block lies on one host as a whole, because scores compare only there. What counts as one value is a host:
the geometric mean of its whole blocks. So intervals over these values see how much hosts differ.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.trial import Trial, Verdict

from trimtab_tuner.certainty.blocks import Blocks

BLOCKS_PER_HOST = 1000
"""Blocks of the n-th host, from 0, have the numbers n x 1000 + 1 and so on."""

FEWEST_ROUNDS = 2


def rounds_for(repeats: int, hosts: int) -> int:
    """How many blocks each host measures, if a single one would measure so many."""
    return 0 if repeats == 0 else max(FEWEST_ROUNDS, math.ceil(repeats / hosts))


class HostBlocks:
    """The blocks of a confirmation of these finalists on these hosts, each with `rounds` of them.

    `trials` are the run's, `host_of` names the host of each by its number. What `lost` hosts have measured
    does not count, nor is it waited for.
    """

    def __init__(
        self,
        finalists: Sequence[Configuration],
        rounds: int,
        hosts: Sequence[str],
        seed: int,
        trials: Sequence[Trial],
        host_of: Mapping[int, str],
        lost: Collection[str] = (),
    ) -> None:
        self._hosts = tuple(hosts)
        self._finalists = finalists
        self._host_of = host_of
        self._blocks: dict[str, Blocks] = {}
        for number, host in enumerate(hosts):
            if host in lost:
                continue
            first = number * BLOCKS_PER_HOST
            own = [
                replace(trial, block=trial.block - first)
                for trial in trials
                if trial.in_block and host_of.get(trial.number) == host
            ]
            self._blocks[host] = Blocks(finalists, rounds, seed + number, own)

    @property
    def wanted(self) -> int:
        """How many blocks there are to be."""
        return sum(blocks.wanted for blocks in self._blocks.values())

    @property
    def whole(self) -> list[int]:
        """The numbers of those that are whole."""
        return [self._number(host, block) for host, own in self._blocks.items() for block in own.whole]

    @property
    def spoilt(self) -> list[int]:
        """The numbers of those that something else has spoilt."""
        return [self._number(host, block) for host, own in self._blocks.items() for block in own.spoilt]

    @property
    def trials_left(self) -> int:
        """How many more trials are needed if none of them is spoilt."""
        return sum(blocks.trials_left for blocks in self._blocks.values())

    @property
    def next_slot(self) -> tuple[int, Configuration] | None:
        """Some slot that is not done yet; None when all are."""
        return next((slot for host in self._blocks if (slot := self.next_on(host)) is not None), None)

    def next_on(self, host: str) -> tuple[int, Configuration] | None:
        """The block and the configuration that a host is to measure next; None when it has done all."""
        slot = self._blocks[host].next_slot if host in self._blocks else None
        return None if slot is None else (self._number(host, slot[0]), slot[1])

    def measured(self, trials: Sequence[Trial]) -> list[Trial]:
        """The trials of the whole blocks, one for each slot."""
        whole = set(self.whole)
        last = {
            (trial.block, trial.configuration_hash): trial
            for trial in trials
            if trial.in_block and trial.block in whole and trial.verdict is not Verdict.ABORTED
        }
        return list(last.values())

    def slots(self, trials: Sequence[Trial]) -> list[Trial]:
        """One trial for each finalist and host, with the number of the host as its block.

        Its score is the geometric mean of what the host's whole blocks scored at least; it is not verified
        where one of them was not.
        """
        found: dict[tuple[str, str], list[Trial]] = {}
        for trial in self.measured(trials):
            found.setdefault((self._host_of[trial.number], trial.configuration_hash), []).append(trial)
        joined = []
        for (host, _), own in found.items():
            scores = [trial.least_score for trial in own]
            number = self._hosts.index(host) + 1
            if all(scores):
                mean = math.exp(sum(math.log(score) for score in scores if score) / len(scores))
                limited = any(trial.verdict is Verdict.GENERATOR_LIMITED for trial in own)
                joined.append(
                    replace(
                        own[-1],
                        block=number,
                        verdict=Verdict.GENERATOR_LIMITED if limited else Verdict.VERIFIED,
                        score=None if limited else mean,
                        estimated_score=mean if limited else None,
                    )
                )
            else:
                broken = next(trial for trial in own if not trial.least_score)
                joined.append(replace(broken, block=number))
        return joined

    def log_ratios(self, configuration: Configuration, trials: Sequence[Trial]) -> dict[str, list[float]]:
        """The logarithms of a configuration's ratio to the default in the blocks of each host."""
        default, digest = configuration_hash(self._finalists[0]), configuration_hash(configuration)
        scores = {
            (trial.block, trial.configuration_hash): (self._host_of[trial.number], trial.least_score)
            for trial in self.measured(trials)
        }
        found: dict[str, list[float]] = {}
        for (block, name), (host, score) in scores.items():
            beside = scores.get((block, default), ("", None))[1]
            if name == digest and score and beside:
                found.setdefault(host, []).append(math.log(score / beside))
        return found

    def _number(self, host: str, block: int) -> int:
        return self._hosts.index(host) * BLOCKS_PER_HOST + block
