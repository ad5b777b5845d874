"""What a station carries every job out with, and who is told how far it has come."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab_trials.measurement import Measurement

from trimtab_agent.affinity.steering import Steering
from trimtab_agent.counters.watched import WatchedCounters
from trimtab_agent.kernel.tuning import KernelTuning
from trimtab_agent.station.leftovers import Leftovers
from trimtab_agent.station.server.unresolved import Names
from trimtab_agent.stopping import StopSignal


@dataclass(frozen=True, kw_only=True)
class Equipment:
    """What is the same for all jobs.

    `httpd`, `load` and `upstream` are our own programs, `directory` is where configurations and logs go,
    `leftovers` the journal of what must be taken away after a kill, `names` what upstreams are called.
    """

    httpd: Path
    load: Path
    upstream: Path
    directory: Path
    leftovers: Leftovers
    counters: WatchedCounters
    steering: Steering
    kernel: KernelTuning
    stop: StopSignal
    names: Names


@dataclass(frozen=True, kw_only=True)
class JobListener:
    """Who is told what happens during a job; `load_progress` gets the rate and the generator's line."""

    rate_started: Callable[[float], None] = lambda _rate_rps: None
    load_progress: Callable[[float, dict[str, Any]], None] = lambda _rate_rps, _line: None
    measured: Callable[[Measurement], None] = lambda _measurement: None
