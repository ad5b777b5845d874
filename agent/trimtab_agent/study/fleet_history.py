"""What is recorded of a run on several hosts: scores as they would be on a host of the usual level.

Scores of different hosts do not compare as they are. So whoever asks about the search is told scores from
which the level of the host has gone (trimtab_tuner.fleet.effects), on the scale of the mean host.

What follows from the trials is kept, and each new one is added to it. All of it is found anew only when the
model is due to be fitted to more of them (`fitted_of`), or when scores have become others. It depends on
nothing but the trials and the order in which they were recorded: a run that is resumed, and finds all of it
from the database, goes on with what it had.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from trimtab_db import Repository
from trimtab_trials.configuration import configuration_hash
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.certainty.noise import Noise
from trimtab_tuner.fleet.allocation import Allocation, Tried
from trimtab_tuner.fleet.effects import fitted_of
from trimtab_tuner.judging.early_stop import Leader
from trimtab_tuner.judging.ladder import grown
from trimtab_tuner.space import Space

from trimtab_agent.study.history import History, ScoresOf


class FleetHistory(History):
    """A run's trials on the hosts of `fleet`, as it is recorded with the run.

    The model is fitted to the first `fitted` of the trials that say something. `revision` goes up when what
    it has said of them holds no more.
    """

    def __init__(self, repository: Repository, run_id: int, fleet: dict[str, Any], space: Space) -> None:
        super().__init__(repository, run_id)
        self._hosts: dict[int, str] = {host["host_id"]: name for name, host in fleet["hosts"].items()}
        self._held_back = frozenset(fleet["held_back"])
        self.strata: dict[str, int] = {name: host["stratum"] for name, host in fleet["hosts"].items()}
        self.default = configuration_hash(space.default())
        self._recorded = list(repository.order_of_recording(run_id))
        self.revision = 0
        self._forget()

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        """All hosts of the run, by name."""
        return tuple(sorted(self.strata))

    @cached_property
    def searched_hosts(self) -> tuple[str, ...]:
        """Those that the search uses."""
        return tuple(name for name in self.hosts if name not in self._held_back)

    @property
    def confirming_hosts(self) -> tuple[str, ...]:
        """Those that the confirmation uses: what the search has left to it, all if that is nothing."""
        return tuple(sorted(self._held_back)) or self.hosts

    def host_of(self, trial: Trial) -> str:
        """The host that a trial was measured on."""
        if trial.host_id not in self._hosts:
            self._hosts[trial.host_id] = self._same_machine(trial.host_id)
        return self._hosts[trial.host_id]

    def _same_machine(self, host_id: int) -> str:
        """The host of the run whose machine that is: with another kernel or memory than when the run began it
        has a record of its own.
        """
        machine = self._repository.host(host_id)
        for known_id, name in self._hosts.items():
            known = self._repository.host(known_id)
            if (known.machine_id, known.name) == (machine.machine_id, machine.name):
                return name
        raise KeyError(host_id)

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
        own = self._own_ladders.setdefault(host, {})
        if points not in own:
            own[points] = self.ladder[:points]
            for trial in self._searched:
                if self.host_of(trial) == host:
                    own[points] = self._climbed(own[points], trial)
        return own[points]

    def record(self, trial: Trial) -> None:
        """See History."""
        super().record(trial)
        self._recorded.append(trial.number)
        if _says_something(trial):
            self._take_in(trial.without_measurements())

    def set_ladder(self, ladder: Sequence[float]) -> None:
        """See History."""
        super().set_ladder(ladder)
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
        """Nothing that was found holds any more: trials have other scores, or do not count."""
        numbered = {trial.number: trial for trial in self.trials}
        recorded = [numbered[number] for number in self._recorded if number in numbered]
        self._searched = [trial for trial in recorded if _says_something(trial)]
        self._own_ladders: dict[str, dict[int, tuple[float, ...]]] = {}
        self._fit_anew()

    def _fit_anew(self) -> None:
        """Fits the model to as many trials as are due, by their numbers; the others follow as recorded."""
        self.fitted = fitted_of(len(self._searched))
        self.revision += 1
        self._searched[: self.fitted] = sorted(self._searched[: self.fitted], key=lambda trial: trial.number)
        self._tried = [self._as_tried(trial) for trial in self._searched]
        self._allocations: dict[tuple[str, ...], Allocation] = {}
        self._results: list[Trial] = []
        self._results_of: dict[str, list[Trial]] = {}
        self._add_results(self._searched)

    def _take_in(self, trial: Trial) -> None:
        """One more trial that says something; but for a fit the work is not more for those before it."""
        self._searched.append(trial)
        own = self._own_ladders.get(self.host_of(trial), {})
        for points, ladder in own.items():
            own[points] = self._climbed(ladder, trial)
        if fitted_of(len(self._searched)) != self.fitted:
            self._fit_anew()
            return
        self._tried.append(self._as_tried(trial))
        for allocation in self._allocations.values():
            allocation.take_in(self._tried[-1])
        self._add_results([trial])

    def _add_results(self, trials: Iterable[Trial]) -> None:
        for result in self._on_the_usual_host(trials):
            self._results.append(result)
            self._results_of.setdefault(result.configuration_hash, []).append(result)

    def _as_tried(self, trial: Trial) -> Tried:
        return Tried(trial.configuration_hash, self.host_of(trial), trial.block, trial.least_score)

    def _climbed(self, ladder: tuple[float, ...], trial: Trial) -> tuple[float, ...]:
        """The ladder, as far as it grows by that trial."""
        verified = trial.verdict is Verdict.VERIFIED
        return grown(ladder, self._measured[trial.number]) if verified else ladder

    def allocation(
        self, hosts: Sequence[str], in_flight: Sequence[tuple[str, str]] = (), recommended: str | None = None
    ) -> Allocation:
        """What is to be measured next on these hosts."""
        key = tuple(hosts)
        if key not in self._allocations:
            made = Allocation(key, self.default, self._tried[: self.fitted], strata=self.strata)
            for tried in self._tried[self.fitted :]:
                made.take_in(tried)
            self._allocations[key] = made
        return self._allocations[key].asked_with(in_flight, recommended)

    def tried(self) -> Sequence[Tried]:
        """The trials of the search that say something about their configurations."""
        return self._tried

    def results(self, after: int = 0) -> list[Trial]:
        """What the strategy is told `after` so many: each trial that says something, on the usual host.

        The first `fitted` of all are in the order of their numbers, the others as they were recorded.
        """
        return self._results[after:]

    def results_of(self, configuration: str) -> Sequence[Trial]:
        """Those of one configuration, by its hash."""
        return self._results_of.get(configuration, ())

    def without_drift(self) -> list[Trial]:
        """All trials of the search, with scores from which the level of host and block has gone."""
        return self._on_the_usual_host(self.finished(TrialPurpose.SEARCH))

    def comparable(self) -> list[Trial]:
        """The same: as they were measured, those of different hosts do not compare."""
        return self.without_drift()

    def _on_the_usual_host(self, trials: Iterable[Trial]) -> list[Trial]:
        effects = self.allocation(self.searched_hosts).effects
        levels = effects.levels()
        if not levels:
            return list(trials)
        usual = sum(math.log(level) for level in levels.values()) / len(levels)
        scaled = []
        for trial in trials:
            level = effects.level_at(self.host_of(trial), trial.block)
            factor = 1.0 if level is None else math.exp(usual) / level
            scaled.append(
                replace(
                    trial,
                    score=None if trial.score is None else trial.score * factor,
                    estimated_score=None if trial.estimated_score is None else trial.estimated_score * factor,
                )
            )
            # It is the same configuration: no need to work it out again for thousands of them.
            vars(scaled[-1])["configuration_hash"] = trial.configuration_hash
        return scaled

    def noise(self) -> Noise:
        """How much a trial differs from the next on one host."""
        defaults = sum(each.configuration == self.default for each in self._tried)
        return Noise(share=self.allocation(self.searched_hosts).effects.noise, measured=defaults)

    def leader(self, in_flight: int = 0) -> Leader | None:
        """None: what a trial scores on one host says too little of what it could score on another."""
        return None

    def reference_due(self, budget_trials: int, in_flight: int = 0, *, before: int = 0) -> bool:
        """Never: every host measures the default in each of its blocks."""
        return False


def _says_something(trial: Trial) -> bool:
    """Whether it is a trial of the search on a host that came to its end, and was not spoilt."""
    searched = trial.purpose is TrialPurpose.SEARCH and trial.verdict is not Verdict.ABORTED
    return searched and trial.block > 0 and not trial.verdict.spoilt
