"""Where the trials of a run are carried out, as a study sees it: this machine, or a station of the fleet."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from trimtab_trials.host import Host
from trimtab_tuner.judging.job import TrialJob, TrialReport
from trimtab_tuner.workloads.parameters import WorkloadParameters

from trimtab_agent.station.equipment import JobListener
from trimtab_agent.station.file_set import OnProgress
from trimtab_agent.station.load_source import LoadSource
from trimtab_agent.station.station import Station

MakeLoad = Callable[[], AbstractContextManager[LoadSource]]
"""Makes what drives the load of one trial."""


class TrialStation(Protocol):
    """One station. All calls but `stop` come from one thread; `name` tells it from others of the run."""

    name: str
    host: Host

    def prepare(self, workload: WorkloadParameters, on_progress: OnProgress) -> None:
        """Makes ready what jobs with this workload need."""
        ...

    def carry_out(
        self, number: int, job: TrialJob, listener: JobListener, kept: dict[str, Any]
    ) -> TrialReport:
        """Carries out the trial of that number; `kept` is what is to be known of it should this study die.

        Raises StationLost when another station might do it, Stopped.
        """
        ...

    def ready(self) -> bool:
        """Whether it can be given a trial now; asked of one that was lost."""
        ...

    def stop(self) -> None:
        """Has whatever goes on end soon."""
        ...

    def close(self) -> None:
        """Takes away what was made."""
        ...


class OwnStation:
    """The station of this machine; `make_load` says where the load of its jobs comes from, if not from it."""

    name = "this machine"

    def __init__(self, station: Station, make_load: MakeLoad | None = None) -> None:
        self._station = station
        self._make_load = make_load
        self.host = station.host
        self.prepare = station.prepare
        self.stop = station.stop
        self.close = station.close

    def carry_out(
        self, number: int, job: TrialJob, listener: JobListener, kept: dict[str, Any]
    ) -> TrialReport:
        """See TrialStation; nothing is kept, as what goes on here ends with this study."""
        del kept
        if self._make_load is None:
            return self._station.carry_out(job, listener, f"trial-{number}")
        with self._make_load() as load:
            return self._station.carry_out(job, listener, f"trial-{number}", load)

    def ready(self) -> bool:
        """Always."""
        return True
