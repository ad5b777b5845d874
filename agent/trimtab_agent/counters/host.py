"""The counters of the host alone: what does not need a server under test."""

from trimtab_agent.counters.cpu import CpuSource
from trimtab_agent.counters.cpu_quota import CpuQuotaSource
from trimtab_agent.counters.devices import DeviceSource
from trimtab_agent.counters.memory import MemorySource
from trimtab_agent.counters.network import NetworkSource
from trimtab_agent.counters.paging import PagingSource
from trimtab_agent.counters.pressure import PressureSource
from trimtab_agent.counters.softirqs import SoftirqSource
from trimtab_agent.counters.source import CounterSet, Source


def host_sources() -> list[Source]:
    """One of each source of the host."""
    return [
        CpuSource(),
        CpuQuotaSource(),
        SoftirqSource(),
        PagingSource(),
        MemorySource(),
        NetworkSource(),
        DeviceSource(),
        PressureSource(),
    ]


def host_counters() -> CounterSet:
    """All of them together."""
    return CounterSet(host_sources())
