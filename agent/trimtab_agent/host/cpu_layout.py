"""Which CPUs serve and which generate load, so that the two never take each other's time.

CPUs are divided by cores, never within one: two hardware threads of a core take each other's time. The server
gets the cores of one NUMA node first, as many as it is to have; the load generator gets those left, and the
agent itself lives there too. How many are the generator's is a matter of need: of the CPU time that it takes
a request, beside the server's. Before anything is known it is taken to need as much as the server;
`redivide` gives it what a calibration has shown.

Cores are those of the CPUs this process may use (cpu_quota.py), cut down to the quota of its control group:
pinning to more CPUs than the quota pays for would only lead to throttling.  The layout is recorded with the
run, because results compare only within one layout.
"""

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from trimtab_agent.host.cpu_quota import CpuAllowance, cpu_allowance
from trimtab_agent.host.priority import priority_allowed
from trimtab_agent.host.topology import Cpu, read_cpus

# trimtab-load beside trimtab-httpd on the loopback: 9.2 us of CPU time a request where the server takes 10
# (docs/lab/benchmarks.md, "What the load generator can offer"), and more where sessions are short.
ASSUMED_SHARE = 1 / 2
# Configurations better than the calibrated one cost the server less a request, and the generator the same.
HEADROOM = 1.2
FEWEST_TO_DIVIDE = 2  # cores: each of both has one then, whatever they need
_SINGLE = "there is a single CPU, so that server and generator share it"

Core = tuple[int, ...]


@dataclass(frozen=True)
class CpuLayout:
    """CPU numbers of the server and of the generator; the same ones where there is only a single CPU.

    `reason` says in a sentence why they are divided so; empty where somebody has just named them. The load
    may come from `elsewhere`: then the server has all CPUs, and the agent lives on them as well.
    """

    server: tuple[int, ...]
    generator: tuple[int, ...]
    reason: str = field(default="", compare=False)
    elsewhere: bool = field(default=False, compare=False)

    @property
    def shared(self) -> bool:
        """Whether server and generator compete for a CPU."""
        return bool(set(self.server) & set(self.generator))

    @property
    def prioritises_generator(self) -> bool:
        """Whether the generator goes before all else on its CPU: never on a CPU that the server needs."""
        return not self.shared and priority_allowed()

    def whole(self, generators: Sequence[str]) -> "CpuLayout":
        """All CPUs for the server, as in production: the load comes from those generators."""
        cpus = tuple(sorted({*self.server, *self.generator}))
        return CpuLayout(cpus, cpus, f"the load comes from {', '.join(generators)}", elsewhere=True)

    def document(self) -> dict[str, Any]:
        """As it is recorded with a run."""
        return {
            "server": list(self.server),
            "generator": list(self.generator),
            "sentence": self.sentence(),
            "reason": self.reason,
        }

    def sentence(self) -> str:
        """The layout in words."""
        if self.elsewhere:
            return f"server on CPU {format_cpus(self.server)}, no generator"
        if self.shared:
            return f"server and generator share CPU {format_cpus(self.server)}"
        server, generator = format_cpus(self.server), format_cpus(self.generator)
        priority = " (nice -20)" if self.prioritises_generator else ""
        return f"server on CPU {server}, generator{priority} and agent on CPU {generator}"


def format_cpus(cpus: tuple[int, ...]) -> str:
    """CPU numbers as the kernel writes lists of them: `0-3,8`."""
    spans: list[list[int]] = []
    for cpu in sorted(cpus):
        if spans and cpu == spans[-1][1] + 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)


def divide_cpus(usable: Collection[int], topology: Sequence[Cpu], limit: str = "") -> CpuLayout:
    """The layout for these CPUs (at least one) while nothing is known of what server and generator need.

    `limit` says what takes others away, if something does.
    """
    cores = _cores(usable, topology)
    if len(cores) == 1:
        return _within_one_core(cores[0], limit)
    count = _generator_cores(len(cores), ASSUMED_SHARE)
    taken = f"the generator has {count} of {len(cores)} cores"
    if len(cores) > FEWEST_TO_DIVIDE:
        taken += " until the calibration has shown how many it needs"
    return _divided(cores, topology, count, f"{limit}; {taken}" if limit else taken)


