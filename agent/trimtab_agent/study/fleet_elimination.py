"""The elimination of a run on several hosts: each of its blocks lies on one of them as a whole.

Scores and capacities compare only within one host, and so do the ratios that a block gives. The blocks go
from host to host, those that the search uses, in turn: what is pooled over them holds on several, and what a
setting does on one host alone shows as noise. One host works at a time.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

from trimtab_db import records
from trimtab_trials.configuration import Configuration
from trimtab_trials.trial import Trial, TrialPurpose
from trimtab_tuner.presets import RunSettings
from trimtab_tuner.space import Space

from trimtab_agent.errors import FleetError
from trimtab_agent.study.announcer import Announcer
from trimtab_agent.study.dispatcher import Dispatcher, TrialLost
from trimtab_agent.study.elimination import BackwardElimination
from trimtab_agent.study.fleet_history import FleetHistory


class FleetElimination(BackwardElimination):
    """The elimination of one run on several hosts whose search is over and recommends `best`."""

    def __init__(
        self, run: records.Run, settings: RunSettings, space: Space, history: FleetHistory, best: Trial | None
    ) -> None:
        self._fleet = history
        super().__init__(run, settings, space, history, best)

    def _followed(self, rates_rps: Sequence[float]) -> float:
        """The lowest: a trial that does not even follow its first rate has no capacity."""
        return min(rates_rps)

    def _recorded(self) -> list[Trial]:
        """Of each block those on the host that it was on last: one before that is lost."""
        trials = self._fleet.eliminated()
        last = {trial.block: trial.host_id for trial in trials}
        return [trial for trial in trials if trial.host_id == last[trial.block]]

    def _measure(
        self, dispatcher: Dispatcher, announcer: Announcer, block: int, configuration: Configuration
    ) -> None:
        """On the host of the block. If that is lost, the block is measured anew on another."""
        alive = dispatcher.idle_stations  # all that are not lost
        hosts = [host for host in self._fleet.searched_hosts if host in alive]
        if not hosts:
            raise FleetError("every host of the search is lost; resume the run when some are back")
        begun = [self._fleet.host_of(trial) for trial in self._recorded() if trial.block == block]
        host = begun[0] if begun and begun[0] in hosts else hosts[block % len(hosts)]
        try:
            dispatcher.start(self._order(dispatcher, block, configuration, host))
            dispatcher.wait()
        except TrialLost as lost:
            announcer.note("warning", str(lost))

    def _comparable(self) -> Iterable[Sequence[Trial]]:
        """Those of each host."""
        searched = sorted(self._fleet.finished(TrialPurpose.SEARCH), key=self._fleet.host_of)
        return [list(own) for _, own in groupby(searched, self._fleet.host_of)]
