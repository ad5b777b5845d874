"""What is recorded of a run on several hosts: scores as they would be on a host of the usual level.

Scores of different hosts do not compare as they are. So whoever asks about the search is told scores from
which the level of the host has gone (trimtab_tuner.fleet.effects), on the scale of the mean host.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from trimtab_db import Repository
from trimtab_trials.configuration import configuration_hash
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.certainty.noise import Noise
from trimtab_tuner.fleet.allocation import Allocation, Tried
from trimtab_tuner.judging.early_stop import Leader
from trimtab_tuner.judging.ladder import grown
from trimtab_tuner.space import Space

from trimtab_agent.study.history import History, ScoresOf


class FleetHistory(History):
    """A run's trials on the hosts of `fleet`, as it is recorded with the run.

    What follows from the trials is found once and kept until there is another one: it is asked about several
    times for each.
    """

    def __init__(self, repository: Repository, run_id: int, fleet: dict[str, Any], space: Space) -> None:
        super().__init__(repository, run_id)
        self._forget()
        self._hosts: dict[int, str] = {host["host_id"]: name for name, host in fleet["hosts"].items()}
        self._held_back = frozenset(fleet["held_back"])
        self.strata: dict[str, int] = {name: host["stratum"] for name, host in fleet["hosts"].items()}
        self.default = configuration_hash(space.default())

    @property
    def hosts(self) -> tuple[str, ...]:
        """All hosts of the run, by name."""
        return tuple(sorted(self.strata))

    @property
    def searched_hosts(self) -> tuple[str, ...]:
        """Those that the search uses."""
        return tuple(name for name in self.hosts if name not in self._held_back)

    @property
    def confirming_hosts(self) -> tuple[str, ...]:
        """Those that the confirmation uses: what the search has left to it, all if that is nothing."""
        return tuple(sorted(self._held_back)) or self.hosts

    def host_of(self, trial: Trial) -> str:
        """The host that a trial was measured on."""
        return self._hosts[trial.host_id]

    def host_of_each(self) -> dict[int, str]:
        """The host of each trial, by its number."""
        return {trial.number: self.host_of(trial) for trial in self.trials}

    def ladder_at(self, host: str, points: int) -> tuple[float, ...]:
        """The run's ladder as far as it would have grown by this host's own trials, from the `points` that it
        began with: what lies above is what faster hosts can do.

        Of a host that the search does not use, the shortest of those that it uses.
        """
        if host not in self.searched_hosts:
            return min((self.ladder_at(each, points) for each in self.searched_hosts), key=len)
        own = self.ladder[:points]
        for trial in self.finished(TrialPurpose.SEARCH):
            if self.host_of(trial) == host and trial.verdict is Verdict.VERIFIED:
                own = grown(own, self._measured[trial.number])
        return own

    def record(self, trial: Trial) -> None:
        """See History."""
        super().record(trial)
        self._forget()

    def begin_anew(self, reason: str) -> None:
        """See History."""
        super().begin_anew(reason)
        self._forget()

    def grow(self, trial: Trial, scores_of: ScoresOf) -> bool:
        """See History."""
        has_grown = super().grow(trial, scores_of)
        if has_grown:
            self._forget()
        return has_grown

    def _forget(self) -> None:
        """What was found of other trials than there are now."""
        self._allocations: dict[tuple[str, ...], Allocation] = {}
        self._tried: tuple[Tried, ...] | None = None
        self._scaled: list[Trial] | None = None

    def allocation(
        self, hosts: Sequence[str], in_flight: Sequence[tuple[str, str]] = (), recommended: str | None = None
    ) -> Allocation:
        """What is to be measured next on these hosts."""
        key = tuple(hosts)
        if key not in self._allocations:
            self._allocations[key] = Allocation(key, self.default, self.tried(), strata=self.strata)
        return self._allocations[key].asked_with(in_flight, recommended)

    def tried(self) -> Sequence[Tried]:
        """The trials of the search that say something about their configurations."""
        if self._tried is None:
            self._tried = tuple(
                Tried(trial.configuration_hash, self.host_of(trial), trial.block, trial.least_score)
                for trial in self.finished(TrialPurpose.SEARCH)
                if trial.block and not trial.verdict.spoilt
            )
        return self._tried

    def results(self) -> list[Trial]:
        """What the strategy is told: every trial with its score on the usual host."""
        return [trial for trial in self.without_drift() if trial.verdict is not Verdict.DISTURBED]

    def without_drift(self) -> list[Trial]:
        """All trials of the search, with scores from which the level of host and block has gone."""
        if self._scaled is None:
            self._scaled = self._on_the_usual_host()
        return list(self._scaled)

    def comparable(self) -> list[Trial]:
        """The same: as they were measured, those of different hosts do not compare."""
        return self.without_drift()

    def _on_the_usual_host(self) -> list[Trial]:
        effects = self.allocation(self.searched_hosts).effects
        levels = effects.levels()
        if not levels:
            return self.finished(TrialPurpose.SEARCH)
        usual = sum(math.log(level) for level in levels.values()) / len(levels)
        scaled = []
        for trial in self.finished(TrialPurpose.SEARCH):
            level = effects.level_at(self.host_of(trial), trial.block)
            factor = 1.0 if level is None else math.exp(usual) / level
            scaled.append(
                replace(
                    trial,
                    score=None if trial.score is None else trial.score * factor,
                    estimated_score=None if trial.estimated_score is None else trial.estimated_score * factor,
                )
            )
        return scaled

    def noise(self) -> Noise:
        """How much a trial differs from the next on one host."""
        tried = self.tried()
        defaults = sum(each.configuration == self.default for each in tried)
        return Noise(share=self.allocation(self.searched_hosts).effects.noise, measured=defaults)

    def leader(self, in_flight: int = 0) -> Leader | None:
        """None: what a trial scores on one host says too little of what it could score on another."""
        return None

    def reference_due(self, budget_trials: int, in_flight: int = 0, *, before: int = 0) -> bool:
        """Never: every host measures the default in each of its blocks."""
        return False