def redivide(
    layout: CpuLayout, topology: Sequence[Cpu], generator_share: float, server_share: float
) -> CpuLayout | None:
    """The layout by what both have been seen to need; None if that moves no core.

    The shares are of the CPUs that each has now, at one rate that the server followed: so much of them it
    used. The generator gets a fifth more than it used beside the server.
    """
    cores = _cores({*layout.server, *layout.generator}, topology)
    generator_cpus = generator_share * len(layout.generator)
    server_cpus = server_share * len(layout.server)
    if layout.shared or len(cores) == 1 or generator_cpus + server_cpus <= 0:
        return None
    now = sum(not set(core).isdisjoint(layout.generator) for core in cores)
    count = _generator_cores(len(cores), HEADROOM * generator_cpus / (generator_cpus + server_cpus))
    if count == now:
        return None
    measured = (
        f"the generator has {count} of {len(cores)} cores: in the calibration with {now} it used "
        f"{generator_cpus:.1f} CPUs while the server used {server_cpus:.1f}, "
        "and it shall have a fifth more, for faster configurations"
    )
    return _divided(cores, topology, count, measured)


def _cores(usable: Collection[int], topology: Sequence[Cpu]) -> list[Core]:
    """The usable CPUs by core, those of the node with the most cores first; a CPU that the topology does not
    know is a core of its own.
    """
    known = {cpu.cpu: cpu for cpu in topology}
    siblings = {cpu: known[cpu].siblings if cpu in known else (cpu,) for cpu in usable}
    cores = sorted({tuple(sorted({cpu, *others} & siblings.keys())) for cpu, others in siblings.items()})
    nodes = Counter(_node_of(core, topology) for core in cores)
    return sorted(cores, key=lambda core: (-nodes[node := _node_of(core, topology)], node, core))


def _node_of(core: Core, topology: Sequence[Cpu]) -> tuple[int, int]:
    """The NUMA node and the socket of a core."""
    return next(((cpu.node, cpu.socket) for cpu in topology if cpu.cpu == core[0]), (0, 0))


def _generator_cores(cores: int, share: float) -> int:
    """How many of at least two cores are the generator's, rounded up: one that gives out measures itself."""
    return min(cores - 1, max(1, math.ceil(round(share * cores, 6))))


def _within_one_core(core: Core, limit: str) -> CpuLayout:
    if len(core) == 1:
        single = f"{limit}: server and generator share one CPU" if limit else _SINGLE
        return CpuLayout(core, core, single)
    half = len(core) // 2
    begins = f"{limit}, which is" if limit else "there is"
    reason = f"{begins} a single core: server and generator have its hardware threads, which share its time"
    return CpuLayout(core[:half], core[half:], reason)


def _divided(cores: Sequence[Core], topology: Sequence[Cpu], generator_cores: int, why: str) -> CpuLayout:
    """The last so many cores to the generator, the others to the server; `why` so many is told with the
    rest.
    """
    served, generating = cores[:-generator_cores], cores[-generator_cores:]
    told = [why]
    if any(len(core) > 1 for core in cores):
        told.append("the hardware threads of a core stay together")
    if len({_node_of(core, topology) for core in cores}) > 1:
        nodes = [sorted({_node_of(core, topology)[0] for core in part}) for part in (served, generating)]
        server_nodes, generator_nodes = (format_cpus(tuple(numbers)) for numbers in nodes)
        told.append(f"the server's are in NUMA node {server_nodes}, the generator's in {generator_nodes}")
    return CpuLayout(
        server=tuple(sorted(cpu for core in served for cpu in core)),
        generator=tuple(sorted(cpu for core in generating for cpu in core)),
        reason="; ".join(told),
    )


def usable_cpus(
    process_mask: Collection[int], quota_cpus: float | None, topology: Sequence[Cpu]
) -> tuple[int, ...]:
    """The allowed CPUs, cut down to as many as the quota keeps busy (at least one).

    One hardware thread of each core comes before the second of any: a thread by itself does more.
    """
    if quota_cpus is None:
        return tuple(sorted(process_mask))
    threads = [(core.index(cpu), cpu) for core in _cores(process_mask, topology) for cpu in core]
    return tuple(sorted(cpu for _, cpu in sorted(threads)[: max(1, int(quota_cpus))]))


def process_cpus() -> tuple[int, ...]:
    """The CPUs that this process may keep busy, at least one."""
    return _process_cpus(cpu_allowance(), read_cpus())


def _process_cpus(allowance: CpuAllowance, topology: Sequence[Cpu]) -> tuple[int, ...]:
    quota = allowance.quota
    return usable_cpus(allowance.allowed, None if quota is None else quota.cpus, topology)


def process_layout() -> CpuLayout:
    """The layout for the CPUs that this process may keep busy."""
    topology, allowance = read_cpus(), cpu_allowance()
    return divide_cpus(_process_cpus(allowance, topology), topology, allowance.limit)
