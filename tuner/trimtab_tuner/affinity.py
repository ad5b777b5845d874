"""Affinity plans: which CPU serves which worker and which receive queue.

The five plans are those that the seeds' thesis compared on four CPUs (section 4.4.2: 2375, 2794, 5915, 6202
and 4081 Mbps at their peaks, in the order of PLANS):

    none        nothing is set
    process     each worker on a CPU of its own; receive queues stay where the kernel put them
    interrupt   each receive queue on a CPU of its own; the scheduler places the workers
    aligned     both, so that a queue's packets are served by the worker on the same CPU
    misaligned  both, each queue on the CPU after its worker's: every reply crosses CPUs

Replicas, several instances of a server at addresses of their own, each have a share of the CPUs. The receive
queues of an instance's network device then go to its own CPUs (*direct*) or to those of the next instance
(*indirect*), as in the seeds' Lighttpd study (section 5.3).

More workers or queues than CPUs are dealt out in turns. A queue is steered in one of two ways, whichever the
host has: by the affinity of its interrupt, or, for devices without one (veth, loopback), by its RPS mask
(kernel: networking/scaling.rst). Pure: nothing here touches the machine.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

PlanName = Literal["none", "process", "interrupt", "aligned", "misaligned"]
PLANS: tuple[PlanName, ...] = get_args(PlanName)

ReplicaPlacement = Literal["none", "direct", "indirect"]
REPLICA_PLACEMENTS: tuple[ReplicaPlacement, ...] = get_args(ReplicaPlacement)

HELP = (
    "Which CPU serves which worker and which receive queue: process pins workers, interrupt steers queues, "
    "aligned does both, misaligned does both wrongly (to be measured, not used)."
)


def pins_workers(plan: object) -> bool:
    """Whether a plan of that name gives each worker a CPU."""
    return plan in ("process", "aligned", "misaligned")


def steers_queues(plan: object) -> bool:
    """Whether a plan of that name gives each receive queue a CPU."""
    return plan in ("interrupt", "aligned", "misaligned")


@dataclass(frozen=True, kw_only=True)
class ReceiveQueue:
    """A receive queue of a network device; `irq` is the number of its interrupt, None where it has none."""

    device: str
    index: int
    irq: int | None = None


@dataclass(frozen=True, kw_only=True)
class QueuePlacement:
    """A queue and the CPU that is to take its packets."""

    queue: ReceiveQueue
    cpu: int


@dataclass(frozen=True, kw_only=True)
class AffinityPlan:
    """The CPU of each worker (empty: not pinned) and of each receive queue (empty: left as they are)."""

    name: PlanName
    worker_cpus: tuple[int, ...] = ()
    queues: tuple[QueuePlacement, ...] = ()


def make_plan(
    name: PlanName, cpus: Sequence[int], workers: int, queues: Sequence[ReceiveQueue]
) -> AffinityPlan:
    """The plan `name` for `workers` workers on the server's `cpus`.

    Raises ValueError for an unknown plan, no CPUs, or less than one worker.
    """
    if name not in PLANS:
        raise ValueError(f"affinity plan {name!r}: expected one of {', '.join(PLANS)}")
    if not cpus:
        raise ValueError(f"affinity plan {name}: expected at least one CPU for the server")
    if workers < 1:
        raise ValueError(f"affinity plan {name}: expected at least one worker, not {workers}")
    shift = 1 if name == "misaligned" else 0
    return AffinityPlan(
        name=name,
        worker_cpus=tuple(cpus[i % len(cpus)] for i in range(workers)) if pins_workers(name) else (),
        queues=tuple(
            QueuePlacement(queue=queue, cpu=cpus[(i + shift) % len(cpus)]) for i, queue in enumerate(queues)
        )
        if steers_queues(name)
        else (),
    )


def cpus_of_replicas(cpus: Sequence[int], replicas: int) -> tuple[tuple[int, ...], ...]:
    """The CPUs of each replica: neighbours together, as equal shares as possible.

    Raises ValueError for more replicas than CPUs.
    """
    if not 1 <= replicas <= len(cpus):
        raise ValueError(f"replicas = {replicas}: expected 1 to {len(cpus)}, a CPU at least for each")
    bounds = [i * len(cpus) // replicas for i in range(replicas + 1)]
    return tuple(tuple(cpus[low:high]) for low, high in itertools.pairwise(bounds))


def place_queues_of_replicas(
    placement: ReplicaPlacement,
    shares: Sequence[Sequence[int]],
    devices: Sequence[Sequence[ReceiveQueue]],
) -> tuple[QueuePlacement, ...]:
    """The CPU of each queue of the `devices`, which belong to the replicas in turn; `shares` are their CPUs.

    Raises ValueError where the replicas cannot have as many devices each.
    """
    if placement == "none":
        return ()
    if not devices or len(devices) % len(shares):
        raise ValueError(
            f"replica_placement = {placement}: {len(devices)} network devices for {len(shares)} replicas; "
            "expected as many, or a multiple"
        )
    shift = 1 if placement == "indirect" else 0
    return tuple(
        QueuePlacement(queue=queue, cpu=share[number % len(share)])
        for device, queues in enumerate(devices)
        for number, queue in enumerate(queues)
        for share in (shares[(device + shift) % len(shares)],)
    )


def format_mask(cpus: Sequence[int], width: int) -> str:
    """CPU numbers as the kernel writes bitmaps: groups of 32 bits, highest first (`00000000,00000003`).

    `width` is the number of CPUs that the mask covers; a mask of up to 32 CPUs is one group.
    """
    bits = sum(1 << cpu for cpu in set(cpus))
    groups = max(1, -(-max(width, max(cpus, default=0) + 1) // 32))
    return ",".join(f"{bits >> (32 * group) & 0xFFFFFFFF:08x}" for group in reversed(range(groups)))


def parse_mask(text: str) -> tuple[int, ...]:
    """CPU numbers from a bitmap as the kernel prints it. Raises ValueError when it is none."""
    bits = int(text.strip().replace(",", "") or "0", 16)
    return tuple(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)
