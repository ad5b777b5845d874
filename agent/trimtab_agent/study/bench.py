"""What all trials of a run share, and what one of them is asked to be."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from trimtab_db import records
from trimtab_tuner.early_stop import Leader
from trimtab_tuner.limits import Limit
from trimtab_tuner.presets import RunSettings
from trimtab_tuner.records import Configuration
from trimtab_tuner.targets.base import Target
from trimtab_tuner.workloads.clients import Clients
from trimtab_tuner.workloads.conditions import Conditions

from trimtab_agent.affinity.service import AffinityService
from trimtab_agent.counters.sampler import Sampler
from trimtab_agent.host.cpu_layout import CpuLayout
from trimtab_agent.station.conditions import Surroundings
from trimtab_agent.station.disturbance import DisturbanceWatch
from trimtab_agent.station.file_set import FileSet
from trimtab_agent.station.leftovers import Leftovers
from trimtab_agent.stopping import StopSignal


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What all trials of a run share.

    `directory` is the run's log directory, `leftovers` the journal of what must be taken away after a kill.
    """

    run_id: int
    program: Path
    load: Path
    target: Target
    settings: RunSettings
    objective: str
    seed: int
    layout: CpuLayout
    file_set: FileSet
    clients: Clients
    conditions: Conditions
    directory: Path
    leftovers: Leftovers
    sampler: Sampler
    stop: StopSignal
    surroundings: Surroundings = field(default_factory=Surroundings)
    second_objective: str | None = None
    latency_limit: Limit | None = None
    disturbance: DisturbanceWatch | None = None
    affinity: AffinityService | None = None
    base: str | None = None

    @property
    def reads_anew(self) -> bool:
        """Whether each start of the server finds the file set on disk only.

        With a memory limit its pages must be charged to the server's group, and so be read by it.
        """
        return self.conditions.start == "cold" or self.surroundings.memory is not None


@dataclass(frozen=True, kw_only=True)
class TrialOrder:
    """One trial to carry out.

    `rates_rps` is taken one by one, so that a calibration can react; `rates_expected` is how many there will
    be, as far as that is known. A trial that `may_stop_early` is not driven at every rate if its outcome can
    no longer matter; then `leader` is what it must be able to reach, None where there is nothing to reach.
    """

    number: int
    purpose: records.TrialPurpose
    configuration: Configuration
    rates_rps: Iterable[float]
    rates_expected: int
    duration_s: float
    warmup_s: float
    level: int = 0
    block: int = 0
    may_stop_early: bool = False
    leader: Leader | None = None
    proposal_number: int | None = None
